"""Predictions of a result: `predict` and `best_predicted`, from a model over its history."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.models.predictor import BestPredicted, Evaluated, Prediction, RunModel
from lamcts.models.remaining_gain import RemainingGain, remaining_gain
from lamcts.optimizer.prediction import best_of, predicted, predictor, refuse_several
from lamcts.outcomes.measured import StandardErrors
from lamcts.study.history import History
from lamcts.types import Point


class PredictingResult(dict[str, Any]):
    """The part of `Result` that predicts."""

    def predict(self, points: Iterable[Point]) -> Prediction:
        """Return what a model of all evaluations expects at some points, as `Optimizer.predict` does.

        Re-evaluations (noisy=True) count as well.

        Examples
        --------
        >>> import lamcts
        >>> result = lamcts.maximize(lambda x: 1 - x[0] ** 2, [(-1, 1)], budget=15, seed=0)
        >>> mean, std, feasible = result.predict([[0.5], [0.9]])
        >>> bool(mean[0] > mean[1])
        True
        """
        return predicted(self._predictor, points)

    @cached_property
    def best_predicted(self) -> BestPredicted:
        """The evaluated feasible point with the best posterior mean, as `Optimizer.best_predicted`.

        Under noise it is a better choice than the best single value, which is lucky.
        """
        history: History = self["history"]
        refuse_several(history.goals)
        best = best_of(self._predictor, _told(history), history.feasible, history.trial)
        return best._replace(point=history.points[best.point])

    @cached_property
    def remaining_gain(self) -> RemainingGain | None:
        """How much better than the best point the optimum may be, as `Optimizer.remaining_gain`.

        Re-evaluations (noisy=True) count as well.
        """
        history: History = self["history"]
        return remaining_gain(history.points.space, history.goals, _told(history), self.get("seed", 0))

    @cached_property
    def _predictor(self) -> RunModel:
        history: History = self["history"]
        return model_of(history, robust=bool(history.repeats))

    @property
    def under_noise(self) -> dict[str, BestPredicted]:
        """`best_predicted` by name where standard errors or re-evaluations show noise, for summaries; else empty."""
        history: History | None = self.get("history")
        if history is None or not (history.sems or history.repeats) or len(history.goals.objectives) > 1:
            return {}
        try:
            return {"best_predicted": self.best_predicted}
        except ValueError:  # too few values, or equal ones
            return {}

    @property
    def modelled(self) -> dict[str, BestPredicted | RemainingGain]:
        """What summaries show of the model, by name: `under_noise`, and `remaining_gain` where there is an estimate."""
        gain = self.remaining_gain if "history" in self else None
        return {**self.under_noise, **({} if gain is None else {"remaining_gain": gain})}


def model_of(history: History, robust: bool) -> RunModel:
    """Return the model of all values, re-evaluations included; robust: to outliers."""
    return predictor(history.points.space, history.goals, _told(history), robust)


def _told(history: History) -> Evaluated:
    """Return the evaluations of a history, then the re-evaluations."""
    m, n = len(history.goals.objectives), len(history)
    rows = np.array([row for row, _ in history.repeats], np.int64)
    f = history.goals.signs * history.values.reshape(n, m)
    again = history.goals.signs * np.array([value for _, value in history.repeats]).reshape(-1, m)
    unknown = np.full((len(rows), history.constraints.shape[1]), np.nan)
    sems = StandardErrors(history.sems).of(range(n + len(rows)), m)
    return Evaluated(
        np.vstack([history.x, history.x[rows]]),
        np.vstack([f, again]),
        np.vstack([history.constraints, unknown]),
        sems,
    )
