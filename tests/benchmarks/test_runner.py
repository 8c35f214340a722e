"""The runner end to end, on a problem of three dimensions."""

import csv
import subprocess
import sys
import time

import pytest

from benchmarks import problems, run
from benchmarks.harness.ledger import Ledger
from benchmarks.harness.pool import HARNESS, Pool, environment, started
from benchmarks.harness.task import Task

COMMAND = [sys.executable, "-m", "benchmarks.run", "--problems", "smoke"]


def start(*words):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=environment())


@pytest.mark.dear
def test_runs_are_recorded_once_and_gone_on_with(tmp_path):
    first = start("--methods", "random", "--seeds", "0-1", "--out", str(tmp_path))
    assert first.returncode == 0, first.stderr
    again = start("--methods", "random", "--seeds", "0-2", "--out", str(tmp_path))
    assert "3 runs, 2 of them done" in again.stdout
    with (tmp_path / "smoke.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    curve = Ledger(tmp_path).curves()[Task("random", "smoke", 1, 2, 16).key]
    assert f"{curve['best'][-1]:.8g}" == rows[2]["best"] and rows[2]["evaluations"] == "16"
    assert float(rows[2]["best_10"]) >= float(rows[2]["best"]) and rows[2]["optimum"] == "0.0"


def test_failures_and_slow_runs_have_rows_that_say_so(tmp_path):
    told = []
    tasks = [Task("reference TuRBO-1", "smoke", 1, 0, 16), Task("random", "smoke", 1, 0, 10**8)]
    kept = lambda task, row: told.append(row)  # noqa: E731
    Pool(timeout_seconds=60).run(tasks[:1], Ledger(tmp_path), kept)
    Pool(timeout_seconds=0.3).run(tasks[1:], Ledger(tmp_path), kept)
    assert [row["status"] for row in told] == ["failed", "timeout"]
    assert "expected --reference DIR" in told[0]["message"]
    assert [Ledger(tmp_path, retry).wants(task) for task in tasks for retry in (False, True)] == [False, True] * 2


def test_no_run_starts_when_the_time_is_up(tmp_path):
    Pool(until=time.monotonic() - 1).run([Task("random", "smoke", 1, 0, 16)], Ledger(tmp_path), print)
    assert Ledger(tmp_path).rows() == {}


def test_a_worker_ends_with_its_runner(tmp_path):
    child = started(HARNESS, Task("random", "smoke", 1, 0, 10**8), tmp_path)
    assert child.poll() is None
    child.stdin.close()  # what the kernel does for a runner that was killed
    assert child.wait(timeout=60) == 1


def test_held_out_problems_are_refused(monkeypatch):
    tasks = [Task("random", "kept", 1, 100, 10)]
    kept = problems.Problem("kept", "ackley", 2, 10, 1.0, {"dim": 2}, held_out=True)
    monkeypatch.setattr(problems, "table", lambda: {"kept": kept})
    with pytest.raises(ValueError, match="held out: kept"):
        run.check(tasks, held_out=False)
    run.check(tasks, held_out=True)
