"""The identity of a function: a text that differs where its code or its data differ.

Code is the compiled code of the function and of all functions, classes and modules that it names, except libraries.
Data are the values in closures, defaults, attributes and globals. An object with `fingerprint()` is identified by it,
and by its `sources()`, where it has them.
"""

import hashlib
import io
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

LIBRARIES = (sysconfig.get_path("stdlib"), str(Path(__file__).parents[1]))
CODE = (ModuleType, type, FunctionType, classmethod, staticmethod, property)
DATA = (int, float, complex, str, bytes, tuple, list, dict, set, np.ndarray)
PACKAGES = {"site-packages", "dist-packages"}
INSIDE = ("__func__", "__wrapped__", "fget", "fset", "fdel")  # functions inside class methods, wrappers and properties


def identity_of(value: object) -> str | None:
    """Return the identity; None where a part cannot be read, such as an open file or a lock."""
    written = io.BytesIO()
    try:
        _Pickler(written, 5).dump(value)
    except Exception:  # of pickle or of the user's own `__reduce__`
        return None
    return hashlib.sha256(written.getvalue()).hexdigest()[:16]


class _Pickler(pickle.Pickler):
    """Writes the content of code, where pickle writes a name. Nothing reads it back."""

    def persistent_id(self, value: object) -> object:
        """Return the content of texts and sets: pickle's depends on which are one object, and on hash seeds."""
        if isinstance(value, str):
            return value.encode(errors="backslashreplace")
        return sorted(map(str, map(identity_of, value))) if isinstance(value, (set, frozenset)) else None

    def reducer_override(self, value: Any) -> Any:
        parts = _parts(value)
        return NotImplemented if parts is None else (object, (), parts)  # as a state, which may refer to the value


def _parts(value: Any) -> object:
    """Return the parts that identify a value; None for pickle's own way."""
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_varnames, value.co_freevars, [*value.co_consts]
    if isinstance(value, ModuleType):
        return (value.__name__, None if _is_library(value.__name__) else [*_definitions(value)])
    if isinstance(value, (type, FunctionType)) and _is_library(value.__module__) and _has_name(value):
        return None
    if isinstance(value, type):
        return value.__qualname__, value.__bases__, [*_definitions(value)]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]
        used = sorted({*_names(value.__code__)} & {*value.__globals__})
        data = [(name, value.__globals__[name]) for name in used]
        return value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, value.__dict__, cells, data
    if callable(fingerprint := getattr(value, "fingerprint", None)):
        return type(value).__qualname__, fingerprint(), getattr(value, "sources", list)()
    if isinstance(value, cached_property):
        return value.func  # the property has a lock, which cannot be pickled
    inside = [getattr(value, name, None) for name in INSIDE]
    standard = type(value).__module__ in ("builtins", "functools") and any(inside)
    return [*inside, getattr(value, "__self__", None)] if standard else None


def _definitions(value: ModuleType | type) -> Iterator[tuple[str, object]]:
    """Yield the code and the data of a module or a class of the user."""
    for name, part in vars(value).items():
        plain = isinstance(value, type) or isinstance(part, DATA)  # others of a module may be locks or open files
        if isinstance(part, CODE) or (plain and not name.startswith(("__", "_abc_"))):
            yield name, part


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _has_name(value: type | FunctionType) -> bool:
    """Return whether a function or a class can be found by its name, unlike a lambda or a local function."""
    try:
        return bool(attrgetter(value.__qualname__)(sys.modules[value.__module__]) is value)
    except AttributeError:
        return False


def _is_library(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    return file.startswith(LIBRARIES) or not PACKAGES.isdisjoint(Path(file).parts)
