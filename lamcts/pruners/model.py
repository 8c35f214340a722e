"""Early stopping by a model of values at steps, as in freeze-thaw optimization."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.cells import cells_of
from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import whole_number
from lamcts.utils.numerics import own_numerics

MIN_CHANCE = 0.01  # the chance of a new trial at least: a trial with less is stopped at its first report (untuned)
MIN_IMPROVEMENT = 0.01  # units by which a loss is better at least: equal costs are no gain (untuned)


@register("model", "several objectives: a Gaussian process gives the rest of the trial less chance than a new one")
@dataclass(frozen=True)
class Model:
    """Stop a trial whose chance to end best is smaller, for each remaining step, than that of a new trial.

    The model is a Gaussian process over points and steps. It learns from finished and pruned trials. Each objective has
    a model, and a trial ends best if no finished trial dominates its final losses. A run with one objective refuses the
    rule: `Hyperband` ends lower there.

    Parameters
    ----------
    startup : int, default 5
        Number of trials that finish before any trial is stopped; as in `Median`.

    Notes
    -----
    With the chance P of the best end by all reports of a trial at step t of T, and the chance P0 of the same point
    without its reports, a trial is stopped if P / (T - t) < P0 / T. P0, or 0.01 if it is less, stands for a new trial.

    The final losses of a trial are independent normals in the units of their models. Their
    chance is exact: a sum over disjoint boxes, which are what the front of finished trials does not dominate.

    References
    ----------
    Swersky, Snoek and Adams (2014), Freeze-thaw Bayesian optimization, arXiv 1406.3896: to continue a trial or to
    start a new one.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> for number, limit in enumerate([0.1, 0.2, 0.3, 0.4, 0.9, 0.05]):
    ...     curves.x[number] = np.array([limit])
    ...     for step in range(1, 10 if number < 5 else 4):
    ...         curves.add(number, step, limit + 1 / step)
    ...     if number < 5:
    ...         curves.finish(number, limit + 1 / 9)
    >>> curves.x[6] = np.array([0.05])
    >>> curves.add(6, 1, 1.9)
    >>> pruners.Model().prune(5, curves), pruners.Model().prune(6, curves)
    (False, True)
    """

    multi_objective: ClassVar[bool] = True
    startup: int = 5

    def __post_init__(self) -> None:
        whole_number(self.startup, "startup", least=1)

    @own_numerics()
    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        last = curves.last(number)
        if last is None or len(curves.ends) < self.startup or (found := curves.forecast()) is None:
            return False
        if last[0] >= found.last or (chances := chances_on_front(number, curves)) is None:
            return False
        before, now = chances
        return now < max(before, MIN_CHANCE) * (1.0 - last[0] / found.last)


def chances_on_front(number: int, curves: Curves) -> tuple[float, float] | None:
    """Return the probabilities that a trial ends on the front of the finished trials, before its reports and now.

    None before a trial has finished, and without a point. The final losses of the trial are independent normals in the
    units of their models. These units rise with the losses, so that they keep the front. What the front does not
    dominate is a union of disjoint boxes, whose probabilities add up. The front is lowered by `MIN_IMPROVEMENT`.
    """
    from scipy.special import ndtr

    models = [own.forecast() for own in curves.objectives]
    found = [(model, own) for model, own in zip(models, curves.objectives, strict=True) if model is not None]
    if len(found) < len(models) or number not in curves.x:
        return None
    ends = [model.model.standard(np.array([*own.ends.values()])) for model, own in found]
    front = np.array(ends).T - MIN_IMPROVEMENT  # [n, m]
    reference = front.max(0) + 1.0
    lower, upper = cells_of(front, reference)
    upper = np.where(upper == reference, np.inf, upper)
    mean, sd = np.array([[model.moments(number, own, so_far) for model, own in found] for so_far in (False, True)]).T
    boxes = [ndtr((upper - mean[:, i]) / sd[:, i]) - ndtr((lower - mean[:, i]) / sd[:, i]) for i in (0, 1)]
    before, now = (float(each.prod(1).sum()) for each in boxes)
    return before, now
