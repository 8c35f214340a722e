"""A search space of Ax as a space of ours, whose points are parameterizations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import lamcts


def space_of(search_space: Any) -> Any:
    """Return the space of a `SearchSpace`: ranges, choices, fixed values, dependents, linear constraints.

    ValueError for parameters that are derived from others, and for constraints that are equations.
    """
    parameters = search_space.parameters
    when = _conditions(parameters)
    space = lamcts.Space({name: _member(one, when.get(name)) for name, one in parameters.items()})
    rules = [_rule(constraint) for constraint in search_space.parameter_constraints]
    return lamcts.Valid(space, rules, name=" and ".join(map(str, rules))) if rules else space


def _conditions(parameters: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Return under which values of which parent a parameter is there, by name."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name, one in parameters.items():
        for value, children in (one.dependents if one.is_hierarchical else {}).items():
            for child in children:
                found.setdefault(child, {}).setdefault(name, []).append(value)
    return found


def _member(one: Any, when: Any) -> Any:
    given = {} if when is None else {"when": when}
    if hasattr(one, "values"):
        options = tuple(one.values)
        return lamcts.Choice(options, ordered=bool(one.is_ordered) and len(options) > 1, **given)
    if hasattr(one, "lower") and hasattr(one, "upper"):
        if getattr(one, "logit_scale", False) or getattr(one, "digits", None) is not None:
            raise ValueError(f"{one.name}: expected a linear or log scale without digits, got {one}")
        if one.parameter_type.name == "INT":
            return lamcts.Int(int(one.lower), int(one.upper), log=bool(one.log_scale), **given)
        return lamcts.Float(float(one.lower), float(one.upper), log=bool(one.log_scale), **given)
    if hasattr(one, "value"):
        return lamcts.Choice((one.value,), **given)
    raise ValueError(f"{one.name}: expected a range, a choice or a fixed parameter, got {type(one).__name__}")


@dataclass(frozen=True)
class AtMost:
    """The rule that a weighted sum of parameters is at most a bound; where one of them is inactive it holds."""

    weights: tuple[tuple[str, float], ...]
    bound: float

    def __call__(self, point: Mapping[str, Any]) -> bool:
        if any(name not in point for name, _ in self.weights):
            return True
        return sum(weight * float(point[name]) for name, weight in self.weights) <= self.bound

    def __str__(self) -> str:
        return f"{' + '.join(f'{weight} {name}' for name, weight in self.weights)} <= {self.bound}"


def _rule(constraint: Any) -> AtMost:
    if getattr(constraint, "is_equality", False):
        raise ValueError(f"expected parameter constraints that are inequalities, got {constraint}")
    return AtMost(tuple(sorted(constraint.constraint_dict.items())), float(constraint.bound))
