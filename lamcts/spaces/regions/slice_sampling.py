"""Slice sampling of a region of any shape, from points inside.

Letters: c chains or points wanted, m start points, d dimensions.
"""

from dataclasses import replace

import numpy as np

from lamcts.spaces.regions.region import Region
from lamcts.spaces.regions.sobol import sobol
from lamcts.types import Floats

LOOKS_PER_POINT = 24  # looks at the region that a walk may spend on each point: four to six moves (untuned)
MAX_LOOK_NUMBERS = 5_000_000  # coordinates to look at beyond which it spends fewer, to stay below a second or two
PROBE = 64  # points that tell which splits say no most often (untuned)
MAX_SHRINKS = 60  # of one move: by then it is some 2^-60 of the cube wide; the chain stays where it is
FIRST_SIDE = 1e-4  # half the side of the first box (thesis 5.3)
OUTSIDE_SHARE = 0.1  # a box grows until this share of its points is outside (thesis fig. 5.4)
PER_BOX = 8  # Sobol points in a box, of which one is about OUTSIDE_SHARE (untuned)
MOVED_SHARE = 0.5  # share of the coordinates that every other move changes (untuned)


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
    looks, turn, most = 0, 0, min(LOOKS_PER_POINT * c, max(MAX_LOOK_NUMBERS / x.shape[1], c))
    while looks < most:
        looks += _move(region, x, rng, whole=turn % 2 == 0)
        turn += 1
    return x, looks


def _move(region: Region, x: Floats, rng: np.random.Generator, whole: bool) -> int:
    """Move every row of `x` [c, d] in place; return the number of draws."""
    low, high = np.zeros_like(x), np.ones_like(x)
    if not whole:
        keep = rng.random(x.shape) < 1 - MOVED_SHARE
        low[keep] = high[keep] = x[keep]
    going, looks = np.arange(len(x)), 0
    for _ in range(MAX_SHRINKS):
        new = low[going] + (high[going] - low[going]) * rng.random((len(going), x.shape[1]))
        inside = region.contains(region.space.snap(new))
        looks += len(going)
        x[going[inside]] = new[inside]
        going, new = going[~inside], new[~inside]
        if not len(going):
            break
        left = new < x[going]
        low[going] = np.where(left, new, low[going])
        high[going] = np.where(left, high[going], new)
    return looks


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
    kept = np.zeros((b, PER_BOX), bool)
    growing, side, looks = np.arange(b), FIRST_SIDE, 0
    while len(growing) and side < 2:
        low = np.maximum(centre[growing] - side, 0)[:, None]
        high = np.minimum(centre[growing] + side, 1)[:, None]
        new = low + (high - low) * unit[growing]
        inside = region.contains(region.space.snap(new.reshape(-1, d))).reshape(-1, PER_BOX)
        looks += inside.size
        some = inside.any(1)  # a box that has left the region altogether keeps its last size
        x[growing[some]], kept[growing[some]] = new[some], inside[some]
        growing, side = growing[inside.mean(1) > 1 - OUTSIDE_SHARE], 2 * side
    return x[kept], looks


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
