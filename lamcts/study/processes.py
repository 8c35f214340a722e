"""Evaluations in worker processes: `workers=n` is n executors of one process each, so that a death affects one job.

Processes start by "spawn", the only method that is available on all systems and safe with threads.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from lamcts.errors import install
from lamcts.study.devices import environment
from lamcts.study.evaluation import Call, Outcome, evaluate, takes
from lamcts.study.executors import Renewed
from lamcts.study.timeouts import GRACE_SECONDS, ended_late
from lamcts.text import safe_text
from lamcts.utils import interrupts


class WorkerProcess(Renewed):
    """A process that evaluates one job at a time by `evaluate_installed`; the function is sent to it once."""

    def __init__(self, f: Any, variables: Mapping[str, str], timeout: float | None, checks: bool) -> None:
        super().__init__(self._start)
        self._f = f
        self._variables = variables
        self._timeout = timeout
        self._checks = checks
        self._running: Future[Outcome] | None = None
        self._graces: list[threading.Timer] = []

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        self._running = super().submit(call, *arguments)
        if self._checks:
            self._checks = False
            _came_up(self._pid)
        return self._running if self._timeout is None else ended_late(self._running, self._pid, self._timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the process: at once if it is busy, or after a grace period if it is idle and does not exit."""
        if self._executor is None:
            return
        if not self._graces:
            idles = self._running is None or self._running.done()
            if not idles:
                self._signal(SpawnProcess.terminate)
            self._graces = [
                threading.Timer(GRACE_SECONDS, self._signal, [SpawnProcess.terminate]),
                threading.Timer((1 + idles) * GRACE_SECONDS, self._signal, [SpawnProcess.kill]),
            ]
            for grace in self._graces:
                grace.start()
        if wait:
            self._executor.shutdown(wait=True, cancel_futures=True)
            for grace in self._graces:  # not reached after a second Ctrl-C, when the timers end the process
                grace.cancel()

    def _start(self) -> Executor:
        self._context = SpawnedContext(self._variables)
        executor = ProcessPoolExecutor(1, mp_context=self._context, initializer=_begin)
        if self._checks:
            _came_up(executor.submit(os.getpid))
        # As the first job, not as an argument of the initializer, so that its error is known
        self._pid = executor.submit(_install, self._f)
        return executor

    def _signal(self, send: Callable[[SpawnProcess], None]) -> None:
        for process in self._context.started:
            with suppress(Exception):  # the process may have ended
                send(process)


def _came_up(first: "Future[int]") -> None:
    """Wait for the first job of a process; RuntimeError if the process has died."""
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


_installed: list[Any] = []  # in a worker process: the function to evaluate, and whether it has a parameter `seed`


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C, and ends this process
    _unblock_ctrl_c()  # programs started by this process should not inherit the block
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _install(f: Call) -> int:
    _installed[:] = f, takes(f, "seed")
    return os.getpid()


def _end_with_parent() -> None:
    """End this worker after the end of the main process; otherwise it would wait for jobs forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # unlike _exit, ends a program of the evaluation first
        time.sleep(GRACE_SECONDS)
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def evaluate_installed(*arguments: Any) -> Outcome:
    """Return the outcome of the function of this worker process."""
    return evaluate(*_installed, *arguments)


class SpawnedContext(SpawnContext):
    """Starts processes with environment variables, which are set before any import, and lists them in `started`."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._variables = variables
        self.started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **words: Any) -> SpawnProcess:  # type: ignore[override]
        process = _SpawnedProcess(*arguments, **words)
        process.variables = self._variables
        self.started.append(process)
        return process


class _SpawnedProcess(SpawnProcess):
    variables: Mapping[str, str]

    def start(self) -> None:
        with environment(self.variables), _ctrl_c_blocked():
            super().start()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block Ctrl-C in a starting process, which has no handler during its imports, until `_unblock_ctrl_c`."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # before the block, since its start unblocks Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unblock_ctrl_c() -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


# Functions on their way to another process ----------------------------------------------------------------------------


class PickledByValue:
    """A function pickled by cloudpickle, which unpickles to the function."""

    def __init__(self, data: bytes, load: Callable[[bytes], object]) -> None:
        self._data = data
        self._load = load

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return self._load, (self._data,)


def picklable(f: Call, option: str) -> Any:
    """Return an object that unpickles to `f` in a new process: `f` itself, or its code by cloudpickle."""
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
