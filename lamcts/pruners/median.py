"""The median rule: a trial is stopped whose best report so far is worse than what half of the others had by then."""

from dataclasses import dataclass

import numpy as np

from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import whole_number


@register("median", "worse than the median of finished trials at the same step")
@dataclass(frozen=True)
class Median:
    """Stop a trial whose best value so far is worse than the median of what finished trials had at this step.

    That of Google Vizier (Golovin et al. 2017), with the defaults of Optuna.

    startup: trials that have to finish before any is stopped (5; trials); Optuna's.
    warmup: no trial is stopped at a step before this one (0; steps); Optuna's.
    interval: a trial is looked at once in so many steps (1; steps); Optuna's.
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
        """Return whether the last of a trial's steps is the first within an interval."""
        step, before = steps[-1], steps[-2] if len(steps) > 1 else -1
        if step < self.warmup:
            return False
        return before < (step - self.warmup) // self.interval * self.interval + self.warmup
