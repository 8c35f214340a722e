"""What is left of conditions on parameters some of which are fixed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lamcts.spaces.conditions import When
from lamcts.spaces.values import brief

NEVER: Any = object()  # in place of conditions that cannot hold


def left_of(space: Any, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the conditions of each member of a space that are open once `values` are fixed, or NEVER.

    Empty where the space has none. A fixed parent that is conditional itself hands on what it asks for. ValueError
    where a fixed parameter can never be active.
    """
    conditions = getattr(space, "conditions", None)
    if conditions is None:
        return {}
    members, found = dict(zip(space.names, space.members, strict=True)), dict[Any, Any]()
    for name in (space.names[i] for i in conditions.order):
        open_ = found[name] = _open(getattr(members[name], "when", None) or {}, values, members, found)
        if open_ is NEVER and name in values:
            raise ValueError(f"fix: parameter {name!r}: expected one that can be active, got {brief(values[name])} "
                             "where the other fixed values rule it out; leave it out")  # fmt: skip
    return found


def _open(when: When, values: Mapping[Any, Any], members: Mapping[Any, Any], found: Mapping[Any, Any]) -> Any:
    """Return what is left of the conditions of one member, given those of its parents."""
    left: dict[Any, tuple[Any, ...]] = {}
    for parent, allowed in when.items():
        asked: Any = {parent: allowed}
        if parent in values:
            asked = found[parent] if _shared(members[parent], allowed, (values[parent],)) else NEVER
        if asked is NEVER or found[parent] is NEVER:
            return NEVER
        for name, some in asked.items():
            left[name] = _shared(members[name], left.get(name, some), some)
            if not left[name]:
                return NEVER
    return left


def _shared(member: Any, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of `first` that are among those of `second`."""
    codes = [member.encode(value) for value in second]
    return tuple(value for value in first if any(np.array_equal(member.encode(value), code) for code in codes))
