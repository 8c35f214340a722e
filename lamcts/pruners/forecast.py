"""Final losses of trials, predicted by a Gaussian process over points and steps."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamcts.models.fidelity_model import FidelityModel
from lamcts.models.kernel import Hyper
from lamcts.spaces.box import Box
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.pruners.curves import Curves

GROWTH = 1.2  # of the trials that have ended, from one fit of hyper-parameters to the next (untuned)
MAX_TRIALS = 150  # in the model: the better half of them and the latest of the others (untuned)
MAX_REPORTS = 300  # in the model (untuned)
MAX_STEPS = 8  # of a curve in the model, in geometric order (of 5, 8 and 12; benchmarks/neural, two problems)


class Forecast(NamedTuple):
    """The model of the trials that have ended and have a point and a report.

    It depends on these trials and on their order alone. The final step is the last one of the longest finished trial;
    the final loss of each finished trial counts as its loss at that step.
    """

    model: FidelityModel
    last: int
    worst: float  # finite loss, as which others count
    numbers: list[int]  # of the trials in the model
    trials: int  # that had ended
    fitted: int  # that had ended when the hyper-parameters were fitted

    def moments(self, number: int, curves: "Curves", so_far: bool = True) -> tuple[float, float]:
        """Return mean and deviation of the final loss of a trial with a point, in the units of the model."""
        curve = _until(self.last, curves.losses.get(number, {})) if so_far else {}
        if not curve:
            mean, sd = self.model.full(curves.x[number][None])
            return float(mean[0]), float(sd[0])
        steps = thinned(curve, MAX_STEPS)
        losses = _finite([curve[step] for step in steps], self.worst)
        return self.model.end(curves.x[number], _positions(np.array(steps), self.last), losses)

    def predict(self, number: int, curves: "Curves") -> tuple[float, float] | None:
        """Return the expected final loss of a trial that has not ended with its deviation; None without a point."""
        if number not in curves.x:
            return None
        loss, sd = self.model.losses(*self.moments(number, curves))
        return float(loss), float(sd)

    def ends(self, curves: "Curves") -> dict[int, tuple[float, float]]:
        """Return the expected final losses of pruned trials by number, and their standard deviations."""
        pruned = [number for number in self.numbers if number not in curves.ends]
        if not pruned:
            return {}
        mean, sd = self.model.losses(*self.model.full(_points(curves, pruned)))
        return dict(zip(pruned, zip(mean.tolist(), sd.tolist(), strict=True), strict=True))


def forecast(curves: "Curves", before: Forecast | None = None) -> Forecast | None:
    """Return the model of the trials that have ended, given the one before; None until one has finished."""
    n = len(curves.ended)
    if before is not None and before.trials == n:
        return before
    due = 1
    while (more := max(due + 1, int(due * GROWTH))) <= n:
        due = more
    first = next((place for place, number in enumerate(curves.ended) if _known(number, curves)), None)
    if first is None:
        return None
    due = max(due, first + 1)
    old = before if before is not None and before.fitted == due else _model(curves, due)
    return _model(curves, n, old.model.hyper)._replace(fitted=due)


def _model(curves: "Curves", n: int, hyper: Hyper | None = None) -> Forecast:
    """Return the model of the first `n` trials that have ended."""
    ended = curves.ended[:n]
    last = max([1, *(max(curves.losses.get(number, {1: 0.0})) for number in ended if number in curves.ends)])
    whole = {number: _until(last, curves.losses.get(number, {})) for number in ended if number in curves.x}
    for number in curves.ends.keys() & whole:
        whole[number][last] = curves.ends[number]
    worst = max(loss for curve in whole.values() for loss in curve.values() if math.isfinite(loss))
    numbers = _chosen({number: curve for number, curve in whole.items() if curve})
    steps = [thinned(whole[number], MAX_REPORTS // len(numbers)) for number in numbers]
    x = np.repeat(_points(curves, numbers), [len(own) for own in steps], axis=0)
    at = _positions(np.array([step for own in steps for step in own]), last)
    losses = [whole[number][step] for number, own in zip(numbers, steps, strict=True) for step in own]
    parameters = Parameters(Box(0, 1, dim=x.shape[1]) if curves.space is None else curves.space)
    return Forecast(FidelityModel(parameters, x, at, _finite(losses, worst), hyper), last, worst, numbers, n, n)


def _known(number: int, curves: "Curves") -> bool:
    """Return whether a trial has a point and a finite end."""
    return number in curves.x and math.isfinite(curves.ends.get(number, math.inf))


def _until(last: int, curve: Mapping[int, float]) -> dict[int, float]:
    """Return the losses of a trial by step; what comes after the last step counts as there."""
    return {min(step, last): loss for step, loss in curve.items()}


def thinned(curve: Mapping[int, float], most: int) -> list[int]:
    """Return at most `most` steps of a curve (at least 2), the last one and others in geometric order."""
    steps = np.array(list(curve), float)
    most = min(max(most, 2), MAX_STEPS)
    if len(steps) <= most:
        return list(curve)
    wanted = np.geomspace(1.0, steps[-1] - steps[0] + 1.0, most) + steps[0] - 1.0
    places = np.unique(np.searchsorted(steps, wanted - 1e-9 * steps[-1]))  # the first report at or after each
    return [int(steps[min(place, len(steps) - 1)]) for place in places]


def _chosen(curves: Mapping[int, Mapping[int, float]]) -> list[int]:
    """Return the trials of the model: all, or the better half of the most and the latest others."""
    if len(curves) <= MAX_TRIALS:
        return list(curves)
    better = {*sorted(curves, key=lambda number: curves[number][max(curves[number])])[: MAX_TRIALS // 2]}
    others = [number for number in curves if number not in better][len(better) - MAX_TRIALS :]
    kept = {*better, *others}
    return [number for number in curves if number in kept]


def _points(curves: "Curves", numbers: Sequence[int]) -> Floats:
    return np.array([curves.x[number] for number in numbers])


def _positions(steps: Floats, last: int) -> Floats:
    """Return the positions of steps on the way to the last one, logarithmic."""
    result: Floats = np.log1p(steps) / math.log1p(last)
    return result


def _finite(losses: Sequence[float], worst: float) -> Floats:
    y = np.array(losses, float)
    return np.where(np.isfinite(y), y, worst)
