"""When a run stops, and how that is said."""

import re
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lamcts.optimizer.prediction import remaining_gain_after
from lamcts.outcomes.failures import kind_of
from lamcts.outcomes.observations import Observations
from lamcts.study.options import NOISE, RunSettings
from lamcts.study.result import Evaluation
from lamcts.study.spending import Costs
from lamcts.text import visible

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

FIRST_LOOK, LOOKS = 20, 10  # rows at the first look for what is left to gain, and 1 / growth to the next (untuned)
FAILURES = 5  # in the same way from the first on, at least, before a bug is thought likely (untuned)
HURRY = 0.5  # of the seconds, after which the best prediction is evaluated if no full evaluation was (untuned)
INVALID = "invalid point"  # a function that raises it works
# what may differ between failures that are alike
NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?")
MESSAGES = {
    "budget": "the budget of {budget} is used up",
    "target": "the target {target} is reached",
    "patience": "no improvement in {patience} evaluations",
    "min_gain": "less is left to gain than min_gain={min_gain}, by the model of the run",
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

    def __init__(self, settings: RunSettings, run: "Optimizer") -> None:
        self._settings, self._run = settings, run
        self._target = None if settings.target is None else float(run.goals.signs[0]) * settings.target
        self._little: dict[int, bool] = {}  # number of rows -> whether little was left to gain after them
        self._start = time.monotonic()
        self._alike: set[str] | None = set()  # how evaluations have failed; None once one has not
        self._told = 0

    def reason(self, seen: Observations, over: bool) -> str | None:
        """Return why no further point is to be searched for (a key of MESSAGES), or None; `over`: the budget is."""
        if over:
            return "budget"
        if self.failing:
            return "failing"
        if self._target is not None and self._reached(seen):
            return "target"
        if self._settings.patience is not None and self._fruitless(seen) >= self._settings.patience:
            return "patience"
        if self._settings.min_gain is not None and any(map(self._little_left, looks(len(seen)))):
            return "min_gain"
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

    def _little_left(self, n: int) -> bool:
        """Return whether less than `min_gain` was left to gain after `n` rows."""
        if n not in self._little:
            run, least = self._run, self._settings.min_gain
            gain = remaining_gain_after(run.space, run.goals, run.seen, n, run.seed)
            self._little[n] = gain is not None and gain.upper < (gain.noise if least == NOISE else float(least or 0))
        return self._little[n]

    def late(self) -> str | None:
        """Return "seconds" if the time is over."""
        return "seconds" if self._over(1.0) else None

    @property
    def hurry(self) -> bool:
        """Whether a run with a fidelity needs a full evaluation by now."""
        return self._over(HURRY)

    def _over(self, share: float) -> bool:
        limit = self._settings.seconds
        return limit is not None and time.monotonic() - self._start >= share * limit

    def _fruitless(self, seen: Observations) -> float:
        """Return the cost, in full evaluations, since the last row that was better: the best, or one of the front."""
        last = seen.best
        if seen.f.shape[1] > 1 and len(front := seen.front):
            _, first = np.unique(seen.f[front], axis=0, return_index=True)  # of equals the first was the gain
            last = int(front[first].max())
        since = 0 if last is None else last + 1
        costs = Costs(self._run.space)
        if costs.axis is not None:
            return sum(costs.take(seen)[since:]) / costs.full if since else 0
        return int(np.count_nonzero(seen.trial[since:] >= 0))  # known results are no evaluations


def warn_if_nothing_works(run: "Optimizer") -> None:
    """Warn once, after the first evaluations, if every one has failed in the same way: a bug is likely."""
    failures, n = run.failures, len(run.seen)
    if n == max(run.n_init, FAILURES) == len(failures) and len(set(failures.values())) == 1:
        text = f"the first {n} evaluations all failed with: {visible(failures[0])}; the run goes on"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def looks(n: int) -> Iterator[int]:
    """Yield the numbers of rows up to `n` after which a run looks at what is left to gain, resumed or not."""
    at = FIRST_LOOK
    while at <= n:
        yield at
        at += max(at // LOOKS, 1)
