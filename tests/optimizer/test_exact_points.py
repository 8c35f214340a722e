"""A point that a user gives comes back as it was given, to the last bit: from a run, a state, a file and a journal."""

import json
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts import Box, Choice, Float, Int, Optimizer, Space
from lamcts.spaces.exact import exact

BOX = Box([-5.0, 0.0, -1e9], [10.0, 1.0, 1e9])
TOLD = [0.1, 1 / 3, 1e-3]  # no coordinate in [0, 1] gives the last, so coarse are they
MIXED = Space({"rate": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8), "act": Choice(["relu", 0.1]), "in": BOX})
POINT = {"rate": 0.001, "layers": 3, "act": 0.1, "in": TOLD}
CASES: list[Any] = [(BOX, TOLD), (BOX, np.array(TOLD)), (MIXED, POINT)]


def same(point: Any, told: Any) -> bool:
    if isinstance(told, dict):
        return point.keys() == told.keys() and all(same(point[name], told[name]) for name in told)
    return bool(np.array_equal(point, told))


@pytest.mark.parametrize(("space", "told"), CASES, ids=["list", "array", "dict"])
def test_decoding_alone_would_round_them(space: Any, told: Any) -> None:
    assert not same(space.decode(space.encode(told)), told)


@pytest.mark.parametrize(("space", "told"), CASES, ids=["list", "array", "dict"])
def test_a_told_point_and_a_starting_point_come_back(space: Any, told: Any) -> None:
    opt = Optimizer(space, seed=0, x0=told)
    (trial,) = opt.ask()
    assert same(trial.point, told)
    opt.tell(trial, 2.0)
    assert same(opt.best.point, told)
    other = Optimizer(space, seed=0, objectives=2)
    other.tell_point(told, [1.0, 2.0])
    assert same(other.front[0].point, told)
    result = lamcts.minimize(lambda point: 1.0, space, budget=3, seed=0, known=[(told, 0.0)])
    assert same(result.x, told) and same(result.history.points[0], told) and same(result.history.points[:2][0], told)
    assert [same(point, told) for point in result.history.points] == [True, False, False, False]


def test_what_comes_back_may_be_changed_without_harm() -> None:
    opt = Optimizer(BOX, seed=0)
    opt.tell_point(TOLD, 1.0)
    opt.best.point[0] = 7.0
    assert same(opt.best.point, TOLD)


@pytest.mark.parametrize(("space", "told"), CASES, ids=["list", "array", "dict"])
def test_states_files_and_journals_keep_them(space: Any, told: Any, tmp_path: Any) -> None:
    opt = Optimizer(space, seed=0, x0=told)
    opt.tell_point(told, 1.0)
    opt.ask()
    again = Optimizer(space, seed=0, x0=told)
    again.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    opt.save(tmp_path / "saved.db")
    for one in (again, Optimizer.load(tmp_path / "saved.db")):
        assert same(one.best.point, told) and one.seen.exact.keys() == {0}
    options: dict[str, Any] = {"seed": 0, "journal": tmp_path / "run.db"}
    calls: list[Any] = []
    for budget in (2, 4):
        lamcts.minimize(lambda p: calls.append(p) or 1.0, space, budget=budget, x0=told, known=[(told, 0.0)], **options)
    loaded, read = lamcts.load(tmp_path / "run.db"), lamcts.journal.Journal.read(tmp_path / "run.db")
    assert same(loaded.x, told) and same(read.points(space)[0], told) and len(calls) == 4
    assert read.best is not None and same(read.best[0], told)


ENDS = Space({"a": Float(-1, 0.7), "b": Choice([0.1, 0.7]), "c": Float(0, 0.7, step=0.1), "d": Box(0, [0.3, 1])})
BEYOND = {"a": np.float32(0.7) + 1e-7, "b": np.float32(0.7), "c": np.float32(0.7), "d": np.float32([0.3, 0.1])}


def test_numbers_off_by_rounding_are_taken_as_those_of_the_space() -> None:
    point = {"a": 0.7, "b": 0.7, "c": 0.7, "d": [0.3, float(np.float32(0.1))]}
    opt = Optimizer(ENDS, seed=0, x0=BEYOND)
    (trial,) = opt.ask()
    opt.tell(trial, 1.0)
    opt.tell_point(BEYOND, 0.0)
    assert same(trial.point, point) and same(opt.best.point, point)
    options: dict[str, Any] = {"budget": 1, "seed": 0, "known": [(BEYOND, 0.0)]}
    assert same(lamcts.minimize(lambda p: 1.0, ENDS, **options).x, point)
    found = lamcts.minimize(lambda p: 1.0, ENDS, fix={"a": BEYOND["a"], "b": BEYOND["b"]}, **options)
    assert [(p["a"], p["b"]) for p in found.history.points] == [(0.7, 0.7)] * 2


def test_a_starting_point_that_is_pending_in_a_file_is_handed_out_as_it_was_given(tmp_path: Any) -> None:
    opt = Optimizer(BOX, seed=0, x0=[TOLD, [1.0, 0.1, 0.1]])
    opt.ask()
    opt.save(tmp_path / "saved.db")
    loaded = Optimizer.load(tmp_path / "saved.db")
    assert same(loaded.pending[0].point, TOLD) and same(loaded.ask()[0].point, [1.0, 0.1, 0.1])


def test_a_stored_point_that_is_of_another_row_is_left_out() -> None:
    x = BOX.encode(TOLD)
    assert exact(BOX, x, TOLD) is not None
    for other in ([0.2, 1 / 3, 1e-3], TOLD[:2], "text", None, {"a": 1}, [None, 1, 2], [[0.1, 0.2, 0.3]]):
        assert exact(BOX, x, other) is None


def test_a_damaged_note_of_a_journal_is_refused(tmp_path: Any) -> None:
    from lamcts.journal.intermediate_values import read_notes

    for note in ("[1]", '{"other": 1}', '{"predicted": [[1.0, 0.1]]}'):
        with pytest.raises(lamcts.JournalError, match="rows: number 3 has a note"):
            read_notes("run.db", [(3, "ok", note)], losses=1)
