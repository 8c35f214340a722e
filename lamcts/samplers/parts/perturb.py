"""Candidates around a point: a box, perturbation of a few parameters, and moves that change discrete parameters.

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

# First step of a descent as a share of the box, and its factors after success and failure: longer steps overshoot,
# shorter ones stop above the minimum.
FIRST_STEP, STEP_GROWTH, STEP_SHRINKAGE = 0.1, 1.3, 0.4
DESCENT_STEPS = 8  # steps of a descent: more cost time, fewer stop above the minimum
MIN_INSIDE_SHARE = 0.25  # least share of candidates inside: more pulls cost time, fewer leave little to choose from


def box(centre: Floats, lengths: Floats, length: float) -> tuple[Floats, Floats]:
    """Return low and high [d] of the trust region around `centre` [d]; its sides are proportional to `lengths` [d].

    Before clipping to the cube, their geometric mean is `length` (Eriksson et al. 2019, arXiv 1910.01739, sec. 2).
    """
    shape = np.exp(np.log(lengths) - np.log(lengths).mean())  # [d]
    return np.maximum(centre - shape * length / 2, 0.0), np.minimum(centre + shape * length / 2, 1.0)


def masks(
    space: SearchSpace, shape: tuple[int, ...], perturb_dims: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which parameters to move, [*shape, b]: each with probability `perturb_dims / b`, at least one a row."""
    b = len(space.blocks)
    mask = rng.random((*shape, b)) < perturb_dims / b
    chosen = rng.integers(0, b, shape)
    is_empty = ~mask.any(-1)
    mask[is_empty, chosen[is_empty]] = True
    return mask


def moved(space: SearchSpace, start: Floats, x: Floats, mask: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Return `start` [m, d] with the masked parameters taken from `x` [m, d], snapped.

    `mask` [m, b]. A discrete parameter that snaps back to its value takes a random value instead.
    """
    widths = [block.stop - block.start for block in space.blocks]
    x = space.snap(np.where(np.repeat(mask, widths, axis=1), x, start))
    if space.continuous.all():
        return x
    firsts = [block.start for block in space.blocks]
    is_changed = np.logical_or.reduceat(x != start, firsts, axis=1)  # [m, b]
    is_stuck = mask & ~is_changed & ~np.logical_or.reduceat(space.continuous, firsts)
    redrawn = np.where(np.repeat(is_stuck, widths, axis=1), space.spread(rng.random(x.shape)), x)
    return space.snap(redrawn) if is_stuck.any() else x  # snapping resets inactive parameters


def candidates(
    region: Region, centre: Floats, low: Floats, high: Floats, m: int, perturb_dims: float, rng: np.random.Generator
) -> Floats:
    """Return at most `m` snapped points in the region and the box `low` to `high` [d]: perturbations of `centre` [d].

    Where few points of the box lie in the region, others are pulled towards the centre, which lies inside.
    """
    space = region.space
    x = low + rng.random((m, space.dim)) * (high - low)
    start = np.broadcast_to(centre, x.shape)
    x = moved(space, start, x, masks(space, (m,), perturb_dims, rng), rng)
    inside = region.contains(x)
    n_missing = math.ceil(MIN_INSIDE_SHARE * m) - np.count_nonzero(inside)
    if n_missing <= 0:
        return x[inside]
    pulled = bisect_into(x[~inside][:n_missing], centre, region)
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
    """Return the points `x` [k, d], each improved by gradient descent along its `free` [k, d] coordinates.

    `slope` maps points [k, d] to losses [k] and gradients [k, d]; row i may have a function of its own. A step that
    leaves the region, or does not improve, is undone and the next one is shorter. Only continuous coordinates may be
    free. Where some of them depend on each other, steps keep sums and are snapped.
    """
    if not free.any():
        return x.copy()  # nothing to improve
    free = free & active_coordinates(region.space, x)
    best = x.copy()
    values, gradient = slope(x)
    width = (high - low) * free  # [k, d]
    dependent = is_dependent(region.space)
    length = FIRST_STEP * np.sqrt(free.sum(1, keepdims=True))  # [k, 1]
    for _ in range(steps):
        direction = with_sums_kept(region.space, -gradient * width)
        direction /= np.maximum(np.sqrt((direction * direction).sum(1, keepdims=True)), TINY)
        x_new = np.where(free, np.clip(best + length * direction * width, low, high), best)
        x_new = region.space.snap(x_new) if dependent else x_new
        values_new, gradient_new = slope(x_new)
        is_better = values_new < values
        is_better[is_better] = region.contains(x_new[is_better])
        best[is_better] = x_new[is_better]
        values[is_better] = values_new[is_better]
        gradient[is_better] = gradient_new[is_better]
        length = np.where(is_better[:, None], STEP_GROWTH * length, STEP_SHRINKAGE * length)
    return best
