"""The chance that no finished trial dominates the final losses of a trial, by the models of values at steps."""

import numpy as np

from lamcts.outcomes.cells import cells_of
from lamcts.pruners.curves import Curves

MARGIN = 0.01  # units by which a loss is better at least: equal costs that are known exactly are no gain (untuned)


def chances_on_front(number: int, curves: Curves) -> tuple[float, float] | None:
    """Return the probabilities that a trial ends on the front of the finished trials, before its reports and now.

    None before a trial has finished, and without a point. The final losses of the trial are independent normals in the
    units of their models. These units rise with the losses, so that they keep the front. What the front does not
    dominate is a union of disjoint boxes, whose probabilities add up. The front lies `MARGIN` lower than it is.
    """
    from scipy.special import ndtr

    models = [own.forecast() for own in curves.objectives]
    found = [(model, own) for model, own in zip(models, curves.objectives, strict=True) if model is not None]
    if len(found) < len(models) or number not in curves.x:
        return None
    ends = [model.model.standard(np.array([*own.ends.values()])) for model, own in found]
    front = np.array(ends).T - MARGIN  # [n, m]
    reference = front.max(0) + 1.0
    lower, upper = cells_of(front, reference)
    upper = np.where(upper == reference, np.inf, upper)
    mean, sd = np.array([[model.moments(number, own, so_far) for model, own in found] for so_far in (False, True)]).T
    boxes = [ndtr((upper - mean[:, i]) / sd[:, i]) - ndtr((lower - mean[:, i]) / sd[:, i]) for i in (0, 1)]
    before, now = (float(each.prod(1).sum()) for each in boxes)
    return before, now
