"""Slice sampling of a region of any shape, from points inside.

Letters: c chains or points wanted, m start points, d dimensions.
"""

from dataclasses import replace

import numpy as np

from lamcts.spaces.regions.region import Region
from lamcts.spaces.regions.sobol import sobol
from lamcts.types import Floats

LOOKS_PER_POINT = 24  # draws for each point, four to six moves: more cost time, fewer leave points near their starts
MAX_LOOK_NUMBERS = 5_000_000  # coordinates of all draws, a second or two: beyond, each point gets fewer draws
PROBE = 64  # points that order the splits by their rejections; the order affects the time alone
MAX_SHRINKS = 60  # of one move: the box is then some 2^-60 of the cube wide, and the chain keeps its point
FIRST_SIDE = 1e-4  # half the side of the first box (thesis 5.3)
OUTSIDE_SHARE = 0.1  # a box grows until this share of its points is outside (thesis fig. 5.4)
PER_BOX = 8  # Sobol points in a box, the power of 2 of which a single point is nearest to OUTSIDE_SHARE
MOVED_SHARE = 0.5  # share of coordinates in every other move: a smaller one has fewer misses and moves less


def slice_sample(region: Region, starts: Floats, c: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Return the ends of `c` walks from `starts` [m, d], all inside [c, d] (unsnapped), and the number of draws.

    A move draws from the whole cube, and after a miss from a box that shrinks around the old point (Neal 2003, section
    5.1). The uniform distribution is invariant. Every other move changes a random half of the coordinates, as a miss
    then costs less.
    """
    if not len(starts):
        return np.empty((0, region.space.dim)), 0
    region = _keenest_first(region, starts, rng)
    x = starts[_deal(len(starts), c, rng)]  # [c, d]
    n_looks = 0
    turn = 0
    max_looks = min(LOOKS_PER_POINT * c, max(MAX_LOOK_NUMBERS / x.shape[1], c))
    while n_looks < max_looks:
        n_looks += _move(region, x, rng, is_full=turn % 2 == 0)
        turn += 1
    return x, n_looks


def _move(region: Region, x: Floats, rng: np.random.Generator, is_full: bool) -> int:
    """Move every row of `x` [c, d] in place; return the number of draws."""
    low = np.zeros_like(x)
    high = np.ones_like(x)
    if not is_full:
        is_kept = rng.random(x.shape) < 1 - MOVED_SHARE
        low[is_kept] = high[is_kept] = x[is_kept]
    moving = np.arange(len(x))
    n_looks = 0
    for _ in range(MAX_SHRINKS):
        new = low[moving] + (high[moving] - low[moving]) * rng.random((len(moving), x.shape[1]))
        inside = region.contains(region.space.snap(new))
        n_looks += len(moving)
        x[moving[inside]] = new[inside]
        moving = moving[~inside]
        new = new[~inside]
        if not len(moving):
            break
        is_below = new < x[moving]
        low[moving] = np.where(is_below, new, low[moving])
        high[moving] = np.where(is_below, high[moving], new)
    return n_looks


def boxes(region: Region, starts: Floats, c: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Return about `c` points inside [k, d] (unsnapped) from boxes around `starts` [m, d], and the number of draws.

    Each box holds `PER_BOX` scrambled Sobol points and doubles until `OUTSIDE_SHARE` of them are outside; others are
    kept (thesis fig. 5.4, which grows the box in smaller steps).
    """
    if not len(starts):
        return np.empty((0, region.space.dim)), 0
    region = _keenest_first(region, starts, rng)
    centre = starts[_deal(len(starts), -(-c // PER_BOX), rng)]  # [b, d]
    b, d = centre.shape
    unit = sobol(b * PER_BOX, d, rng).reshape(b, PER_BOX, d)
    x = np.repeat(centre[:, None], PER_BOX, axis=1)  # [b, PER_BOX, d]
    is_inside = np.zeros((b, PER_BOX), bool)
    growing = np.arange(b)
    side = FIRST_SIDE
    n_looks = 0
    while len(growing) and side < 2:
        low = np.maximum(centre[growing] - side, 0)[:, None]
        high = np.minimum(centre[growing] + side, 1)[:, None]
        new = low + (high - low) * unit[growing]
        inside = region.contains(region.space.snap(new.reshape(-1, d))).reshape(-1, PER_BOX)
        n_looks += inside.size
        has_inside = inside.any(1)  # a box that has left the region altogether keeps its last size
        x[growing[has_inside]] = new[has_inside]
        is_inside[growing[has_inside]] = inside[has_inside]
        growing = growing[inside.mean(1) > 1 - OUTSIDE_SHARE]
        side = 2 * side
    return x[is_inside], n_looks


def _keenest_first(region: Region, starts: Floats, rng: np.random.Generator) -> Region:
    """Return the same region with its splits reordered: those that reject most points first."""
    x = starts[rng.integers(len(starts), size=PROBE)]
    x = region.space.snap(x + (rng.random(x.shape) - x) * rng.random((PROBE, 1)))
    misses = [np.count_nonzero(split.good(x) != good) for split, good in region.steps]
    order = sorted(range(len(misses)), key=lambda i: -misses[i])
    return replace(region, steps=tuple(region.steps[i] for i in order))


def _deal(m: int, c: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return `c` numbers below `m`, each equally often up to one."""
    rounds = [rng.permutation(m) for _ in range(-(-c // m))]
    return np.concatenate([*rounds, np.empty(0, np.int64)])[:c]
