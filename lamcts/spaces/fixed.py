"""Spaces in which some parameters have fixed values; points stay complete."""

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any

import numpy as np

from lamcts.spaces.adapter import SpaceAdapter
from lamcts.spaces.base import Space as AnySpace
from lamcts.spaces.base import identity_of, when_of
from lamcts.spaces.box import Box
from lamcts.spaces.conditions import under
from lamcts.spaces.float import Float
from lamcts.spaces.product import Space
from lamcts.spaces.values import When, brief, plain
from lamcts.types import Floats

ROUNDING = 1e-12  # of a range: a value that went through a code and back is the same
NEVER: Any = object()  # in place of conditions that cannot hold


class OtherValue(ValueError):
    """A valid point that has another value of a fixed parameter."""


class Fixed(SpaceAdapter):
    """The points of a `Space` or a `Box` in which some parameters have given values.

    space: the space of the points. values: by name, or by number from 0 where points are tuples or arrays.
    The encoding is that of the other parameters, `inner`.
    """

    def __init__(self, space: Any, values: Mapping[Any, Any]) -> None:
        self.whole, keys = space, keys_of(space)
        if not isinstance(values, Mapping) or not values:
            raise ValueError(f"fix: expected values by name, such as {{'lr': 0.1}}, got {brief(values)}")
        for name in values:
            if name not in keys or isinstance(name, bool):
                raise ValueError(f"fix: expected names out of {brief(keys)}, got {brief(name)}")
        self.values = {key: _valid(space, key, values[key]) for key in keys if key in values}
        whens = left_of(space, self.values)
        self.free = [key for key in keys if key not in values and whens.get(key) is not NEVER]
        if not self.free:
            raise ValueError("fix: expected at least one parameter that is left to search, got values for all of them")
        super().__init__(_others(space, self.free, whens))
        self.when = when_of(space) or None

    def encode(self, point: Any) -> Floats:
        """Return the encoding of a complete point; ValueError if a fixed parameter differs."""
        self.whole.encode(point)  # says what is wrong with it
        held = {key: value for key, value in self.values.items() if not isinstance(point, Mapping) or key in point}
        for key, value in held.items():
            if not _same(self.whole, key, point[key], value):
                got = brief(point[key])
                raise OtherValue(f"parameter {key!r}: expected {brief(value)}, which is fixed, got {got}")
        if isinstance(point, Mapping):
            return self.inner.encode({key: point[key] for key in self.free if key in point})
        return self.inner.encode([point[key] for key in self.free])

    def decode(self, x: Floats) -> Any:
        found = self.inner.decode(x)
        if isinstance(found, Mapping):
            if self.whole.conditions is not None:
                return self.whole.conditions.reduced({**self.values, **found})
            return {key: found[key] if key in found else self.values[key] for key in keys_of(self.whole)}
        free = dict(zip(self.free, found, strict=True))
        parts = [free[key] if key in free else self.values[key] for key in keys_of(self.whole)]
        return np.array(parts) if isinstance(self.whole, Box) else tuple(parts)

    @property
    def identity(self) -> Callable[[Floats], Hashable | None] | None:
        """The identity of the points of `inner`, None if equality of encodings decides."""
        return identity_of(self.inner)

    def signature(self) -> dict[str, Any]:
        values = {str(key): plain(value) for key, value in self.values.items()}
        return {"kind": "fixed", "values": values, "whole": self.whole.signature()}

    def __repr__(self) -> str:
        return f"Fixed({self.whole!r}, {self.values!r})"


def fixed(space: Any, values: Mapping[Any, Any]) -> Any:
    """Return a space with some parameters fixed, inside its rules and keys.

    ValueError if its parameters have neither names nor numbers.
    """
    if not isinstance(space, SpaceAdapter) or isinstance(space, Fixed):
        return Fixed(space, values)
    made = copy(space)
    made.inner = fixed(space.inner, values)
    made.dim = made.inner.dim
    return made


def keys_of(space: Any) -> list[Any]:
    """Return the names of the parameters of a space, or their numbers from 0."""
    if isinstance(space, Space):
        return [*(space.names or range(len(space.members)))]
    if isinstance(space, Box):
        return [*range(space.dim)]
    raise ValueError(f"fix: expected a Space or a Box, got {type(space).__name__}, whose points have no parameters")


def _member(space: Any, key: Any) -> AnySpace:
    if isinstance(space, Box):
        return Box(space.low[[key]], space.high[[key]])
    member: AnySpace = under(space.members[keys_of(space).index(key)], None)
    return member


def _valid(space: Any, key: Any, value: Any) -> Any:
    member = _member(space, key)
    try:
        decoded = member.decode(member.encode([value] if isinstance(space, Box) else value))
    except ValueError as error:
        raise ValueError(f"fix: parameter {key!r}: {error}") from None
    return float(value) if member.continuous.any() and isinstance(member, (Box, Float)) else decoded  # as it was given


def _same(space: Any, key: Any, value: Any, fixed: Any) -> bool:
    member = _member(space, key)
    values = ([value], [fixed]) if isinstance(space, Box) else (value, fixed)
    return bool(np.allclose(member.encode(values[0]), member.encode(values[1]), rtol=0, atol=ROUNDING))


def _others(space: Any, free: list[Any], whens: Mapping[Any, Any]) -> AnySpace:
    if isinstance(space, Box):
        return Box(space.low[free], space.high[free])
    members = {key: under(_member(space, key), whens.get(key) or None) for key in free}
    return Space(members if space.names is not None else [*members.values()])


def left_of(space: Any, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Simplify the `when` conditions of each member once `values` are fixed.

    NEVER marks members that cannot be active; a space without conditions returns {}. The conditions of a fixed parent
    pass to its children. ValueError if a fixed parameter can never be active.
    """
    conditions = space.conditions if isinstance(space, Space) else None
    if conditions is None:
        return {}
    members, found = dict(zip(space.names, space.members, strict=True)), dict[Any, Any]()
    for name in (space.names[i] for i in conditions.order):
        open_ = found[name] = _open(when_of(members[name]), values, members, found)
        if open_ is NEVER and name in values:
            raise ValueError(f"fix: parameter {name!r}: expected one that can be active, got {brief(values[name])} "
                             "where the other fixed values rule it out; leave it out")  # fmt: skip
    return found


def _open(when: When, values: Mapping[Any, Any], members: Mapping[Any, Any], found: Mapping[Any, Any]) -> Any:
    """Return the remaining conditions of one member, given those of its parents."""
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
    """Return the values of `first` that are also in `second`."""
    codes = [member.encode(value) for value in second]
    return tuple(value for value in first if any(np.array_equal(member.encode(value), code) for code in codes))
