"""Loop order and tile sizes of a loop nest: exact cache misses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lamcts.movement import costs
from lamcts.objectives.base import register
from lamcts.spaces.canonical import Canonical
from lamcts.spaces.integer import Int
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Space

BUDGET = 60  # evaluations of a first run (untuned)
ACCESSES = 10**7  # of a nest whose misses are counted: about ten seconds an evaluation (untuned)
CACHE = 4096  # words: 32 KiB of doubles, the first-level data cache of most processors

Point = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class TilingObjective:
    """The misses of a nest by loop order and tile sizes; lower is better.

    Loops that several statements share stay outside the tiles. line: bytes of a cache line; None: a line is a word.
    """

    nest: costs.Nest
    memory: int
    line: int | None = None

    maximize = False
    optimum = None

    def __post_init__(self) -> None:
        if max(self.nest.tiled().tiles.values()) == 1:
            raise ValueError("nest: expected a loop of two iterations or more that can be tiled, got none")
        if self.nest.accesses() > ACCESSES:
            found = self.nest.accesses()
            raise ValueError(f"size: expected at most {ACCESSES:.0e} accesses, got {found:.2g}; use smaller sizes")

    @property
    def name(self) -> str:
        return "tiling"

    @cached_property
    def space(self) -> Canonical:
        """Loop order and tile sizes; points that execute the iterations in the same order count as one."""
        extents = self.nest.tiled().tiles
        tiles = {f"tile_{name}": Int(1, extent, log=True) for name, extent in extents.items() if extent > 1}
        return Canonical(Space({"order": Permutation(tuple(extents)), **tiles}), self.key, name=self.name)

    @cached_property
    def x0(self) -> dict[str, Any]:
        """The tiling of a model of residence: see `lamcts.movement.costs.resident_tiling`."""
        found, extents = costs.resident_tiling(self.nest, self.memory), self.nest.tiled().tiles
        tiles = {f"tile_{name}": size for name, size in found.tiles.items() if extents[name] > 1}
        return {"order": found.order, **tiles}

    def key(self, point: Point) -> str:
        """Return a text that is equal for points with the same loops of more than one pass, in the same order."""
        tiling, extents = self.tiling(point), self.nest.tiled().tiles
        outer = [name for name in tiling.order if tiling.tiles[name] < extents[name]]
        inner = [f"{name}:{tiling.tiles[name]}" for name in tiling.order if tiling.tiles[name] > 1]
        return f"{' '.join(outer)} | {' '.join(inner)}"

    def tiling(self, point: Point) -> costs.Tiling:
        """Return the tiling of a point."""
        sizes = {name.removeprefix("tile_"): size for name, size in point.items() if name != "order"}
        return self.nest.tiled(point["order"], **sizes)

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the exact misses."""
        return float(self.tiling(point).reuse_distances(self.line).misses(self.memory))

    def cost(self, point: Point) -> dict[str, float]:
        """Return exact misses, their ratio to the bound (nan with cache lines), and the data movement distance."""
        distances = self.tiling(point).reuse_distances(self.line)
        misses = float(distances.misses(self.memory))
        bound = math.nan if self.line else self.bound
        unit = "lines" if self.line else "words"
        return {f"misses_{unit}": misses, "misses_per_bound": misses / bound, "dmd_sqrt_words": distances.dmd}

    @cached_property
    def bound(self) -> float:
        """The loads in words that no schedule avoids."""
        return self.nest.lower_bound(self.memory).loads

    def fingerprint(self) -> dict[str, Any]:
        return {
            "nest": self.nest.text,
            "sizes": dict(self.nest.sizes),
            "memory": self.memory,
            "line": self.line,
        }


@register("tiling", "loop order and tile sizes of a loop nest: exact cache misses", budget=BUDGET)
def tiling(
    nest: str = "matmul",
    size: int | None = None,
    sizes: Mapping[str, int] | None = None,
    memory: int | str = CACHE,
    line: int | None = None,
) -> TilingObjective:
    """The schedule of a loop nest as a search problem.

    nest: name of a kernel, or a nest such as "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]" ("matmul").
    size: the size N (None: the kernel's).
    sizes: other sizes by name (None: the kernel's).
    memory: capacity in words, or in bytes with a unit such as 32KiB (4096).
    line: bytes of a cache line (None: one word).
    """
    given = {**({} if size is None else {"N": size}), **(sizes or {})}
    found = costs.nest(nest, **given) if "[" in nest else costs.kernels.make(nest, **given)
    return TilingObjective(found, costs.words(memory), line)
