"""Time-outs of evaluations: in a process of its own, which is ended, or here, by a signal."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from types import FrameType

from lamcts.study.evaluation import Call, Job, Outcome, Serial, evaluate, said

POLL_SECONDS = 0.1  # how often a wait looks at the clock (untuned)
GRACE_SECONDS = 3.0  # from SIGTERM to SIGKILL: a program gets 2 s of its own, and its worker has to notice (untuned)


class Deadlines:
    """Which evaluations in worker processes are late. `seconds` count from when the worker is ready for it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begun: dict[Future[Outcome], float] = {}

    def look(self, future: "Future[Outcome]", pid: "Future[int]") -> None:
        """Start the clock of an evaluation, or end the process that it runs in once it is late."""
        if not pid.done() or pid.exception() is not None:  # the process is still starting, or has died by itself
            return
        late = time.monotonic() - self._begun.setdefault(future, time.monotonic()) - self.seconds
        if late >= 0 and not future.done():
            hard = late >= GRACE_SECONDS and hasattr(signal, "SIGKILL")
            with suppress(ProcessLookupError):
                os.kill(pid.result(), signal.SIGKILL if hard else signal.SIGTERM)

    def outcome(self, future: "Future[Outcome]") -> Outcome | None:
        """Return what an evaluation whose process died comes to, if it was late; else None."""
        late = time.monotonic() - self._begun.get(future, float("inf")) >= self.seconds
        return _timed_out(self.seconds) if late else None

    def forget(self, future: "Future[Outcome]") -> None:
        self._begun.pop(future, None)


def punctual(outcome: Outcome, seconds: float) -> Outcome:
    """Return an outcome, or that of a time-out where the evaluation took longer, though it may have come to a value."""
    if not outcome.seconds > seconds:  # nan where the time is unknown
        return outcome
    late = _timed_out(seconds)
    return late._replace(seconds=outcome.seconds, reports=outcome.reports, metrics=outcome.metrics)


class _TimeUp(BaseException):
    """No Exception, since functions catch those."""


class TimeLimited(Serial):
    """Evaluates in this process, in the main thread, and interrupts what takes longer than some seconds."""

    def __init__(self, f: Call, seconds: float) -> None:
        super().__init__(f)
        self._seconds = seconds

    def _outcome(self, job: Job) -> Outcome:
        try:
            with _alarm(self._seconds):
                return punctual(super()._outcome(job), self._seconds)
        except _TimeUp:
            return said(_timed_out(self._seconds), job.trial)


def _timed_out(seconds: float) -> Outcome:
    return Outcome(None, ("TimeoutError", f"took longer than {seconds:g} s"), seconds)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt an evaluation after some seconds, and again after each grace: it may have caught the first, or all."""

    def ring(number: int, frame: FrameType | None) -> None:
        if _evaluates(frame):
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, GRACE_SECONDS)
    try:
        yield
    finally:  # not interrupted, since it is no part of the evaluation
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def _evaluates(frame: FrameType | None) -> bool:
    """Return whether a frame is that of an evaluation, or of what it called."""
    while frame is not None and frame.f_code is not evaluate.__code__:
        frame = frame.f_back
    return frame is not None
