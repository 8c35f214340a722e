"""Pruners by name."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from lamcts.pruners.curves import Curves


class Pruner(Protocol):
    """A rule that stops trials early.

    With several objectives a rule whose attribute `multi_objective` is true gets the curves of all of them. Another one
    stops a trial that it would stop in each objective alone.
    """

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether trial `number` should stop."""


def is_multi_objective(pruner: Pruner | None) -> bool:
    """Return whether a rule gets the curves of all objectives at once."""
    return bool(getattr(pruner, "multi_objective", False))


PrunerClass = TypeVar("PrunerClass", bound=type[Pruner])
NAMES: dict[str, type[Pruner]] = {}  # of all registered pruners
_lines: dict[str, str] = {}


def register(name: str, line: str) -> Callable[[PrunerClass], PrunerClass]:
    """Return a decorator that registers a class as the pruner of a name; `line` describes it in ``lamcts list``."""

    def add(kind: PrunerClass) -> PrunerClass:
        if NAMES.setdefault(name, kind) is not kind:
            raise ValueError(f"expected a new name of a pruner, got {name!r}, which is taken: choose another")
        _lines[name] = line
        return kind

    return add


def line(name: str) -> str:
    """Return the line that describes a registered pruner."""
    return _lines[name]
