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


def evaluated(goals: Goals, seen: Observations, n: int) -> Evaluated:
    """Return the first `n` rows as a model takes them."""
    sems = seen.sems.of(range(n), seen.f.shape[1])
    return Evaluated(seen.x[:n], seen.f[:n], goals.per_constraint(seen.g[:n]), sems)


def gain_left(space: SearchSpace, goals: Goals, seen: Observations, n: int, seed: int) -> RemainingGain | None:
    """Return what was left to gain after the first `n` rows."""
    return remaining_gain(space, goals, evaluated(goals, seen, n), seed)


@own_numerics()
def predictor(space: SearchSpace, goals: Goals, told: Evaluated, robust: bool = False) -> RunModel:
    """Return the model of some evaluations; ValueError where they are too few or equal."""
    return RunModel(space, goals, told, robust)


def _with_known(told: Evaluated, known: KnownColumns, goals: Goals) -> Evaluated:
    """Return evaluations and then the columns of incomplete results that are known."""
    if not len(known.x):
        return told
    sems = np.full(told.f.shape, np.nan) if told.sems is None else told.sems
    columns = (told.x, known.x), (told.f, known.f), (told.g, goals.per_constraint(known.g)), (sems, known.sems)
    return Evaluated(*map(np.vstack, columns))


class Models:
    """The models of a run, each fitted once for as many rows."""

    def __init__(self, space: SearchSpace, goals: Goals, seen: Observations, noisy: bool) -> None:
        self._space, self._goals, self._seen, self._noisy = space, goals, seen, noisy
        self._fitted: tuple[tuple[object, ...], RunModel] | None = None  # what it was fitted to, and the model

    def of(self, robust: bool | None = None) -> RunModel:
        """Return the model of all rows; robust: to outliers, None: where rows came again."""
        if robust is None:
            robust = bool(re_evaluations(self._space, self._seen).any())
        known = KnownColumns.of(self._seen)
        now = len(self._seen), robust, *(column.tobytes() for column in known)
        if self._fitted is None or self._fitted[0] != now:
            told = _with_known(evaluated(self._goals, self._seen, len(self._seen)), known, self._goals)
            self._fitted = now, predictor(self._space, self._goals, told, robust)
        return self._fitted[1]

    def again(self, n: int) -> Floats:
        """Return at most `n` known points [k, d] that noisy values leave open, none that is out."""
        rows: Rows = np.empty(0, np.int64)
        if self._noisy:
            with suppress(ValueError):  # too few values for a model, or equal ones
                rows = promising(self.of(robust=True), self._seen, re_evaluations(self._space, self._seen))
        out = set(map(bytes, self._seen.pending_x()))
        x = [point for point in self._seen.x[rows] if bytes(point) not in out]
        return np.array(x[:n]).reshape(-1, self._seen.dim)


@own_numerics()
def predicted(model: RunModel, points: Iterable[Point]) -> Prediction:
    """Return the prediction at points in the user's units; ValueError numbers a point outside the space."""
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
    """Raise RuntimeError where there are several objectives, and no single best point."""
    if len(goals.objectives) > 1:
        raise RuntimeError("best_predicted: there are several objectives; `front` has the non-dominated evaluations")


@own_numerics()
def best_of(model: RunModel, told: Evaluated, feasible: Mask, trial: Rows) -> BestPredicted:
    """Return the evaluated point of the best posterior mean: of the feasible ones, if there are any.

    feasible, trial: of the rows [n] of `told`. The point is its row, for the caller to decode.
    """
    sign, f = model.goals.signs[0], told.f[:, 0]
    rows = np.flatnonzero(np.isfinite(f))
    rows = rows[feasible[rows]] if feasible[rows].any() else rows
    prediction = model(told.x[rows])
    i = int(np.argmin(sign * prediction.mean))
    row, (r2, rank_correlation) = int(rows[i]), model.objectives[0].quality
    mean, std = float(prediction.mean[i]), float(prediction.std[i])
    return BestPredicted(row, mean, std, float(sign * f[row]), int(trial[row]), r2, rank_correlation)
