"""The named parameters of a recorded space, in the user's units, for figures.

A journal holds a space's signature. Some kinds can be rebuilt from it; of others (tables, kinds of the user's own) the
encoded coordinates in [0, 1] are shown. Letters: n rows, d coordinates, p parameters.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.fixed import Fixed, keys_of
from lamcts.spaces.float import Float
from lamcts.spaces.integer import Int
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Space
from lamcts.spaces.serialization import from_signature
from lamcts.spaces.simplex import Simplex
from lamcts.spaces.subset import Subset
from lamcts.spaces.values import plain
from lamcts.types import Floats, Point


@dataclass(frozen=True)
class NamedParameter:
    """A parameter: its name, its coordinates, and whether it is logarithmic.

    options: the values of a category, in order; None for a number; empty for a permutation or a subset, whose values
    are texts.
    space: the space of its values.
    """

    name: str
    part: slice
    log: bool = False
    options: tuple[str, ...] | None = None
    space: SearchSpace | None = None


class NamedParameters:
    """The parameters of the space with this `signature`, in rows of `dim` coordinates."""

    def __init__(self, signature: object, dim: int) -> None:
        self._space, self.parameters = _read(signature, dim)
        self.known = self._space is not None  # else coordinates stand for parameters

    @property
    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    def values(self, x: Floats) -> list[list[object]]:
        """Return the values of each parameter in rows `x` [n, d]: p lists of n.

        None where the parameter is inactive.
        """
        if self._space is None:
            return [x[:, one.part.start].tolist() for one in self.parameters]
        whole = {one.name for one in self.parameters if one.options is not None}
        leaves = [dict(_leaves(self._space.decode(row), "", whole)) for row in x]
        return [
            [_shown(leaf[one.name], one) if one.name in leaf else None for leaf in leaves] for one in self.parameters
        ]

    def along(self, i: int, coordinates: Floats) -> list[object]:
        """Return the values of parameter `i` at its own coordinates [g, w]."""
        one = self.parameters[i]
        if one.space is None:
            return [*coordinates[:, 0].tolist()]
        return [_shown(one.space.decode(row), one) for row in coordinates]


def _shown(value: Point, parameter: NamedParameter) -> object:
    """Return a value as figures have it: an option as its text."""
    if isinstance(parameter.space, Choice) and parameter.options is not None:
        return parameter.options[parameter.space.place(value)]
    value = plain(value)
    return value if parameter.options is None else str(value)


def _read(signature: object, dim: int) -> tuple[SearchSpace | None, list[NamedParameter]]:
    """Return the space and its parameters.

    None and one parameter a coordinate if the signature is damaged or does not determine the space.
    """
    space = from_signature(signature)
    found = [] if space is None or space.dim != dim else list(_parameters(space, "", 0))
    names = [one.name for one in found]
    if not found or len({*names}) < len(names):
        return None, [NamedParameter(f"x{i + 1} (encoded)", slice(i, i + 1)) for i in range(dim)]
    return space, found


def _parameters(space: SearchSpace, name: str, start: int) -> Iterator[NamedParameter]:
    """Yield the free parameters of a space in the order of their coordinates."""
    if isinstance(space, Fixed):
        whole = dict(zip(keys_of(space.whole), _names(space.whole, name), strict=True))
        yield from _of(space.inner, [whole[key] for key in space.free], start)
    else:
        yield from _of(space, _names(space, name), start)


def _of(space: SearchSpace, names: list[str], start: int) -> Iterator[NamedParameter]:
    """Yield the parameters of a space whose members have these names."""
    if isinstance(space, Space):
        for own, member, part in zip(names, space.members, space.parts, strict=True):
            yield from _parameters(member, own, start + part.start)
    elif isinstance(space, Box):
        for i, own in enumerate(names):
            yield NamedParameter(own, slice(start + i, start + i + 1), space=Float(space.low[i], space.high[i]))
    elif isinstance(space, Simplex):
        for i, own in enumerate(names, start):
            yield NamedParameter(own, slice(i, i + 1), space=Float(0.0, space.total))
    else:
        log = isinstance(space, (Float, Int)) and space.log
        yield NamedParameter(names[0], slice(start, start + space.dim), log, _options(space), space)


def _options(space: SearchSpace) -> tuple[str, ...] | None:
    """Return the options of a category as text; None for numbers."""
    if isinstance(space, Choice):
        return space.labels
    return ("False", "True") if isinstance(space, Bool) else () if isinstance(space, (Permutation, Subset)) else None


def _names(space: SearchSpace, name: str) -> list[str]:
    """Return the full names of the members of a space called `name`."""
    if isinstance(space, Space):
        members = space.names or [i if name else f"x{i}" for i in range(1, len(space.members) + 1)]
        return [_joined(name, own) for own in members]
    if isinstance(space, Simplex) and space.names is not None:
        return [_joined(name, own) for own in space.names]
    if isinstance(space, (Box, Simplex)):
        return [_joined(name, i if name else f"x{i}") for i in range(1, space.dim + 1)]
    return [name or "x"]


def _leaves(point: Point, name: str, whole: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each parameter of a point, named as in `_parameters`.

    whole: the names of parameters whose values may be lists.
    """
    if (name or "x") in whole:
        yield name or "x", point
    elif isinstance(point, Mapping):
        for own, value in point.items():
            yield from _leaves(value, _joined(name, own), whole)
    elif isinstance(point, (list, tuple, np.ndarray)):
        for i, value in enumerate(point, 1):
            yield from _leaves(value, _joined(name, i if name else f"x{i}"), whole)
    else:
        yield name or "x", point


def _joined(name: str, own: object) -> str:
    return f"{name}.{own}" if name else str(own)
