"""What samplers share about proposals: snapped, inside the region, and never a point that is known already."""

import math

import numpy as np
from numpy.typing import NDArray

from lamcts.observations import Observations
from lamcts.regions.fill import fill
from lamcts.regions.region import Region
from lamcts.types import Floats, Rows

UNIFORM_SPREAD = 12**-0.5  # standard deviation of a coordinate that is uniform in [0, 1]
NARROWEST = 2**-7  # of the space's width, as TuRBO's smallest box: a region whose rows all coincide is no narrower
CHUNK = 2000  # rows whose distances are taken at once: in 1000 dimensions 16 MB
HALVINGS = 30  # 2**-30 of the way is nearer than any boundary matters; on a grid the anchor is reached long before


class Batch:
    """The points of one ask while it is being made: `x` [k, d] are snapped, inside, fresh and distinct."""

    def __init__(self, region: Region, seen: Observations, size: int) -> None:
        self.region, self.seen, self.size = region, seen, size
        self.x = np.empty((0, seen.dim))

    @property
    def missing(self) -> int:
        return self.size - len(self.x)

    @property
    def open(self) -> bool:
        """Whether there is room, and a point left in the space that is not known."""
        left = self.seen.repeat or self.seen.distinct + len(self.x) < self.region.space.size
        return bool(self.missing) and left

    def take(self, x: Floats) -> NDArray[np.bool_]:
        """Take the rows of `x` [k, d] that will do, in order, while there is room; return which were taken, [k].

        Rows are taken as they are: snap them first.
        """
        taken = np.zeros(len(x), bool)
        inside = np.flatnonzero(self.region.contains(x))
        fresh = self.seen.unseen(np.vstack([self.x, x[inside]]))[len(self.x) :]
        taken[inside[fresh][: self.missing]] = True
        self.x = np.vstack([self.x, x[taken]])
        return taken

    def fill(self, rng: np.random.Generator) -> None:
        """Fill the room that is left with draws of the region; fewer if it holds no more fresh points."""
        known = math.isfinite(self.region.space.size)  # draws of a small region may repeat what the batch holds
        while self.open:
            drawn = fill(self.region, self.missing + known * len(self.x), rng, self.seen).x
            if not self.take(drawn).any():
                break

    def begin(self, n: int, rng: np.random.Generator) -> None:
        """Take at most `n` draws of the whole region."""
        first = Batch(self.region, self.seen, min(self.size, n))
        first.fill(rng)
        self.take(first.x)


def centre(region: Region, seen: Observations, incumbent: int | None) -> Floats | None:
    """Return the point [d] of the incumbent, or of the region's best row where it lies outside; None: no row inside."""
    row = incumbent
    if row is None or not region.contains(seen.x[[row]])[0]:
        row = int(region.rows[np.argmin(seen.y[region.rows])]) if len(region.rows) else None
    return None if row is None else seen.x[row]


def bisect_into(x: Floats, anchor: Floats, region: Region) -> Floats:
    """Halve the way from each row of `x` [k, d] to `anchor` [d] until it lies inside; return them snapped, [k, d].

    Rows that stay outside after all halvings come back outside.
    """
    x = x.copy()
    snapped = region.space.snap(x)
    for _ in range(HALVINGS):
        outside = np.flatnonzero(~region.contains(snapped))
        if not len(outside):
            break
        x[outside] = (x[outside] + anchor) / 2
        snapped[outside] = region.space.snap(x[outside])
    return snapped


def distances(seen: Observations, rows: Rows, x: Floats) -> tuple[Floats, Floats]:
    """Return squared Euclidean and largest coordinate-wise distances of `rows` from `x` [d], both [n]."""
    squares, largest = np.empty(len(rows)), np.empty(len(rows))
    for i in range(0, len(rows), CHUNK):
        gap = seen.x[rows[i : i + CHUNK]] - x
        squares[i : i + CHUNK] = np.einsum("ij,ij->i", gap, gap)
        largest[i : i + CHUNK] = np.abs(gap, out=gap).max(axis=1)
    return squares, largest


def width(region: Region, seen: Observations) -> float:
    """Return the width of a region as a share of the space's, by the spread of the rows inside."""
    if not region.steps or len(region.rows) < 2:
        return 1.0
    spread = math.sqrt(float(seen.x[region.rows].var(0).mean()))
    return min(max(spread / UNIFORM_SPREAD, NARROWEST), 1.0)
