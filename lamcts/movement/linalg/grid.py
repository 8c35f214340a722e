"""The grid of ranks, and which rank has which block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.movement.linalg.comm import Array
from lamcts.types import whole_number


class Step(NamedTuple):
    """A step of the factorisation: its number, the first of its columns, and how many there are."""

    number: int
    begin: int
    width: int

    @property
    def end(self) -> int:
        """The column after the last one."""
        return self.begin + self.width


@dataclass(frozen=True)
class Grid:
    """A block-cyclic layout of a matrix on px x py ranks, in pz layers of partial sums."""

    px: int
    py: int
    pz: int
    block: int
    shape: tuple[int, int]
    slices: int
    owner: Array

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.px * self.py * self.pz

    def rank(self, i: int, j: int, k: int) -> int:
        """Return the number of a rank by its place."""
        return (i * self.py + j) * self.pz + k

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return grid row, grid column and layer of a rank."""
        return rank // (self.py * self.pz), rank // self.pz % self.py, rank % self.pz

    def layers(self, i: int, j: int) -> list[int]:
        """Return the ranks of all layers at one place."""
        return [self.rank(i, j, k) for k in range(self.pz)]

    def column(self, j: int) -> list[int]:
        """Return the ranks of a grid column, layer by layer within each grid row."""
        return [rank for i in range(self.px) for rank in self.layers(i, j)]

    def steps(self) -> Iterator[Step]:
        """Yield the steps."""
        least = min(self.shape)
        for number, begin in enumerate(range(0, least, self.block)):
            yield Step(number, begin, min(self.block, least - begin))

    def rows(self, i: int) -> Array:
        """Return the rows of a grid row, ascending."""
        return np.asarray(np.flatnonzero(self.owner == i))

    def columns(self, j: int, begin: int = 0) -> Array:
        """Return the columns of a grid column from `begin` on, ascending."""
        every = np.arange(begin, self.shape[1])
        return np.asarray(every[every // self.block % self.py == j])


def cyclic(shape: tuple[int, int], grid: tuple[int, int, int], block: int) -> Grid:
    """Return the block-cyclic layout of a matrix on a grid of ranks."""
    px, py, pz = grid
    owner = np.arange(shape[0]) // block % px
    return Grid(px, py, pz, block, shape, px * pz, owner)


def checked_grid(grid: object, ranks: int | None = None) -> tuple[int, int, int]:
    """Return a grid as three whole numbers, whose product is `ranks` where that is given."""
    if not isinstance(grid, (tuple, list)) or len(grid) != 3:
        raise ValueError(f"grid: expected three whole numbers (px, py, pz), got {grid!r:.60}; grid=(2, 2, 1)")
    px, py, pz = (whole_number(one, "grid") for one in grid)
    if ranks is not None and px * py * pz != ranks:
        raise ValueError(
            f"grid: expected px * py * pz = {ranks}, the number of ranks, got {px} * {py} * {pz} = {px * py * pz}; "
            f"start {px * py * pz} ranks, or use another grid"
        )
    return px, py, pz


def checked_block(block: object, shape: tuple[int, int]) -> int:
    """Return the width of a step, at most the smaller side of the matrix."""
    found = whole_number(block, "block")
    if found > min(shape):
        raise ValueError(
            f"block: expected at most {min(shape)}, the smaller side of the matrix, got {found}; block={min(shape)}"
        )
    return found
