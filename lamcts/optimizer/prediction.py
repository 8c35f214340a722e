"""Predictions of an optimizer: `predict` and `best_predicted`, from a model over all that it was told."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from lamcts.models.predictor import BestPredicted, Evaluated, Prediction, RunModel
from lamcts.models.remaining_gain import RemainingGain, remaining_gain
from lamcts.observations import Observations
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_repr
from lamcts.threads import one_blas_thread
from lamcts.types import Floats, Mask, Point, Rows


class _Fitted(NamedTuple):
    rows: int
    model: RunModel


class Predicting:
    """The part of `Optimizer` that predicts. The loop is in `optimizer.py`."""

    space: SearchSpace
    goals: Goals
    seen: Observations
    seed: int
    _fitted: _Fitted | None = None  # the model, and how many rows it was fitted to

    def predict(self, points: Iterable[Point]) -> Prediction:
        """Return what a model of all evaluations expects at some points.

        Parameters
        ----------
        points : list of points of the space
            Where to predict.

        Returns
        -------
        Prediction
            Posterior means, standard deviations and probabilities of feasibility, in the user's units and sign.

        Raises
        ------
        ValueError
            For points outside the space, with fewer than 5 values, and if all values are equal.

        Notes
        -----
        The model is a Gaussian process for each objective and constraint, over at most 1000 evaluations. It is fitted
        at the first call after a change. Failed and pruned evaluations are left out. No search uses this model.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer([(-1, 1)] * 2, seed=0)
        >>> for _ in range(15):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, sum(trial.point**2))
        >>> prediction = opt.predict([[0.5, 0.5]])
        >>> bool(abs(prediction.mean[0] - 0.5) < 3 * prediction.std[0] + 0.05)
        True
        """
        return predicted(self._predictor(), points)

    @property
    def best_predicted(self) -> BestPredicted:
        """The evaluated feasible point with the best posterior mean, and the leave-one-out quality of the model.

        Raises
        ------
        RuntimeError
            With several objectives.
        ValueError
            With fewer than 5 values, and if all values are equal.
        """
        refuse_several(self.goals)
        seen = self.seen
        best = best_of(self._predictor(), self._told(), seen.feasible, seen.trial)
        return best._replace(point=seen.point(best.point, self.space))

    @property
    def remaining_gain(self) -> RemainingGain | None:
        """How much better than the best point the optimum may be, as a model of all evaluations expects.

        None with several objectives or constraints, with categories or conditional parameters, and with fewer than 10
        values. The model knows nothing of optima far from all evaluations: on functions with many, the gain is larger.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer([(-1, 1)] * 2, seed=0)
        >>> for _ in range(30):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, sum(trial.point**2))
        >>> 0 <= opt.remaining_gain.mean < 0.01
        True
        """
        return gain_left(self.space, self.goals, self.seen, len(self.seen), self.seed)

    def _predictor(self) -> RunModel:
        """Return the model of all rows, fitted once for as many."""
        if self._fitted is None or self._fitted.rows != len(self.seen):
            self._fitted = _Fitted(len(self.seen), predictor(self.space, self.goals, self._told()))
        return self._fitted.model

    def _told(self) -> Evaluated:
        return evaluated(self.goals, self.seen, len(self.seen))


def evaluated(goals: Goals, seen: Observations, n: int) -> Evaluated:
    """Return the first `n` rows as a model takes them."""
    sems = seen.sems.of(range(n), seen.f.shape[1])
    return Evaluated(seen.x[:n], seen.f[:n], goals.per_constraint(seen.g[:n]), sems)


def gain_left(space: SearchSpace, goals: Goals, seen: Observations, n: int, seed: int) -> RemainingGain | None:
    """Return what was left to gain after the first `n` rows."""
    return remaining_gain(space, goals, evaluated(goals, seen, n), seed)


@one_blas_thread()
def predictor(space: SearchSpace, goals: Goals, told: Evaluated, robust: bool = False) -> RunModel:
    """Return the model of some evaluations; ValueError where they are too few or equal."""
    return RunModel(space, goals, told, robust)


@one_blas_thread()
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


@one_blas_thread()
def best_of(model: RunModel, told: Evaluated, feasible: Mask, trial: Rows) -> BestPredicted:
    """Return the evaluated point of the best posterior mean: of the feasible ones, if there are any.

    feasible, trial: of the first rows [n] of `told`; what follows are repeats. The point is its row, for the caller to
    decode.
    """
    sign, f = model.goals.signs[0], told.f[: len(trial), 0]
    rows = np.flatnonzero(np.isfinite(f))
    rows = rows[feasible[rows]] if feasible[rows].any() else rows
    prediction = model(told.x[rows])
    i = int(np.argmin(sign * prediction.mean))
    row, (r2, rank_correlation) = int(rows[i]), model.objectives[0].quality
    mean, std = float(prediction.mean[i]), float(prediction.std[i])
    return BestPredicted(row, mean, std, float(sign * f[row]), int(trial[row]), r2, rank_correlation)
