"""Tilings: loops over tiles outside, loops over the points of a tile inside."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Access, Affine, Block, Loop, Statement
from lamcts.movement.costs.trace import Body, ClippedLoop, loop_ranges
from lamcts.movement.sizes import words
from lamcts.text import safe_repr
from lamcts.types import Floats, whole_number

if TYPE_CHECKING:
    from lamcts.movement.costs.nest import Nest

Item = Block | Statement
# Of the memory that a tile may fill: LRU keeps streamed data that are no longer needed (untuned).
SHARES = (1.0, 0.9, 0.8, 0.7)
POINTS = 200_000  # combinations of tile sizes that are compared for each streaming loop (untuned)
MEASURED = 10**7  # accesses up to which the tilings of the shares are compared by exact misses (untuned)


@dataclass(frozen=True)
class Tiling(Program):
    """A nest whose iterations are executed tile by tile; `Nest.tiled` makes one."""

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
        extents = tiled_extents(nest)
        for name, size in tiles.items():
            if name not in extents:
                raise ValueError(f"tiled: expected loops of {', '.join(extents)}, got {safe_repr(name):.40}")
            if whole_number(size, name) > extents[name]:
                raise ValueError(f"{name}: expected a tile of 1 to {extents[name]} iterations, got {size:.6g}")
        full = {name: int(tiles.get(name, max(extent, 1))) for name, extent in extents.items()}
        found = tuple(extents) if order is None else tuple(order)
        if sorted(map(str, found)) != sorted(extents):
            raise ValueError(f"order: expected each of {', '.join(extents)} once, got {safe_repr(order):.60}")
        return cls(nest, found, full)

    @property
    def body(self) -> Body:
        """The loops over tiles, those over points, and the statement in them, where loops can be reordered."""
        return self._tiled(self.nest.body)

    def _tiled(self, body: Body) -> tuple[Item, ...]:
        found: list[Item] = []
        for item in body:
            band, inner = _band(item)
            if isinstance(item, Statement):
                found.append(item)
            elif inner is None:
                found.append(Block(item.loop, self._tiled(item.body)))
            else:
                found += self._of_band({loop.name: loop for loop in band}, inner)
        return tuple(found)

    def _of_band(self, loops: Mapping[str, Loop], inner: Statement) -> tuple[Item, ...]:
        """Return the loops over tiles and over points around the statement of a band."""
        ranges = loop_ranges(inner, self.sizes)
        split = {name: self._split(loops[name], ranges[name]) for name in self.order if name in loops}
        body: tuple[Item, ...] = (inner,)
        for part in (1, 0):
            for name in reversed(split):
                if loop := split[name][part]:
                    body = (Block(loop, body),)
        return body

    def _split(self, loop: Loop, ends: tuple[int, int]) -> tuple[Loop | None, Loop]:
        """Return the loop over tiles, None for a single tile, and the loop over the points of a tile."""
        start, stop = loop.start.put(self.sizes), loop.stop.put(self.sizes)
        size, longest = self.tiles[loop.name], ends[1] - ends[0] + 1
        if longest <= size:
            return None, loop
        tile = f"{loop.name}'"  # no name of a user's loop has an apostrophe
        first = Affine.of(tile) * size + start
        outer = Loop(tile, Affine(), Affine.of(-(-longest // size)))
        if not (stop - start).names and longest % size == 0:
            return outer, Loop(loop.name, first, first + size)
        return outer, ClippedLoop(loop.name, first, first + size, stop)

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={self.tiles[name]}" for name in self.order)
        return f"{self.nest.text or self.statements[0]} in tiles of {sizes}"


def tiled_extents(nest: "Nest") -> dict[str, int]:
    """Return the most iterations of each loop that can be tiled; ValueError if there is none."""
    found: dict[str, int] = {}
    for band, statement in bands(nest.body):
        ranges = loop_ranges(statement, nest.sizes)
        for loop in band:
            extent = ranges[loop.name][1] - ranges[loop.name][0] + 1
            found[loop.name] = max(extent, found.get(loop.name, 0))
    if not found:
        raise ValueError(
            "tiled: expected a statement in loops whose ranges do not depend on each other, got none: "
            "triangular loops cannot be reordered"
        )
    return found


def bands(body: Body) -> Iterator[tuple[list[Loop], Statement]]:
    """Yield the loops around one statement alone that can be reordered, with the statement."""
    for item in body:
        band, inner = _band(item)
        if band and inner is not None:
            yield band, inner
        elif isinstance(item, Block):
            yield from bands(item.body)


def _band(item: Item) -> tuple[list[Loop], Statement | None]:
    """Return the loops from an item down to its only statement, if none of their ranges depends on another of them."""
    loops: list[Loop] = []
    while isinstance(item, Block) and len(item.body) == 1:
        loops.append(item.loop)
        item = item.body[0]
    names = {loop.name for loop in loops}
    if isinstance(item, Block) or any(names & loop.range_names for loop in loops):
        return [], None
    return loops, item


def resident_tiling(nest: "Nest", memory: int | str) -> Tiling:
    """Return a tiling that keeps some arrays in the memory while one loop streams the others.

    Parameters
    ----------
    nest : Nest
        A nest that can be tiled.
    memory : int or str
        Capacity in words, or in bytes with a unit.

    Returns
    -------
    Tiling
        The tile with the fewest loads per iteration whose data fit a share of the memory. The best of four shares is
        found by exact misses up to 1e7 accesses; longer nests take a share of 0.9.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> tiling = costs.resident_tiling(costs.kernels.make("matmul", N=96), memory=192)
    >>> tiling.order, tiling.tiles, tiling.reuse_distances().misses(192)
    (('j', 'k', 'i'), {'i': 1, 'j': 12, 'k': 12}, 156672)
    """
    capacity, extents = words(memory), tiled_extents(nest)
    band, statement = max(bands(nest.body), key=lambda pair: len(pair[0]))
    model = _Model(nest, statement, band, {loop.name: extents[loop.name] for loop in band})
    if nest.accesses() > MEASURED:
        return model.tiling(0.9 * capacity)
    tilings = {tuple(tiling.tiles.items()): tiling for tiling in (model.tiling(share * capacity) for share in SHARES)}
    return min(tilings.values(), key=lambda tiling: tiling.reuse_distances().misses(capacity))


@dataclass(frozen=True)
class _Model:
    """The loads of sweeps of the statement in the most loops."""

    nest: "Nest"
    statement: Statement
    band: list[Loop]
    extents: Mapping[str, int]

    def tiling(self, capacity: float) -> Tiling:
        """Return the tiling with the fewest loads per iteration in a capacity."""
        found = [self._best(name, capacity) for name in self.extents]
        _, streaming, tiles = min(found, key=lambda one: one[0])
        others = [name for name in tiled_extents(self.nest) if name != streaming]
        return self.nest.tiled([*others, streaming], **tiles)

    def _best(self, streaming: str, capacity: float) -> tuple[float, str, dict[str, int]]:
        """Return the loads per iteration of the best tile for a streaming loop, the loop, and the tile."""
        others = [name for name in self.extents if name != streaming]
        most = POINTS ** (1 / max(len(others), 1))
        grids = [_sizes(self.extents[name], most) for name in others]
        points = np.array(list(itertools.product(*grids)), float).reshape(-1, len(others))
        tile = dict(zip(others, points.T, strict=True)) | {streaming: np.ones(len(points))}
        sweep = {**tile, streaming: np.full(len(points), float(self.extents[streaming]))}
        arrays = {(access.array, access.indices): access for access in self.statement.accesses}.values()
        held = np.sum([_elements(access, tile) for access in arrays], axis=0)
        loads = np.sum([_elements(access, sweep) for access in arrays], axis=0)
        each = np.where(held <= capacity, loads / np.prod(list(sweep.values()), axis=0), np.inf)
        best = int(each.argmin())
        sizes = {name: int(size[best]) for name, size in tile.items()}
        return float(each[best]), streaming, sizes


def _sizes(extent: int, most: float) -> list[int]:
    """Return all tile sizes of a loop, or about as many as `most` with equal ratios."""
    if extent <= most:
        return list(range(1, extent + 1))
    return sorted({round(size) for size in np.geomspace(1, extent, int(most)).tolist()})


def _elements(access: Access, tile: Mapping[str, Floats]) -> Floats:
    """Return how many elements of an array one tile of each size accesses; a sum of variables covers an interval."""
    found: Floats = np.ones(len(next(iter(tile.values()))))
    for index in access.indices:
        found = found * (1 + sum(abs(factor) * (tile[name] - 1) for name, factor in index.coefficients if name in tile))
    return found
