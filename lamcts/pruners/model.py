"""Early stopping by a model of learning curves (Swersky et al. 2014, freeze-thaw)."""

from dataclasses import dataclass

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import Floats, Mask, whole_number

DRAWS = 1000  # of the final losses of a trial: the standard error of a chance of 0.1 is 0.01


@register("model", "a Gaussian process over points and steps predicts that the trial will hardly be the best")
@dataclass(frozen=True)
class Model:
    """Stop a trial that a model of all learning curves gives little chance to end best.

    The model is a Gaussian process over points and steps. It learns from finished and pruned trials. With several
    objectives the chance is that no finished trial dominates the final losses, which are predicted independently.

    Parameters
    ----------
    startup : int, default 5
        Number of trials that finish before any trial is stopped; as in `Median`.
    warmup : int, default 0
        No trial is stopped before this step; as in `Median`.
    chance : float, default 0.1
        Least chance of a better final loss than that of every finished trial, at which a trial continues.

    References
    ----------
    Swersky, Snoek and Adams (2014), Freeze-thaw Bayesian optimization, arXiv 1406.3896.

    Examples
    --------
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> for number, limit in enumerate([0.1, 0.2, 0.3, 0.4, 0.9, 0.15]):
    ...     for step in range(1, 10 if number < 5 else 4):
    ...         curves.add(number, step, limit + 1 / step)
    ...     if number < 5:
    ...         curves.finish(number, limit + 1 / 9)
    >>> curves.add(6, 1, 1.9)
    >>> pruners.Model().prune(5, curves), pruners.Model().prune(6, curves)
    (False, True)
    """

    startup: int = 5
    warmup: int = 0
    chance: float = 0.1

    def __post_init__(self) -> None:
        whole_number(self.startup, "startup", least=1)
        whole_number(self.warmup, "warmup", least=0)
        if not 0 <= self.chance <= 1:
            raise ValueError(f"chance: expected a number from 0 to 1, got {self.chance!r}")

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        last = curves.last(number)
        if last is None or last[0] < self.warmup or len(curves.ends) < self.startup:
            return False
        return chance_of(number, curves) < self.chance


def chance_of(number: int, curves: Curves) -> float:
    """Return the chance that no finished trial will be as good as this one in all objectives."""
    normal = np.random.default_rng(0).standard_normal((len(curves.objectives), DRAWS))
    draws, ends = [], []
    for own, each in zip(curves.objectives, normal, strict=True):
        forecast = own.forecast()
        if forecast is None:
            return 1.0
        draws.append(forecast.draws(number, own, each))
        ends.append(forecast.model.units.down(np.array(list(own.ends.values()))))
    front = np.column_stack(ends)
    return float(np.mean(~_dominated(np.column_stack(draws), front[non_dominated(front)])))


def _dominated(f: Floats, front: Floats) -> Mask:
    """Return which rows of f [k, m] are no better than some row of a front [p, m] in any objective, [k]."""
    no_better: Mask = np.all(front[None] <= f[:, None], axis=2)
    return np.asarray(no_better.any(1))
