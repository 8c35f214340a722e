"""Evaluations in processes of our own: `workers=n` is n pools of one process each, so that a death touches one job."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

from lamcts.errors import install
from lamcts.study.devices import VISIBLE
from lamcts.study.evaluation import Call, Job, Outcome, evaluate, takes_seed
from lamcts.study.executors import ExecutorSlot, Pool
from lamcts.study.spawned import SpawnedContext, SpawnedProcess, unblock_ctrl_c
from lamcts.study.timeouts import GRACE_SECONDS, POLL_SECONDS, Deadlines, punctual
from lamcts.text import safe_text
from lamcts.utils import interrupts


class Processes(Pool):
    """Evaluates in `n` processes of our own, each in a pool of one. `f` travels once to each.

    timeout: seconds after which an evaluation is ended with its process, which is then made anew (None: never).
    devices: what CUDA shows each process (None: as this one).
    """

    def __init__(self, f: Call, n: int, timeout: float | None = None, devices: Sequence[str] | None = None) -> None:
        self._deadlines = None if timeout is None else Deadlines(timeout)
        self._f = picklable(f, f"workers={n}")
        self._pids: dict[Executor, Future[int]] = {}  # known once the process has the function
        self._contexts: dict[Executor, SpawnedContext] = {}
        super().__init__(f, [(partial(self._make, index), 1) for index in range(n)], devices)
        self._call, self._fixed = _evaluate_installed, (takes_seed(f),)  # f is there already
        self._checked = False

    def start(self, job: Job) -> None:
        super().start(job)
        self._look()  # the clock starts now
        if not self._checked:
            self._checked = True
            _came_up(*self._pids.values())

    def wait(self) -> tuple[Job, Outcome]:
        job, outcome = super().wait()
        return job, outcome if self._deadlines is None else punctual(outcome, self._deadlines.seconds)

    def close(self) -> None:
        """End all processes: busy ones at once, idle ones that do not exit after a grace; no result is lost."""
        busy, idle = list[SpawnedProcess](), list[SpawnedProcess]()
        for slot in self._slots:
            if slot.executor is not None:
                (busy if slot.running else idle).extend(self._contexts[slot.executor].started)
        super().close()
        _signal(busy, SpawnedProcess.terminate)
        graces = [
            threading.Timer(GRACE_SECONDS, _signal, (busy, SpawnedProcess.kill)),
            threading.Timer(GRACE_SECONDS, _signal, (idle, SpawnedProcess.terminate)),
            threading.Timer(2 * GRACE_SECONDS, _signal, (idle, SpawnedProcess.kill)),
        ]
        for grace in graces:
            grace.start()
        for slot in self._slots:
            if slot.executor is not None:
                slot.executor.shutdown(wait=True, cancel_futures=True)
        for grace in graces:  # not reached after a second Ctrl-C: the graces hold then, too
            grace.cancel()

    def _look(self) -> float:
        if self._deadlines is None:
            return super()._look()
        for slot in self._slots:
            for future in slot.running:
                if slot.executor is not None:
                    self._deadlines.look(future, self._pids[slot.executor])
        return POLL_SECONDS

    def _late(self, slot: ExecutorSlot, future: "Future[Outcome]") -> Outcome | None:
        outcome = None if self._deadlines is None else self._deadlines.outcome(future)
        if outcome is not None:
            self._deaths.pop(id(slot.running[future]), None)
            self._drop(slot, future)
            self._remake(slot)
        return outcome

    def _drop(self, slot: ExecutorSlot, future: "Future[Outcome]") -> None:
        super()._drop(slot, future)
        if self._deadlines is not None:
            self._deadlines.forget(future)

    def _make(self, index: int) -> Executor:
        context = SpawnedContext({} if self._devices is None else {VISIBLE: self._devices[index]})
        executor = ProcessPoolExecutor(1, mp_context=context, initializer=_begin)
        self._contexts[executor] = context
        if not self._checked:
            _came_up(executor.submit(os.getpid))
        # A job and no argument of the initializer, so that its error is known; first of all jobs: one worker, in order
        self._pids[executor] = executor.submit(_install, self._f)
        return executor

    def _remake(self, slot: ExecutorSlot) -> None:
        if slot.executor is not None:
            del self._pids[slot.executor], self._contexts[slot.executor]
        super()._remake(slot)


def _signal(processes: list[SpawnedProcess], send: Callable[[SpawnedProcess], None]) -> None:
    for process in processes:
        with suppress(Exception):  # it has just ended
            send(process)


def _came_up(first: "Future[int]") -> None:
    """Wait for a first job; RuntimeError where its process has died over it."""
    while not wait([first], interrupts.CHECK_SECONDS).done:
        interrupts.check()
    try:
        first.result()
    except BrokenExecutor as error:
        raise RuntimeError(
            "the worker processes cannot start, or cannot load the function (their messages are above): "
            "expected a script whose main part is under `if __name__ == '__main__':` and a function that a new "
            "process can import; or pass executor=ThreadPoolExecutor(...) to use threads"
        ) from error


_installed: list[Call] = []  # in a worker process: the function to evaluate


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which then ends this one
    unblock_ctrl_c()  # programs that this process starts should not inherit the block
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _install(f: Call) -> int:
    _installed[:] = [f]
    return os.getpid()


def _end_with_parent() -> None:
    """End this worker when the main process is no more, however it ended: else it would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # not _exit: a program that the evaluation waits for is ended first
        time.sleep(GRACE_SECONDS)
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _evaluate_installed(seeded: bool, *arguments: Any) -> Outcome:
    return evaluate(_installed[0], seeded, *arguments)


# Functions on their way to another process ----------------------------------------------------------------------------


class PickledByValue:
    """A function that cloudpickle has pickled; it unpickles to the function itself."""

    def __init__(self, data: bytes, load: Callable[[bytes], object]) -> None:
        self._data, self._load = data, load

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return self._load, (self._data,)


def picklable(f: Call, option: str) -> Any:
    """Return what unpickles to `f` in a new process: `f` itself, or its code by cloudpickle.

    Python pickles functions by name, which fails for lambdas and in notebooks. ValueError begins with `option`.
    """
    try:
        data = bytes(ForkingPickler.dumps(f))
        if b"__main__" not in data or _main_is_a_file():
            return f
        reason = "it was defined where no other process can import it from"
    except Exception as error:
        reason = safe_text(error)
    try:
        import cloudpickle

        return PickledByValue(cloudpickle.dumps(f), cloudpickle.loads)
    except ImportError:
        cure = f"define it at the top of a module, {install('cloudpickle')}"
    except Exception:
        cure = "define it at the top of a module"
    name = getattr(f, "__qualname__", type(f).__name__)
    raise ValueError(
        f"{option}: expected a function that can be sent to another process, got {name} ({reason}); {cure}, "
        "or pass workers='threads', or executor=ThreadPoolExecutor(...), to use threads"
    )


def _main_is_a_file() -> bool:
    main = sys.modules["__main__"]
    return getattr(main, "__file__", None) is not None or getattr(main, "__spec__", None) is not None
