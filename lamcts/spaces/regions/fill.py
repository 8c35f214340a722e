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

PROBE = 128  # draws over the whole space that tell whether rejection is worth it (untuned)
MIN_INSIDE_SHARE = 0.02  # share of them inside below which other ways are cheaper: a walk needs some 20 looks a point
DRAW_MARGIN = 1.2  # more draws than the share inside asks for, so that few rounds fall short (untuned)
MAX_DRAWS = 200_000  # by rejection, where it was asked for or nothing else is known (untuned)
DRAWS_PER_POINT = 10  # for each point of a space that has few: exp(-10) of them are never met
BLOCK_NUMBERS = 2_000_000  # numbers drawn at once: 16 MB
SCARCITY = 10  # a space of which less than 1/10 is left is listed: most draws would meet what is known (untuned)
FIRST_DRAWS, MAX_BLOCK = 64, 65_536  # draws of the whole space that look for what is left of it (untuned)
FRUITLESS_ROUNDS = 3  # rounds without a fresh point after which a discrete region counts as spent (untuned)


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
    if how == "auto" and (left := _listed(region.space, seen)) is not None:
        inside = left[region.contains(left)]
        return Fill(inside[rng.permutation(len(inside))[:n]], "listed", len(inside) / max(len(left), 1))
    catch = _Catch(region, n, seen)
    if how in ("auto", "rejection"):
        _reject(catch, rng, patient=how == "rejection")
        if catch.full or how == "rejection" or not region.steps:
            return catch.result("rejection" if region.steps else "sobol")
    rows = seen.x[region.rows]
    rows = rows[region.contains(rows)]
    if how == "polytope" or (how == "auto" and all(split.halfspace() is not None for split, _ in region.steps)):
        _repeat(catch, lambda m: inside_flat(region, rows, m, rng), checked=False)
        if len(catch.x) or how == "polytope":
            return catch.result("polytope")
    starts = rows if len(rows) else _search(region, rng)
    _repeat(catch, lambda m: (boxes if how == "boxes" else slice_sample)(region, starts, m, rng), checked=True)
    return catch.result("boxes" if how == "boxes" else "walk")


def draw_unseen(space: SearchSpace, seen: Observations, n: int, rng: np.random.Generator) -> Floats:
    """Return at most `n` distinct unevaluated points of the whole space, [k, d]."""
    if (left := _listed(space, seen)) is not None:
        return left[rng.permutation(len(left))[:n]]
    wanted = n if seen.repeat else min(n, space.size - seen.distinct)
    found = np.empty((0, space.dim))
    draws = max(n, FIRST_DRAWS)
    fruitless = 0
    while len(found) < wanted and fruitless < FRUITLESS_ROUNDS:  # ends: every point has a chance in every draw
        x = np.vstack([found, space.sample(draws, rng)])
        fresh = x[seen.unseen(x)][:n]
        fruitless += seen.keyed and draws >= MAX_BLOCK and len(fresh) == len(found)
        found, draws = fresh, min(2 * draws, MAX_BLOCK)
    if len(found) < wanted and not seen.repeat and (left := seen.remaining(lambda: rows_of(space))) is not None:
        return left[rng.permutation(len(left))[:n]]  # draws hardly ever meet what has few points of its kind
    return found


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
    what = "key" if hasattr(space, "key") else "point"  # of a range with few floats
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
        self.region, self.n, self._seen = region, n, seen
        self.x = np.empty((0, region.space.dim))
        self.drawn = self.inside = 0

    @property
    def full(self) -> bool:
        return len(self.x) >= self.n

    @property
    def missing(self) -> int:
        return self.n - len(self.x)

    def put(self, x: Floats, drawn: int, checked: bool = False) -> int:
        """Keep the unevaluated rows of `x` that are inside (if `checked`, all are); return how many were kept."""
        x = self.region.space.snap(x)
        if not checked:
            x = x[self.region.contains(x)]
        self.drawn += drawn
        self.inside += len(x)
        known = len(self.x)
        both = np.vstack([self.x, x])
        fresh = np.ones(len(both), bool)
        fresh[known:] = self._seen.unseen(both)[known:]
        self.x = both[fresh][: self.n]
        return len(self.x) - known

    def clear(self) -> None:
        """Discard all points, so that the result is not a mixture of two methods."""
        self.x = self.x[:0]
        self.drawn = self.inside = 0

    def result(self, how: str) -> Fill:
        return Fill(self.x, how, self.inside / self.drawn if self.drawn else 0.0)


def _reject(catch: _Catch, rng: np.random.Generator, patient: bool) -> None:
    """Draw from the whole space until enough points are inside, or the share inside is too small."""
    space = catch.region.space
    most = MAX_DRAWS if patient else math.inf
    if space.size <= MAX_DRAWS / DRAWS_PER_POINT:
        most, patient = DRAWS_PER_POINT * space.size, True  # few enough to have met nearly every point
    fruitless = 0
    while not catch.full and catch.drawn < most and (fruitless < FRUITLESS_ROUNDS or patient):
        wanted = (
            catch.missing
            if not catch.drawn
            else math.ceil(DRAW_MARGIN * catch.missing * catch.drawn / (catch.inside or 1))
        )
        count = int(min(max(wanted, PROBE), max(BLOCK_NUMBERS // space.dim, PROBE)))
        if catch.region.steps and not catch.drawn:
            count = PROBE
        fruitless = 0 if catch.put(space.spread(sobol(count, space.dim, rng)), count) else fruitless + 1
        if not patient and catch.inside < MIN_INSIDE_SHARE * catch.drawn:
            break
    if not catch.full and not patient and catch.region.steps:
        catch.clear()


def _repeat(catch: _Catch, draw: Callable[[int], tuple[Floats, int]], checked: bool) -> None:
    """Call `draw(missing) -> (points, draws)` until enough points are found or nothing new comes."""
    fruitless = 0
    while not catch.full and fruitless < FRUITLESS_ROUNDS:
        x, looks = draw(catch.missing)
        fruitless = 0 if catch.put(x, looks, checked) else fruitless + 1


def _search(region: Region, rng: np.random.Generator) -> Floats:
    """Return a point inside by long rejection, [1, d]; [0, d] if none is found."""
    search = _Catch(region, 1, Observations(region.space.dim, repeat=True))
    _reject(search, rng, patient=True)
    return search.x
