"""An evaluation that takes too long is ended and told failed, and others know nothing of it."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from evaluations import lingering, sleeping, sphere
from stroll import Stroll

import lamcts
from lamcts.study import timeouts
from lamcts.study.reporting import Reporter

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"budget": 12, "seed": 0, "sampler": Stroll(), "progress": False}


def test_a_late_evaluation_ends_with_its_process_and_no_other_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "GRACE_SECONDS", 0.2)  # they do not hear SIGTERM
    x0 = [[-0.9, 0.1], [0.2, 0.3]]
    result = lamcts.minimize(sleeping, BOX, timeout=2, workers=2, x0=x0, n_init=2, **{**OPTIONS, "budget": 3})
    late = np.array([point[0] < -0.4 for point in result.history.points])
    assert result.nfev == 3 and sorted(result.history.trial) == [0, 1, 2] and late.any() and not late.all()
    assert np.array_equal(result.history.failed, late) and result.history.failures["timed out"]
    assert {result.history.messages[row] for row in np.flatnonzero(late)} == {"TimeoutError: took longer than 2 s"}


def test_in_this_process_a_late_evaluation_is_interrupted_although_it_catches_exceptions() -> None:
    def stubborn(point: np.ndarray, trial: Reporter) -> float:
        trial.report(0, 1.0)
        while point[0] < -0.4:
            with suppress(Exception):
                time.sleep(0.01)
        return sphere(point)

    x0 = [[-0.9, 0.1], [0.2, 0.3]]
    result = lamcts.minimize(stubborn, BOX, timeout=0.5, x0=x0, n_init=2, **{**OPTIONS, "budget": 4})
    late = np.array([point[0] < -0.4 for point in result.history.points])
    assert result.nfev == 4 and np.array_equal(result.history.failed, late) and late[0]
    assert len(result.history.reports) == 4  # what was reported before is kept


@pytest.mark.parametrize("caught", [1, 1000])
def test_in_this_process_an_evaluation_that_catches_the_interruption_is_late_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caught: int
) -> None:
    monkeypatch.setattr(timeouts, "GRACE_SECONDS", 0.05)
    slept: list[float] = []

    def retrying(point: np.ndarray) -> float:
        start, left = time.monotonic(), caught
        while (now := time.monotonic()) < start + 0.5:
            try:
                time.sleep(start + 0.5 - now)
            except BaseException:
                left -= 1
                if not left:
                    time.sleep(600)  # until it is interrupted again
                    slept.append(600)
        return sphere(point)

    result = lamcts.minimize(retrying, BOX, timeout=0.05, **{**OPTIONS, "budget": 2})
    assert set(result.history.messages.values()) == {"TimeoutError: took longer than 0.05 s"}
    assert result.history.failed.all() and not slept


def test_an_evaluation_in_a_process_that_ends_late_by_itself_is_late() -> None:
    result = lamcts.minimize(lingering, BOX, timeout=0.2, workers=1, **{**OPTIONS, "budget": 2})
    assert set(result.history.messages.values()) == {"TimeoutError: took longer than 0.2 s"}


def test_after_an_evaluation_the_alarm_of_the_user_is_set_again() -> None:
    def handler(*_: Any) -> None: ...

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        lamcts.minimize(sphere, BOX, timeout=10, **{**OPTIONS, "budget": 3})
        assert signal.getsignal(signal.SIGALRM) is handler and signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timeout": 0}, "timeout: expected a number above 0"),
        ({"timeout": "3"}, "timeout: expected a number above 0"),
        ({"timeout": 3, "workers": "threads"}, "timeout: expected none with workers='threads'"),
        ({"timeout": 3, "executor": ThreadPoolExecutor}, "timeout: expected none with executor"),
        ({"timeout": 3, "vectorized": True}, "timeout: expected none with vectorized"),
    ],
)
def test_a_time_out_that_nobody_could_keep_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        lamcts.minimize(sphere, BOX, **{**OPTIONS, **options})


def test_outside_the_main_thread_a_time_out_needs_a_process() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="timeout: expected workers=n"):
        pool.submit(lamcts.minimize, sphere, BOX, timeout=3, **OPTIONS).result()
