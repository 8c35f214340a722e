"""Time-outs of evaluations: a worker process is terminated; in this process, a signal interrupts the evaluation."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from lamcts.study.evaluation import Outcome, evaluate, said

GRACE_SECONDS = 3.0  # from SIGTERM to SIGKILL: 2 s for a program of the evaluation to exit, and 1 s for its worker


def ended_late(running: "Future[Outcome]", pid: "Future[int]", seconds: float) -> "Future[Outcome]":
    """Return the future of an evaluation whose process is terminated `seconds` after it is ready."""
    outer: Future[Outcome] = Future()
    outer.set_running_or_notify_cancel()
    hard = getattr(signal, "SIGKILL", signal.SIGTERM)
    stops = ((seconds, signal.SIGTERM), (seconds + GRACE_SECONDS, hard))
    timers = [threading.Timer(after, _end, (running, pid, how)) for after, how in stops]
    begun: list[float] = []

    def begin(ready: "Future[int]") -> None:
        if not ready.cancelled() and ready.exception() is None:
            begun.append(time.monotonic())
            for timer in timers:
                timer.daemon = True
                timer.start()

    def end(ran: "Future[Outcome]") -> None:
        for timer in timers:
            timer.cancel()
        try:
            outer.set_result(punctual(ran.result(), seconds))
        except (BrokenExecutor, CancelledError) as death:
            if begun and time.monotonic() - begun[0] >= seconds:
                outer.set_result(_timed_out(seconds))
            else:
                outer.set_exception(death)
        except Exception as raised:
            outer.set_exception(raised)

    pid.add_done_callback(begin)
    running.add_done_callback(end)
    return outer


def _end(running: "Future[Outcome]", pid: "Future[int]", how: int) -> None:
    if not running.done():
        with suppress(ProcessLookupError):
            os.kill(pid.result(), how)


def punctual(outcome: Outcome, seconds: float) -> Outcome:
    """Return an outcome, or a time-out if the evaluation took longer than `seconds`."""
    if not outcome.seconds > seconds:  # nan for an unknown duration
        return outcome
    late = _timed_out(seconds)
    return late._replace(seconds=outcome.seconds, reports=outcome.reports, metrics=outcome.metrics)


def _timed_out(seconds: float) -> Outcome:
    return Outcome(None, ("TimeoutError", f"took longer than {seconds:g} s"), seconds)


class _TimeUp(BaseException):
    """Interrupts an evaluation; not an Exception, which functions catch."""


def interrupted_late(call: Callable[..., Outcome], seconds: float, *arguments: Any) -> Outcome:
    """Evaluate in the main thread of this process, and interrupt an evaluation after `seconds`."""
    try:
        with _alarm(seconds):
            return punctual(call(*arguments), seconds)
    except _TimeUp:
        _, _, _, trial, _ = arguments
        return said(_timed_out(seconds), trial)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt an evaluation after `seconds`, and again after each grace period, since it may catch the exception."""

    def ring(number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not evaluate.__code__:
            frame = frame.f_back
        if frame is not None:  # inside an evaluation
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, GRACE_SECONDS)
    try:
        yield
    finally:  # outside of an evaluation, so not interrupted
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
