"""Early stopping by extrapolation of learning curves (Baker et al. 2018).

Thesis, section 2.3, after Baker et al. 2018, Accelerating neural architecture search using performance prediction: a
regression from the curve so far to the end, and a stop where the end is behind the best so far with enough probability.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import Floats, whole_number
from lamcts.utils.numerics import own_numerics

MIN_FINISHED = 10  # finished trials before the first prediction (untuned; paper: 100 of thousands)
PROBABILITY = 0.95  # that the final loss is not among the best, at which a trial is stopped (paper: the same)
FEATURES = 3  # of a curve: one, its last value, and how far it came in the second half of its steps


@register("extrapolation", "a regression on the curve predicts an end that is not among the best")
@dataclass(frozen=True)
class Extrapolation:
    """Stop a trial whose predicted final loss is probably not among the best.

    The prediction is a least-squares regression over the finished trials, linear in the last value and in the gain of
    the second half of the steps. Its error is normal, with the residual standard deviation.

    Parameters
    ----------
    warmup : int, default 0
        No trial is stopped before this step; as in `Median`.
    best : float, default 0.1
        Share of the finished trials that count as the best; above 1 - 0.95, so that uninformative curves stop no
        trial; paper: the best one alone.

    References
    ----------
    Baker et al. 2018, Accelerating neural architecture search using performance prediction.
    """

    warmup: int = 0
    best: float = 0.1

    def __post_init__(self) -> None:
        whole_number(self.warmup, "warmup", least=0)
        if not 0 <= self.best < 1:
            raise ValueError(f"best: expected a share from 0 to below 1, got {self.best!r}")

    @own_numerics()
    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        last = curves.last(number)
        if last is None or last[0] < self.warmup:
            return False
        steps = self._steps(list(curves.losses[number]))
        mine, x, ends = _curve(curves, number, steps), *_finished(curves, steps)
        if len(ends) < MIN_FINISHED:
            return False
        if not np.isfinite(mine).all():
            return last[1] == math.inf
        mean, deviation = predicted(x, ends, mine)
        return mean - NormalDist().inv_cdf(PROBABILITY) * deviation > float(np.quantile(ends, self.best))

    @staticmethod
    def _steps(steps: list[int]) -> tuple[int, int]:
        """Return the last step, and the last step of the first half."""
        return steps[-1], next((step for step in reversed(steps) if step <= steps[-1] // 2), steps[0])


def predicted(x: Floats, ends: Floats, mine: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of the end of a curve `mine` [2], from curves `x` [k, 2] with `ends` [k]."""
    design = np.column_stack([np.ones(len(x)), x[:, 0], x[:, 0] - x[:, 1]])  # [k, 3]
    row = np.array([1.0, mine[0], mine[0] - mine[1]])
    inverse = np.linalg.pinv(design.T @ design)  # [3, 3]: at a first step nothing was gained yet
    weights = inverse @ (design.T @ ends)
    error = ends - design @ weights  # [k]
    deviation = math.sqrt(float(error @ error) / (len(x) - FEATURES) * (1 + float(row @ inverse @ row)))
    return float(row @ weights), deviation


def _finished(curves: Curves, steps: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the losses of finished trials at two steps [k, 2] and their ends [k], where all are finite."""
    x = np.array([_curve(curves, number, steps) for number in curves.ends]).reshape(-1, 2)
    ends = np.array(list(curves.ends.values()), float)
    whole = np.isfinite(x).all(1) & np.isfinite(ends)
    return x[whole], ends[whole]


def _curve(curves: Curves, number: int, steps: tuple[int, int]) -> Floats:
    losses = curves.losses.get(number, {})
    return np.array([losses.get(step, math.nan) for step in steps])
