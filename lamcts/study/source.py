"""A hash of a function's source code, by which a journal notices that the function was edited."""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def source_hash(f: Callable[..., Any]) -> str | None:
    """Return a hash of a function's code without comments and docstrings; None for lambdas and other callables.

    Only the function's own body counts, not what it calls.
    """
    f = inspect.unwrap(f)
    if not (inspect.isfunction(f) or inspect.ismethod(f)) or f.__name__ == "<lambda>":
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(f)))
    except (OSError, TypeError, SyntaxError):  # defined at a prompt or by exec: there is no source
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]
