"""Evaluations on any `concurrent.futures` executor. No started job is lost.

A worker process that dies takes down its whole `ProcessPoolExecutor`. The pool is then made anew, and the jobs it lost
run again one at a time, so that the one that kills its worker is known: after a second death it counts as failed.
"""

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
from itertools import accumulate, count
from typing import Any

from lamcts.study.devices import Worker
from lamcts.study.evaluation import Call, Job, Outcome, evaluate, takes, takes_seed
from lamcts.text import safe_text
from lamcts.utils import interrupts

TRIES = 2  # a job whose worker died is tried once more: one that kills its worker twice is its own cause


class ExecutorSlot:
    """An executor, what it runs, and the suspects: jobs that were running when it broke.

    first: the number of its first worker.
    """

    def __init__(self, make: Callable[[], Executor], size: int, first: int) -> None:
        self.make, self.size, self.first = make, size, first
        self.executor: Executor | None = None
        self.running: dict[Future[Outcome], Job] = {}
        self.suspects: deque[Job] = deque()

    @property
    def free(self) -> int:
        return 0 if self.suspects else self.size - len(self.running)


class Pool:
    """Evaluates on executors. `slots` of (how to make the executor, how many jobs it is given at once).

    devices: of each worker, where they are set.
    """

    def __init__(
        self, f: Call, slots: list[tuple[Callable[[], Executor], int]], devices: Sequence[str] | None = None
    ) -> None:
        self._call: Callable[..., Outcome] = evaluate
        self._fixed: tuple[object, ...] = (f, takes_seed(f))  # its first arguments
        self._tells, self._devices = takes(f, "worker"), devices
        ends = accumulate(size for _, size in slots)
        self._slots = [ExecutorSlot(make, size, end - size) for (make, size), end in zip(slots, ends, strict=True)]
        self._workers: dict[Future[Outcome], int] = {}  # numbers of those that evaluate
        self._order: dict[Future[Outcome], int] = {}
        self._started = 0
        self._deaths: dict[int, int] = {}  # id of a job -> workers that died on it

    @property
    def free(self) -> int:
        return sum(slot.free for slot in self._slots)

    @property
    def running(self) -> int:
        return sum(len(slot.running) + len(slot.suspects) for slot in self._slots)

    @property
    def ready(self) -> bool:
        return any(future.done() for slot in self._slots for future in slot.running)

    def start(self, job: Job) -> None:
        self._submit(next(slot for slot in self._slots if slot.free), job)

    def wait(self) -> tuple[Job, Outcome]:
        while True:
            interrupts.check()
            for slot in self._slots:
                if slot.suspects and not slot.running:
                    self._submit(slot, slot.suspects.popleft())
            running = {future: slot for slot in self._slots for future in slot.running}
            done = wait(running, self._look(), return_when=FIRST_COMPLETED).done
            if not done:
                continue
            future = min(done, key=self._order.__getitem__)
            slot = running[future]
            job = slot.running[future]
            try:
                outcome = future.result()
            except (BrokenExecutor, CancelledError) as death:
                if (late := self._late(slot, future)) is not None:
                    return job, late
                self._lose(slot, future, death)
                failed = self._hopeless(slot, death)
                if failed is not None:
                    return failed
                continue
            except Exception as raised:  # what the executor itself has to say, such as dask's KilledWorker
                outcome = Outcome(None, (type(raised).__name__, safe_text(raised)), float("nan"))
            self._drop(slot, future)
            self._deaths.pop(id(job), None)
            return job, outcome

    def close(self) -> None:
        for slot in self._slots:
            for future in slot.running:
                future.cancel()
            slot.running.clear()
            slot.suspects.clear()

    def _look(self) -> float:
        """End evaluations that are late, and return the seconds until the next look."""
        return interrupts.CHECK_SECONDS

    def _late(self, slot: ExecutorSlot, future: "Future[Outcome]") -> Outcome | None:
        """Return the failed outcome of a job that exceeded the time limit, after replacing its executor, or None."""
        return None

    def _submit(self, slot: ExecutorSlot, job: Job) -> None:
        if slot.executor is None:
            slot.executor = slot.make()
        index = next(i for i in count(slot.first) if all(self._workers[each] != i for each in slot.running))
        arguments = *job.arguments, self._worker(index)
        try:
            future = slot.executor.submit(self._call, *self._fixed, *arguments)
        except BrokenExecutor:  # it broke while idle, or just now
            if slot.running:  # their futures will say so too
                slot.suspects.append(job)
                return
            self._remake(slot)
            future = slot.executor.submit(self._call, *self._fixed, *arguments)
        if not isinstance(future, Future):
            raise ValueError(
                f"executor: expected submit() to return a concurrent.futures.Future, got {type(future).__name__} of "
                f"{type(slot.executor).__name__}; ask and tell need none: see lamcts.Optimizer"
            )
        slot.running[future], self._workers[future] = job, index
        self._order[future] = self._started
        self._started += 1

    def _worker(self, index: int) -> Worker | None:
        """Return what the function gets as its parameter `worker`; None where it has no such parameter."""
        return Worker(index, None if self._devices is None else self._devices[index]) if self._tells else None

    def _lose(self, slot: ExecutorSlot, future: "Future[Outcome]", death: BaseException) -> None:
        """Make suspects of what an executor did not finish: this job alone, or all of them if the executor broke."""
        broke = isinstance(death, BrokenExecutor)
        for other in [f for f in slot.running if f is future or (broke and not _finished(f))]:
            job = slot.running[other]
            self._drop(slot, other)
            self._deaths[id(job)] = self._deaths.get(id(job), 0) + 1
            slot.suspects.append(job)
        if broke:
            self._remake(slot)

    def _hopeless(self, slot: ExecutorSlot, death: BaseException) -> tuple[Job, Outcome] | None:
        """Return the suspect on which workers died too often, as failed; it ran alone the last time."""
        for job in slot.suspects:
            if self._deaths.get(id(job), 0) >= TRIES:
                slot.suspects.remove(job)
                del self._deaths[id(job)]
                text = f"the worker died {TRIES} times at this point ({safe_text(death)})"
                return job, Outcome(None, (type(death).__name__, text), float("nan"))
        return None

    def _remake(self, slot: ExecutorSlot) -> None:
        slot.executor = slot.make()

    def _drop(self, slot: ExecutorSlot, future: "Future[Outcome]") -> None:
        del slot.running[future], self._order[future], self._workers[future]


def _finished(future: "Future[Outcome]") -> bool:
    """Return whether a future ended before its pool broke."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenExecutor)


class UserExecutor(Pool):
    """Evaluates on the user's executor, which is left open. `executor` may be a function that makes one."""

    def __init__(self, f: Call, executor: Any, workers: int | None) -> None:
        is_one = hasattr(executor, "submit") and not isinstance(executor, type)  # a class is a function that makes one
        self._given: Executor | None = executor if is_one else None
        first = self._given or executor()
        self._made: list[Executor] = [] if self._given else [first]
        self._factory = None if self._given else executor
        self._first: Executor | None = first
        size = workers or getattr(first, "_max_workers", None) or os.cpu_count() or 1
        super().__init__(f, [(self._next, size)])

    def _next(self) -> Executor:
        if self._first is not None:
            executor, self._first = self._first, None
            return executor
        if self._factory is not None:
            executor = self._factory()
        elif isinstance(self._given, ProcessPoolExecutor):
            executor = _twin(self._given)
        else:
            raise RuntimeError(
                f"the executor {type(self._given).__name__} broke and cannot be made anew; "
                "pass executor=a function that makes it"
            )
        self._made.append(executor)
        return executor

    def close(self) -> None:
        super().close()
        for executor in self._made:
            executor.shutdown(wait=False)  # its jobs were cancelled above; loky's takes no cancel_futures


def _twin(pool: ProcessPoolExecutor) -> ProcessPoolExecutor:
    """Return a pool like one that broke. Its settings have no public names; without them, the defaults serve."""
    return ProcessPoolExecutor(
        getattr(pool, "_max_workers", None),
        mp_context=getattr(pool, "_mp_context", None),
        initializer=getattr(pool, "_initializer", None),
        initargs=getattr(pool, "_initargs", ()),
    )
