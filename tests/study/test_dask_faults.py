"""What a run on worker processes of Dask's survives: dead workers, a lost scheduler, a dead driver."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from dask_driver import BOUNDS, OPTIONS, deadly_soon, go
from evaluations import DeadlyOnce

from lamcts.journal import Journal
from lamcts.study import minimize
from lamcts.study.result import Result

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")

pytestmark = pytest.mark.dear
PROGRAM = Path(__file__).with_name("dask_driver.py")


@pytest.fixture(autouse=True)
def _dask_draws_from_the_global_generator() -> Iterator[None]:
    before = random.getstate()
    yield
    random.setstate(before)


@pytest.fixture
def cluster() -> Iterator[subprocess.Popen[str]]:
    """A process that has a scheduler and two workers; a point may kill one of them, and fails with the second."""
    pipe, once = subprocess.PIPE, {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    command = [sys.executable, PROGRAM, "cluster"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=once) as process:
        watch = threading.Timer(600, process.kill)  # a run without workers would wait for ever
        watch.start()
        yield process
        watch.cancel()
        process.kill()


@pytest.fixture
def address(cluster: subprocess.Popen[str]) -> str:
    assert cluster.stdout is not None
    return cluster.stdout.readline().strip()


def all_told(result: Result, budget: int) -> bool:
    return sorted(result.history.trial.tolist()) == list(range(budget))


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not happened():
        assert time.monotonic() < deadline, "nothing happened in ten minutes"
        time.sleep(0.05)


def evaluated(journal: Path, least: int) -> bool:
    return journal.exists() and Journal.read(journal).n >= least


def test_a_point_whose_worker_is_killed_is_told_exactly_once(address: str, tmp_path: Path) -> None:
    with distributed.Client(address) as client:
        result = minimize(DeadlyOnce(tmp_path / "note"), BOUNDS, budget=10, executor=client, **OPTIONS)
    assert (tmp_path / "note").exists()
    assert all_told(result, 10) and not result.history.failed.any()


def test_points_that_always_kill_their_workers_fail_alone_and_the_run_goes_on(address: str) -> None:
    with distributed.Client(address) as client:
        result = minimize(deadly_soon, BOUNDS, budget=8, executor=client, **OPTIONS)
    negative = np.array([point[0] < -0.4 for point in result.history.points])
    assert all_told(result, 8) and 0 < negative.sum() < 8
    assert np.array_equal(result.history.failed, negative), result.history.messages
    assert all("4 workers died at this point" in message for message in result.history.messages.values())


def test_a_lost_scheduler_ends_the_run_with_a_message_and_another_one_goes_on(
    cluster: subprocess.Popen[str], address: str, tmp_path: Path
) -> None:
    journal = tmp_path / "run.db"
    arguments = ["run", address, journal, "30", tmp_path]
    with subprocess.Popen([sys.executable, PROGRAM, *arguments], stderr=subprocess.PIPE, text=True) as driver:
        until(lambda: evaluated(journal, 4))
        cluster.kill()
        said = driver.communicate(timeout=600)[1]
    assert driver.returncode == 1 and "RuntimeError: the Dask scheduler of " in said.splitlines()[-1], said
    assert 4 <= Journal.read(journal).n < 30 and len(Journal.read(journal).pending) <= 2
    with distributed.Client(n_workers=2, processes=False, dashboard_address="127.0.0.1:0") as client:
        assert all_told(go(client, str(journal), 30, str(tmp_path)), 30)


def test_a_driver_that_is_killed_goes_on_with_what_was_in_flight(address: str, tmp_path: Path) -> None:
    journal, notes = tmp_path / "run.db", tmp_path / "notes"
    notes.mkdir()
    with subprocess.Popen([sys.executable, PROGRAM, "run", address, journal, "20", notes]) as driver:
        until(lambda: evaluated(journal, 4))
        driver.send_signal(signal.SIGKILL)
    before = Journal.read(journal)
    out = {trial.id for trial in before.pending}
    assert 4 <= before.n < 20 and out
    with distributed.Client(address) as client:
        result = go(client, str(journal), 20, str(notes))
    assert all_told(result, 20) and out <= set(result.history.trial[before.n :].tolist())
    times = {path.name: len(path.read_text()) for path in notes.iterdir()}
    points = [point.tobytes().hex() for point in result.history.points]
    assert set(times) == set(points)
    assert all(times[name] == 1 for name in points[: before.n])  # what was told is not evaluated again
