"""Workers on a simulated clock: evaluations whose durations are drawn, told in the order in which they would end.

Durations are lognormal with sigma 1, so that one in twenty lasts longer than three times the mean. n evaluations.
"""

import heapq
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGMA = 1.0  # of the logarithm of a duration


@dataclass
class Course:
    """What came of a run: when each evaluation began and ended, and its loss, in the order of their ends."""

    spans: list[tuple[float, float]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    own_seconds: float = 0.0  # of the optimiser's CPU

    def busy(self, workers: int) -> float:
        """Return the share of the workers' time that was spent evaluating, up to the last start."""
        begin, end = np.array(self.spans).T  # [n] each
        until = begin.max() - begin.min()
        spent = np.minimum(end, begin.max()) - begin
        return float(spent.sum() / (workers * until)) if until > 0 else 1.0

    @property
    def starts_per_second(self) -> float:
        begin = np.array(self.spans)[:, 0]
        return float((len(begin) - 1) / max(np.ptp(begin), 1e-9))

    @property
    def best(self) -> NDArray[np.float64]:
        """The best loss after each evaluation, [n]."""
        return np.minimum.accumulate(self.losses)


def duration(mean_seconds: float, seed: int) -> float:
    """Return how long an evaluation takes."""
    drawn = np.random.default_rng(seed).normal(-(SIGMA**2) / 2, SIGMA)
    return float(mean_seconds * np.exp(drawn))


def ran(opt: Any, f: Any, workers: int, budget: int, mean_seconds: float, *, wait_for_all: bool, own: bool) -> Course:
    """Run an optimizer on `workers`.

    wait_for_all: wait for all before more are asked for; else each worker gets a new point when it has ended, and those
    that have ended meanwhile are told first, as `minimize` does. own: the optimiser's CPU time passes on the clock.
    """
    course, now, asked = Course(), 0.0, 0
    out: list[tuple[float, int, float, Any]] = []  # end, number, begin, trial
    while len(course.losses) < budget:
        room = min(workers - len(out), budget - asked)
        if room and not (wait_for_all and out):
            since = time.process_time()
            trials = opt.ask(room)
            now += _passed(course, since, own)
            for trial in trials:
                heapq.heappush(out, (now + duration(mean_seconds, trial.seed), trial.id, now, trial))
            asked += len(trials)
        now = max(now, out[0][0])
        while out and out[0][0] <= now:
            end, _, begin, trial = heapq.heappop(out)
            course.spans.append((begin, end))
            course.losses.append(float(f(trial.point)))
            since = time.process_time()
            opt.tell([trial], [course.losses[-1]], [end - begin])
            now += _passed(course, since, own)
    return course


def _passed(course: Course, since: float, own: bool) -> float:
    seconds = time.process_time() - since
    course.own_seconds += seconds
    return seconds if own else 0.0
