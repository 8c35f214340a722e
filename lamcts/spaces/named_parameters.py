"""The named parameters of a recorded space, in the user's units, for figures.

A journal holds a space's signature. Some kinds can be rebuilt from it; of others (tables, kinds of the user's own) the
encoded coordinates in [0, 1] are shown. Letters: n rows, d coordinates, p parameters.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import EncodedSpace, SearchSpace
from lamcts.spaces.fixed import Fixed, keys_of
from lamcts.spaces.serialization import from_signature
from lamcts.spaces.values import plain
from lamcts.types import Floats, Point


class NamedParameter(NamedTuple):
    """A parameter: its name, its coordinates, and the space of its values."""

    name: str
    part: slice
    space: EncodedSpace | None = None

    @property
    def log(self) -> bool:
        return getattr(self.space, "log", False)

    @property
    def options(self) -> tuple[str, ...] | None:
        """The values of a category, in order; None for a number; empty where each value is a text of its own."""
        return None if self.space is None else self.space.labels

    def shown(self, value: Point) -> object:
        """Return a value as figures have it: an option as its text."""
        return plain(value) if self.space is None or self.options is None else self.space.text(value)

    def grid(self, shares: Floats) -> Floats:
        """Return the coordinates [g, w] of numbers at shares [g] of the range."""
        x = np.repeat(shares[:, None], self.part.stop - self.part.start, axis=1)
        return x if self.space is None or x.shape[1] == 1 else self.space.spread(x)


class NamedParameters:
    """The parameters of the space with this `signature`, in rows of `dim` coordinates."""

    def __init__(self, signature: object, dim: int) -> None:
        self.space, self.parameters = _read(signature, dim)
        self.known = self.space is not None  # else coordinates stand for parameters

    @property
    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    def values(self, x: Floats) -> list[list[object]]:
        """Return the values of each parameter in rows `x` [n, d]: p lists of n."""
        if self.space is None:
            return [x[:, parameter.part.start].tolist() for parameter in self.parameters]
        categories = {parameter.name for parameter in self.parameters if parameter.options is not None}
        leaves = [dict(_leaves(self.space.decode(row), "", categories)) for row in x]
        return [
            [parameter.shown(leaf[parameter.name]) if parameter.name in leaf else None for leaf in leaves]
            for parameter in self.parameters
        ]

    def along(self, i: int, coordinates: Floats) -> list[object]:
        """Return the values of parameter `i` at its own coordinates [g, w]."""
        parameter = self.parameters[i]
        if parameter.space is None:
            return [*coordinates[:, 0].tolist()]
        return [parameter.shown(parameter.space.decode(row)) for row in coordinates]


def _read(signature: object, dim: int) -> tuple[SearchSpace | None, list[NamedParameter]]:
    """Return the space and its parameters; None and the coordinates if the signature does not determine the space."""
    space = from_signature(signature)
    parameters = [] if space is None or space.dim != dim else list(_parameters(space, "", 0))
    names = [parameter.name for parameter in parameters]
    if not parameters or len({*names}) < len(names):
        return None, [NamedParameter(f"x{i + 1} (encoded)", slice(i, i + 1)) for i in range(dim)]
    return space, parameters


def _parameters(space: SearchSpace, name: str, start: int) -> Iterator[NamedParameter]:
    """Yield the free parameters of a space in the order of their coordinates."""
    if isinstance(space, Fixed):
        names = dict(zip(keys_of(space.unfixed), _names(space.unfixed, name), strict=True))
        yield from _of(space.inner, [names[key] for key in space.free], start)
    else:
        yield from _of(space, _names(space, name), start)


def _of(space: SearchSpace, names: list[str], start: int) -> Iterator[NamedParameter]:
    """Yield the parameters of a space whose members have these names."""
    if members := _members(space):
        for member_name, member in zip(names, members, strict=True):
            yield from _parameters(member, member_name, start)
            start += member.dim
    else:
        assert isinstance(space, EncodedSpace)  # what a signature describes is of registered kinds
        yield NamedParameter(names[0], slice(start, start + space.dim), space)


def _members(space: SearchSpace) -> Sequence[SearchSpace]:
    """Return the members of a product, or the numbers of a box or a mixture."""
    return (space.members or space.columns) if isinstance(space, EncodedSpace) else ()


def _names(space: SearchSpace, name: str) -> list[str]:
    """Return the full names of the members of a space called `name`."""
    if not (members := _members(space)):
        return [name or "x"]
    names = getattr(space, "names", None) or [i if name else f"x{i}" for i in range(1, len(members) + 1)]
    return [_joined(name, member_name) for member_name in names]


def _leaves(point: Point, name: str, categories: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each parameter of a point, named as in `_parameters`."""
    if (name or "x") in categories:
        yield name or "x", point
    elif isinstance(point, Mapping):
        for part, value in point.items():
            yield from _leaves(value, _joined(name, part), categories)
    elif isinstance(point, (list, tuple, np.ndarray)):
        for i, value in enumerate(point, 1):
            yield from _leaves(value, _joined(name, i if name else f"x{i}"), categories)
    else:
        yield name or "x", point


def _joined(name: str, part: object) -> str:
    return f"{name}.{part}" if name else str(part)
