"""The chance that no finished trial dominates the final losses of a trial, by the models of learning curves."""

import numpy as np

from lamcts.outcomes.cells import cells_of
from lamcts.pruners.curves import Curves

MARGIN = 0.01  # units by which a loss is better at least: equal costs that are known exactly are no gain (untuned)


def chance_on_front(number: int, curves: Curves) -> float:
    """Return the probability that a trial ends on the front of the trials that have finished; 1 before one has.

    The final losses of the trial are independent normals in the units of their models. These units rise with the
    losses, so that they keep the front. What the front does not dominate is a union of disjoint boxes, whose
    probabilities add up. The front lies `MARGIN` lower than it is.
    """
    from scipy.special import ndtr

    models = [own.forecast() for own in curves.objectives]
    found = [(model, own) for model, own in zip(models, curves.objectives, strict=True) if model is not None]
    if len(found) < len(models):
        return 1.0
    ends = [model.model.units.down(np.array([*own.ends.values()])) for model, own in found]
    front = np.array(ends).T - MARGIN  # [n, m]
    mean, sd = np.array([model.moments(number, own) for model, own in found]).T
    reference = front.max(0) + 1.0
    lower, upper = cells_of(front, reference)
    upper = np.where(upper == reference, np.inf, upper)
    return float((ndtr((upper - mean) / sd) - ndtr((lower - mean) / sd)).prod(1).sum())
