"""Conditions of a ConfigSpace as `when` of our spaces: of each parent the values under which a child is active."""

import math
from collections.abc import Callable, Iterable
from typing import Any

When = dict[str, list[Any]]
LISTED = 1000  # values of an integer that a comparison may leave: each is compared with (untuned)


def conditions_of(conditions: Iterable[Any]) -> dict[str, When]:
    """Return the values of parents by name, for each child by name; ValueError for what no list of values says."""
    found: dict[str, When] = {}
    for condition in conditions:
        child = condition.child.name
        found[child] = _both(found.get(child, {}), _read(condition))
    return found


def _read(condition: Any) -> When:
    kind = type(condition).__name__
    if kind == "AndConjunction":
        result: When = {}
        for part in condition.components:
            result = _both(result, _read(part))
        return result
    if kind == "OrConjunction":
        return _either([_read(part) for part in condition.components], condition)
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


def _values(parent: Any, condition: Any) -> list[Any]:
    """Return all values of a parent."""
    for name in ("choices", "sequence"):
        if hasattr(parent, name):
            return list(getattr(parent, name))
    if math.isfinite(parent.size) and parent.size <= LISTED:
        return list(range(int(parent.lower), int(parent.upper) + 1)) if hasattr(parent, "lower") else [parent.value]
    raise ValueError(f"space_of: expected conditions on options, or on integers of {LISTED} values, got {condition}")


def _place(parent: Any, value: Any) -> Any:
    """Return what tells the order of a value: its place in a sequence, else itself."""
    return list(parent.sequence).index(value) if hasattr(parent, "sequence") else value


def _both(a: When, b: When) -> When:
    shared = {name: [value for value in values if value in b[name]] for name, values in a.items() if name in b}
    return a | b | shared


def _either(parts: list[When], condition: Any) -> When:
    names = {name for part in parts for name in part}
    if len(names) > 1:
        raise ValueError(f"space_of: expected 'or' between conditions on one parameter, got {condition}")
    name = names.pop()
    values: list[Any] = []
    for part in parts:
        values += [value for value in part[name] if value not in values]
    return {name: values}
