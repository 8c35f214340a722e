"""Which points of a noisy function to evaluate again: those that a model of all values may still prefer.

A row's expected gain is by how much its true value may be below the best posterior mean. The posterior pools
neighbours, so that few repeats of a point decide.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from lamcts.journal.tables import Check
from lamcts.models.acquisition import expected_improvement
from lamcts.models.predictor import RunModel
from lamcts.outcomes.observations import Observations
from lamcts.utils.threads import one_blas_thread

SHARE = 0.1  # of the budget goes into re-evaluations at most (untuned)
ROUNDS = 5  # of re-evaluations at most, with a fit of the model before each (untuned)
DECIDED = 1e-4  # expected gain, in standard deviations of the values, that is not worth an evaluation (untuned)


def reserve(budget: int, share: float) -> int:
    """Return how many of `budget` evaluations are kept for re-evaluations: at least 2, at most half."""
    return min(max(round(share * budget), 2), budget // 2)


def finished(checks: int, most: int) -> int:
    """Return how many of the `checks` re-evaluations belong to rounds that are over."""
    return checks - checks % _size(most)


@one_blas_thread()
def promising(model: RunModel, seen: Observations, done: Sequence[Check]) -> list[int]:
    """Return the rows that may be best, each point once: best by the model, best value, then by expected gain."""
    rows = seen.good[np.argsort(seen.y[seen.good], kind="stable")]
    rows = rows[np.sort(np.unique(seen.x[rows], axis=0, return_index=True)[1])]
    mean, std, _ = model(seen.x[rows])
    mean = model.goals.signs[0] * mean
    gain = expected_improvement(mean, std, float(mean.min()))
    best, settled = int(np.argmin(mean)), any(check.row == rows[0] for check in done)
    exact = all(check.loss == seen.y[check.row] for check in done)
    if settled and (exact or gain.max() <= DECIDED * model.objectives[0].width):
        return []
    gain[0] = gain[0] if settled else np.finfo(float).max
    gain[best] = np.inf
    return [int(row) for row in rows[np.argsort(-gain, kind="stable")]]


def plan(rows: Sequence[int], checks: Sequence[Check], most: int) -> list[tuple[int, int]]:
    """Return `(row, repeat)` of the re-evaluations that the round under way still needs, one of each row."""
    over = finished(len(checks), most)
    repeats = Counter(check.row for check in checks[:over])
    have = {(check.row, check.repeat) for check in checks[over:]}
    todo = [(row, repeats[row] + 1) for row in rows[: _size(most)]]
    return [each for each in todo if each not in have][: max(most - len(checks), 0)]


def _size(most: int) -> int:
    """Return the size of a round: two at least, the choice of the model and the best value."""
    return max(2, math.ceil(most / ROUNDS))


def by_row(checks: Iterable[Check]) -> dict[int, list[float]]:
    """Return the losses of the re-evaluations that succeeded, by row, in the order of their repeats."""
    losses: dict[int, list[float]] = {}
    for check in sorted(checks, key=lambda check: check[:2]):
        if math.isfinite(check.loss):
            losses.setdefault(check.row, []).append(check.loss)
    return losses
