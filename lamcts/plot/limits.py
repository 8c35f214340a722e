"""Limits of the axes of figures, without the tail of bad evaluations."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamcts.plot.evaluations import Evaluations
from lamcts.types import Floats

LOG_FROM = 30  # quotient of the first and the last best value from which a log axis reads better (by eye)
TAIL = 0.05  # share of the worst evaluations that may lie outside of a figure (by eye)
FLAT = 10  # quotient of two ranges from which on the smaller one looks flat next to the larger (by eye)
LEAST, MOST = -307.0, 100.0  # exponents of the ends of a logarithmic axis: floats end there, and ticks go far beyond
MARGIN = 0.06  # of the range shown, free at either end (by eye)


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
        return cls(10 ** max(ends[0], LEAST), 10 ** min(ends[1], MOST), True)


def value_limits(runs: Sequence[Evaluations], target: float | None = None) -> AxisLimits | None:
    """Return limits that show every best value so far and cut off the tail of bad evaluations; None without values."""
    values = [(run.best if len(runs) > 1 else run.column)[run.feasible] for run in runs]
    best = [run.best[np.isfinite(run.best)] for run in runs]
    if not any(map(len, values)):
        return None
    sign = -1.0 if runs[0].maximize else 1.0
    later = [one[_tail(one) :] for one in best]
    better = [sign * np.sort(sign * one)[: -_tail(one) or None] for one in values]
    everything, most = (_shown(*part) for part in ((best, values), (later, better)))
    chosen = _unflattened(everything, most)
    ends = np.concatenate(best if chosen is everything else later)
    log = everything.min() > 0 and sign > 0 and reads_by_decades(ends)
    if log:
        chosen = 10 ** _unflattened(np.log10(everything), np.log10(most))
    aims = [] if target is None or (log and target <= 0) else [target]
    return AxisLimits.around(np.r_[chosen, aims], bool(log))


def reads_by_decades(values: Floats) -> bool:
    """Return whether positive values [k], at least one, read better on a logarithmic axis, which can be drawn."""
    return bool(values.max() / LOG_FROM > values.min() and values.max() < 10**MOST)


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
