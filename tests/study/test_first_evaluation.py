"""A run that was stopped before its first result ends as if it never had been, whatever it searches and with what."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import descent, sphere
from test_resume import assert_same_result

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.study import minimize
from lamcts.study.result import Result

Point = Any
BUDGET = 16
MIXED = {"x": lamcts.Float(0, 1), "k": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)}
SPACES: dict[str, Any] = {
    "one real": lamcts.Box(-1, 1, dim=1),
    "three reals": lamcts.Box(-1, 1, dim=3),
    "mixed": lamcts.Space(MIXED),
    "one choice": lamcts.Space({"k": lamcts.Choice(list(range(30)))}),
    "conditional": lamcts.Space(MIXED | {"m": lamcts.Float(0.1, 10, log=True, when={"k": ["a", "b"]})}),
    "order": lamcts.Permutation(6),
    "steps": lamcts.Space({"x": lamcts.Float(0, 1, step=0.05), "y": lamcts.Float(-1, 1)}),
    "table": lamcts.Finite(np.linspace(0, 1, 60).reshape(30, 2)),
}
BOX: dict[str, dict[str, Any]] = {
    "batch": {"batch": 5},
    "no design": {"n_init": 0},
    "x0": {"x0": [[0.5, 0.5, 0.5], [-0.5, 0.0, 0.5]]},
    "timeout": {"timeout": 60.0},
    "known": {"known": [([0.1, 0.2, 0.3], 1.0), ([0.3, 0.2, 0.1], None)]},
    "fix": {"fix": {1: 0.25}},
    "valid": {"valid": lambda point: point[0] < 0.5},
    "noisy": {"noisy": 0.25, "batch": 3},
    "repeat": {"repeat": True},
    "no tree": {"sampler": "turbo"},
    "tree": {"sampler": "la_mcts:cma"},
}
COLUMNS: dict[str, dict[str, Any]] = {
    "a constraint": {"objectives": ["cost"], "constraints": ["range <= 0.5"]},
    "two objectives": {"objectives": {"cost": "min", "range": "max"}, "batch": 3},
    "both": {"objectives": {"cost": "min", "range": "max"}, "constraints": ["most <= 0.8"]},
}


def value(point: Point) -> float:
    """Return a number for a point of any space, as uneven as its text."""
    return sum(i * byte for i, byte in enumerate(repr(point).encode())) % 1009 / 1009


def columns(point: Point) -> dict[str, float]:
    return {"cost": float((point**2).sum()), "range": float(point.sum()), "most": float(point.max())}


class Stopped:
    """A function that is interrupted before its first value, and no other time."""

    def __init__(self, f: Any, calls: int = 1) -> None:
        self.f, self.__qualname__, self.left = f, f.__qualname__, calls

    def __call__(self, point: Point) -> Any:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.f(point)


def resumed_and_whole(tmp_path: Path, f: Any, space: Any, stopped: Any, **options: Any) -> tuple[Result, Result]:
    """Return the results of a run whose first evaluation was interrupted, and of one that was left alone."""
    journal = tmp_path / "run.db"
    options = {"budget": BUDGET, "seed": 3} | options
    first = minimize(stopped, space, journal=journal, **options)
    assert first.status == "interrupted"
    record = Journal.read(journal)
    assert not (record.trial >= 0).any() and record.pending  # asked for, and nothing evaluated
    return minimize(f, space, journal=journal, **options), minimize(f, space, **options)


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_any_space_goes_on_from_a_stop_before_its_first_result(tmp_path: Path, space: Any) -> None:
    minimize(Stopped(value), space, budget=BUDGET, seed=3, journal=tmp_path / "run.db")
    assert lamcts.load(tmp_path / "run.db", space=space).nfev == 0  # shown, too
    assert_same_result(*resumed_and_whole(tmp_path, value, space, Stopped(value)))


@pytest.mark.parametrize("options", BOX.values(), ids=list(BOX))
def test_any_option_goes_on_from_a_stop_before_the_first_result(tmp_path: Path, options: dict[str, Any]) -> None:
    assert_same_result(*resumed_and_whole(tmp_path, sphere, SPACES["three reals"], Stopped(sphere), **options))


@pytest.mark.parametrize("options", COLUMNS.values(), ids=list(COLUMNS))
def test_columns_go_on_from_a_stop_before_the_first_result(tmp_path: Path, options: dict[str, Any]) -> None:
    assert_same_result(*resumed_and_whole(tmp_path, columns, SPACES["three reals"], Stopped(columns), **options))


def test_a_vectorized_run_goes_on_from_a_stop_before_its_first_result(tmp_path: Path) -> None:
    def several(points: list[Point]) -> list[float]:
        return [sphere(point) for point in points]

    options: dict[str, Any] = {"batch": 4, "vectorized": True}
    assert_same_result(*resumed_and_whole(tmp_path, several, SPACES["three reals"], Stopped(several), **options))


@pytest.mark.parametrize("pruner", ["median", "hyperband"])
def test_a_pruned_run_goes_on_from_a_stop_before_its_first_result(tmp_path: Path, pruner: str) -> None:
    def interrupted(point: Point, trial: Any) -> float:
        trial.report(0, 1.0)  # lost: what a trial reports is written with its value
        raise KeyboardInterrupt

    interrupted.__qualname__ = descent.__qualname__
    found = resumed_and_whole(tmp_path, descent, SPACES["three reals"], interrupted, pruner=pruner, budget=30)
    assert_same_result(*found)
    assert found[0].history.curves == found[1].history.curves


PROGRAM = """
import os, sys, lamcts
def f(x):
    if not os.path.exists("again"):
        open("again", "w").close()
        {stop}
    return float(((x - 0.3) ** 2).sum())
if __name__ == "__main__":
    lamcts.minimize(f, lamcts.Box(-1, 1, dim=3), budget=12, seed=0, journal="run.db", {options})
"""
STOPS = {
    "lost": ("os._exit(9)", "", 9),
    "killed": ("os.kill(os.getpid(), 9)", "batch=5", -signal.SIGKILL),
    "workers": ("os.kill(os.getppid(), 9)", "workers=2", -signal.SIGKILL),
}


@pytest.mark.parametrize("stop", STOPS)
def test_a_program_that_ends_in_its_first_evaluation_is_called_again_and_ends_well(tmp_path: Path, stop: str) -> None:
    how, options, status = STOPS[stop]
    (tmp_path / "job.py").write_text(PROGRAM.format(stop=how, options=options))
    words = [sys.executable, "job.py"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=600).returncode == status
    assert Journal.read(tmp_path / "run.db").n == 0
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (again.returncode, again.stderr) == (0, "")
    record = Journal.read(tmp_path / "run.db")
    assert sorted(record.trial.tolist()) == list(range(12))
    if not options.startswith("workers"):
        batch = 5 if options else 1
        whole = minimize(sphere, lamcts.Box(-1, 1, dim=3), budget=12, seed=0, batch=batch)
        assert record.x.tobytes() == whole.history.x.tobytes()
        assert record.values.tobytes() == whole.history.values.tobytes()


def test_an_optimizer_takes_over_a_journal_without_rows_and_without_points_that_are_out(tmp_path: Path) -> None:
    space = lamcts.Box(-1, 1, dim=3)
    opt = lamcts.Optimizer(space, seed=1)
    (trial,) = opt.ask()
    opt.forget(trial)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        journal.write(opt.delta(journal.mark))
    later = lamcts.Optimizer(space, seed=1)
    later.restore(Journal.read(tmp_path / "run.db").state)
    assert later.ask()[0].x.tolist() == opt.ask()[0].x.tolist()


def test_points_out_of_another_width_are_still_refused(tmp_path: Path) -> None:
    opt, other = (lamcts.Optimizer(lamcts.Box(-1, 1, dim=dim), seed=1) for dim in (3, 2))
    other.ask()
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        journal.write(other.delta(journal.mark))
    with pytest.raises(JournalError, match="holds a state that cannot be taken over"):
        minimize(sphere, opt.space, budget=3, seed=1, journal=tmp_path / "run.db")
