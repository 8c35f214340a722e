"""Forbidden clauses of a ConfigSpace as rules of `lamcts.Valid`: plain values, which travel to other processes."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SIGNS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "Equals": ("==", operator.eq),
    "LessThan": ("<", operator.lt),
    "LessThanEquals": ("<=", operator.le),
    "GreaterThan": (">", operator.gt),
    "GreaterThanEquals": (">=", operator.ge),
}


@dataclass(frozen=True)
class Compared:
    """Says how a parameter compares to one of some values; an inactive one to none.

    order: the values of a sequence, whose places are compared (None: the values themselves).
    """

    name: str
    relation: str
    values: tuple[Any, ...]
    order: tuple[Any, ...] | None = None

    def __call__(self, point: Any) -> bool:
        if self.name not in point:
            return False
        own, compare = point[self.name], SIGNS[self.relation][1]
        if self.relation == "Equals":
            return any(
                compare(own, value) and isinstance(own, bool) == isinstance(value, bool) for value in self.values
            )
        return any(compare(self._place(own), self._place(value)) for value in self.values)

    def _place(self, value: Any) -> Any:
        return value if self.order is None else self.order.index(value)

    def __str__(self) -> str:
        return " or ".join(f"{self.name} {SIGNS[self.relation][0]} {value!r}" for value in self.values)


@dataclass(frozen=True)
class Related:
    """Says how one parameter compares to another one; not where one of them is inactive."""

    left: str
    relation: str
    right: str

    def __call__(self, point: Any) -> bool:
        if self.left not in point or self.right not in point:
            return False
        return SIGNS[self.relation][1](point[self.left], point[self.right])

    def __str__(self) -> str:
        return f"{self.left} {SIGNS[self.relation][0]} {self.right}"


@dataclass(frozen=True)
class ForbiddenTogether:
    """Says that all clauses hold, or any of them."""

    clauses: tuple[Any, ...]
    every: bool

    def __call__(self, point: Any) -> bool:
        return (all if self.every else any)(clause(point) for clause in self.clauses)

    def __str__(self) -> str:
        return f"({(' and ' if self.every else ' or ').join(map(str, self.clauses))})"


@dataclass(frozen=True)
class Unless:
    """A rule: true but where a clause is."""

    clause: Compared | Related | ForbiddenTogether

    def __call__(self, point: Any) -> bool:
        return not self.clause(point)

    def __str__(self) -> str:
        return f"not {self.clause}"


def rule_of(clause: Any) -> Unless:
    """Return the rule that a forbidden clause makes; ValueError for one of an unknown kind."""
    return Unless(_read(clause))


def _read(clause: Any) -> Compared | Related | ForbiddenTogether:
    kind = type(clause).__name__.removeprefix("Forbidden")
    if kind in ("AndConjunction", "OrConjunction"):
        return ForbiddenTogether(tuple(map(_read, clause.components)), every=kind == "AndConjunction")
    relation = kind.removesuffix("Clause").removesuffix("Relation")
    if kind == "InClause":
        return Compared(clause.hyperparameter.name, "Equals", tuple(clause.values))
    if relation not in SIGNS:
        raise ValueError(f"space_of: expected forbidden clauses that compare values, got {clause}")
    if kind.endswith("Relation"):
        return Related(clause.left.name, relation, clause.right.name)
    parent = clause.hyperparameter
    return Compared(parent.name, relation, (clause.value,), getattr(parent, "sequence", None))
