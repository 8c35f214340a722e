"""A ConfigSpace as a space: `lamcts.minimize(f, space_of(cs), budget=100)`. ConfigSpace is not imported here."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lamcts
from lamcts.spaces import SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Hyperparameter = Any  # and the next two: of any version of ConfigSpace, read by the names of their attributes
Condition = Any
Clause = Any
When = dict[str, list[Any]]
Member = lamcts.Choice | lamcts.Int | lamcts.Float


def space_of(cs: "ConfigurationSpace") -> SearchSpace:
    """Return a ConfigSpace as a space.

    Parameters
    ----------
    cs : ConfigSpace.ConfigurationSpace
        Ranges, logarithms, steps, options, orders, constants, conditions and forbidden clauses are kept; "or" joins
        conditions on one parameter only. Weights are ignored, and a normal or beta prior is replaced by its bounds.

    Returns
    -------
    Space or Valid
        Its points are dicts as `Configuration(cs, values=point)` takes them.

    Raises
    ------
    ValueError
        For an empty ConfigSpace, and for parameters, conditions or clauses of other kinds.
    """
    if not all(hasattr(cs, name) for name in ("items", "conditions", "forbidden_clauses")):
        raise ValueError(f"space_of: expected a ConfigurationSpace of ConfigSpace 1.0 on, got {type(cs).__name__}")
    parameters = dict(cs.items())
    if not parameters:
        raise ValueError("space_of: expected at least one hyperparameter, got an empty ConfigurationSpace; add one")
    when: dict[str, When] = {}
    for condition in cs.conditions:
        child = condition.child.name
        when[child] = _both(when.get(child, {}), _when(condition))
    members = {name: _space(one, when.get(name)) for name, one in parameters.items()}
    space = lamcts.Space(members)
    rules = [rule_of(clause) for clause in cs.forbidden_clauses]
    return lamcts.Valid(space, rules, name=" and ".join(sorted(map(str, rules)))) if rules else space


def _space(one: Hyperparameter, when: When | None) -> Member:
    """Return the space of a hyperparameter, active where `when` says."""
    for name, ordered in (("choices", False), ("sequence", True)):
        if hasattr(one, name):
            return lamcts.Choice(tuple(getattr(one, name)), ordered=ordered, when=when)
    if hasattr(one, "lower") and hasattr(one, "upper"):
        bounds = [one.lower, one.upper]
        if None in bounds or not all(map(math.isfinite, bounds)):
            raise ValueError(f"space_of: hyperparameter {one.name!r}: expected bounds, got {bounds}; give it both")
        step = getattr(one, "q", None)  # of versions before 1.0
        if "Integer" in type(one).__name__:
            return lamcts.Int(int(one.lower), int(one.upper), log=bool(one.log), step=step, when=when)
        return lamcts.Float(float(one.lower), float(one.upper), log=bool(one.log), step=step, when=when)
    if hasattr(one, "value"):
        return lamcts.Choice((one.value,), when=when)
    raise ValueError(f"space_of: hyperparameter {one.name!r}: expected a range or options, got {type(one).__name__}")


LISTED = 1000  # values of an integer that a comparison may leave: each is compared with (untuned)


def _when(condition: Condition) -> When:
    kind = type(condition).__name__
    if kind == "AndConjunction":
        result: When = {}
        for part in condition.components:
            result = _both(result, _when(part))
        return result
    if kind == "OrConjunction":
        return _either([_when(part) for part in condition.components], condition)
    if kind not in HOLDS:
        raise ValueError(f"space_of: expected conditions that compare a parameter with values, got {condition}")
    parent, holds = condition.parent, HOLDS[kind]
    asked = list(condition.values) if kind == "InCondition" else [condition.value]
    values = asked if kind in ("InCondition", "EqualsCondition") else _values(parent, condition)
    return {
        parent.name: [value for value in values if holds(_place(parent, value), [_place(parent, a) for a in asked])]
    }


# When a condition holds, by the places of the parent's value and of those that it is compared with.
HOLDS: dict[str, Callable[[Any, list[Any]], bool]] = {
    "EqualsCondition": lambda place, asked: place == asked[0],
    "NotEqualsCondition": lambda place, asked: place != asked[0],
    "InCondition": lambda place, asked: place in asked,
    "GreaterThanCondition": lambda place, asked: place > asked[0],
    "LessThanCondition": lambda place, asked: place < asked[0],
}


def _values(parent: Hyperparameter, condition: Condition) -> list[Any]:
    """Return all values of a parent."""
    for name in ("choices", "sequence"):
        if hasattr(parent, name):
            return list(getattr(parent, name))
    if math.isfinite(parent.size) and parent.size <= LISTED:
        return list(range(int(parent.lower), int(parent.upper) + 1)) if hasattr(parent, "lower") else [parent.value]
    raise ValueError(f"space_of: expected conditions on options, or on integers of {LISTED} values, got {condition}")


def _place(parent: Hyperparameter, value: Any) -> Any:
    """Return the index of a value in a sequence, else the value."""
    return list(parent.sequence).index(value) if hasattr(parent, "sequence") else value


def _both(a: When, b: When) -> When:
    shared = {name: [value for value in values if value in b[name]] for name, values in a.items() if name in b}
    return a | b | shared


def _either(parts: list[When], condition: Condition) -> When:
    names = {name for part in parts for name in part}
    if len(names) > 1:
        raise ValueError(f"space_of: expected 'or' between conditions on one parameter, got {condition}")
    name = names.pop()
    values: list[Any] = []
    for part in parts:
        values += [value for value in part[name] if value not in values]
    return {name: values}


SIGNS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "Equals": ("==", operator.eq),
    "LessThan": ("<", operator.lt),
    "LessThanEquals": ("<=", operator.le),
    "GreaterThan": (">", operator.gt),
    "GreaterThanEquals": (">=", operator.ge),
}


@dataclass(frozen=True)
class Compared:
    """Whether a parameter compares to one of some values, or of the places in a sequence `order`; False if inactive."""

    name: str
    relation: str
    values: tuple[Any, ...]
    order: tuple[Any, ...] | None = None

    def __call__(self, point: Mapping[str, Any]) -> bool:
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
    """Whether one parameter compares to another; False if one is inactive."""

    left: str
    relation: str
    right: str

    def __call__(self, point: Mapping[str, Any]) -> bool:
        if self.left not in point or self.right not in point:
            return False
        return SIGNS[self.relation][1](point[self.left], point[self.right])

    def __str__(self) -> str:
        return f"{self.left} {SIGNS[self.relation][0]} {self.right}"


@dataclass(frozen=True)
class ForbiddenTogether:
    """Whether all clauses hold, or any."""

    clauses: tuple["Compared | Related | ForbiddenTogether", ...]
    every: bool

    def __call__(self, point: Mapping[str, Any]) -> bool:
        return (all if self.every else any)(clause(point) for clause in self.clauses)

    def __str__(self) -> str:
        return f"({(' and ' if self.every else ' or ').join(map(str, self.clauses))})"


@dataclass(frozen=True)
class Unless:
    """The rule that a clause does not hold."""

    clause: Compared | Related | ForbiddenTogether

    def __call__(self, point: Mapping[str, Any]) -> bool:
        return not self.clause(point)

    def __str__(self) -> str:
        return f"not {self.clause}"


def rule_of(clause: Clause) -> Unless:
    """Return the rule of a forbidden clause; ValueError for an unknown kind."""
    return Unless(_clause(clause))


def _clause(clause: Clause) -> Compared | Related | ForbiddenTogether:
    kind = type(clause).__name__.removeprefix("Forbidden")
    if kind in ("AndConjunction", "OrConjunction"):
        return ForbiddenTogether(tuple(map(_clause, clause.components)), every=kind == "AndConjunction")
    relation = kind.removesuffix("Clause").removesuffix("Relation")
    if kind == "InClause":
        return Compared(clause.hyperparameter.name, "Equals", tuple(clause.values))
    if relation not in SIGNS:
        raise ValueError(f"space_of: expected forbidden clauses that compare values, got {clause}")
    if kind.endswith("Relation"):
        return Related(clause.left.name, relation, clause.right.name)
    parent = clause.hyperparameter
    return Compared(parent.name, relation, (clause.value,), getattr(parent, "sequence", None))
