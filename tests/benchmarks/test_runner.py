"""The runner end to end, on a problem of three dimensions."""

import csv
import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from benchmarks import ledger, plan, pool, problems, records, run, worker
from benchmarks.cells import Cell
from benchmarks.ledger import Task

COMMAND = [sys.executable, "-m", "benchmarks.run", "--problems", "smoke"]


def start(*words):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=records.inner_environment())


def test_runs_are_recorded_once_and_gone_on_with(tmp_path):
    first = start("--methods", "random", "--seeds", "0-1", "--out", str(tmp_path))
    assert first.returncode == 0, first.stderr
    again = start("--methods", "random", "--seeds", "0-2", "--out", str(tmp_path))
    assert "3 runs, 2 of them done" in again.stdout
    with (tmp_path / "smoke.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    curve = ledger.curves(tmp_path)[Task("random", "smoke", 1, 2, 16).key]
    assert f"{curve['best'][-1]:.8g}" == rows[2]["best"] and rows[2]["evaluations"] == "16"
    assert float(rows[2]["best_10"]) >= float(rows[2]["best"]) and rows[2]["optimum"] == "0.0"


def test_failures_and_slow_runs_have_rows_that_say_so(tmp_path):
    told = []
    tasks = [Task("reference TuRBO-1", "smoke", 1, 0, 16), Task("random", "smoke", 1, 0, 10**8)]
    kept = lambda task, row: told.append(row)  # noqa: E731
    pool.run_all(tasks[:1], 1, 60, tmp_path, time.monotonic() + 99, kept, False)
    pool.run_all(tasks[1:], 1, 0.3, tmp_path, time.monotonic() + 99, kept, False)
    assert [row["status"] for row in told] == ["failed", "timeout"]
    assert "expected --reference DIR" in told[0]["message"]
    rows = ledger.rows(tmp_path)
    assert [pool.wanted(task, rows, retry) for task in tasks for retry in (False, True)] == [False, True] * 2


def test_no_run_starts_when_the_time_is_up(tmp_path):
    pool.run_all([Task("random", "smoke", 1, 0, 16)], 1, 60, tmp_path, time.monotonic() - 1, print, False)
    assert ledger.rows(tmp_path) == {}


def test_a_worker_ends_with_its_runner(tmp_path):
    task = json.dumps(Task("random", "smoke", 1, 0, 10**8)._asdict())
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.worker", task, "r.json"],
        stdin=subprocess.PIPE, cwd=tmp_path, env=records.inner_environment(),
    )  # fmt: skip
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


def test_seeds_and_methods_are_read_from_words():
    assert run.seeds_of(["tune"]) == list(range(10)) and run.seeds_of(["3", "100-102"]) == [3, 100, 101, 102]
    assert run.method_and_batch("lamcts@10") == ("lamcts", 10)
    with pytest.raises(ValueError, match="expected seeds"):
        run.seeds_of(["many"])


def test_scores_are_log_regrets_or_missing_shares():
    ackley, swimmer = problems.find("ackley-20"), problems.find("swimmer")
    assert ackley.score(0.01, 0.0) == pytest.approx(-2) and ackley.score(0.0, 0.0) == -10
    assert swimmer.score(325, None) == 0 and swimmer.score(10, None) == 1
    assert ackley.solved(0.0) == 0 and swimmer.solved(None) == 0


def test_an_instance_varies_with_the_seed_and_the_reference_does_not():
    moved = [problems.find("ackley-20").make(seed).centre for seed in (0, 0, 1)]
    assert (moved[0] == moved[1]).all() and (moved[0] != moved[2]).all()
    fixed = [problems.find("ackley-20-reference").make(seed).centre for seed in (0, 1)]
    assert (fixed[0] == fixed[1]).all() and (fixed[0] == problems.shifted("ackley", 20).centre).all()


def test_a_problem_without_its_objective_says_so():
    lost = problems.Problem("lost", "no-such-objective", 2, 10, 1.0)
    with pytest.raises(ValueError, match="'no-such-objective', which"):
        lost.make(0)


def test_the_best_after_a_number_of_evaluations():
    improved = [(1, 5.0), (7, 2.0)]
    assert [worker.best_after(improved, n) for n in (1, 6, 7, 9)] == [5.0, 5.0, 2.0, 2.0]
    assert [worker.place_after(improved, n) for n in (0, 1, 6, 7, 9)] == [-1, 0, 0, 1, 1]


def test_incumbents_on_the_way_are_re_scored_once_each():
    asked = []

    class Lander:
        def held_out(self, point):
            asked.append(point)
            return [point, point + 2.0]

    search = SimpleNamespace(objective=Lander(), points=[1.0, 5.0, 9.0])
    assert worker.rescored("held out", search, {-1, 2, 0}) == {0: ("2",), 2: ("10",)}
    assert asked == [1.0, 9.0]
    assert worker.rescored("", search, {0}) == {}


def test_own_time_goes_on_from_the_last_evaluations():
    # After ten of design, 0.5 s an evaluation from 10 to 20 (about 15), 2 s from 20 to 100 (about 60): they grow as n.
    growing = plan.Cost(5, [10, 20, 100], [0.0, 5.0, 165.0], 0.0)
    assert growing.own_after(200) == pytest.approx(165 + 2 * (200**2 - 100**2) / 2 / 60)
    constant = plan.Cost(5, [10, 100, 200], [0.0, 90.0, 190.0], 0.0)
    assert constant.own_after(400) == pytest.approx(390.0) and constant.own_after(100) == 90.0
    shrinking = plan.Cost(5, [10, 100, 200], [0.0, 90.0, 100.0], 0.0)
    assert shrinking.own_after(300) == pytest.approx(110.0)
    one = plan.Cost(5, [10, 30], [0.0, 20.0], 0.0)  # 1 s an evaluation about 20, growing with n
    assert one.own_after(50) == pytest.approx(20 + (50**2 - 30**2) / 2 / 20)


def test_a_plan_keeps_to_its_hours_and_gives_back_its_tasks(tmp_path):
    found = {("lamcts", 1): [plan.Cost(20, [1000], [98.0], 0.0)]}
    rows = [row for row in plan.planned(found, {}, hours=1.0) if row["method"] == "lamcts"]
    run_rows = [row for row in rows if row["status"] == "run" and row["hours"]]
    assert run_rows[0]["seconds_run"] == "100" and float(run_rows[0]["hours"]) == pytest.approx(1000 / 7200, abs=1e-4)
    assert sum(float(row["hours"]) for row in run_rows) <= 1.0
    assert any(row["status"] == "cut" for row in rows)
    ran = {Cell("ackley-20", "lamcts", 1, "", 1000): 50.0}
    rows = list(plan.planned(found, ran, hours=1.0))
    known = next(row for row in rows if (row["problem"], row["method"], row["batch"]) == ("ackley-20", "lamcts", 1))
    assert known["seconds_run"] == "50"  # a whole run counts for more than what was extrapolated
    file = tmp_path / "plan.csv"
    header = ",".join(plan.COLUMNS)
    line = "1,first,ackley-20,lamcts,10,100-101,1000,100,0.1,run,"
    file.write_text(f"{header}\n{line}\n{line.replace('run', 'cut').replace('10,100', '1,100')}\n")
    assert plan.tasks(file) == [Task("lamcts", "ackley-20", 10, seed, 1000) for seed in (100, 101)]
