"""Tilings by a model of residence: some data stay in the memory while one loop streams the others past."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lamcts.movement.costs.nest import Nest
from lamcts.movement.costs.statement import Access, Loop, Statement
from lamcts.movement.costs.tiling import Tiling, bands, tiled_extents
from lamcts.movement.costs.units import words
from lamcts.types import Floats

# Of the memory that a tile may fill: LRU keeps streamed data that are no longer needed (untuned).
SHARES = (1.0, 0.9, 0.8, 0.7)
POINTS = 200_000  # combinations of tile sizes that are compared for each streaming loop (untuned)
MEASURED = 10**7  # accesses up to which the tilings of the shares are compared by exact misses (untuned)


def resident_tiling(nest: Nest, memory: int | str) -> Tiling:
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
        A good start for a search of tile sizes: within 10 % of the best tiling on six small nests.

    Raises
    ------
    ValueError
        If no loop can be tiled, or the capacity is no number of words.

    Notes
    -----
    The tile of the streaming loop is one iteration, and it is the innermost loop over tiles. In one sweep of it each
    array is loaded once: those that depend on it are streamed, the others are resident. Of all tiles whose data of one
    iteration of the sweep fit a share of the memory, the one with the fewest loads per iteration is chosen. Up to 1e7
    accesses, the best of four shares is found by exact misses; longer nests take a share of 0.9.

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

    nest: Nest
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
