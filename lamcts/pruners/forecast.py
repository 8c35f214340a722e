"""Final losses of trials, predicted by the model of learning curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamcts.models.learning_curves import Curve, CurveModel
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.pruners.curves import Curves

GROWTH = 1.2  # of the trials that have ended, from one fit of hyper-parameters to the next (untuned)


class Forecast(NamedTuple):
    """The model of the trials that have ended.

    It depends on these trials and on their order alone. The final step is the last one of the longest finished trial;
    the final loss of each finished trial counts as its loss at that step.
    """

    model: CurveModel
    last: int
    trials: int  # in the model
    fitted: int  # trials that the hyper-parameters were fitted to

    def predict(self, number: int, curves: "Curves") -> tuple[float, float]:
        """Return the expected final loss of a trial that has not ended, and its standard deviation."""
        mean, sd = self.model.predict(*self._asked(number, curves))
        return float(mean[0]), float(sd[0])

    def chance(self, number: int, curves: "Curves", below: float) -> float:
        """Return the probability that the final loss of a trial that has not ended is below a loss."""
        x, step, curve = self._asked(number, curves)
        return float(self.model.chance(x, step, below, curve)[0])

    def moments(self, number: int, curves: "Curves") -> tuple[float, float]:
        """Return mean and standard deviation of a trial's final loss in the units of the model."""
        x, step, curve = self._asked(number, curves)
        mean, sd = self.model.moments(x, step, curve)
        return float(mean[0]), float(sd[0])

    def ends(self, curves: "Curves") -> dict[int, tuple[float, float]]:
        """Return the expected final losses of pruned trials by number, and their standard deviations."""
        places, (mean, sd) = self.model.trials, self.model.ends()
        found = zip((curves.ended[place] for place in places), mean.tolist(), sd.tolist(), strict=True)
        return {number: (loss, spread) for number, loss, spread in found if number not in curves.ends}

    def _asked(self, number: int, curves: "Curves") -> tuple[Floats, int, Curve]:
        curve = curves.losses.get(number, {})
        return _points(curves, [number]), max(self.last, *curve, 0), curve


def forecast(curves: "Curves", before: Forecast | None = None) -> Forecast | None:
    """Return the model of the trials that have ended, given the one before; None until one has finished."""
    n = len(curves.ended)
    if not curves.ends:
        return None
    if before is not None and before.trials == n:
        return before
    due = 1
    while (more := max(due + 1, int(due * GROWTH))) <= n:
        due = more
    first = next(place for place, number in enumerate(curves.ended) if number in curves.ends)
    due = max(due, first + 1)
    theta = before.model.theta if before is not None and before.fitted == due else _model(curves, due).model.theta
    return _model(curves, n, theta)._replace(fitted=due)


def _model(curves: "Curves", n: int, theta: Floats | None = None) -> Forecast:
    """Return the model of the first `n` trials that have ended."""
    ended = curves.ended[:n]
    last = max((max(curves.losses.get(number, {1: 0.0})) for number in ended if number in curves.ends), default=1)
    model = CurveModel.fit(_points(curves, ended), [_whole(curves, number, last) for number in ended], theta)
    return Forecast(model, last, n, n)


def _whole(curves: "Curves", number: int, last: int) -> Curve:
    """Return the curve of a trial, with the final loss of a finished one at the last step."""
    curve = curves.losses.get(number, {})
    if number not in curves.ends:
        return curve
    return {step: loss for step, loss in curve.items() if step < last} | {last: curves.ends[number]}


def _points(curves: "Curves", numbers: Sequence[int]) -> Floats:
    """Return the points of trials, [k, d]; an unknown one counts as the middle of the cube."""
    dim = len(next(iter(curves.x.values()), np.zeros(1)))
    middle = np.full(dim, 0.5)
    return np.array([curves.x.get(number, middle) for number in numbers])
