"""Evaluations on `concurrent.futures` executors. No started job is lost."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from lamcts.study.devices import Worker
from lamcts.study.evaluation import Job, Outcome
from lamcts.text import safe_text
from lamcts.utils import interrupts

TRIES = 2  # attempts at a job whose worker died: a second death shows that the job is the cause


class ConnectionLost(CancelledError):
    """An executor has lost a job through no fault of the job, which is sent again without counting a death."""


@dataclass(eq=False)
class Slot:
    """An executor, its number of jobs at a time, and the number of its first worker."""

    executor: Executor
    size: Callable[[], int]
    first: int = 0
    running: dict["Future[Outcome]", tuple[int, Job]] = field(default_factory=dict)
    suspects: deque[Job] = field(default_factory=deque)  # lost jobs, which are sent again one at a time
    alone: bool = False  # whether a suspect runs without any other job

    @property
    def free(self) -> int:
        if self.alone and self.suspects:
            return 0
        return max(self.size() - len(self.running) - len(self.suspects), 0)

    @property
    def sends_again(self) -> bool:
        """Whether the next suspect may be sent."""
        if self.alone or not self.suspects:
            return bool(self.suspects) and not self.running
        return not (self.suspects[0].deaths and any(job.deaths for _, job in self.running.values()))


class Pool:
    """Evaluates jobs on executors by `call(*job.arguments, worker)`."""

    def __init__(
        self, call: Callable[..., Any], slots: list[Slot], tells: bool = False, devices: Sequence[str] | None = None
    ) -> None:
        self._call = call
        self._slots = slots
        self._tells = tells
        self._devices = devices
        self._futures: dict[Future[Outcome], Slot] = {}  # in order of start

    @property
    def free(self) -> int:
        """Number of jobs that may be started now."""
        return sum(slot.free for slot in self._slots)

    @property
    def running(self) -> int:
        """Number of started jobs that `wait` has not returned."""
        return sum(len(slot.running) + len(slot.suspects) for slot in self._slots)

    @property
    def ready(self) -> bool:
        """Whether a result is available, which should be told before the next ask."""
        return any(future.done() for future in self._futures)

    def start(self, job: Job) -> None:
        """Start a job; `free` must be above 0."""
        self._submit(next(slot for slot in self._slots if slot.free), job)

    def wait(self) -> tuple[Job, Outcome] | None:
        """Return the first started of the jobs that have ended; None if more jobs may be started before."""
        before = self.free
        while True:
            interrupts.check()
            for slot in self._slots:
                while slot.sends_again:
                    self._submit(slot, slot.suspects.popleft())
            if (future := next((future for future in self._futures if future.done()), None)) is not None:
                if (ended := self._ended(future)) is not None:
                    return ended
            elif self.free > before:
                return None
            else:
                wait(self._futures, interrupts.CHECK_SECONDS, FIRST_COMPLETED)

    def close(self) -> None:
        """Cancel the running jobs, and shut down the executors."""
        for future in self._futures:
            future.cancel()
        for waits in (False, True):  # all executors begin to shut down before the first wait
            for slot in self._slots:
                slot.executor.shutdown(waits)

    def _submit(self, slot: Slot, job: Job) -> None:
        used = {index for index, _ in slot.running.values()}
        index = next(number for number in count(slot.first) if number not in used)
        device = None if self._devices is None else self._devices[index]
        future = slot.executor.submit(self._call, *job.arguments, Worker(index, device) if self._tells else None)
        slot.running[future] = (index, job)
        self._futures[future] = slot

    def _ended(self, future: "Future[Outcome]") -> tuple[Job, Outcome] | None:
        """Return an ended job and its outcome; None if the job is lost and will be sent again."""
        slot = self._futures.pop(future)
        _, job = slot.running.pop(future)
        try:
            return job, future.result()
        except (BrokenExecutor, CancelledError) as death:
            slot.alone = isinstance(death, BrokenExecutor)
            job = job._replace(deaths=job.deaths + (not isinstance(death, ConnectionLost)))
            if job.deaths >= TRIES:
                text = f"the worker died {TRIES} times at this point ({safe_text(death)})"
                return job, failed(death, text if slot.alone else safe_text(death))
            slot.suspects.append(job)
            return None
        except Exception as raised:  # an error of the executor
            return job, failed(raised, safe_text(raised))


def failed(raised: BaseException, text: str) -> Outcome:
    """Return the outcome of an evaluation that an executor did not finish."""
    return Outcome(None, (type(raised).__name__, text), float("nan"))


class InProcess(Executor):
    """Evaluates in this process, within `submit`."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        with interrupts.raised():
            future.set_result(call(*arguments, **words))
        return future


class Together(Executor):
    """Collects jobs, and evaluates all of them in one call at the first request for a result."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], tuple[Any, ...]]] = []

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        future = _Collected(partial(self._evaluate, call))
        self._waiting.append((future, arguments))
        return future

    def _evaluate(self, call: Callable[[list[tuple[Any, ...]]], list[Outcome]]) -> None:
        jobs = self._waiting
        self._waiting = []
        if jobs:
            with interrupts.raised():
                outcomes = call([arguments for _, arguments in jobs])
            for (future, _), outcome in zip(jobs, outcomes, strict=True):
                future.set_result(outcome)


class _Collected(Future[Any]):
    def __init__(self, evaluate: Callable[[], None]) -> None:
        super().__init__()
        self._evaluate = evaluate

    def done(self) -> bool:
        self._evaluate()
        return super().done()


class Renewed(Executor):
    """An executor that is created at the first job and replaced after it has broken; a user's executor stays open."""

    def __init__(self, make: Callable[[], Executor], executor: Executor | None = None) -> None:
        self._make = make
        self._executor = executor
        self._own_executors: list[Executor] = []

    @classmethod
    def of(cls, executor: Any) -> "Renewed":
        """Return the wrapper of a user's executor, or of a function (or class) that creates one."""
        is_executor = hasattr(executor, "submit") and not isinstance(executor, type)
        return cls(partial(_twin, executor), executor) if is_executor else cls(executor)

    @property
    def executor(self) -> Executor:
        """The executor, created if necessary."""
        if self._executor is None:
            self._executor = self._make()
            self._own_executors.append(self._executor)
        return self._executor

    @property
    def workers(self) -> int:
        """Number of jobs at a time, the number of cores if the executor has none."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        try:
            try:
                future = self.executor.submit(call, *arguments, **words)
            except (OSError, ValueError):  # a pool that breaks while it starts a process raises BrokenExecutor then
                future = self.executor.submit(call, *arguments, **words)
        except BrokenExecutor:
            self._executor = None
            future = self.executor.submit(call, *arguments, **words)
        if not isinstance(future, Future):
            raise ValueError(
                f"executor: expected submit() to return a concurrent.futures.Future, got {type(future).__name__} of "
                f"{type(self.executor).__name__}; ask and tell need none: see lamcts.Optimizer"
            )
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        while self._own_executors:
            self._own_executors.pop().shutdown(wait=False)  # loky's takes no cancel_futures


def _twin(pool: Executor) -> Executor:
    """Return a pool with the settings of a broken pool, which have no public names."""
    if not isinstance(pool, ProcessPoolExecutor):
        raise RuntimeError(
            f"the executor {type(pool).__name__} broke and cannot be replaced; pass executor=a function that makes it"
        )
    return ProcessPoolExecutor(
        getattr(pool, "_max_workers", None),
        mp_context=getattr(pool, "_mp_context", None),
        initializer=getattr(pool, "_initializer", None),
        initargs=getattr(pool, "_initargs", ()),
    )
