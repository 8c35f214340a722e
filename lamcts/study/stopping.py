"""The stop rules of a run, and their messages."""

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

FIRST_LOOK = 20  # rows at the first estimate of the remaining gain
LOOKS = 10  # the next estimate follows after 1/10 more rows: estimates cost a model each, fewer stop later
FAILURES = 5  # equal failures from the start before the warning: fewer may be chance, more cost evaluations
HURRY = 0.5  # share of `seconds` after which a first full evaluation is made: the rest is the time for it
INVALID = "invalid point"  # a kind of failure that a working function raises
NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?")  # parts in which messages of equal failures may differ
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
    """The stop rules of a run. All but `seconds` and `give_up`, which count one call, depend on the rows alone."""

    def __init__(self, settings: RunSettings, run: "Optimizer") -> None:
        self._settings = settings
        self._run = run
        self._target = None if settings.target is None else float(run.goals.signs[0]) * settings.target
        self._little: dict[int, bool] = {}  # number of rows -> whether the remaining gain was below `min_gain`
        self._start = time.monotonic()
        self._messages: set[str] | None = set()  # messages of failures; None after a success
        self._n_told = 0

    def reason(self, seen: Observations, over: bool) -> str | None:
        """Return the reason to stop, a key of MESSAGES, or None; `over`: whether the budget is used up."""
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

    def tell(self, evaluation: Evaluation) -> None:
        """Add an evaluation of this call."""
        self._n_told += 1
        if self._messages is None or evaluation.message is None or kind_of(evaluation.message) == INVALID:
            self._messages = None
        else:
            self._messages.add(NUMBERS.sub("0", evaluation.message))

    @property
    def failing(self) -> bool:
        """Whether the first `give_up` evaluations of this call have all failed with equal messages but for numbers."""
        most = self._settings.give_up
        return most is not None and self._n_told >= most and self._messages is not None and len(self._messages) == 1

    def _reached(self, seen: Observations) -> bool:
        best = seen.best
        return best is not None and bool(seen.feasible[best]) and seen.f[best, 0] <= self._target

    def _little_left(self, n: int) -> bool:
        """Return whether the remaining gain after `n` rows was below `min_gain`."""
        if n not in self._little:
            run = self._run
            least = self._settings.min_gain
            gain = remaining_gain_after(run.space, run.goals, run.seen, n, run.seed)
            self._little[n] = gain is not None and gain.upper < (gain.noise if least == NOISE else float(least or 0))
        return self._little[n]

    def late(self) -> str | None:
        """Return "seconds" after the end of the time, else None."""
        return "seconds" if self._over(1.0) else None

    @property
    def hurry(self) -> bool:
        """Whether a run with a fidelity should make its first full evaluation."""
        return self._over(HURRY)

    def _over(self, share: float) -> bool:
        limit = self._settings.seconds
        return limit is not None and time.monotonic() - self._start >= share * limit

    def _fruitless(self, seen: Observations) -> float:
        """Return the cost, in full evaluations, since the last improvement of the best row or the front."""
        last = seen.best
        if seen.f.shape[1] > 1 and len(front := seen.front):
            _, first = np.unique(seen.f[front], axis=0, return_index=True)  # the first of equal rows improved
            last = int(front[first].max())
        since = 0 if last is None else last + 1
        costs = Costs(self._run.space)
        if costs.axis is not None:
            return sum(costs.take(seen)[since:]) / costs.full if since else 0
        return int(np.count_nonzero(seen.trial[since:] >= 0))  # without known results


def warn_if_nothing_works(run: "Optimizer") -> None:
    """Warn once, after the first evaluations, if all of them failed with the same message, likely a mistake."""
    failures = run.failures
    n = len(run.seen)
    if n == max(run.n_init, FAILURES) == len(failures) and len(set(failures.values())) == 1:
        text = f"the first {n} evaluations all failed with: {visible(failures[0])}; the run goes on"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def looks(n: int) -> Iterator[int]:
    """Yield the numbers of rows up to `n` after which a run estimates the remaining gain."""
    at = FIRST_LOOK
    while at <= n:
        yield at
        at += max(at // LOOKS, 1)
