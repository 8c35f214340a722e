"""When a run stops, and how that is said."""

import re
import time

import numpy as np

from lamcts.observations import Observations
from lamcts.outcomes.failures import kind_of
from lamcts.outcomes.goals import Goals
from lamcts.study.options import RunSettings
from lamcts.study.result import Evaluation

INVALID = "invalid point"  # a function that raises it works
# what may differ between failures that are alike
NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?")
MESSAGES = {
    "budget": "the budget of {budget} evaluations is used up",
    "target": "the target {target} is reached",
    "patience": "no improvement in {patience} evaluations",
    "seconds": "the {seconds} seconds are over",
    "failing": "the first {give_up} evaluations failed alike: something is wrong with the function, or with the space",
    "callback": "the callback asked to stop",
    "exhausted": "{exhausted}",
    "interrupted": "interrupted",
    "running": "the run goes on",
}


class Stopping:
    """The stop rules of a run. All but `seconds` and `give_up`, which are of one call, depend on what was seen alone:
    a resumed run stops where it should.
    """

    def __init__(self, settings: RunSettings, goals: Goals) -> None:
        self._settings = settings
        self.searches = settings.searches  # evaluations of new points, which grow where re-evaluations are not needed
        self._target = None if settings.target is None else float(goals.signs[0]) * settings.target
        self._start = time.monotonic()
        self._alike: set[str] | None = set()  # how evaluations have failed; None once one has not
        self._told = 0

    def reason(self, seen: Observations, done: int) -> str | None:
        """Return why no further point is to be searched for (a key of MESSAGES), or None; `done` were."""
        if done >= self.searches:
            return "budget"
        if self.failing:
            return "failing"
        if self._target is not None and self._reached(seen):
            return "target"
        if self._settings.patience is not None and _fruitless(seen) >= self._settings.patience:
            return "patience"
        return self.late()

    def told(self, evaluation: Evaluation) -> None:
        """Take note of an evaluation of this call."""
        self._told += 1
        if self._alike is None or evaluation.message is None or kind_of(evaluation.message) == INVALID:
            self._alike = None
        else:
            self._alike.add(NUMBERS.sub("0", evaluation.message))

    @property
    def failing(self) -> bool:
        """Whether the first evaluations of this call have all failed, alike but for numbers: no more are to come."""
        most = self._settings.give_up
        return most is not None and self._told >= most and self._alike is not None and len(self._alike) == 1

    def _reached(self, seen: Observations) -> bool:
        best = seen.best
        return best is not None and bool(seen.feasible[best]) and seen.f[best, 0] <= self._target

    def late(self) -> str | None:
        """Return "seconds" if the time is over."""
        limit = self._settings.seconds
        return "seconds" if limit is not None and time.monotonic() - self._start >= limit else None


def _fruitless(seen: Observations) -> int:
    """Return how many evaluations came since the last row that was better: the best, or one of the front."""
    last = seen.best
    if seen.f.shape[1] > 1 and len(front := seen.front):
        _, first = np.unique(seen.f[front], axis=0, return_index=True)  # of equals the first was the gain
        last = int(front[first].max())
    since = 0 if last is None else last + 1
    return int(np.count_nonzero(seen.trial[since:] >= 0))  # known results are no evaluations
