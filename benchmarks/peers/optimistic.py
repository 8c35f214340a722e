"""Optimistic optimisation on a tree of boxes: Munos, "Optimistic optimization of a deterministic function without the
knowledge of its smoothness", NeurIPS 2011. A box is evaluated at its centre and cut in three along its longest side;
the middle third keeps its parent's value. The root's centre is the cube's: both methods ignore given starts but x0.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.search import Floats, Search


@dataclass(frozen=True, eq=False)
class Cell:
    centre: Floats  # [d]
    side: Floats  # [d]
    depth: int
    loss: float

    def split(self, search: Search) -> list["Cell"]:
        """Return its thirds along the longest side; two of them are evaluated."""
        axis = int(np.argmax(self.side))
        step = np.zeros(search.dim)
        step[axis] = self.side[axis] / 3
        side = self.side.copy()
        side[axis] /= 3
        outer = [self.centre - step, self.centre + step]
        thirds = [Cell(centre, side, self.depth + 1, _loss(search(centre))) for centre in outer]
        return [*thirds, Cell(self.centre, side, self.depth + 1, self.loss)]


def soo(search: Search) -> None:
    """Simultaneous: in each round, the best leaf of each depth that beats all shallower ones; depth at most sqrt(t)."""
    by_depth = {0: [_root(search)]}
    expanded = 0
    while search.left:
        best = math.inf
        for depth in range(min(max(by_depth), math.isqrt(expanded)) + 1):
            leaves = by_depth.get(depth, [])
            if leaves and (leaf := min(leaves, key=lambda cell: cell.loss)).loss <= best:
                best = leaf.loss
                leaves.remove(leaf)
                by_depth.setdefault(depth + 1, []).extend(leaf.split(search))
                expanded += 1


def doo(search: Search) -> None:
    """Deterministic: always the leaf of the lowest bound, loss - L r, r the half diagonal of its box.

    The paper takes the slope L as known; here it is the steepest seen between a box's centre and its children's.
    """
    leaves = [_root(search)]
    slope = 0.0
    while search.left:
        radii = np.array([np.linalg.norm(cell.side) / 2 for cell in leaves])
        losses = np.array([cell.loss for cell in leaves])
        leaf = leaves.pop(int(np.argmin(losses - slope * radii)))
        for cell in leaf.split(search):
            away = float(np.linalg.norm(cell.centre - leaf.centre))
            if away and math.isfinite(cell.loss) and math.isfinite(leaf.loss):
                slope = max(slope, abs(cell.loss - leaf.loss) / away)
            leaves.append(cell)


def _root(search: Search) -> Cell:
    search.first()
    centre = np.full(search.dim, 0.5)
    return Cell(centre, np.ones(search.dim), 0, _loss(search(centre)))


def _loss(value: float) -> float:
    return value if math.isfinite(value) else math.inf
