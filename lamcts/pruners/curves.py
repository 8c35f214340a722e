"""Intermediate values of trials: the input of a pruner."""

import math

import numpy as np

from lamcts.pruners.forecast import Forecast, forecast
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats


class Curves:
    """Reported losses of all trials: what a pruner reads.

    Lower losses are better; a reported nan is inf.

    Parameters
    ----------
    objectives : int, default 1
        Number of objectives.
    space : SearchSpace, optional
        The space of the points; None is the unit cube.

    Attributes
    ----------
    losses : dict of int to dict of int to float
        The losses of each trial by step, in the order of the steps; numbers below 0 are known results.
    ends : dict of int to float
        The loss of each finished trial, in the order in which the trials finished.
    ended : list of int
        The numbers of the finished and the pruned trials, in the order in which they ended.
    x : dict of int to array of shape (d,)
        The encoded points of trials, where they are known; forecasts need them.
    objectives : tuple of Curves
        The curves of each objective; the first are these. All have the same trials and steps.

    Examples
    --------
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> curves.add(0, step=1, loss=0.5)
    >>> curves.last(0)
    (1, 0.5)
    """

    def __init__(self, objectives: int = 1, space: SearchSpace | None = None) -> None:
        self.space = space
        self.losses: dict[int, dict[int, float]] = {}
        self.ends: dict[int, float] = {}
        self.ended: list[int] = []
        self.x: dict[int, Floats] = {}
        self._forecast: Forecast | None = None
        self._at: dict[int, list[tuple[float, float]]] = {}  # by step: what finished trials had there, and their ends
        self._rungs: dict[int, dict[int, float]] = {}  # by step: what each trial had there, or first after it
        self.objectives: tuple[Curves, ...] = (self, *(Curves(space=space) for _ in range(objectives - 1)))
        for own in self.objectives:
            own.x = self.x

    def add(self, number: int, step: int, loss: float) -> None:
        """Add a report; the reports of a trial come in the order of their steps."""
        self.losses.setdefault(number, {})[step] = loss
        for first, rung in self._rungs.items():
            if step >= first:
                rung.setdefault(number, loss)

    def drop(self, number: int) -> None:
        """Remove the reports of a trial that starts again."""
        for known in (self.losses, *self._rungs.values()):
            known.pop(number, None)  # type: ignore[attr-defined]

    def finish(self, number: int, loss: float) -> None:
        """Record the final loss of a trial."""
        self.ends[number] = loss
        self.ended.append(number)
        for step, here in self.losses.get(number, {}).items():
            self._at.setdefault(step, []).append((here, loss))

    def stop(self, number: int) -> None:
        """Record that a trial was pruned."""
        self.ended.append(number)

    def forecast(self) -> Forecast | None:
        """Return the model of all trials that have ended, or None before one has finished."""
        self._forecast = forecast(self, self._forecast)
        return self._forecast

    def last(self, number: int) -> tuple[int, float] | None:
        """Return the last step of a trial and its loss there, None before its first report."""
        curve = self.losses.get(number)
        return next(reversed(curve.items())) if curve else None

    def at(self, step: int) -> Floats:
        """Return the finite losses of finished trials at a step, [k]."""
        here = np.array([loss for loss, _ in self._at.get(step, ())], float)
        finite: Floats = here[np.isfinite(here)]
        return finite

    def rung(self, step: int) -> dict[int, float]:
        """Return the loss of each trial at a step, or at its first step after that, by number."""
        if step not in self._rungs:
            reached = {
                number: next((loss for at, loss in curve.items() if at >= step), math.nan)
                for number, curve in self.losses.items()
            }
            self._rungs[step] = {number: loss for number, loss in reached.items() if loss == loss}
        return self._rungs[step]
