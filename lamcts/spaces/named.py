"""The parameters of a recorded space by name, with their values in the user's units, for whoever draws them.

A journal holds a space's signature. Of some kinds that is all there is to them; of the others (tables, kinds of the
user's own) the coordinates are shown as they are encoded, in [0, 1].
Letters: n rows, d coordinates, p parameters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts.spaces.base import Space
from lamcts.spaces.box import Box
from lamcts.spaces.described import built
from lamcts.spaces.values import plain
from lamcts.types import Floats

AROUND = ("keyed", "valid")  # kinds that say more of the points of an inner space, and encode as it does


@dataclass(frozen=True)
class Named:
    """One parameter: its name, which coordinates are its own, and whether it has numbers that lie evenly in their log.

    options: the values of a category, in order; None where it is a number.
    """

    name: str
    part: slice
    log: bool = False
    options: tuple[str, ...] | None = None


class NamedSpace:
    """The parameters of the space that `signature` tells of, in rows of `dim` coordinates."""

    def __init__(self, signature: Any, dim: int) -> None:
        self._space, self.parameters = _read(signature, dim)
        self.known = self._space is not None  # else coordinates stand for parameters

    @property
    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    def values(self, x: Floats) -> list[list[Any]]:
        """Return the values of each parameter in rows `x` [n, d]: p lists of n; None where a point has none."""
        if self._space is None:
            return [x[:, one.part.start].tolist() for one in self.parameters]
        leaves = [dict(_leaves(plain(self._space.decode(row)), "")) for row in x]
        return [[_shown(leaf.get(one.name), one) for leaf in leaves] for one in self.parameters]


def _shown(value: Any, parameter: Named) -> Any:
    return str(value) if parameter.options is not None and value is not None else value


def _read(signature: Any, dim: int) -> tuple[Space | None, list[Named]]:
    """Return the space and its parameters; None and a parameter a coordinate where it cannot be told or is damaged."""
    encoded = [Named(f"x{i + 1} (encoded)", slice(i, i + 1)) for i in range(dim)]
    try:
        while signature["kind"] in AROUND:
            signature = signature["inner"]
        space = built(signature)
        found = list(_parameters(signature, space, "", 0))
        names = [one.name for one in found]
        fits = space.dim == dim and len({*names}) == len(names)
        shown = dict(_leaves(plain(space.decode(np.full(dim, 0.5))), ""))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        return None, encoded
    return (space, found) if fits and {*shown} <= {*names} else (None, encoded)


def _parameters(signature: dict[str, Any], space: Any, name: str, start: int) -> Iterator[Named]:
    """Yield the parameters of a space in the order of their coordinates."""
    if signature["kind"] == "product":
        names = signature["names"] or range(1, len(space.members) + 1)
        for own, said, member, part in zip(names, signature["members"], space.members, space.parts, strict=True):
            yield from _parameters(said, member, _joined(name, own), start + part.start)
    elif isinstance(space, Box):
        for i in range(space.dim):
            yield Named(_joined(name, f"x{i + 1}" if not name else i + 1), slice(start + i, start + i + 1))
    else:
        yield _one(signature, space, name or "x", slice(start, start + space.dim))


def _one(signature: dict[str, Any], space: Any, name: str, part: slice) -> Named:
    kind = signature["kind"]
    options = {"choice": getattr(space, "options", ()), "bool": (False, True)}.get(kind)
    return Named(name, part, bool(signature.get("log", False)), None if options is None else tuple(map(str, options)))


def _leaves(point: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each parameter of a point of plain values, as `_parameters` names them."""
    if isinstance(point, Mapping):
        for own, value in point.items():
            yield from _leaves(value, _joined(name, own))
    elif isinstance(point, (list, tuple)):
        for i, value in enumerate(point, 1):
            yield from _leaves(value, _joined(name, i if name else f"x{i}"))
    else:
        yield name or "x", point


def _joined(name: str, own: Any) -> str:
    return f"{name}.{own}" if name else str(own)
