"""Predictions from a model of all evaluations: `predict` and `best_predicted` of optimizers and results."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import numpy as np

from lamcts.models.predicted_rows import KnownColumns
from lamcts.models.predictor import BestPredicted, Evaluated, Prediction, RunModel
from lamcts.models.remaining_gain import RemainingGain, remaining_gain
from lamcts.optimizer.again import promising, re_evaluations
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_repr
from lamcts.types import Floats, Mask, Point, Rows
from lamcts.utils.numerics import own_numerics


def evaluations_of(goals: Goals, seen: Observations, n: int) -> Evaluated:
    """Return the first `n` rows for a model."""
    sems = seen.sems.of(range(n), seen.f.shape[1])
    return Evaluated(seen.x[:n], seen.f[:n], goals.per_constraint(seen.g[:n]), sems)


def remaining_gain_after(
    space: SearchSpace, goals: Goals, seen: Observations, n: int, seed: int
) -> RemainingGain | None:
    """Return the remaining gain after the first `n` rows."""
    return remaining_gain(space, goals, evaluations_of(goals, seen, n), seed)


@own_numerics()
def predictor(space: SearchSpace, goals: Goals, evaluations: Evaluated, robust: bool = False) -> RunModel:
    """Return the model of some evaluations; ValueError for too few or equal values."""
    return RunModel(space, goals, evaluations, robust)


def _with_known(evaluations: Evaluated, known: KnownColumns, goals: Goals) -> Evaluated:
    """Return evaluations, followed by the known columns of incomplete results."""
    if not len(known.x):
        return evaluations
    sems = np.full(evaluations.f.shape, np.nan) if evaluations.sems is None else evaluations.sems
    first = evaluations.x, evaluations.f, evaluations.g, sems
    last = known.x, known.f, goals.per_constraint(known.g), known.sems
    return Evaluated(*map(np.vstack, zip(first, last, strict=True)))


class Models:
    """The model of a run, fitted again after a change of the rows."""

    def __init__(self, space: SearchSpace, goals: Goals, seen: Observations, noisy: bool) -> None:
        self._space = space
        self._goals = goals
        self._seen = seen
        self._noisy = noisy
        self._fitted: tuple[tuple[object, ...], RunModel] | None = None  # key of the data, and the model

    def of(self, robust: bool | None = None) -> RunModel:
        """Return the model of all rows; `robust` to outliers, by default if there are re-evaluations."""
        if robust is None:
            robust = bool(re_evaluations(self._space, self._seen).any())
        known = KnownColumns.of(self._seen)
        key = len(self._seen), robust, *(column.tobytes() for column in known)
        if self._fitted is None or self._fitted[0] != key:
            evaluations = _with_known(evaluations_of(self._goals, self._seen, len(self._seen)), known, self._goals)
            self._fitted = key, predictor(self._space, self._goals, evaluations, robust)
        return self._fitted[1]

    def again(self, n: int) -> Floats:
        """Return at most `n` known points [k, d] that may be best under noise, without pending ones."""
        rows: Rows = np.empty(0, np.int64)
        if self._noisy:
            with suppress(ValueError):  # too few values for a model, or equal ones
                rows = promising(self.of(robust=True), self._seen, re_evaluations(self._space, self._seen))
        pending = set(map(bytes, self._seen.pending_x()))
        x = [point for point in self._seen.x[rows] if bytes(point) not in pending]
        return np.array(x[:n]).reshape(-1, self._seen.dim)


@own_numerics()
def predicted(model: RunModel, points: Iterable[Point]) -> Prediction:
    """Return the prediction at points in the user's units; ValueError with the number of a point outside the space."""
    if isinstance(points, (Mapping, str)) or not isinstance(points, Iterable):
        raise ValueError(f"predict: expected a list of points, got {safe_repr(points):.60}; pass [point]")
    x: list[Floats] = []
    for i, point in enumerate(points):
        try:
            x.append(model.space.encode(point))
        except ValueError as error:
            raise ValueError(f"predict: point {i}: {error}") from None
    return model(np.array(x).reshape(len(x), model.space.dim))


def refuse_several(goals: Goals) -> None:
    """Raise RuntimeError for several objectives, which have no single best point."""
    if len(goals.objectives) > 1:
        raise RuntimeError("best_predicted: there are several objectives; `front` has the non-dominated evaluations")


@own_numerics()
def best_of(model: RunModel, evaluations: Evaluated, feasible: Mask, trial: Rows) -> BestPredicted:
    """Return the evaluated point of the best posterior mean, among the feasible ones if there are any."""
    sign = model.goals.signs[0]
    f = evaluations.f[:, 0]
    rows = np.flatnonzero(np.isfinite(f))
    rows = rows[feasible[rows]] if feasible[rows].any() else rows
    prediction = model(evaluations.x[rows])
    i = int(np.argmin(sign * prediction.mean))
    row = int(rows[i])
    r2, rank_correlation = model.objectives[0].quality
    mean = float(prediction.mean[i])
    std = float(prediction.std[i])
    return BestPredicted(row, mean, std, float(sign * f[row]), int(trial[row]), r2, rank_correlation)
