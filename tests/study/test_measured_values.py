"""Values with a standard error, from what an objective returns to journals, rows and proposals."""

import io
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import measured, noisy

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.optimizer.export import names_of, write_csv

BOX = lamcts.Box(-1, 1, dim=3)
MIXED = lamcts.Space({"x": lamcts.Float(-1, 1), "kind": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)})


def error_at(row: dict[str, Any]) -> float:
    return 0.05 + abs(float(row["x1"]))


@pytest.mark.parametrize("how", ["serial", "threads", "processes", "executor", "timeout"])
def test_standard_errors_come_home_from_every_kind_of_worker(how: str) -> None:
    options: dict[str, Any] = {
        "serial": {},
        "threads": {"workers": "threads"},
        "processes": {"workers": 2},
        "executor": {"executor": ThreadPoolExecutor(2)},
        "timeout": {"timeout": 60.0},
    }[how]
    rows = lamcts.minimize(measured, BOX, budget=12, seed=0, sampler="uniform", **options).rows()
    assert len(rows) == 12 and all(row["sem"] == pytest.approx(error_at(row)) for row in rows)


@pytest.mark.parametrize("sampler", ["auto", "bo", "turbo", "mixed_gp"])
@pytest.mark.parametrize("space", [BOX, MIXED])
def test_models_use_standard_errors_and_a_run_that_goes_on_proposes_the_same(
    sampler: str, space: Any, tmp_path: Path
) -> None:
    def f(point: Any, seed: int) -> Any:
        x = np.array(point if isinstance(point, np.ndarray) else [point["x"], point["n"] / 9, 0.0])
        value, error = measured(x, seed)
        return (value, error) if told else value

    how: dict[str, Any] = {"seed": 0, "sampler": sampler, "n_init": 6}
    points = {}
    for told in (False, True):
        points[told] = lamcts.minimize(f, space, budget=24, **how).history.x
    journal = tmp_path / "run.db"
    for budget in (14, 19, 24):
        result = lamcts.minimize(f, space, budget=budget, journal=journal, **how)
    np.testing.assert_array_equal(result.history.x, points[True])
    np.testing.assert_array_equal(points[True][:6], points[False][:6])
    assert not np.array_equal(points[True], points[False])
    assert lamcts.load(journal).history.sems == result.history.sems and len(result.history.sems) == 24


def test_an_unknown_standard_error_changes_no_proposal() -> None:
    def unknown(point: Any, seed: int) -> Any:
        return lamcts.Measured(noisy(point, seed)) if seed % 2 else (noisy(point, seed), None)

    bare, told = (lamcts.minimize(f, BOX, budget=20, seed=0) for f in (noisy, unknown))
    np.testing.assert_array_equal(bare.history.x, told.history.x)
    assert not told.history.sems and "sem" not in told.rows()[0]


def test_rows_tables_and_csv_have_a_column_where_any_error_was_told() -> None:
    def f(point: Any) -> Any:
        return (point[0], 0.25) if point[0] > 0 else point[0]

    result, found = lamcts.maximize(f, [(-1, 1)], budget=12, seed=0, sampler="uniform"), io.StringIO()
    rows = result.rows()
    assert [*rows[0]][:3] == ["trial", "value", "sem"]
    assert all(row["sem"] == 0.25 if row["x1"] > 0 else math.isnan(row["sem"]) for row in rows)
    write_csv(rows, names_of(rows), found)
    assert found.getvalue().splitlines()[0].split(",")[:3] == ["trial", "value", "sem"]
    pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    assert result.to_dataframe()["sem"].count() == sum(row["x1"] > 0 for row in rows)


def test_several_objectives_and_constraints_have_errors_in_lists_and_dicts() -> None:
    opt = lamcts.Optimizer(BOX, seed=0, objectives={"a": "max", "b": "min"}, constraints=["mass <= 2"])
    one, other, third = opt.ask(3)
    opt.tell(one, [(1.0, 0.1), 2.0, 0.5])
    opt.tell([other, third], [{"a": lamcts.Measured(1, 0), "b": (2, None), "mass": 1}, {"a": 1, "b": 2, "mass": 3}])
    assert repr(opt.seen.sems) == "{0: (0.1, nan), 1: (0.0, nan)}"
    assert opt.seen.f.tolist() == [[-1, 2]] * 3 and opt.seen.g[:, 0].tolist() == [-1.5, -1, 1]
    bounded = lamcts.Optimizer(BOX, seed=0, constraints=["mass <= 2"])
    one, other = bounded.ask(2)
    bounded.tell(one, (1.0, 0.1))  # with a constraint, numbers in order are the value and the quantity
    bounded.tell(other, lamcts.Measured(1.0, 0.1), constraints={"mass": 1.0})
    assert bounded.seen.sems == {1: (0.1,)} and bounded.seen.g[:, 0].tolist() == [-1.9, -1.0]


def test_two_values_of_two_trials_are_no_value_with_an_error() -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    opt.tell(opt.ask(2), (1.0, 2.0))
    assert opt.seen.f[:, 0].tolist() == [1.0, 2.0] and not opt.seen.sems
    opt.tell(opt.ask()[0], (1.0, 2.0))
    opt.tell_point([0.1, 0.2, 0.3], (np.float32(1.0), np.int64(2)))
    assert opt.seen.sems == {2: (2.0,), 3: (2.0,)}


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ((1.0, -0.1), "expected a finite standard error of at least 0, or None where it is unknown, got -0.1"),
        ((1.0, math.nan), "got nan"),
        ((1.0, math.inf), "got inf"),
        ((1.0, "small"), "got 'small'"),
        (lamcts.Measured(1.0, -1), "got -1"),
        ([1.0, 0.1], r"got list \[1.0, 0.1\]; a value with its standard error is a tuple"),
        ((1.0, 0.1, 0.2), "expected one number, None or an exception, got tuple"),
    ],
)
def test_an_impossible_error_is_refused_and_nothing_is_told(told: Any, says: str) -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    trials = opt.ask(1)
    with pytest.raises(ValueError, match=says):
        opt.tell(trials, [told])
    assert len(opt.seen) == 0 and opt.pending == trials


@pytest.mark.parametrize("stress", [(200, 3), lamcts.Measured(200, 3)])
def test_an_error_of_a_constraint_is_refused_with_its_reason(stress: Any) -> None:
    opt = lamcts.Optimizer(BOX, seed=0, constraints=["stress <= 250"])
    for told in ({"value": 1.0, "stress": stress}, [1.0, stress]):
        with pytest.raises(ValueError, match=r"for 'stress', got .*200.*3.*; only objectives have a standard error"):
            opt.tell(opt.ask()[0], told)


def test_one_measured_value_of_two_objectives_is_refused() -> None:
    opt = lamcts.Optimizer(BOX, seed=0, objectives=2)
    with pytest.raises(ValueError, match="expected a value for each of f1, f2, got one Measured"):
        opt.tell(opt.ask()[0], lamcts.Measured(1.0, 0.1))


def test_a_failed_evaluation_has_no_error() -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    opt.tell(opt.ask(2), [(math.nan, 0.1), (None, 0.2)])
    assert not opt.seen.sems and len(opt.failures) == 2


def test_states_and_files_hold_standard_errors(tmp_path: Path) -> None:
    opt = lamcts.Optimizer(BOX, seed=0, objectives=2)
    opt.tell(opt.ask(2), [[(1, 0.1), 2], [1, (2, 0.0)]])
    again = lamcts.Optimizer(BOX, seed=0, objectives=2)
    again.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    opt.save(tmp_path / "saved.db")
    for one in (again, lamcts.Optimizer.load(tmp_path / "saved.db")):
        assert repr(one.seen.sems) == repr(opt.seen.sems) == "{0: (0.1, nan), 1: (nan, 0.0)}"
    old = {name: part for name, part in opt.state_dict().items() if name != "sems"}
    before = lamcts.Optimizer(BOX, seed=0, objectives=2)
    before.load_state_dict(old)
    assert len(before.seen) == 2 and not before.seen.sems


@pytest.mark.parametrize("sems", [{"99": [0.1]}, {"0": [-0.1]}, {"0": [0.1, 0.1]}, {"0": 0.1}, {"1": [0.1]}, 5])
def test_a_state_with_impossible_errors_is_refused(sems: Any) -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    opt.tell(opt.ask(2), [1.0, None])
    with pytest.raises(ValueError, match="state: expected"):
        lamcts.Optimizer(BOX, seed=0).load_state_dict(opt.state_dict() | {"sems": sems})


def test_a_journal_with_an_impossible_error_is_damaged(tmp_path: Path) -> None:
    import sqlite3

    from lamcts.journal.table import checksum

    path = tmp_path / "run.db"
    lamcts.minimize(measured, BOX, budget=3, seed=0, journal=path)
    assert Journal.read(path).sems.keys() == {0, 1, 2}
    with sqlite3.connect(path) as db:
        row = list(db.execute("SELECT * FROM rows WHERE row = 1").fetchone())
        row[6] = '{"sem":[-1.0]}'
        db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [*row[:-1], checksum(*row[:-1])])
    db.close()
    with pytest.raises(JournalError, match="number 1: sem: expected"):
        Journal.read(path)


def test_many_points_in_one_call_have_errors() -> None:
    rows = lamcts.minimize(
        lambda points: [(x[0], 0.1) for x in points], [(0, 1)], budget=4, seed=0, batch=2, vectorized=True
    ).rows()
    assert [row["sem"] for row in rows] == [0.1] * 4
