"""A function that evaluates many points by one call."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import Diary, sphere
from stroll import Stroll

import lamcts
from lamcts.study.evaluation import Job
from lamcts.study.options import RunSettings
from lamcts.study.workers import pool_of

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False}


def spheres(points: list[np.ndarray]) -> list[float]:
    assert isinstance(points, list)
    return [sphere(point) for point in points]


def columns(result: Any) -> tuple[bytes, bytes]:
    return result.history.x.tobytes(), result.history.values.tobytes()


def test_it_gets_a_batch_and_finds_what_one_at_a_time_finds() -> None:
    sizes: list[int] = []

    def f(points: list[np.ndarray]) -> np.ndarray:
        sizes.append(len(points))
        return np.array(spheres(points))

    result = lamcts.minimize(f, BOX, budget=22, batch=5, vectorized=True, **OPTIONS)
    assert sizes == [5, 5, 5, 5, 2]
    assert columns(result) == columns(lamcts.minimize(sphere, BOX, budget=22, batch=5, **OPTIONS))
    assert (result.history.seconds >= 0).all()


@pytest.mark.parametrize("stop", [1, 4, 7, 10])
def test_it_goes_on_from_its_journal_as_if_never_stopped(stop: int, tmp_path: Path) -> None:
    given: dict[str, Any] = {"batch": 5, "vectorized": True, **OPTIONS}
    whole = lamcts.minimize(spheres, BOX, budget=22, **given)
    for done, _ in enumerate(lamcts.run(spheres, BOX, budget=22, journal=tmp_path / "run.db", **given), 1):
        if done == stop:
            break
    again = lamcts.minimize(spheres, BOX, budget=22, journal=tmp_path / "run.db", **given)
    assert columns(again) == columns(whole)


def test_seeds_come_as_a_list_and_are_the_trials_own() -> None:
    def one(point: Any, seed: int) -> float:
        return float(seed % 1000)

    def many(points: list[Any], seed: list[int]) -> list[float]:
        return [one(point, each) for point, each in zip(points, seed, strict=True)]

    given: dict[str, Any] = {"budget": 9, "batch": 4, **OPTIONS}
    assert columns(lamcts.minimize(many, BOX, vectorized=True, **given)) == columns(lamcts.minimize(one, BOX, **given))


def test_some_or_all_may_fail() -> None:
    def f(points: list[Any]) -> list[Any]:
        if len(points) == 2:
            raise ArithmeticError("all of them")
        return [1.0, None, ValueError("third"), float("nan")]

    messages = lamcts.minimize(f, BOX, budget=6, batch=4, vectorized=True, **OPTIONS).history.messages
    all_of_them = "ArithmeticError: all of them"
    third = {1: "no value", 2: "ValueError: third", 3: "the value is nan", 4: all_of_them, 5: all_of_them}
    assert messages == third


@pytest.mark.parametrize("form", ["dicts", "lists", "rows"])
def test_several_objectives_come_by_point_or_by_name(form: str) -> None:
    def f(points: list[Any]) -> Any:
        rows = np.array([[point[0], abs(point[1])] for point in points])
        if form == "rows":
            return rows
        return {"a": rows[:, 0], "b": list(rows[:, 1])} if form == "lists" else [{"a": a, "b": b} for a, b in rows]

    result = lamcts.minimize(f, BOX, budget=8, batch=3, objectives=["a", "b"], vectorized=True, **OPTIONS)
    points = np.array(list(result.history.points))
    assert np.array_equal(result.history.values, np.column_stack([points[:, 0], abs(points[:, 1])]))


def test_it_is_called_only_with_points_whose_constraints_are_kept() -> None:
    called: list[np.ndarray] = []

    def f(points: list[np.ndarray]) -> list[float]:
        called.extend(points)
        return spheres(points)

    def margin(point: np.ndarray) -> float:
        if point[1] > 0.9:
            raise ValueError("too far")
        return float(point[0])

    held = {"constraints": [{"type": "ineq", "fun": margin}], "check_first": True, "x0": [0.5, 0.5]}
    result = lamcts.minimize(f, BOX, budget=20, batch=6, vectorized=True, **held, **OPTIONS)
    history, points = result.history, np.array(list(result.history.points))
    assert history.failed.tolist() == (points[:, 1] > 0.9).tolist() and 0 < len(called) < 20
    assert np.array_equal(np.array(called), points[~history.failed & (points[:, 0] >= 0)])
    assert (history.checked == (~history.failed & (points[:, 0] < 0))).all()


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda points: [1.0, 2.0], "vectorized: values: expected 4, one for each trial, got 2"),
        (lambda points: 1.0, "vectorized: values: expected 4, one for each trial, got 1"),
        (lambda points: {"value": [1.0]}, "vectorized: values of 'value': expected 4"),
    ],
)
def test_another_number_of_values_is_a_slip_and_ends_the_run(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lamcts.minimize(f, BOX, budget=8, batch=4, vectorized=True, **OPTIONS)


def test_what_makes_no_sense_beside_it_is_refused() -> None:
    for beside in ({"workers": 2}, {"workers": "threads"}, {"executor": lambda: None}):
        with pytest.raises(ValueError, match=r"vectorized: expected False with (workers|executor), got True"):
            lamcts.minimize(spheres, BOX, budget=8, vectorized=True, **beside, **OPTIONS)
    with pytest.raises(ValueError, match="vectorized: expected False with a StatefulObjective"):
        lamcts.minimize(Diary(), budget=8, vectorized=True, **OPTIONS)


def test_no_more_is_asked_for_before_all_that_ended_are_handed_over() -> None:
    pool = pool_of(spheres, RunSettings(budget=6, vectorized=True, batch=3))
    for i in range(3):
        pool.start(Job(i, np.zeros(2), 0))
    assert pool.free == 0
    for i in range(3):
        ended = pool.wait()
        assert ended is not None and ended[0].what == i
        assert pool.ready == (i < 2)
    assert (pool.free, pool.running) == (3, 0)
