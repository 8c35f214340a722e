"""Hit-and-run sampling of a polytope: the unit cube cut by the half-spaces of a region's path.

Letters: c chains, d dimensions, h half-spaces.
"""

from typing import Any

import numpy as np

from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

MIN_CHAINS = 64  # chains at least: the differences of 32 chains are the directions of the others
# Numbers of moves that mix well: tests/spaces/regions/test_fill.py compares moments at d = 50 with a long run.
SWEEPS = 8  # rounds of moves
DIFFERENCE_MOVES = 4  # moves along differences in each round
AXIS_MOVES = 3  # moves along each bent axis, over all rounds
MAX_AXIS_NUMBERS = 100_000_000  # largest number of coordinates in these moves, some half a second: reached at d = 500
# (measured at commit 7f0b6325 by benchmarks/optimizer/fill_region.py)
ROUNDING = 1e-12  # coordinates and squared lengths of a bent axis that are rounding errors: `pinv` amplifies 1e-16


def inside_flat(region: Region, starts: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Return `n` uniform points of the region [n, d] (unsnapped), and the number of draws; none without an interior.

    A move draws the new point uniformly from the chord through the old one, whose ends are exact, so nothing is
    rejected. Chords run along the axes, along axes bent parallel to all half-spaces, and along differences of two other
    chains (Goodman and Weare 2010). The first mixes fast in the cube, the second between close parallel half-spaces,
    the third in other thin shapes. Chains start at `starts` [m, d], else at the centre of the largest ball inside.
    """
    w, b = _halfspaces(region)  # [h, d], [h]
    if not len(starts):
        centre = _centre(w, b)
        if centre is None:
            return np.empty((0, region.space.dim)), n
        starts = centre[None]
    c = max(n, MIN_CHAINS) + max(n, MIN_CHAINS) % 2  # even: halves lend each other their directions
    x = starts[rng.integers(len(starts), size=c)]  # [c, d]
    bent = np.concatenate([rng.permutation(x.shape[1]) for _ in range(AXIS_MOVES)])[: MAX_AXIS_NUMBERS // x.size]
    for axes in np.array_split(bent, SWEEPS):
        _along_axes(x, w, b, rng)
        _bent(axes, x, w, b, rng)
        for _ in range(DIFFERENCE_MOVES):
            _across(x, w, b, rng)
    return x[rng.permutation(c)[:n]], n


def _halfspaces(region: Region) -> tuple[Floats, Floats]:
    """Return w [h, d] and b [h]: the region is `w @ x + b >= 0` in the cube."""
    rows = [np.empty((0, region.space.dim))]
    levels = []
    for split, side in region.steps:
        flat = split.halfspace()
        if flat is None:
            raise ValueError("expected flat splits on the whole path, got a curved one; use fill(how='walk')")
        rows.append((flat[0] if side else -flat[0])[None])
        levels.append(flat[1] if side else -flat[1])
    return np.vstack(rows), np.array(levels, np.float64)


def _centre(w: Floats, b: Floats) -> Floats | None:
    """Return the centre of the largest ball inside [d], None without an interior."""
    from scipy.optimize import linprog

    d = w.shape[1]
    facets = np.vstack([w, np.eye(d), -np.eye(d)])  # [h + 2d, d], the sides of the cube among them
    size = np.sqrt(np.square(facets).sum(1))  # moving by r at worst costs r * size of the slack
    level = np.concatenate([b, np.zeros(d), np.ones(d)])
    result: Any = linprog(np.append(np.zeros(d), -1.0), np.column_stack([-facets, size]), level, bounds=(0, 1))
    return np.asarray(result.x[:d]) if result.status == 0 and result.x[d] > 0 else None


def _along_axes(x: Floats, w: Floats, b: Floats, rng: np.random.Generator) -> None:
    """Move every chain once along every axis, in place."""
    c, d = x.shape
    column = np.ascontiguousarray(x.T)  # [d, c]
    slack = w @ column + b[:, None]  # [h, c]
    share = rng.random((d, c))
    for j in rng.permutation(d):
        low = -column[j]  # steps that stay in the cube
        high = 1 - column[j]
        slope = w[:, j]
        for is_facing, is_upper in ((slope > 0, False), (slope < 0, True)):
            if is_facing.any():
                reach = slack[is_facing] / -slope[is_facing, None]
                low, high = (low, np.minimum(high, reach.min(0))) if is_upper else (np.maximum(low, reach.max(0)), high)
        step = np.minimum(low, 0)  # rounding may have put a chain a little outside: 0 always stays allowed
        step += (np.maximum(high, 0) - step) * share[j]
        column[j] += step
        slack += slope[:, None] * step
    np.clip(column.T, 0, 1, out=x)


def _across(x: Floats, w: Floats, b: Floats, rng: np.random.Generator) -> None:
    """Move each half of the chains along differences within the other half, in place."""
    halves = np.split(rng.permutation(len(x)), 2)
    for mine, others in (halves, halves[::-1]):
        first = rng.permutation(others)
        direction = x[first] - x[np.roll(first, 1)]
        old = x[mine]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = np.stack([-old / direction, (1 - old) / direction])  # [2, c / 2, d]
        ends = np.where(direction == 0, [[[-np.inf]], [[np.inf]]], ends)
        low, high = _chord(ends.min(0).max(1), ends.max(0).min(1), old @ w.T + b, direction @ w.T)
        x[mine] = np.clip(old + _step(low, high, rng)[:, None] * direction, 0, 1)


def _bent(axes: Rows, x: Floats, w: Floats, b: Floats, rng: np.random.Generator) -> None:
    """Move every chain along `axes` [a] bent parallel to all half-spaces, in place."""
    directions = np.eye(x.shape[1])[axes] - np.linalg.pinv(w)[axes] @ w  # [a, d]: directions @ w.T is zero
    for direction in directions[np.square(directions).sum(1) > ROUNDING]:  # d half-spaces may leave none
        is_used = np.abs(direction) > ROUNDING
        rate = 1 / direction[is_used]
        is_rising = direction[is_used] > 0
        travelled = x[:, is_used] * rate
        low = (np.where(is_rising, 0, rate) - travelled).max(1)
        high = (np.where(is_rising, rate, 0) - travelled).min(1)
        direction = np.where(is_used, direction, 0)
        low, high = _chord(low, high, x @ w.T + b, np.broadcast_to(w @ direction, (len(x), len(w))))
        x += _step(low, high, rng)[:, None] * direction
        np.clip(x, 0, 1, out=x)


def _step(low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Return steps uniform in [low, high] [c], 0 where two chains coincide."""
    is_finite = np.isfinite(high - low)
    return np.asarray(np.where(is_finite, low, 0) + np.where(is_finite, high - low, 0) * rng.random(len(low)))


def _chord(low: Floats, high: Floats, slack: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Return [low, high] [c] cut to steps with `slack + step * slope >= 0` [c, h]; 0 stays allowed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = -slack / slope
    low = np.maximum(low, np.where(slope > 0, reach, -np.inf).max(1, initial=-np.inf))
    high = np.minimum(high, np.where(slope < 0, reach, np.inf).min(1, initial=np.inf))
    return np.minimum(low, 0), np.maximum(high, 0)
