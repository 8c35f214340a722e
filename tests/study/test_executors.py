"""Evaluations elsewhere: workers are kept busy, and a worker that dies loses no point."""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import DeadlyOnce, awkward, deadly, endless, noisy, slow, sphere
from stroll import Stroll

from lamcts.journal import Journal
from lamcts.study import minimize, run
from lamcts.study.evaluation import Job
from lamcts.study.options import RunSettings
from lamcts.study.result import Result
from lamcts.study.workers import pool_of

BOUNDS = [(-1.0, 1.0)] * 2
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "n_init": 6}


def all_told(result: Result, budget: int) -> bool:
    return sorted(result.history.trial.tolist()) == list(range(budget))


def test_threads_are_refilled_as_results_come() -> None:
    running, most, lock = 0, 0, threading.Lock()
    free = threading.Event()

    def busy(point: np.ndarray) -> float:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 3:
                free.set()
        assert free.wait(600)  # nobody ends before three run at once
        with lock:
            running -= 1
        return sphere(point)

    with ThreadPoolExecutor(3) as pool:
        result = minimize(busy, BOUNDS, budget=20, executor=pool, **OPTIONS)
        assert pool.submit(int).result() == 0  # the user's executor was left open
    assert most == 3 and all_told(result, 20)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of threads are POSIX's")
def test_a_ctrl_c_that_does_not_wake_the_wait_ends_it_all_the_same() -> None:
    released, ended = threading.Event(), threading.Event()

    def interrupted(point: np.ndarray) -> float:
        time.sleep(0.2)  # the main thread waits by then
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # of which that thread is not woken
        released.wait(600)
        ended.set()
        return 0.0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ThreadPoolExecutor(1) as threads:
            pool = pool_of(interrupted, RunSettings(budget=1, executor=threads))
            with pytest.raises(KeyboardInterrupt):
                pool.start(Job(0, np.zeros(2), 0))
                pool.wait()
            assert not ended.is_set()
            released.set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_slow_evaluation_does_not_hold_up_the_others() -> None:
    released = threading.Event()

    def first_waits(point: np.ndarray) -> float:
        with lock:
            order.append(len(order))
            me = order[-1]
        if me == 0:
            assert released.wait(600)
        return sphere(point)

    order: list[int] = []
    lock = threading.Lock()
    with ThreadPoolExecutor(2) as pool:
        seen = []
        for evaluation in run(first_waits, BOUNDS, budget=12, executor=pool, **OPTIONS):
            seen.append(evaluation.trial)
            if len(seen) == 11:
                released.set()
    assert seen[-1] == 0 and sorted(seen) == list(range(12))


def test_a_batch_is_asked_for_at_once_and_fed_to_the_workers(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        result = minimize(sphere, BOUNDS, budget=24, executor=pool, batch=8, journal=tmp_path / "run.db", **OPTIONS)
    assert result.nit == 3 and all_told(result, 24)


def test_own_processes_evaluate_with_the_trials_seeds() -> None:
    serial = minimize(noisy, BOUNDS, budget=6, **OPTIONS)
    parallel = minimize(noisy, BOUNDS, budget=6, workers=2, **OPTIONS)  # the initial design: the same points
    order = np.argsort(parallel.history.trial)
    assert parallel.history.values[order].tobytes() == serial.history.values.tobytes()
    assert (parallel.history.seconds >= 0).all()


def test_an_exception_that_cannot_travel_is_a_failure_with_its_name() -> None:
    with pytest.warns(RuntimeWarning, match="all failed with: Awkward: awkward"):
        result = minimize(awkward, BOUNDS, budget=8, workers=2, **OPTIONS)
    assert set(result.history.messages.values()) == {"Awkward: awkward"} and not result.success


def test_a_point_that_always_kills_its_worker_fails_and_the_others_are_kept() -> None:
    result = minimize(deadly, BOUNDS, budget=8, workers=2, **OPTIONS)
    assert all_told(result, 8)
    negative = np.array([point[0] < -0.4 for point in result.history.points])
    assert np.array_equal(result.history.failed, negative) and 0 < negative.sum() < 8
    assert all("died 2 times" in message for message in result.history.messages.values())


def test_a_worker_that_dies_once_costs_no_point(tmp_path: Path) -> None:
    result = minimize(DeadlyOnce(tmp_path / "note"), BOUNDS, budget=6, workers=2, **OPTIONS)
    assert (tmp_path / "note").exists()
    assert all_told(result, 6) and not result.history.failed.any()


@pytest.mark.dear
@pytest.mark.parametrize("given", ["pool", "function"])
def test_a_broken_pool_of_the_user_is_made_anew_and_only_the_deadly_points_fail(given: str) -> None:
    def make() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(3, mp_context=get_context("spawn"))

    pool = make()
    with pool:
        result = minimize(deadly, BOUNDS, budget=6, executor=pool if given == "pool" else make, **OPTIONS)
    assert all_told(result, 6)
    negative = np.array([point[0] < -0.4 for point in result.history.points])
    assert np.array_equal(result.history.failed, negative) and negative.any()


class Fragile(Executor):
    """Breaks at the third job, takes no other one then, and cannot be copied."""

    def __init__(self) -> None:
        self.jobs = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if self.jobs == 3:
            raise BrokenExecutor("gone")
        self.jobs += 1
        future: Future[Any] = Future()
        if self.jobs % 3:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(BrokenExecutor("gone"))
        return future


def test_a_broken_executor_that_cannot_be_made_anew_says_what_to_pass() -> None:
    with pytest.raises(RuntimeError, match="Fragile broke and cannot be replaced; pass executor=a function"):
        minimize(sphere, BOUNDS, budget=9, executor=Fragile(), workers=2, **OPTIONS)


class Racing(Fragile):
    """Raises first what a process pool raises that breaks while it starts a process."""

    raced = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if self.jobs == 3 and not self.raced:
            self.raced = True
            raise ValueError("bad value(s) in fds_to_keep")
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize("make", [Fragile, Racing])
def test_an_executor_made_by_a_function_is_made_again_when_it_breaks(make: type[Fragile]) -> None:
    result = minimize(sphere, BOUNDS, budget=20, executor=make, workers=2, **OPTIONS)
    assert all_told(result, 20) and not result.history.failed.any()


def test_an_executor_that_is_shut_down_in_one_way_only_is_shut_down() -> None:
    down: list[bool] = []

    class Plain(Instant):  # as loky's
        def shutdown(self, wait: bool = True) -> None:  # type: ignore[override]
            down.append(wait)

    assert all_told(minimize(sphere, BOUNDS, budget=8, executor=Plain, workers=2, **OPTIONS), 8)
    assert down == [False]


class Forgetful(Fragile):
    """Cancels every second job, then fails every fifth in a way of its own."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.jobs += 1
        future: Future[Any] = Future()
        if self.jobs % 5 == 0:
            future.set_exception(KeyError("lost on the way"))
        elif self.jobs % 2 == 0:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_cancelled_jobs_run_again_and_the_executors_own_errors_are_failures() -> None:
    result = minimize(sphere, BOUNDS, budget=15, executor=Forgetful(), workers=2, **OPTIONS)
    assert all_told(result, 15)
    assert any("KeyError: 'lost on the way'" in message for message in result.history.messages.values())


def test_a_function_that_cannot_travel_is_refused_with_a_way_out() -> None:
    lock = threading.Lock()
    with pytest.raises(
        ValueError, match=r"workers=2: expected a function that can be sent .*executor=ThreadPoolExecutor"
    ):
        minimize(lambda p: float(lock.locked()), BOUNDS, budget=4, workers=2, **OPTIONS)


class Unloadable:
    """Travels, but does not arrive."""

    def __call__(self, point: np.ndarray) -> float:
        return 0.0

    def __reduce__(self) -> Any:
        return (eval, ("this_name_does_not_exist",))


UNGUARDED = """
import numpy as np
import lamcts

data = np.zeros(100_000)  # goes with the function: more than a pipe holds
lamcts.minimize(lambda x: float(data[0]), [(-1, 1)] * 2, budget=4, seed=0, workers=2)
"""


def test_a_script_without_a_guarded_main_part_is_told_so_and_does_not_hang(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    (tmp_path / "script.py").write_text(UNGUARDED)
    run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 1 and "whose main part is under `if __name__ == '__main__':`" in run.stderr


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_workers_that_cannot_load_the_function_are_an_error_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="cannot load the function"):
        minimize(Unloadable(), BOUNDS, budget=50, workers=2, **OPTIONS)
    assert "this_name_does_not_exist" in capfd.readouterr().err  # the worker's own message, for the user


def test_leaving_the_loop_ends_the_processes_and_keeps_their_points_pending(tmp_path: Path) -> None:
    evaluations = run(slow_then_endless(tmp_path), BOUNDS, budget=50, workers=2, journal=tmp_path / "run.db", **OPTIONS)
    next(evaluations)
    evaluations.close()  # the evaluations under way would take an hour
    recorded = Journal.read(tmp_path / "run.db")
    assert recorded.n == 1 and len(recorded.pending) >= 1
    with pytest.warns(RuntimeWarning, match="'slow_then_endless', this run is of 'sphere'"):
        again = minimize(sphere, BOUNDS, budget=8, journal=tmp_path / "run.db", **OPTIONS)
    assert all_told(again, 8)


class slow_then_endless:
    """Ends soon at the first call of all, and in an hour at all others."""

    def __init__(self, folder: Path) -> None:
        self.note = folder / "first"

    def __call__(self, point: np.ndarray) -> float:
        try:
            self.note.touch(exist_ok=False)
        except FileExistsError:
            return endless(point)
        return slow(point)


class Instant(Executor):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_what_has_ended_meanwhile_is_told_before_more_is_asked_for() -> None:
    result = minimize(sphere, BOUNDS, budget=20, executor=Instant(), workers=4, **OPTIONS)
    assert result.nit == 5 and all_told(result, 20)  # 17 asks where each result is followed by one


def test_a_script_that_leaves_has_failed_also_in_a_thread_of_a_process_that_handles_signals() -> None:
    def leave(point: np.ndarray) -> float:
        raise SystemExit(3)

    before = signal.signal(signal.SIGTERM, lambda *_: None)  # as Dask's workers do
    try:
        with ThreadPoolExecutor(2) as pool, pytest.warns(RuntimeWarning, match="SystemExit: 3"):
            result = minimize(leave, BOUNDS, budget=6, executor=pool, **OPTIONS)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert result.history.failed.all()


def test_an_executor_whose_jobs_are_no_futures_is_refused() -> None:
    class Batch(Executor):  # as submitit's
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return object()

    with pytest.raises(
        ValueError, match=r"expected submit\(\) to return a concurrent.futures.Future, got object of Batch"
    ):
        minimize(sphere, BOUNDS, budget=6, executor=Batch(), workers=2, **OPTIONS)


def test_results_are_handed_out_in_the_order_in_which_jobs_started() -> None:
    pool = pool_of(sphere, RunSettings(budget=4, executor=Instant(), workers=4))
    for i in range(4):
        pool.start(Job(i, np.zeros(2), 0))
    assert pool.free == 0 and pool.running == 4
    assert [ended[0].what for _ in range(4) if (ended := pool.wait())] == [0, 1, 2, 3]
    assert pool.free == 4 and pool.running == 0


def test_processes_that_idle_end_at_close() -> None:
    pool = pool_of(sphere, RunSettings(budget=2, workers=2))
    pool.start(Job(0, np.zeros(2), 0))
    ended = pool.wait()
    pool.close()
    assert ended is not None and ended[1].value == sphere(np.zeros(2)) and ended[1].error is None
