"""What an objective gets as its parameter `trial`: `trial.report(step, value)` tells of its way, and may end it."""

import math
from collections.abc import Callable

import numpy as np

from lamcts.errors import Pruned
from lamcts.text import safe_repr
from lamcts.types import number_of

Judge = Callable[[int, int, float, bool], bool]
"""Takes the trial's number, a step, the value there, and whether it is the first; returns whether to stop."""


class Reporter:
    """The trial of an evaluation, which the objective gets as its parameter `trial`.

    Attributes
    ----------
    id : int
        The number of the trial; -1 for a re-evaluation.
    reports : list of (step, value)
        All intermediate values so far.

    Examples
    --------
    >>> import lamcts
    >>> def f(point, trial):
    ...     for epoch in range(1, 4):
    ...         trial.report(epoch, point[0] / epoch)
    ...     return point[0] / 3
    >>> lamcts.minimize(f, [(0, 1)], budget=12, seed=0, pruner="median").nfev
    12
    """

    def __init__(self, number: int, judge: Judge | None = None, refuse: str | None = None) -> None:
        self.id = number
        self.reports: list[tuple[int, float]] = []
        self._judge, self._refuse = judge, refuse
        self._behind = False

    def report(self, step: int, value: object) -> None:
        """Report an intermediate value.

        Parameters
        ----------
        step : int
            At least 0 and higher than the step before: an epoch, an iteration, a fold.
        value : float
            In the sign of the objective, comparable at equal steps. nan is worse than any number.

        Raises
        ------
        Pruned
            If the trial should stop.
        """
        if self._refuse is not None:
            raise RuntimeError(self._refuse)
        step, number = self._checked(step), _number(value)
        first = not self.reports
        self.reports.append((step, number))
        self._behind = self._judge is not None and self._judge(self.id, step, number, first)
        if self._behind:
            raise Pruned(f"pruned at step {step}")

    def should_prune(self) -> bool:
        """Return whether the last report was answered by `Pruned`: for code that catches it, to tidy up."""
        return self._behind

    def close(self) -> None:
        """Say that the evaluation has ended."""
        if (close := getattr(self._judge, "close", None)) is not None:
            close()

    def _checked(self, step: object) -> int:
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
            raise ValueError(
                f"report: expected report(step, value) with a whole number of at least 0 as step, got "
                f"{safe_repr(step):.60}; the step comes first"
            )
        if self.reports and step <= self.reports[-1][0]:
            raise ValueError(f"report: expected a step after {self.reports[-1][0]}, got {step}; report each step once")
        return int(step)


def _number(value: object) -> float:
    try:
        number = number_of(value)
    except TypeError:
        raise ValueError(f"report: expected a number as value, got {safe_repr(value):.60}") from None
    if math.isinf(number):
        raise ValueError(f"report: expected a finite number or nan as value, got {number}; nan is worse than any")
    return number
