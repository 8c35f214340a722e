"""Spaces in which some parameters have fixed values; points stay complete."""

from collections.abc import Mapping
from copy import copy

import numpy as np

from lamcts.spaces.adapter import SpaceAdapter
from lamcts.spaces.base import Identity, SearchSpace, identity_of, when_of
from lamcts.spaces.box import Box
from lamcts.spaces.conditions import under
from lamcts.spaces.options import option_to_json
from lamcts.spaces.product import Space
from lamcts.spaces.values import When, brief
from lamcts.types import Floats, Json, Point

ROUNDING = 1e-6  # of a range: the tolerance of a value that was encoded and decoded, or is one of float32
Key = str | int  # the name of a parameter, or its number from 0
Parametrised = Space | Box


class OtherValue(ValueError):
    """A valid point that has another value of a fixed parameter."""


class Fixed(SpaceAdapter):
    """The points of a `Space` or a `Box` in which some parameters have given values."""

    def __init__(self, space: SearchSpace, values: Mapping[Key, object]) -> None:
        space = self.unfixed = _with_parameters(space)
        keys = keys_of(space)
        if not isinstance(values, Mapping) or not values:
            raise ValueError(f"fix: expected values by name, such as {{'lr': 0.1}}, got {brief(values)}")
        for name in values:
            if name not in keys or isinstance(name, bool):
                raise ValueError(f"fix: expected names out of {brief(keys)}, got {brief(name)}")
        self.values = {key: _valid(space, key, values[key]) for key in keys if key in values}
        whens = remaining_conditions(space, self.values)
        self.free = [key for key in keys if key not in values and whens.get(key, {}) is not None]
        if not self.free:
            raise ValueError("fix: expected at least one parameter that is left to search, got values for all of them")
        super().__init__(_others(space, self.free, whens))
        self.when = when_of(space) or None

    def encode(self, point: Point) -> Floats:
        """Return the encoding of a complete point; ValueError if a fixed parameter differs."""
        self.unfixed.encode(point)  # raises ValueError for an invalid point
        for key, value in self.values.items():
            if isinstance(point, Mapping) and key not in point:
                continue
            member = _member(self.unfixed, key)
            if not np.allclose(member.encode(point[key]), member.encode(value), rtol=0, atol=ROUNDING):
                got = brief(point[key])
                raise OtherValue(f"parameter {key!r}: expected {brief(value)}, which is fixed, got {got}")
        if isinstance(point, Mapping):
            return self.inner.encode({key: point[key] for key in self.free if key in point})
        return self.inner.encode([point[key] for key in self.free])

    def decode(self, x: Floats) -> Point:
        point = self.inner.decode(x)
        if isinstance(point, Mapping):
            if isinstance(self.unfixed, Space) and self.unfixed.conditions is not None:
                fixed_values = {str(key): value for key, value in self.values.items()}
                return self.unfixed.conditions.reduced({**fixed_values, **point})
            return {key: point[key] if key in point else self.values[key] for key in keys_of(self.unfixed)}
        free_values = dict(zip(self.free, point, strict=True))
        parts = [free_values[key] if key in free_values else self.values[key] for key in keys_of(self.unfixed)]
        return np.array(parts) if isinstance(self.unfixed, Box) else tuple(parts)

    @property
    def identity(self) -> Identity | None:
        """The identity of the points of `inner`, None if it has none."""
        return identity_of(self.inner)

    def signature(self) -> Json:
        values = {str(key): option_to_json(value) for key, value in self.values.items()}
        return {"kind": "fixed", "values": values, "whole": self.unfixed.signature()}

    def __repr__(self) -> str:
        return f"Fixed({self.unfixed!r}, {self.values!r})"


def fixed(space: SearchSpace, values: Mapping[Key, object]) -> SpaceAdapter:
    """Return a space with some parameters fixed, inside its rules and keys."""
    if isinstance(space, Fixed):
        return Fixed(space.unfixed, {**space.values, **values})
    if not isinstance(space, SpaceAdapter):
        return Fixed(space, values)
    result = copy(space)
    result.inner = fixed(space.inner, values)
    result.dim = result.inner.dim
    return result


def bare(space: SearchSpace) -> SearchSpace:
    """Return the space of complete points inside a space, without its rules, keys and fixed values."""
    while isinstance(space, SpaceAdapter):
        space = space.unfixed if isinstance(space, Fixed) else space.inner
    return space


def keys_of(space: object) -> list[Key]:
    """Return the names of the parameters of a space, or their numbers from 0."""
    parametrised = _with_parameters(space)
    if isinstance(parametrised, Box):
        return [*range(parametrised.dim)]
    return [*(parametrised.names or range(len(parametrised.members)))]


def _with_parameters(space: object) -> Parametrised:
    """Return a `Space` or a `Box`, whose points have parameters; ValueError for any other space."""
    if isinstance(space, (Space, Box)):
        return space
    raise ValueError(f"fix: expected a Space or a Box, got {type(space).__name__}, whose points have no parameters")


def _member(space: Parametrised, key: Key) -> SearchSpace:
    i = keys_of(space).index(key)
    return space.columns[i] if isinstance(space, Box) else under(space.members[i], None)


def _valid(space: Parametrised, key: Key, value: Point) -> Point:
    member = _member(space, key)
    try:
        decoded = member.decode(member.encode(value))
    except ValueError as error:
        raise ValueError(f"fix: parameter {key!r}: {error}") from None
    normalise = getattr(member, "normalise", None)
    return decoded if normalise is None or not member.continuous.any() else normalise(value)  # as it was given


def _others(space: Parametrised, free: list[Key], whens: Mapping[Key, When | None]) -> SearchSpace:
    if isinstance(space, Box):
        free_sides = np.array(free)
        return Box(space.low[free_sides], space.high[free_sides])
    members = {str(key): under(_member(space, key), whens.get(key) or None) for key in free}
    return Space(members if space.names is not None else [*members.values()])


def remaining_conditions(space: Parametrised, values: Mapping[Key, object]) -> dict[Key, When | None]:
    """Simplify the `when` conditions of each member once `values` are fixed."""
    if not isinstance(space, Space) or space.conditions is None or space.names is None:
        return {}
    members = dict(zip(space.names, space.members, strict=True))
    conditions = dict[Key, When | None]()
    for name in (space.names[i] for i in space.conditions.order):
        conditions[name] = _remaining(when_of(members[name]), values, members, conditions)
        if conditions[name] is None and name in values:
            raise ValueError(f"fix: parameter {name!r}: expected one that can be active, got {brief(values[name])} "
                             "where the other fixed values rule it out; leave it out")  # fmt: skip
    return conditions


def _remaining(
    when: When, values: Mapping[Key, object], members: Mapping[str, SearchSpace], conditions: Mapping[Key, When | None]
) -> When | None:
    """Return the remaining conditions of a member; None if they cannot hold."""
    remaining: dict[str, tuple[object, ...]] = {}
    for parent, allowed in when.items():
        parent_conditions = conditions[parent]
        if parent not in values:
            parent_conditions = None if parent_conditions is None else {parent: allowed}
        elif not _shared(members[parent], allowed, (values[parent],)):
            return None
        if parent_conditions is None:
            return None
        for name, allowed_values in parent_conditions.items():
            remaining[name] = _shared(members[name], remaining.get(name, allowed_values), allowed_values)
            if not remaining[name]:
                return None
    return remaining


def _shared(member: SearchSpace, first: tuple[object, ...], second: tuple[object, ...]) -> tuple[object, ...]:
    """Return the values of `first` that are also in `second`."""
    codes = [member.encode(value) for value in second]
    return tuple(value for value in first if any(np.array_equal(member.encode(value), code) for code in codes))
