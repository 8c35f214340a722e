"""Candidates round a point: a box, a few parameters moved at a time, and moves that really change discrete ones.

Letters: m candidates, d coordinates, b parameters (blocks of coordinates that belong together).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import TINY
from lamcts.samplers.parts.session import bisect_into
from lamcts.spaces.base import SearchSpace, is_dependent, with_sums_kept
from lamcts.spaces.parameters import active_coordinates
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats

FIRST_STEP, STEP_GROWTH, STEP_SHRINKAGE = 0.1, 1.3, 0.4  # of descent: first step as a share of the box, its changes
# (untuned)
DESCENT_STEPS = 8  # of a draw or of a candidate, along the parameters that are free (untuned)
MIN_INSIDE_SHARE = 0.25  # share of candidates inside below which the others are pulled towards the centre (untuned)


def box(centre: Floats, lengths: Floats, length: float) -> tuple[Floats, Floats]:
    """Return low and high [d] of the trust region round `centre` [d]: sides `length`, shaped like `lengths` [d].

    The sides' geometric mean is `length` before the cube cuts them (Eriksson et al. 2019, arXiv 1910.01739, sec. 2).
    """
    shape = np.exp(np.log(lengths) - np.log(lengths).mean())  # [d]
    return np.maximum(centre - shape * length / 2, 0.0), np.minimum(centre + shape * length / 2, 1.0)


def masks(
    space: SearchSpace, shape: tuple[int, ...], perturb_dims: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which parameters to move, [*shape, b]: each with chance `perturb_dims / b`, at least one in every row."""
    b = len(space.blocks)
    mask = rng.random((*shape, b)) < perturb_dims / b
    chosen = rng.integers(0, b, shape)
    none = ~mask.any(-1)
    mask[none, chosen[none]] = True
    return mask


def moved(space: SearchSpace, start: Floats, x: Floats, mask: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Return `start` [m, d] with the masked parameters taken from `x` [m, d], snapped.

    `mask` [m, b]. A discrete parameter that snaps back to where it was takes any of its values instead.
    """
    widths = [block.stop - block.start for block in space.blocks]
    x = space.snap(np.where(np.repeat(mask, widths, axis=1), x, start))
    if space.continuous.all():
        return x
    firsts = [block.start for block in space.blocks]
    changed = np.logical_or.reduceat(x != start, firsts, axis=1)  # [m, b]
    stuck = mask & ~changed & ~np.logical_or.reduceat(space.continuous, firsts)
    other = np.where(np.repeat(stuck, widths, axis=1), space.spread(rng.random(x.shape)), x)
    return space.snap(other) if stuck.any() else x  # snapped: what is inactive there stays neutral


def candidates(
    region: Region, centre: Floats, low: Floats, high: Floats, m: int, perturb_dims: float, rng: np.random.Generator
) -> Floats:
    """Return at most `m` snapped points of the region and the box from `low` to `high` [d], each with some parameters
    of `centre` [d] moved.

    Where the region leaves little of the box, points outside are pulled towards the centre, which lies inside.
    """
    space = region.space
    x = low + rng.random((m, space.dim)) * (high - low)
    start = np.broadcast_to(centre, x.shape)
    x = moved(space, start, x, masks(space, (m,), perturb_dims, rng), rng)
    inside = region.contains(x)
    short = math.ceil(MIN_INSIDE_SHARE * m) - np.count_nonzero(inside)
    if short <= 0:
        return x[inside]
    pulled = bisect_into(x[~inside][:short], centre, region)
    return np.vstack([x[inside], pulled[region.contains(pulled)]])


def gradient_descent(
    region: Region,
    x: Floats,
    slope: Callable[[Floats], tuple[NDArray[np.floating], NDArray[np.floating]]],
    low: Floats,
    high: Floats,
    free: NDArray[np.bool_],
    steps: int = DESCENT_STEPS,
) -> Floats:
    """Return the points `x` [k, d], each improved along its `free` [k, d] coordinates by steps down a slope of its own.

    `slope` maps points [k, d] to losses [k] and gradients [k, d], row i of all belonging to `x[i]`. A step that leaves
    the region, or gains nothing, is taken back and the next one is shorter. Only continuous coordinates may be free.
    Where some of them depend on each other, steps keep sums and are snapped.
    """
    if not free.any():
        return x.copy()  # all parameters discrete, or no draw that is to go down
    free = free & active_coordinates(region.space, x)
    best, (values, gradient) = x.copy(), slope(x)
    width, dependent = (high - low) * free, is_dependent(region.space)  # [k, d]
    length = FIRST_STEP * np.sqrt(free.sum(1, keepdims=True))  # [k, 1]
    for _ in range(steps):
        way = with_sums_kept(region.space, -gradient * width)
        way /= np.maximum(np.sqrt((way * way).sum(1, keepdims=True)), TINY)
        here = np.where(free, np.clip(best + length * way * width, low, high), best)
        here = region.space.snap(here) if dependent else here
        found, new = slope(here)
        better = found < values
        better[better] = region.contains(here[better])
        best[better], values[better], gradient[better] = here[better], found[better], new[better]
        length = np.where(better[:, None], STEP_GROWTH * length, STEP_SHRINKAGE * length)
    return best
