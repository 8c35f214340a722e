"""Trials with several objectives report vectors, and are stopped where they are probably dominated."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import both, sphere
from pruned_fronts_run import OPTIONS, go

import lamcts
from lamcts import pruners
from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.outcomes.dominance import non_dominated
from lamcts.pruners import Curves
from lamcts.study.reporting import Reporter

BOX = lamcts.Box(-1, 1, dim=3)
PROGRAM = Path(__file__).with_name("pruned_fronts_run.py")
UNIFORM: dict[str, Any] = {**OPTIONS, "budget": 30, "sampler": "uniform"}


def steps(result: Any) -> int:
    """Return how many steps all trials took."""
    return sum(map(len, result.history.reports.values()))


@pytest.mark.parametrize("where", [{}, {"workers": 2}, {"workers": "threads"}], ids=["serial", "processes", "threads"])
def test_a_dominated_trial_is_stopped_wherever_it_runs(where: dict[str, Any]) -> None:
    result = lamcts.minimize(both, BOX, pruner="model", **{**UNIFORM, **where})
    assert result.nfev == 30 and 5 <= result.pruned < 28 and steps(result) < 0.75 * 300
    pruned = result.history.pruned
    ends = np.array([[sphere(point), -sphere(-point)] for point in result.history.points]) * [1, -1]
    assert np.isnan(result.history.values[pruned]).all() and not result.history.failed.any()
    assert non_dominated(ends)[pruned].mean() < 0.2
    row = int(np.flatnonzero(pruned)[0])
    assert result.rows()[row]["message"] == f"pruned at step {max(result.history.reports[row])}"


def test_predictions_and_reports_have_an_entry_for_each_objective() -> None:
    study = lamcts.study.Study(both, BOX, False, pruner="model", **UNIFORM)
    result = study.solve()
    seen, history = study.optimizer.seen, result.history
    rows = np.flatnonzero(history.pruned)
    ends = np.array([[sphere(point), sphere(-point)] for point in seen.x[rows] * 2 - 1])
    found = np.array([[loss for loss, _ in seen.predicted[row]] for row in rows])
    assert all(np.corrcoef(found[:, k], ends[:, k])[0, 1] > 0.8 for k in range(2))
    value = sphere(history.points[0]) + 1.0
    assert history.reports[0][0] == {"cost": value, "gain": -sphere(-history.points[0]) - 1.0}
    assert history.reports_of(0) == history.reports[0] == history.named_reports(0)


@pytest.mark.parametrize("sampler", ["auto", "turbo", "bo", "mixed_gp", "gp_cma"])
def test_a_run_goes_on_bit_for_bit(tmp_path: Path, sampler: str) -> None:
    whole, path = go(None, 18, sampler), str(tmp_path / "run.db")
    for budget in (11, 14, 18):
        result = go(path, budget, sampler)
    assert result.history.x.tobytes() == whole.history.x.tobytes() and whole.pruned > 1
    loaded = lamcts.load(path)
    assert repr(result.history.reports) == repr(whole.history.reports) == repr(loaded.history.reports)
    assert repr(loaded.rows()) == repr(result.rows())


@pytest.mark.dear
def test_a_run_that_is_killed_goes_on_bit_for_bit(tmp_path: Path) -> None:
    path, kills = tmp_path / "run.db", 0
    for n in (8, 12):
        process = subprocess.Popen([sys.executable, PROGRAM, path, "16"])
        while process.poll() is None and not (path.exists() and Journal.read(path).n >= n):
            time.sleep(0.01)
        kills += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert kills
    result, whole = go(str(path), 16), go(None, 16)
    assert result.history.x.tobytes() == whole.history.x.tobytes() and result.pruned == whole.pruned > 1
    assert repr(result.history.reports) == repr(whole.history.reports)


def test_a_rule_of_one_objective_stops_what_it_stops_in_each() -> None:
    heard: list[tuple[int, ...]] = []

    class Even:
        """Stops trials of even numbers at step 1 in the first objective alone, in the second all of them."""

        def prune(self, number: int, curves: Curves) -> bool:
            heard.append(tuple(len(own.losses[number]) for own in curves.objectives))
            first = curves.losses[number][0] > 0
            return len(curves.losses[number]) > 1 and (number % 2 == 0 or not first)

    def f(point: Any, trial: Reporter) -> list[float]:
        for step in range(3):
            trial.report(step, [1.0, -1.0])
        return [0.0, 0.0]

    result = lamcts.minimize(f, BOX, pruner=Even(), objectives=2, budget=6, seed=0, sampler="uniform", progress=False)
    assert result.history.pruned.tolist() == [True, False] * 3 and {len(known) for known in heard} == {1, 2}
    median = lamcts.minimize(both, BOX, pruner="median", **UNIFORM)
    assert 0 < median.pruned < 30


def test_a_rule_of_several_sees_all_objectives() -> None:
    class Vector:
        multi_objective = True

        def prune(self, number: int, curves: Curves) -> bool:
            return [own.last(number) for own in curves.objectives] == [(1, 2.0), (1, -3.0)]

    def f(point: Any, trial: Reporter) -> dict[str, float]:
        trial.report(0, {"gain": 3.0, "cost": 0.0})
        trial.report(1, {"gain": 3.0, "cost": 2.0})
        return {"gain": 0.0, "cost": 0.0}

    result = lamcts.minimize(f, BOX, pruner=Vector(), **{**UNIFORM, "budget": 3})
    assert result.pruned == 3 and {*result.history.reports[0]} == {0, 1}


def test_reports_that_make_no_sense_fail_their_trial_and_a_prune_by_hand_is_none() -> None:
    def f(point: Any, trial: Reporter) -> list[float]:
        if trial.id == 0:
            trial.report(0, 1.0)
        trial.report(0, [1.0, float("nan")])
        if trial.id == 1:
            raise lamcts.Pruned
        return [0.0, 1.0]

    result = lamcts.minimize(f, BOX, **{**UNIFORM, "budget": 3})
    assert result.history.messages == {
        0: "ValueError: report: expected 2 numbers for cost, gain, got 1: 1.0"
    } and result.history.pruned.tolist() == [False, True, False]


def test_constraints_are_kept_beside_pruning() -> None:
    def f(point: Any, trial: Reporter) -> dict[str, float]:
        cost, gain = both(point, trial)
        return {"cost": cost, "gain": gain, "mass": float(point[0])}

    result = lamcts.minimize(f, BOX, pruner="model", constraints=["mass <= 0.5"], **UNIFORM)
    assert result.pruned > 3 and result.feasible and not (result.history.pruned & result.history.feasible).any()


def test_a_journal_with_damaged_reports_is_refused(tmp_path: Path) -> None:
    import sqlite3

    from lamcts.journal.table import checksum

    path = tmp_path / "run.db"
    lamcts.minimize(both, BOX, journal=path, **{**UNIFORM, "budget": 4})
    for value in (b"1234567", 1.0, b"12345678" * 3):
        db = sqlite3.connect(path)
        row = (0, 0, value)
        db.execute("UPDATE reports SET value = ?, crc = ? WHERE trial = 0 AND step = 0", (value, checksum(*row)))
        db.commit()
        db.close()
        with pytest.raises(JournalError, match="reports: expected 2 losses at a step of a trial"):
            Journal.read(path)


def test_a_journal_of_one_objective_from_before_goes_on(tmp_path: Path) -> None:
    import sqlite3

    from evaluations import descent

    options = {**UNIFORM, "objectives": None, "pruner": pruners.Median(startup=3)}
    whole, path = lamcts.minimize(descent, BOX, **options), tmp_path / "run.db"
    lamcts.minimize(descent, BOX, journal=path, **{**options, "budget": 13})
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 4")
    db.commit()
    db.close()
    result = lamcts.minimize(descent, BOX, journal=path, **options)
    assert result.history.x.tobytes() == whole.history.x.tobytes() and result.pruned == whole.pruned > 0
    assert result.history.reports == whole.history.reports


def test_the_report_draws_the_curves_of_each_objective(tmp_path: Path) -> None:
    from lamcts.report.progress import intermediate_values
    from lamcts.report.runs import LabelledRun

    lamcts.minimize(both, BOX, journal=tmp_path / "run.db", pruner="model", **UNIFORM)
    (section,) = intermediate_values(LabelledRun("run", Journal.read(tmp_path / "run.db")))
    _, *figures = section.pieces
    assert len(figures) == 2
    assert [{trace["name"] for trace in figure.data} for figure in figures] == [{"pruned", "finished"}] * 2
    low, high = (next(t for t in figure.data if t["name"] == "finished")["y"][0] for figure in figures)
    assert low > 0 > high  # the second is maximised
