"""Pruners by name."""

from collections.abc import Callable
from typing import Any, TypeVar

Pruner = TypeVar("Pruner", bound=type[Any])
NAMES: dict[str, type[Any]] = {}  # of all registered pruners
_lines: dict[str, str] = {}


def register(name: str, line: str) -> Callable[[Pruner], Pruner]:
    """Return a decorator that registers a class as the pruner of a name; `line` describes it."""

    def add(kind: Pruner) -> Pruner:
        if NAMES.setdefault(name, kind) is not kind:
            raise ValueError(f"expected a new name of a pruner, got {name!r}, which is taken: choose another")
        _lines[name] = line
        return kind

    return add


def line(name: str) -> str:
    """Return the line that describes a registered pruner."""
    return _lines[name]
