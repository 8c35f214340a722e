"""The runner end to end, on a problem of three dimensions."""

import csv
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from benchmarks import problems, run
from benchmarks.harness import measure
from benchmarks.harness.ledger import Ledger
from benchmarks.harness.pool import HARNESS, Pool, environment, started
from benchmarks.harness.task import Task, seeds_of
from lamcts.tree.splits import KMeansSvm

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


def test_seeds_and_methods_are_read_from_words():
    assert seeds_of(["tune"]) == list(range(10)) and seeds_of(["3", "100-102"]) == [3, 100, 101, 102]
    assert run.method_and_batch("lamcts@10") == ("lamcts", 10)
    with pytest.raises(ValueError, match="expected seeds"):
        seeds_of(["many"])


def test_scores_are_log_regrets_or_missing_shares():
    ackley, swimmer = problems.find("ackley-20"), problems.find("swimmer")
    assert ackley.score(0.01, 0.0) == pytest.approx(-2) and ackley.score(0.0, 0.0) == -10
    assert swimmer.score(325, None) == 0 and swimmer.score(10, None) == 1


def test_an_instance_varies_with_the_seed_and_the_reference_does_not():
    moved = [problems.find("ackley-20").make(seed).centre for seed in (0, 0, 1)]
    assert (moved[0] == moved[1]).all() and (moved[0] != moved[2]).all()
    fixed = [problems.find("ackley-20-reference").make(seed).centre for seed in (0, 1)]
    assert (fixed[0] == fixed[1]).all() and problems.reference("ackley", 20) == "ackley-20-reference"


def test_a_function_of_any_dimension_is_found_with_the_next_budget():
    small, odd, large = (problems.find(f"levy-{dim}-rotated") for dim in (7, 150, 999))
    assert (small.dim, small.budget, odd.budget, large.budget) == (7, 1000, 10000, 10000)
    assert problems.find(problems.reference("levy-rotated", 20)) == problems.table()["levy-20-reference-rotated"]
    assert problems.find("schwefel-7").held_out and "levy-7-rotated" not in problems.table()
    for wrong in ("levy-0", "levy-7-turned", "rover-7"):
        with pytest.raises(ValueError, match="expected a problem such as"):
            problems.find(wrong)


def test_bent_functions_and_funnels_are_found_by_their_names():
    bent, turned = problems.find("ackley-20-bent").make(3), problems.find("schaffer-7-rotated-bent").make(3)
    assert bent.bend is not None and bent.rotation is None
    assert turned.bend is not None and turned.rotation is not None
    bowls = problems.find("funnels3-6-rotated-rippled").make(4)
    assert len(bowls.centres) == 3 and bowls.space.dim == 6 and bowls.ripples.min() > 0
    assert abs(bowls.shapes[0]).min() > 0 == problems.find("funnels3-6").make(4).ripples.max()
    assert {"funnels5-20", "ellipsoid-20-rotated", "cigar-100-rotated-bent"} <= set(problems.table())
    for wrong in ("funnels0-20", "funnels5-1", "funnels5-20-bent", "ackley-20-bent-rotated"):
        with pytest.raises(ValueError, match="expected a problem such as"):
            problems.find(wrong)


def test_the_curve_of_funnels_says_in_which_the_best_lay():
    _, curve = measure.measure(method="random", problem="funnels2-3", batch=1, seed=1, budget=60)
    assert len(curve["funnel"]) == len(curve["n"]) and set(curve["funnel"]) == {0, 1}
    assert "funnel" not in measure.measure(method="random", problem="smoke", batch=1, seed=1, budget=5)[1]


def test_a_problem_without_its_objective_says_so():
    lost = problems.Problem("lost", "no-such-objective", 2, 10, 1.0)
    with pytest.raises(ValueError, match="'no-such-objective', which"):
        lost.make(0)


def test_the_best_after_a_number_of_evaluations():
    improved = [(1, 5.0), (7, 2.0)]
    assert [measure.best_after(improved, n) for n in (1, 6, 7, 9)] == [5.0, 5.0, 2.0, 2.0]
    assert [measure.place_after(improved, n) for n in (0, 1, 6, 7, 9)] == [-1, 0, 0, 1, 1]


def test_incumbents_on_the_way_are_re_scored_once_each():
    asked = []

    class Lander:
        def held_out(self, point):
            asked.append(point)
            return [point, point + 2.0]

    search = SimpleNamespace(objective=Lander(), points=[1.0, 5.0, 9.0])
    assert measure.rescored("held out", search, {-1, 2, 0}) == {0: ("2",), 2: ("10",)}
    assert asked == [1.0, 9.0]
    assert measure.rescored("", search, {0}) == {}


@pytest.mark.parametrize("batch", [1, 10])
def test_the_run_before_ours_has_the_tree_split_so_that_no_import_is_counted(batch, monkeypatch):
    fitted = []
    fit = KMeansSvm.fit
    monkeypatch.setattr(KMeansSvm, "fit", lambda *given: fitted.append(given) or fit(*given))
    measure.warm(Task("lamcts turbo, tree", "smoke", batch, 0, 16))
    assert fitted
