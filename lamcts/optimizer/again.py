"""Known points to evaluate again under noise: those that a model of all values may still prefer."""

import numpy as np

from lamcts.models.acquisition import expected_improvement
from lamcts.models.predictor import RunModel
from lamcts.outcomes.observations import CONFIRMING, Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.values import brief
from lamcts.types import Mask, Rows
from lamcts.utils.numerics import own_numerics

SHARE = 0.1  # largest share of the budget for re-evaluations: a larger one leaves fewer evaluations for new points
DECIDED = 1e-4  # expected gain, in standard deviations of the values, below which the best point is decided: a larger
# one saves evaluations, a smaller one separates closer points


def share_of(noisy: object) -> float:
    """Return the largest share of the budget for re-evaluations, 0 for None; ValueError for another type or range."""
    if noisy is None or isinstance(noisy, (bool, np.bool_)):
        return SHARE if noisy else 0.0
    if not isinstance(noisy, (int, float, np.integer, np.floating)) or not 0 <= noisy <= 0.5:
        raise ValueError(f"noisy: expected True, False or a share of the budget in [0, 0.5], got {brief(noisy)}")
    return float(noisy)


def reserve(budget: int, share: float) -> int:
    """Return the number of re-evaluations in a budget: at least 2, at most half; 0 for a share of 0."""
    return min(max(round(share * budget), 2), budget // 2) if share else 0


@own_numerics()
def promising(model: RunModel, seen: Observations, is_repeat: Mask) -> Rows:
    """Return rows of distinct points that may be best, by decreasing gain; none where the best is decided.

    The row of the best value comes first until it is re-evaluated, since an equal value shows that there is no noise.
    The gain of the model's best point is its expected loss against the second best; that of another point is its
    expected improvement on the best.
    """
    rows = seen.good[np.argsort(seen.y[seen.good], kind="stable")]
    earliest = first_rows(seen)
    rows = rows[np.sort(np.unique(earliest[rows], return_index=True)[1])]
    mean, std, _ = model(seen.x[rows])
    mean = model.goals.signs[0] * mean
    best = int(np.argmin(mean))
    gain = expected_improvement(mean, std, float(mean[best]))
    if len(rows) > 1:
        second = float(np.delete(mean, best).min())
        gain[best] = expected_improvement(-mean[[best]], std[[best]], -second)[0]
    repeats = np.flatnonzero(is_repeat)
    is_exact = bool((seen.y[repeats] == seen.y[earliest[repeats]]).all())
    if earliest[rows[0]] not in earliest[repeats]:
        gain[0] = np.inf
    elif is_exact or gain.max() <= DECIDED * model.objectives[0].width:
        return rows[:0]
    return rows[np.argsort(-gain, kind="stable")]


def first_rows(seen: Observations) -> Rows:
    """Return the first successful row at the point of each row, or the first row without a success, [n]."""
    order = np.argsort(~np.isfinite(seen.y), kind="stable")
    _, first, point = np.unique(seen.x[order], axis=0, return_index=True, return_inverse=True)
    result = np.empty_like(order)
    result[order] = order[first[point.ravel()]]
    return result


def re_evaluations(space: SearchSpace, seen: Observations) -> Mask:
    """Return which rows are re-evaluations, [n]; with a fidelity, confirming rows are new points."""
    return np.asarray((seen.source == CONFIRMING) & (FidelityAxis.of(space) is None))
