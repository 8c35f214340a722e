"""How long files and function bodies are, and which lines are code."""

import ast
import io
import tokenize
from pathlib import Path

import numpy as np

NOISE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def counts(package: Path) -> dict[str, tuple[float, float, float]]:
    """Return p50, p90 and the largest of the lines of files and of function bodies."""
    sources = [path.read_text() for path in sorted(package.rglob("*.py"))]
    lengths = [body(f) for source in sources for f in functions(ast.parse(source))]
    return {
        "file lines p50 p90 max": spread([len(source.splitlines()) for source in sources]),
        "body lines p50 p90 max": spread(lengths),
    }


def spread(numbers: list[int]) -> tuple[float, float, float]:
    return float(np.quantile(numbers, 0.5)), float(np.quantile(numbers, 0.9)), float(max(numbers))


def functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body(function: Function) -> int:
    """Return the lines of a function without its head and its docstring."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1 if statements else 0


def longest(package: Path, n: int = 5) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return the longest files and the longest bodies, with their lines."""
    files, found = [], []
    for path in sorted(package.rglob("*.py")):
        name, source = str(path.relative_to(package)), path.read_text()
        files.append((name, len(source.splitlines())))
        found += [(f"{name}:{f.name}", body(f)) for f in functions(ast.parse(source))]
    return (sorted(files, key=lambda one: -one[1])[:n], sorted(found, key=lambda one: -one[1])[:n])


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code: no docstrings, comments or blanks."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOISE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines - texts
