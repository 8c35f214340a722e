"""The median rule of Google Vizier."""

from dataclasses import dataclass

import numpy as np

from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import whole_number


@register("median", "worse than the median of finished trials at the same step")
@dataclass(frozen=True)
class Median:
    """Stop a trial whose best value is worse than the median of finished trials at the same step.

    Parameters
    ----------
    startup : int, default 5
        Number of trials that finish before any trial is stopped; Optuna's default.
    warmup : int, default 0
        No trial is stopped before this step; Optuna's default.
    interval : int, default 1
        Steps between two checks of a trial; Optuna's default.

    References
    ----------
    Golovin et al. 2017, Google Vizier: a service for black-box optimization.

    Examples
    --------
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> for number, loss in enumerate([0.1, 0.2, 0.3]):
    ...     curves.add(number, step=1, loss=loss)
    ...     curves.finish(number, loss)
    >>> curves.add(3, step=1, loss=0.5)
    >>> pruners.Median(startup=3).prune(3, curves)
    True
    """

    startup: int = 5
    warmup: int = 0
    interval: int = 1

    def __post_init__(self) -> None:
        whole_number(self.startup, "startup", least=0)
        whole_number(self.warmup, "warmup", least=0)
        whole_number(self.interval, "interval")

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        last = curves.last(number)
        if last is None or len(curves.ends) < max(self.startup, 1) or not self._due(list(curves.losses[number])):
            return False
        others = curves.at(last[0])
        return bool(len(others)) and min(curves.losses[number].values()) > float(np.median(others))

    def _due(self, steps: list[int]) -> bool:
        """Return whether the last step of a trial is the first in an interval."""
        step, before = steps[-1], steps[-2] if len(steps) > 1 else -1
        if step < self.warmup:
            return False
        return before < (step - self.warmup) // self.interval * self.interval + self.warmup
