"""Sampling of a region: the methods, and the choice among them.

Letters: n points wanted, k points found, d dimensions.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace, rows_of
from lamcts.spaces.regions.hit_and_run import inside_flat
from lamcts.spaces.regions.region import Region
from lamcts.spaces.regions.slice_sampling import boxes, slice_sample
from lamcts.spaces.regions.sobol import sobol
from lamcts.types import Floats

How = Literal["auto", "rejection", "polytope", "walk", "boxes"]
WAYS = ("auto", "rejection", "polytope", "walk", "boxes")

PROBE = 128  # first draws, which estimate the share inside: 2.6 of them at `MIN_INSIDE_SHARE`
MIN_INSIDE_SHARE = 0.02  # share inside below which other methods are cheaper: a walk needs some 20 looks a point
DRAW_MARGIN = 1.2  # factor of the expected number of draws: a larger one wastes draws, a smaller one needs more rounds
MAX_DRAWS = 200_000  # by rejection alone: a region with less than 1/200,000 of the volume may yield no point
DRAWS_PER_POINT = 10  # of a space with few points, of which the share exp(-10) is then never drawn
BLOCK_NUMBERS = 2_000_000  # numbers drawn at once: 16 MB
SCARCITY = 10  # a space with less than 1/10 unseen points is listed: nine of ten draws would be known
FIRST_DRAWS = 64  # of the whole space in search of unseen points, doubled each round
MAX_BLOCK = 65_536  # largest number of draws in a round
FRUITLESS_ROUNDS = 3  # rounds without a new point after which a discrete region counts as exhausted


class Fill(NamedTuple):
    """Points of a region and how they were drawn."""

    x: Floats  # [k, d], the points, in the unit cube
    how: str  # the method
    acceptance: float  # share of the draws that fell inside


def fill(region: Region, n: int, rng: np.random.Generator, seen: Observations, how: How = "auto") -> Fill:
    """Return distinct unevaluated points inside a region, snapped to its space.

    Parameters
    ----------
    region : Region
        The region.
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of randomness.
    seen : Observations
        Evaluated and pending points, which are not returned.
    how : {"auto", "rejection", "polytope", "walk", "boxes"}, default "auto"
        The method. "auto" uses the first that works.

    Returns
    -------
    Fill
        At most `n` points. Fewer only where a discrete region is exhausted, or no point inside is found.

    Raises
    ------
    ValueError
        For an unknown method, or for "polytope" with a split that is not flat.

    Notes
    -----
    "rejection" filters Sobol points of the whole space. "polytope" is hit-and-run with exact chords, for flat splits.
    "walk" is slice sampling from the rows inside. All three are uniform. "boxes" draws in Sobol boxes around the rows
    that grow until a share is outside (thesis fig. 5.4). `Fill.how` may also be "listed", where few points of a finite
    space are left, or "sobol" for the whole space.

    Examples
    --------
    >>> import lamcts, numpy as np
    >>> from lamcts.spaces.regions import draw
    >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
    >>> draw(opt.region(), 5, np.random.default_rng(0), opt.seen).x.shape
    (5, 2)
    """
    if how not in WAYS:
        raise ValueError(f"fill: expected how to be one of {', '.join(WAYS)}, got {how!r}")
    if how == "polytope" and any(split.halfspace() is None for split, _ in region.steps):
        raise ValueError("fill: how='polytope' needs flat splits on the whole path; use how='walk' or 'auto'")
    if how == "auto" and (remaining := _listed(region.space, seen)) is not None:
        inside = remaining[region.contains(remaining)]
        return Fill(inside[rng.permutation(len(inside))[:n]], "listed", len(inside) / max(len(remaining), 1))
    catch = _Catch(region, n, seen)
    if how in ("auto", "rejection"):
        _reject(catch, rng, is_patient=how == "rejection")
        if catch.is_full or how == "rejection" or not region.steps:
            return catch.result("rejection" if region.steps else "sobol")
    rows = seen.x[region.rows]
    rows = rows[region.contains(rows)]
    if how == "polytope" or (how == "auto" and all(split.halfspace() is not None for split, _ in region.steps)):
        _repeat(catch, lambda m: inside_flat(region, rows, m, rng), is_checked=False)
        if len(catch.x) or how == "polytope":
            return catch.result("polytope")
    starts = rows if len(rows) else _search(region, rng)
    _repeat(catch, lambda m: (boxes if how == "boxes" else slice_sample)(region, starts, m, rng), is_checked=True)
    return catch.result("boxes" if how == "boxes" else "walk")


def draw_unseen(space: SearchSpace, seen: Observations, n: int, rng: np.random.Generator) -> Floats:
    """Return at most `n` distinct unevaluated points of the whole space, [k, d]."""
    if (remaining := _listed(space, seen)) is not None:
        return remaining[rng.permutation(len(remaining))[:n]]
    wanted = n if seen.repeat else min(n, space.size - seen.distinct)
    unseen = np.empty((0, space.dim))
    draws = max(n, FIRST_DRAWS)
    n_fruitless = 0
    while len(unseen) < wanted and n_fruitless < FRUITLESS_ROUNDS:  # ends, since each draw may be any point
        x = np.vstack([unseen, space.sample(draws, rng)])
        fresh = x[seen.unseen(x)][:n]
        n_fruitless += seen.keyed and draws >= MAX_BLOCK and len(fresh) == len(unseen)
        unseen = fresh
        draws = min(2 * draws, MAX_BLOCK)
    if len(unseen) < wanted and not seen.repeat and (remaining := seen.remaining(lambda: rows_of(space))) is not None:
        return remaining[rng.permutation(len(remaining))[:n]]  # draws rarely meet a member with few points
    return unseen


def nothing_left(space: SearchSpace, seen: Observations) -> str:
    """Return the reason for an empty result of `draw_unseen`."""
    if not seen.keyed:
        return f"all {space.size:.0f} points of the space have been handed out; repeat=True allows repeats"
    if hasattr(space, "holds"):
        return (
            f"found no valid point that is new, {seen.distinct} are known; valid points are rare, or were all proposed"
        )
    if seen.repeat:
        return "found no point of the space whose key is not None"
    what = "key" if hasattr(space, "key") else "point"  # a range with few floats has no key
    return f"found no {what} that is new, {seen.distinct} are known; repeat=True allows repeats"


def _listed(space: SearchSpace, seen: Observations) -> Floats | None:
    """Return the remaining points of a space that is nearly exhausted, [k, d]; None where draws suffice."""
    if seen.repeat or math.isinf(space.size):
        return None
    if SCARCITY * (space.size - seen.distinct) > space.size and not (
        seen.keyed and SCARCITY * seen.distinct > space.size
    ):
        return None
    return seen.remaining(lambda: rows_of(space))


class _Catch:
    """Points found so far, and the number of draws of the current method."""

    def __init__(self, region: Region, n: int, seen: Observations) -> None:
        self.region = region
        self.n = n
        self._seen = seen
        self.x = np.empty((0, region.space.dim))
        self.n_drawn = self.n_inside = 0

    @property
    def is_full(self) -> bool:
        return len(self.x) >= self.n

    @property
    def n_missing(self) -> int:
        return self.n - len(self.x)

    def put(self, x: Floats, n_drawn: int, is_checked: bool = False) -> int:
        """Keep the unevaluated rows of `x` inside (all are, if `is_checked`); return their number."""
        x = self.region.space.snap(x)
        if not is_checked:
            x = x[self.region.contains(x)]
        self.n_drawn += n_drawn
        self.n_inside += len(x)
        n_known = len(self.x)
        points = np.vstack([self.x, x])
        is_fresh = np.ones(len(points), bool)
        is_fresh[n_known:] = self._seen.unseen(points)[n_known:]
        self.x = points[is_fresh][: self.n]
        return len(self.x) - n_known

    def clear(self) -> None:
        """Discard all points, so that the result is not a mixture of two methods."""
        self.x = self.x[:0]
        self.n_drawn = self.n_inside = 0

    def result(self, how: str) -> Fill:
        return Fill(self.x, how, self.n_inside / self.n_drawn if self.n_drawn else 0.0)


def _reject(catch: _Catch, rng: np.random.Generator, is_patient: bool) -> None:
    """Draw from the whole space until enough points are inside, or the share inside is too small."""
    space = catch.region.space
    most = MAX_DRAWS if is_patient else math.inf
    if space.size <= MAX_DRAWS / DRAWS_PER_POINT:
        most = DRAWS_PER_POINT * space.size  # few enough to have met nearly every point
        is_patient = True
    n_fruitless = 0
    while not catch.is_full and catch.n_drawn < most and (n_fruitless < FRUITLESS_ROUNDS or is_patient):
        wanted = (
            catch.n_missing
            if not catch.n_drawn
            else math.ceil(DRAW_MARGIN * catch.n_missing * catch.n_drawn / (catch.n_inside or 1))
        )
        count = int(min(max(wanted, PROBE), max(BLOCK_NUMBERS // space.dim, PROBE)))
        if catch.region.steps and not catch.n_drawn:
            count = PROBE
        n_fruitless = 0 if catch.put(space.spread(sobol(count, space.dim, rng)), count) else n_fruitless + 1
        if not is_patient and catch.n_inside < MIN_INSIDE_SHARE * catch.n_drawn:
            break
    if not catch.is_full and not is_patient and catch.region.steps:
        catch.clear()


def _repeat(catch: _Catch, draw: Callable[[int], tuple[Floats, int]], is_checked: bool) -> None:
    """Call `draw(missing) -> (points, draws)` until enough points are found or nothing new comes."""
    n_fruitless = 0
    while not catch.is_full and n_fruitless < FRUITLESS_ROUNDS:
        x, n_draws = draw(catch.n_missing)
        n_fruitless = 0 if catch.put(x, n_draws, is_checked) else n_fruitless + 1


def _search(region: Region, rng: np.random.Generator) -> Floats:
    """Return a point inside by long rejection, [1, d]; [0, d] if none is found."""
    search = _Catch(region, 1, Observations(region.space.dim, repeat=True))
    _reject(search, rng, is_patient=True)
    return search.x
