"""A run that was stopped, in whatever way, ends as if it never had been."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import sphere
from journalled_run import go
from stroll import Stroll

from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.objectives import make
from lamcts.study import minimize, run
from lamcts.study.result import Result
from lamcts.study.resume import source_hash

BOUNDS = [(-1.0, 1.0)] * 3
PROGRAM = Path(__file__).with_name("journalled_run.py")


def assert_same_result(a: Result, b: Result) -> None:
    assert a.history.x.tobytes() == b.history.x.tobytes()
    assert a.history.values.tobytes() == b.history.values.tobytes()
    assert a.history.trial.tolist() == b.history.trial.tolist()
    assert a.history.messages == b.history.messages
    assert (a.fun, a.nfev, a.nit, a.status, a.message) == (b.fun, b.nfev, b.nit, b.status, b.message)
    assert np.array_equal(a.x, b.x)
    assert a.history.constraints.tobytes() == b.history.constraints.tobytes()
    assert repr(a.get("candidates")) == repr(b.get("candidates")) and repr(a.get("front")) == repr(b.get("front"))


@pytest.mark.parametrize("kind", ["plain", "bound", "front"])
def test_a_run_killed_at_any_moment_ends_as_if_never_killed(tmp_path: Path, kind: str) -> None:
    journal, budget = tmp_path / "run.db", 300
    rng, kills = random.Random(0), 0
    while True:
        process = subprocess.Popen([sys.executable, PROGRAM, journal, str(budget), kind])
        deadline = time.monotonic() + 600
        while not journal.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            process.wait(rng.uniform(0.02, 0.3) if kills < 4 else 600)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            if journal.exists():
                Journal.read(journal)  # whole at any moment
        else:
            assert process.returncode == 0
            break
    assert kills, "the run was over before the first kill: make the budget larger"
    resumed, uninterrupted = go(str(journal), budget, kind), go(None, budget, kind)
    assert isinstance(resumed, Result) and isinstance(uninterrupted, Result)
    assert_same_result(resumed, uninterrupted)
    assert resumed.nfev == budget


@pytest.mark.parametrize("batch", [1, 4])
def test_a_generator_that_is_closed_and_resumed_again_and_again_equals_one_run(tmp_path: Path, batch: int) -> None:
    options: dict[str, Any] = {
        "budget": 60,
        "seed": 3,
        "sampler": Stroll(),
        "batch": batch,
        "n_init": 12,
    }  # with the tree
    for stop in (1, 2, 7, 19, 5):
        for i, _ in enumerate(run(sphere, BOUNDS, journal=tmp_path / "run.db", **options)):
            if i + 1 == stop:
                break
    resumed = minimize(sphere, BOUNDS, journal=tmp_path / "run.db", **options)
    assert_same_result(resumed, minimize(sphere, BOUNDS, **options))


def test_pending_trials_come_back_first_with_the_same_numbers_and_points(tmp_path: Path) -> None:
    options: dict[str, Any] = {"budget": 20, "seed": 3, "sampler": Stroll(), "batch": 8, "journal": tmp_path / "run.db"}
    evaluations = run(sphere, BOUNDS, **options)
    first = [next(evaluations) for _ in range(3)]
    evaluations.close()
    pending = Journal.read(tmp_path / "run.db").pending
    assert [trial.id for trial in pending] == [3, 4, 5, 6, 7]
    rest = list(run(sphere, BOUNDS, **options))
    assert [e.trial for e in first + rest] == list(range(20))
    assert [trial.x.tolist() for trial in pending] == [((e.point + 1) / 2).tolist() for e in rest[:5]]


def test_the_seed_may_be_left_out_when_a_run_goes_on(tmp_path: Path) -> None:
    first = minimize(sphere, BOUNDS, budget=8, sampler=Stroll(), journal=tmp_path / "run.db")
    then = minimize(sphere, BOUNDS, budget=16, sampler=Stroll(), journal=tmp_path / "run.db")
    assert first.seed == then.seed and then.nfev == 16
    assert then.history.x[:8].tobytes() == first.history.x.tobytes()
    with pytest.raises(JournalError, match=r"seed is .* there and .* here"):
        minimize(sphere, BOUNDS, budget=16, seed=first.seed + 1, sampler=Stroll(), journal=tmp_path / "run.db")


def test_a_finished_run_called_again_evaluates_nothing(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "budget": 10,
        "seed": 0,
        "sampler": Stroll(),
        "journal": tmp_path / "run.db",
        "noisy": True,
    }
    first = minimize(sphere, BOUNDS, **options)

    def never(point: np.ndarray) -> float:
        raise AssertionError("nothing is left to evaluate")

    never.__qualname__ = sphere.__qualname__
    with pytest.warns(RuntimeWarning, match="from before it was edited"):
        assert_same_result(minimize(never, BOUNDS, **options), first)


def test_a_function_of_another_name_is_warned_of_with_both_names(tmp_path: Path) -> None:
    def other(point: np.ndarray) -> float:
        return 1000 - sphere(point)

    options: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "journal": tmp_path / "run.db"}
    minimize(sphere, BOUNDS, budget=4, **options)
    with pytest.warns(RuntimeWarning, match=r"holds values of 'sphere', this run is of '.*other'.*another journal"):
        minimize(other, BOUNDS, budget=4, **options)
    assert minimize(sphere, BOUNDS, budget=5, **options).nfev == 5  # the same name: no warning, which were an error
    assert minimize(other, BOUNDS, budget=6, about={"objective": "sphere"}, **options).nfev == 6


EDITS = {
    "the same": ("def f(x):\n    return float(x[0])\n", False),
    "a comment and a docstring": ('def f(x):\n    """New."""\n    return  float(x[0])  # new\n', False),
    "another body": ("def f(x):\n    return 2 * float(x[0])\n", True),
}


@pytest.mark.parametrize(("text", "warned"), EDITS.values(), ids=EDITS)
def test_an_edited_function_is_warned_of(tmp_path: Path, text: str, warned: bool) -> None:
    def read(text: str, file: Path) -> Any:
        file.write_text(text)
        made: dict[str, Any] = {}
        exec(compile(text, file, "exec"), made)
        return made["f"]

    options: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "journal": tmp_path / "run.db"}
    minimize(read(EDITS["the same"][0], tmp_path / "first.py"), BOUNDS, budget=3, **options)
    again = read(text, tmp_path / "second.py")
    words = r"holds values of 'f' from before it was edited, and this run goes on with them.*another journal"
    with pytest.warns(RuntimeWarning, match=words) if warned else nullcontext():
        assert minimize(again, BOUNDS, budget=4, **options).nfev == 4


def test_what_has_no_source_or_no_name_is_not_compared(tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    exec("def f(x):\n    return 1.0", made)
    for i, (f, g) in enumerate(
        [(lambda x: 1.0, lambda x: 2.0), (partial(sphere), partial(sphere)), (made["f"], made["f"]), (Plain(), Plain())]
    ):
        options: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "journal": tmp_path / f"{i}.db"}
        minimize(f, BOUNDS, budget=3, **options)
        assert "source" not in Journal.read(tmp_path / f"{i}.db").about
        assert minimize(g, BOUNDS, budget=4, **options).nfev == 4
    assert source_hash(Plain().__call__) is not None and source_hash(sphere) != source_hash(Plain.__call__)


class Plain:
    def __call__(self, point: np.ndarray) -> float:
        return 1.0


def test_an_objective_that_tells_itself_apart_may_change_its_name(tmp_path: Path) -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, point: np.ndarray) -> float:
            return sphere(point)

        def fingerprint(self) -> dict[str, Any]:
            return {"function": "sphere"}

    options: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "journal": tmp_path / "run.db"}
    minimize(Named("here"), BOUNDS, budget=4, **options)
    assert minimize(Named("there"), BOUNDS, budget=5, **options).nfev == 5


def test_a_journal_is_free_again_after_an_error_in_the_users_code(tmp_path: Path) -> None:
    options: dict[str, Any] = {"budget": 10, "seed": 0, "sampler": Stroll(), "journal": tmp_path / "run.db"}

    def callback(result: Result) -> None:
        raise LookupError("in the callback")

    with pytest.raises(LookupError):
        minimize(sphere, BOUNDS, callback=callback, **options)
    assert minimize(sphere, BOUNDS, **options).nfev == 10


def test_a_sampler_that_cannot_be_resumed_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be resumed"):
        minimize(sphere, BOUNDS, budget=5, sampler=Stroll(resumable=False), journal=tmp_path / "run.db")
    assert not list(tmp_path.iterdir())


def test_a_state_that_does_not_fit_the_optimizer_is_a_journal_error(tmp_path: Path) -> None:
    import sqlite3

    from lamcts.journal.table import checksum

    options: dict[str, Any] = {"budget": 10, "seed": 0, "sampler": Stroll(), "journal": tmp_path / "run.db"}
    minimize(sphere, BOUNDS, **options)
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    db.execute("UPDATE meta SET value = ?, crc = ? WHERE key = 'core'", ("{}", checksum("core", "{}")))
    db.close()
    with pytest.raises(JournalError, match="entry core is not as it was written"):
        minimize(sphere, BOUNDS, **options)
    minimize(sphere, BOUNDS, **options | {"budget": 14, "journal": tmp_path / "other.db"})
    db = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    (number,) = db.execute("SELECT MAX(number) FROM sessions").fetchone()
    text = '{"session":{"rng":1},"first":null}'
    db.execute("UPDATE sessions SET state = ?, crc = ? WHERE number = ?", (text, checksum(number, text), number))
    db.close()
    with pytest.raises(JournalError, match="cannot be taken over"):
        minimize(sphere, BOUNDS, **options | {"budget": 14, "journal": tmp_path / "other.db"})


@pytest.mark.parametrize("changed", [{"shift": 2}, {"rotate": 3}, {"noise": 0.1}])
def test_a_journal_is_not_mixed_with_another_instance_of_the_function(tmp_path: Path, changed: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"dim": 3, "shift": 1, "rotate": 1}
    minimize(make("ackley", **settings), budget=5, journal=tmp_path / "run.db", seed=0)
    with pytest.raises(JournalError, match=r"is of another run: objective\.(placed|noise) is"):
        minimize(make("ackley", **settings | changed), budget=7, journal=tmp_path / "run.db", seed=0)
    assert minimize(make("ackley", **settings), budget=7, journal=tmp_path / "run.db", seed=0).nfev == 7
