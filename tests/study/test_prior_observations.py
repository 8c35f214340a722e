"""Results that a user has already are told first, each once, and cost nothing of the budget."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import beam, cheap, sphere
from stroll import Stroll

import lamcts
from lamcts.journal import Journal
from lamcts.study import Study

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False}
POINTS = [np.array(point) for point in ([0.1, 0.2], [0.3, 0.31], [-0.5, 0.5], [0.9, -0.9])]
KNOWN = [(point, sphere(point)) for point in POINTS]
SPACE = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["relu", "1", 1, None]), "n": lamcts.Int(1, 9)})


def cost(point: dict[str, Any]) -> float:
    return float(point["lr"] + point["n"])


def columns(result: Any) -> list[bytes]:
    return [result.history.x.tobytes(), result.history.values.tobytes(), result.history.trial.tobytes()]


def test_they_are_told_first_and_not_counted() -> None:
    result = lamcts.minimize(sphere, BOX, budget=9, known=KNOWN, n_init=6, **OPTIONS)
    history = result.history
    assert result.nfev == 9 and len(history) == 13 and history.trial.tolist() == [-1] * 4 + list(range(9))
    assert np.allclose(list(history.points[:4]), POINTS) and history.values[:4].tolist() == [v for _, v in KNOWN]
    assert result.fun <= min(value for _, value in KNOWN)
    by_hand = lamcts.Optimizer(BOX, seed=0, sampler=Stroll(), n_init=6)
    by_hand.tell_points(POINTS, [value for _, value in KNOWN])
    for _ in range(9):
        (trial,) = by_hand.ask()
        by_hand.tell(trial, sphere(trial.point))
    assert np.array_equal(by_hand.seen.x, history.x)


def test_a_known_best_is_what_is_found_and_a_known_target_ends_the_run() -> None:
    result = lamcts.maximize(lambda p: 0.0, BOX, budget=3, known=[([0.5, 0.5], 7)], target=5, **OPTIONS)
    assert (result.fun, result.x.tolist(), result.nfev, result.status) == (7.0, [0.5, 0.5], 0, "target")


def test_patience_counts_evaluations_and_no_known_results() -> None:
    known = [([0.3, 0.3], 0.0), *KNOWN, *KNOWN]
    result = lamcts.minimize(sphere, BOX, budget=30, known=known, patience=5, **OPTIONS)
    assert (result.nfev, result.status) == (5, "patience")


def test_the_same_call_again_tells_none_twice_wherever_it_was_stopped(tmp_path: Path) -> None:
    whole = lamcts.minimize(sphere, BOX, budget=12, known=KNOWN, **OPTIONS)
    given: dict[str, Any] = {"known": KNOWN, "journal": tmp_path / "run.db", **OPTIONS}
    for done, _ in enumerate(lamcts.run(sphere, BOX, budget=12, **given), 1):
        if done == 5:
            break
    lamcts.minimize(sphere, BOX, budget=7, **given)
    assert columns(lamcts.minimize(sphere, BOX, budget=12, **given)) == columns(whole)
    assert Journal.read(tmp_path / "run.db").n == 16


def test_what_is_known_later_is_told_when_the_run_goes_on(tmp_path: Path) -> None:
    given: dict[str, Any] = {"journal": tmp_path / "run.db", **OPTIONS}
    lamcts.minimize(sphere, BOX, budget=4, known=KNOWN[:2], **given)
    later = lamcts.minimize(sphere, BOX, budget=8, known=[*KNOWN, KNOWN[0]], **given)
    assert later.history.trial.tolist() == [-1, -1, 0, 1, 2, 3, -1, -1, -1, 4, 5, 6, 7] and later.nfev == 8
    again = lamcts.minimize(sphere, BOX, budget=8, known=[*KNOWN, KNOWN[0]], **given)
    assert columns(again) == columns(later)
    without = lamcts.minimize(sphere, BOX, budget=8, **given)  # what the journal has stays
    assert columns(without) == columns(later)


def test_a_run_knows_its_own_evaluations_again(tmp_path: Path) -> None:
    first = lamcts.minimize(cost, SPACE, budget=8, journal=tmp_path / "run.db", **OPTIONS)
    again = lamcts.minimize(cost, SPACE, budget=8, known=first, journal=tmp_path / "run.db", **OPTIONS)
    assert columns(again) == columns(first)


@pytest.mark.parametrize("workers", [{"workers": 2}, {"batch": 3}], ids=str)
def test_they_go_with_workers_and_batches(workers: dict[str, Any], tmp_path: Path) -> None:
    result = lamcts.minimize(sphere, BOX, budget=6, known=KNOWN, journal=tmp_path / "run.db", **workers, **OPTIONS)
    assert result.nfev == 6 and sorted(result.history.trial.tolist()) == [-1] * 4 + list(range(6))


def test_failures_constraints_and_several_objectives_are_told_too() -> None:
    goals: dict[str, Any] = {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 5"]}
    points = [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.9, 0.8]]
    known = [
        (points[0], {"cost": 0.02, "range": 0.2, "stress": 1.0, "note": 3}),
        (points[1], [0.08, 0.4], {"stress": 2.0}),
        (points[2], None, {"stress": 9.0}),
        (points[3], ValueError("no")),
        (points[4], math.nan, None),
    ]
    with pytest.raises(ValueError, match="known: number 5: values: expected 2 numbers for cost, range"):
        Study(beam, BOX, None, 5, known=[*known, (points[4], 0.5, None)], **goals, **OPTIONS)
    history = lamcts.minimize(beam, BOX, budget=1, known=known, **goals, **OPTIONS).history
    assert history.values[:2].tolist() == [[0.02, 0.2], [0.08, 0.4]] and np.isnan(history.values[2:5]).all()
    assert history.constraints[:3, 0].tolist() == [-4.0, -3.0, 4.0] and history.messages[3] == "ValueError: no"
    assert history.checked[:5].tolist() == [False, False, True, False, False] and "nan" in history.messages[4]


def test_constraints_that_are_functions_are_asked_where_nobody_told_them() -> None:
    asked: list[Any] = []

    def stress(point: Any) -> float:
        asked.append(point)
        return float(cheap(np.asarray(point))["stress"])

    given: dict[str, Any] = {"constraints": [{"type": "ineq", "fun": lambda p: 5 - stress(p)}], **OPTIONS}
    known: list[Any] = [([0.1, 0.2], 0.05), ([0.1, 0.9], 0.82, {"c1": 3.0})]
    study = Study(sphere, BOX, False, 1, known=known, **given)
    assert [point for point in asked if isinstance(point, list)] == [[0.1, 0.2]]
    assert study.solve().history.constraints[:2, 0].tolist() == [-3.0, -3.0]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (5, "known: expected pairs of a point and its value, a CSV file, a journal, a Result, .*, got 5"),
        ({"a": 1}, "known: expected pairs"),
        ([3], "a study; number 0 is 3"),
        ([([0.1, 0.2], 1.0), ([0.1], 1.0)], r"known: number 1: expected an array of shape \(2,\)"),
        ([([0.1, 5], 1.0)], r"known: number 0: coordinate 1: expected a number in \[-1.0, 1.0\], got 5.0"),
        ([([0.1, 0.2], "bad")], "known: number 0: value: expected one number, None or an exception, got str"),
        ([([0.1, 0.2], 1.0, {"c": 2})], "known: number 0: constraints: expected none"),
    ],
)
def test_what_is_no_result_is_refused_before_anything_starts(known: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        lamcts.minimize(sphere, BOX, budget=3, known=known, journal=tmp_path / "run.db", **OPTIONS)
    assert not (tmp_path / "run.db").exists()


def test_a_known_result_of_a_point_that_is_out_is_its_evaluation(tmp_path: Path) -> None:
    given: dict[str, Any] = {"batch": 4, "journal": tmp_path / "run.db", **OPTIONS}
    evaluations = lamcts.run(sphere, BOX, budget=8, **given)
    next(evaluations)
    evaluations.close()
    out = [BOX.decode(trial.x) for trial in Journal.read(tmp_path / "run.db").pending]
    known = [(point, sphere(point)) for point in out[:2]]
    result = lamcts.minimize(sphere, BOX, budget=8, known=known, **given)
    assert result.nfev == 8 and sorted(result.history.trial.tolist()) == list(range(8))
    assert columns(lamcts.minimize(sphere, BOX, budget=8, known=known, **given)) == columns(result)


@pytest.mark.parametrize("table", [False, True])
def test_results_with_other_values_than_those_fixed_are_left_out_with_a_warning(tmp_path: Path, table: bool) -> None:
    known: Any = [({"lr": lr, "act": "relu", "n": n}, lr + n) for lr, n in ((0.1, 3), (0.2, 4), (0.3, 3), (0.4, 5))]
    if table:
        lines = [f"{point['lr']},relu,{point['n']},{value}" for point, value in known]
        (tmp_path / "known.csv").write_text("\n".join(["lr,act,n,value", *lines]))
        known = tmp_path / "known.csv"
    with pytest.warns(RuntimeWarning, match=r"known: 2 of 4 results have other values than fix= .*expected 3") as told:
        result = lamcts.minimize(cost, SPACE, budget=4, known=known, fix={"n": 3}, seed=0)
    assert told[0].filename == __file__
    assert result.history.values[:2].tolist() == [3.1, 3.3] and {point["n"] for point in result.history.points} == {3}
    with pytest.raises(ValueError, match="lr"):  # what is wrong is refused as before
        lamcts.minimize(cost, SPACE, budget=4, known=[({"lr": 7, "act": 1, "n": 3}, 1.0)], fix={"n": 3}, seed=0)
