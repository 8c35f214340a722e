"""Evaluations of many points by one call: `f` gets a list of points and returns a list of values."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from lamcts.optimizer.losses import as_list
from lamcts.study.evaluation import Call, Job, Outcome, evaluate, plain_value, takes_seed
from lamcts.study.scipy_constraints import Guarded
from lamcts.utils import interrupts


class Vectorized:
    """Evaluates up to `n` points at a time, in this process. An exception is a failure of all of them.

    f: `f(points)`, or `f(points, seed=seeds)` where it has such a parameter; or such a function after constraints.
    """

    def __init__(self, f: Call, n: int) -> None:
        self._f, self._seeded, self._n = f, takes_seed(f), n
        self._waiting: list[Job] = []
        self._done: deque[tuple[Job, Outcome]] = deque()

    @property
    def free(self) -> int:
        return 0 if self._done else self._n - len(self._waiting)

    @property
    def running(self) -> int:
        return len(self._waiting) + len(self._done)

    @property
    def ready(self) -> bool:
        return self.running > 0  # one call, for the points that were asked for together

    def start(self, job: Job) -> None:
        self._waiting.append(job)

    def wait(self) -> tuple[Job, Outcome]:
        if not self._done:
            jobs, self._waiting = self._waiting, []
            with interrupts.raised():
                outcomes = self._outcomes(jobs)
            self._done.extend(zip(jobs, outcomes, strict=True))
        return self._done.popleft()

    def close(self) -> None:
        self._waiting.clear()
        self._done.clear()

    def _outcomes(self, jobs: list[Job]) -> list[Outcome]:
        """Return what came of jobs: the function is called once, with those whose constraints let it be run."""
        if not isinstance(self._f, Guarded):
            return self._called(self._f, jobs)
        found = [evaluate(self._f.measure, False, job.point, job.seed) for job in jobs]
        run = [outcome.error is None and bool(outcome.value[1]) for outcome in found]
        ran = iter(self._called(self._f.f, [job for job, runs in zip(jobs, run, strict=True) if runs]))
        made = []
        for checked, runs in zip(found, run, strict=True):
            held = None if checked.error is not None else checked.value[0]
            made.append(next(ran)._replace(held=held) if runs else checked._replace(value=None, held=held))
        return made

    def _called(self, f: Callable[..., object], jobs: list[Job]) -> list[Outcome]:
        if not jobs:
            return []
        seeds: Any = [job.seed for job in jobs]
        whole = evaluate(f, self._seeded, [job.point for job in jobs], seeds)
        one = Outcome(None, whole.error, whole.seconds / len(jobs))
        if whole.error is not None:
            return [one] * len(jobs)
        return [one._replace(value=plain_value(value)) for value in _each(whole.value, len(jobs))]


def _each(values: object, n: int) -> list[Any]:
    """Return a value for each of `n` points; a dict may have a list for each name. ValueError for another number."""
    if isinstance(values, Mapping):
        columns = {name: as_list(column, n, f"vectorized: values of {name!r}") for name, column in values.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(n)]
    return as_list(values, n, "vectorized: values")
