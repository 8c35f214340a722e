"""The statistics of the tables: paired bootstrap of medians, ranks with support.

Scores are lower-is-better (see `Problem.score`). Runs are paired: row i of every method is the same seed, the same
instance, the same start. A bootstrap draws seeds, never runs of one method alone. Letters: n seeds, m methods.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 10_000
CONFIDENCE = 0.95  # one-sided
SUPPORT = 0.9  # share of draws in which the first has to be first


class Difference(NamedTuple):
    """The median of n paired differences and its one-sided limits."""

    median: float
    lower: float
    upper: float
    n: int


def resamples(n: int, draws: int = DRAWS) -> NDArray[np.int64]:
    """Return `draws` draws of n of n indices, [draws, n]: the same ones every time, so that tables repeat."""
    return np.random.default_rng(0).integers(0, n, (draws, n))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Return the median of `ours` - `theirs` and its limits; equal infinities differ by nothing."""
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError(f"expected pairs of scores, got {a.shape} and {b.shape}: keep the seeds that both have")
    with np.errstate(invalid="ignore"):
        gaps = np.where(a == b, 0.0, a - b)
    medians = np.sort(np.median(gaps[resamples(len(gaps))], axis=1))  # [draws]
    low, high = _at(medians, 1 - CONFIDENCE), _at(medians, CONFIDENCE)
    return Difference(float(np.median(gaps)), low, high, len(gaps))


def support(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return for each method the share of draws in which its median is the best; a shared first place is shared out."""
    table = np.array([np.asarray(row, float) for row in scores.values()])  # [m, n]
    medians = np.median(table[:, resamples(table.shape[1])], axis=2)  # [m, draws]
    first = medians == medians.min(0)
    share = (first / first.sum(0)).mean(1)
    return dict(zip(scores, share.tolist(), strict=True))


def leading(scores: Mapping[str, Sequence[float]]) -> tuple[str, str, float]:
    """Return the method of the best median, "first" or "tied", and its support."""
    medians = {name: float(np.median(row)) for name, row in scores.items()}
    best = min(medians, key=lambda name: medians[name])
    share = support(scores)[best]
    return best, "first" if share >= SUPPORT else "tied", share


def ranks(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return each method's mean rank over the seeds, 1 the best; equal scores share their ranks."""
    table = np.array([np.asarray(row, float) for row in scores.values()])  # [m, n]
    below = (table[None] < table[:, None]).sum(1)  # [m, n]: how many are better
    equal = (table[None] == table[:, None]).sum(1)
    return dict(zip(scores, (below + (equal + 1) / 2).mean(1).tolist(), strict=True))


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile; infinities count as the largest."""
    ordered = np.sort(np.asarray(values, float))
    low, middle, high = (_at(ordered, share) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def _at(ordered: Floats, share: float) -> float:
    """Return a quantile of sorted numbers, linear between neighbours, without nan where one of them is infinite."""
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    if below == above or place == math.floor(place):
        return float(below)
    return float(below + (above - below) * (place - math.floor(place)))
