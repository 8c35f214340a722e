"""The series that figures show, as plain numbers: matplotlib (lamcts.plot) and Plotly (lamcts.report) draw them."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from lamcts.models.forest import rank_of
from lamcts.plot.evaluations import Evaluations
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Floats, Mask, Point, Rows

LOG_FROM = 30  # quotient of the first and the last best value from which a log axis reads better (by eye)
TAIL = 0.05  # share of the worst evaluations that may lie outside of a figure (by eye)
FLAT = 10  # quotient of two ranges from which on the smaller one looks flat next to the larger (by eye)
LEAST = -307.0  # exponent of the ends of a logarithmic axis: floats end there
MARGIN = 0.06  # of the range shown, free at either end (by eye)
GRID = 30  # points to an axis of a contour
RANK = "rank (0: worst, 1: best)"  # what the forest predicts
IMPORTANCE = "loss of cross-validated R² when permuted"  # what the bars are


class AxisLimits(NamedTuple):
    """The ends of an axis, and whether it is logarithmic."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, shown: Floats, log: bool = False) -> "AxisLimits":
        """Return limits with a margin round the numbers shown [k], at least one."""
        scaled = np.log10(shown) if log else shown
        low, high = float(scaled.min()), float(scaled.max())
        margin = MARGIN * (high - low) or MARGIN * abs(high) or 1.0
        ends = (low - margin, high + margin)
        if not log:
            return cls(*ends)
        return cls(10 ** max(ends[0], LEAST), 10 ** min(ends[1], -LEAST), True)


def value_limits(runs: Sequence[Evaluations], target: float | None = None) -> AxisLimits | None:
    """Return limits that show every best value so far and cut off the tail of bad evaluations; None without values.

    The first best values are cut off too where they would flatten all the others.
    """
    values = [run.column[run.feasible] for run in runs]
    best = [run.best[np.isfinite(run.best)] for run in runs]
    if not any(map(len, values)):
        return None
    sign = -1.0 if runs[0].maximize else 1.0
    later = [one[_tail(one) :] for one in best]
    better = [sign * np.sort(sign * one)[: -_tail(one) or None] for one in values]
    everything, most = (_shown(*part) for part in ((best, values), (later, better)))
    chosen = _unflattened(everything, most)
    ends = np.concatenate(best if chosen is everything else later)
    log = everything.min() > 0 and sign > 0 and ends.max() / ends.min() > LOG_FROM
    if log:
        chosen = 10 ** _unflattened(np.log10(everything), np.log10(most))
    aims = [] if target is None or (log and target <= 0) else [target]
    return AxisLimits.around(np.r_[chosen, aims], bool(log))


def _tail(values: Floats) -> int:
    """Return how many of some values may lie outside of a figure: at least one, if any is left."""
    return min(max(1, int(TAIL * len(values))), max(0, len(values) - 1))


def _shown(best: Sequence[Floats], values: Sequence[Floats]) -> Floats:
    """Return all best values, and the ends of the other values without their tails."""
    return np.concatenate([*best, np.quantile(np.concatenate(values), [TAIL, 1 - TAIL])])


def _unflattened(everything: Floats, most: Floats) -> Floats:
    """Return everything, or most of it where the rest would flatten it."""
    narrow, wide = (float(shown.max()) - float(shown.min()) for shown in (most, everything))
    return most if 0 < FLAT * narrow < wide else everything


def tail_cut(values: Floats, maximize: bool) -> AxisLimits:
    """Return limits of values [k] without the tail of the worst."""
    ends, order = [TAIL, 1] if maximize else [0, 1 - TAIL], np.sort(values)
    most = order[_tail(values) :] if maximize else order[: -_tail(values) or None]
    return AxisLimits.around(_unflattened(np.quantile(values, ends), most))


class Quartiles(NamedTuple):
    """Median and quartiles [k] of several curves after so many evaluations [k]."""

    after: Rows
    low: Floats
    middle: Floats
    high: Floats


def quartiles(curves: Sequence[Floats]) -> Quartiles:
    """Return the quartiles of curves [n] each, over the evaluations that all of them have and where all are known."""
    length = min(map(len, curves))
    table = np.array([curve[:length] for curve in curves])  # [runs, n]
    known = np.flatnonzero(~np.isnan(table).any(0))
    low, middle, high = np.quantile(table[:, known], [0.25, 0.5, 0.75], axis=0) if len(known) else np.empty((3, 0))
    return Quartiles(known + 1, low, middle, high)


class Violations(NamedTuple):
    """Violations [n], the least so far [n], the row of the first feasible evaluation, and which are infeasible [n]."""

    amount: Floats
    least: Floats
    first: int | None
    infeasible: Mask

    @classmethod
    def of(cls, amount: Floats) -> "Violations":
        kept = np.flatnonzero(amount <= 0)
        return cls(amount, np.fmin.accumulate(amount), int(kept[0]) if len(kept) else None, amount > 0)


class Importance(NamedTuple):
    """Parameters by importance, the loss of R² [p] of each, and how well the forest predicts rows held out."""

    names: list[str]
    losses: Floats
    score: float
    trusted: bool

    @classmethod
    def of(cls, run: Evaluations, most: int) -> "Importance":
        forest, names = run.forest, run.space.names
        order = forest.order[:most]
        return cls([names[i] for i in order], forest.importance[order], forest.score, forest.trusted)

    @property
    def caption(self) -> str:
        """The quality of fit in words, with a warning where it is low."""
        fit = f"Random forest, cross-validated R² {self.score:.2f} (1: perfect)"
        return fit if self.trusted else f"{fit}: too low to trust this order"


class Contour(NamedTuple):
    """Two parameters, their values on a grid [g] each, and the rank expected there, [g, g], rows going up."""

    across: NamedParameter
    up: NamedParameter
    x: list[Point]
    y: list[Point]
    expected: Floats


def contours_of(run: Evaluations, most: int) -> list[Contour]:
    """Return a contour for each pair of the `most` important parameters that are numbers."""
    forest, parameters, steps = run.forest, run.space.parameters, (np.arange(GRID) + 0.5) / GRID
    across, up = (grid.ravel() for grid in np.meshgrid(steps, steps))
    found = []
    for i, j in combinations([i for i in forest.order if parameters[i].options is None][:most], 2):
        one, other = parameters[i], parameters[j]
        x, y = run.space.along(i, one.grid(steps)), run.space.along(j, other.grid(steps))
        expected = forest.expected(i, one.grid(across), j, other.grid(up)).reshape(GRID, GRID)
        found.append(Contour(one, other, x, y, expected))
    return found


def best_and_some(run: Evaluations, most: int) -> tuple[Rows, Floats]:
    """Return at most `most` rows, half of them the best and the others evenly many, worst first; and their ranks."""
    known = np.flatnonzero(run.known & np.isfinite(run.loss))
    order = known[np.argsort(run.loss[known], kind="stable")]
    rest = order[most // 2 :]
    rows = np.r_[order[: most // 2], rest[thinned(len(rest), most - most // 2)]][::-1]
    return rows, rank_of(run.loss)[rows]


def numbers_of(column: Sequence[Point], parameter: NamedParameter) -> Floats:
    """Return values as numbers [n], options by their place; nan where a parameter is inactive."""
    if parameter.options is None:
        return np.array([np.nan if value is None else value for value in column], float)
    places = {option: float(place) for place, option in enumerate(parameter.options)}
    return np.array([places.get(value, np.nan) for value in column])


def thinned(n: int, most: int) -> Rows:
    """Return at most `most` of the numbers below `n`, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)) if n else np.arange(0)
