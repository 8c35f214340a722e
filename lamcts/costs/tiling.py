"""Tilings: loops over tiles outside, loops over the points of a tile inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lamcts.costs.affine import Affine
from lamcts.costs.program import Program
from lamcts.costs.statement import Block, Loop, Statement
from lamcts.costs.trace import Body, ClippedLoop
from lamcts.text import safe_repr
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.costs.nest import Nest


@dataclass(frozen=True)
class Tiling(Program):
    """A nest of one statement whose iterations are executed tile by tile; `Nest.tiled` makes one.

    Parameters
    ----------
    nest : Nest
        One statement in loops over constant ranges.
    order : tuple of str
        The loops, the outermost first: of tiles, and in the same order of the points of a tile.
    tiles : mapping of str to int
        The iterations of each loop in one tile.
    """

    nest: "Nest"
    order: tuple[str, ...]
    tiles: Mapping[str, int] = field(hash=False)
    statements: tuple[Statement, ...] = field(init=False, repr=False, compare=False)
    sizes: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "statements", self.nest.statements)
        object.__setattr__(self, "sizes", self.nest.sizes)

    @classmethod
    def of(cls, nest: "Nest", order: Sequence[str] | None, tiles: Mapping[str, int]) -> "Tiling":
        """Return a checked tiling; a loop without a tile size is one tile."""
        extents = loop_extents(nest, "tiled")
        for name, size in tiles.items():
            if name not in extents:
                raise ValueError(f"tiled: expected loops of {', '.join(extents)}, got {safe_repr(name):.40}")
            if whole_number(size, name) > extents[name]:
                raise ValueError(f"{name}: expected a tile of 1 to {extents[name]} iterations, got {size:.6g}")
        full = {name: int(tiles.get(name, max(extent, 1))) for name, extent in extents.items()}
        return cls(nest, checked_order(extents, order), full)

    @property
    def body(self) -> Body:
        """The loops over tiles, those over points, and the statement in them."""
        body: tuple[Block | Statement, ...] = self.statements
        loops = {loop.name: loop for loop in self.statements[0].loops}
        split = {name: self._split(loops[name]) for name in self.order}
        for part in (1, 0):
            for name in reversed(self.order):
                if loop := split[name][part]:
                    body = (Block(loop, body),)
        return body

    def _split(self, loop: Loop) -> tuple[Loop | None, Loop]:
        """Return the loop over tiles, None for a single tile, and the loop over the points of a tile."""
        start, stop = (end.value(self.sizes) for end in (loop.start, loop.stop))
        size = self.tiles[loop.name]
        if stop - start <= size:
            return None, loop
        tile = f"{loop.name}'"  # no name of a user's loop has an apostrophe
        first = Affine.of(tile) * size + start
        outer = Loop(tile, Affine(), Affine.of(-(-(stop - start) // size)))
        if (stop - start) % size == 0:
            return outer, Loop(loop.name, first, first + size)
        return outer, ClippedLoop(loop.name, first, first + size, Affine.of(stop))

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={self.tiles[name]}" for name in self.order)
        return f"{self.nest.text or self.statements[0]} in tiles of {sizes}"


def loop_extents(nest: "Nest", what: str) -> dict[str, int]:
    """Return the number of iterations of each loop; ValueError unless one statement is in constant loops."""
    if len(nest.statements) != 1:
        raise ValueError(f"{what}: expected a nest of one statement, got {len(nest.statements)}; use a nest of each")
    extents, loops = {}, nest.statements[0].loops
    for loop in loops:
        if inner := sorted({*loop.start.names, *loop.stop.names} & {other.name for other in loops}):
            raise ValueError(
                f"{what}: expected loops over constant ranges, got {loop}, which depends on {inner[0]}; "
                "triangular loops cannot be reordered"
            )
        extents[loop.name] = loop.stop.value(nest.sizes) - loop.start.value(nest.sizes)
    return extents


def checked_order(extents: Mapping[str, int], order: Sequence[str] | None) -> tuple[str, ...]:
    """Return the order of the loops, by default as they are; ValueError unless it has each loop once."""
    found = tuple(extents) if order is None else tuple(order)
    if sorted(map(str, found)) != sorted(extents):
        raise ValueError(f"order: expected each of {', '.join(extents)} once, got {safe_repr(order):.60}")
    return found
