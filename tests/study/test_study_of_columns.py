"""Whole runs with constraints and with several objectives."""

import io
import math
from typing import Any

import numpy as np
import pytest
from evaluations import beam, cheap

import lamcts
from lamcts import objectives
from lamcts.journal import Journal
from lamcts.outcomes.front import Front

BOX = lamcts.Box(-1.0, 1.0, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": "uniform", "progress": False, "n_init": 8}
BOUND = {"objectives": ["cost"], "constraints": ["stress <= 4"]}
TWO = {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 4"]}


def test_the_best_is_the_best_of_those_that_keep_the_constraints() -> None:
    result = lamcts.maximize(cheap, BOX, budget=40, **BOUND, **OPTIONS)
    history = result.history
    stress = np.array([cheap(point)["stress"] for point in history.points])
    assert np.array_equal(history.feasible, stress <= 4) and 0 < history.feasible.sum() < 40
    assert result.fun == history.values[stress <= 4].max() < history.values.max()
    assert result.success and result.feasible and result.violation == 0.0
    assert result.constraints == {"stress": pytest.approx(cheap(result.x)["stress"])}
    np.testing.assert_allclose(history.constraints[:, 0], stress - 4)
    np.testing.assert_allclose(history.violation, np.maximum(stress - 4, 0))
    assert np.array_equal(history.best[-1:], [result.fun]) and np.isnan(history.best[0]) == (stress[0] > 4)


def test_where_nothing_is_feasible_the_least_infeasible_is_returned_and_the_message_says_so() -> None:
    result = lamcts.minimize(cheap, BOX, budget=20, objectives=["cost"], constraints=["stress <= -1"], **OPTIONS)
    stress = [cheap(point)["stress"] for point in result.history.points]
    assert not result.success and not result.feasible
    assert cheap(result.x)["stress"] == min(stress) and result.violation == pytest.approx(min(stress) + 1)
    assert result.fun == cheap(result.x)["cost"]
    assert f"no feasible point was found: the least infeasible one breaks stress <= -1 by {min(stress) + 1:.3g}" in (
        result.message
    )


def test_several_objectives_give_a_front_and_its_knee() -> None:
    result = lamcts.minimize(beam, BOX, budget=40, reference={"cost": 2, "range": -2}, **TWO, **OPTIONS)
    assert isinstance(result.front, Front) and len(result.front) > 2 and result.success
    assert result.fun == result.front.knee().values and np.array_equal(result.x, result.front.knee().point)
    assert result.fun == {"cost": beam(result.x)["cost"], "range": beam(result.x)["range"]}
    assert result.history.values.shape == (40, 2)
    assert result.history.values[3].tolist() == [beam(result.history.points[3])[name] for name in ("cost", "range")]
    assert all(beam(point.point)["stress"] <= 4 for point in result.front)
    assert result.front.hypervolume() > 0 and result.front.reference == {"cost": 2, "range": -2}
    with pytest.raises(RuntimeError, match="front"):
        _ = result.history.best


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_in_order_are_as_good_as_names(sign: int) -> None:
    def in_order(point: np.ndarray) -> Any:
        return np.array([*beam(point).values()])

    named = lamcts.minimize(beam, BOX, budget=12, **TWO, **OPTIONS)
    ordered = lamcts.minimize(in_order, BOX, budget=12, **TWO, **OPTIONS)
    assert named.history.values.tobytes() == ordered.history.values.tobytes()
    assert named.history.constraints.tobytes() == ordered.history.constraints.tobytes()


def test_what_is_neither_sought_nor_bounded_may_come_along_but_nothing_may_be_missing() -> None:
    result = lamcts.minimize(beam, BOX, budget=8, objectives=["cost"], constraints=["range >= 0"], **OPTIONS)
    assert result.fun == beam(result.x)["cost"] and result.history.goals.quantities == ("range",)
    with pytest.raises(ValueError, match="got none for 'sterss'; did you mean 'sterss' by 'stress'"):
        lamcts.minimize(cheap, BOX, budget=8, objectives=["cost"], constraints=["sterss <= 4"], **OPTIONS)


def test_numbers_by_name_or_in_order_come_in_any_coat() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

    def f(point: np.ndarray) -> Any:
        cost = torch.tensor(float(point[0]), requires_grad=True)
        kinds = [{"cost": cost, "range": np.array([[1.5]]), "stress": np.float32(2)}, [cost, np.int64(1), 2], None]
        kinds += [torch.stack([cost, cost, cost]), {"cost": cost, "stress": 2}, (cost, None, 2.0)]
        return kinds[calls.append(0) or len(calls) - 1]

    calls: list[int] = []
    rows = lamcts.minimize(f, BOX, budget=6, **TWO, **OPTIONS).rows()
    assert "expected a number for each of cost, range, got none for 'range'" in rows[4]["message"]
    assert rows[5]["cost"] == np.float32(rows[5]["x1"]) and rows[5]["message"] == "range is nan"
    calls.clear()
    runs = lamcts.run(f, BOX, budget=4, **TWO, **OPTIONS)
    found = list(runs)
    assert found[0].value == {"cost": np.float32(found[0].point[0]), "range": 1.5} and found[1].value["range"] == 1
    assert found[2].message == "no value" and found[3].value["cost"] == found[3].value["range"]


def test_one_objective_by_name_has_its_own_sense() -> None:
    result = lamcts.minimize(lambda p: {"gain": p.sum()}, BOX, budget=10, objectives={"gain": "max"}, **OPTIONS)
    assert result.fun == result.history.values.max() == result.history.best[-1]
    assert "feasible" not in result


def test_an_objective_brings_its_goals_and_constraints_come_beside_its_own() -> None:
    f = objectives.make("gramacy")
    result = lamcts.minimize(f, budget=30, **OPTIONS)
    assert result.history.goals.names == ("sum",) and result.history.constraints.shape == (30, 2)
    more = lamcts.minimize(f, budget=30, constraints=["sum >= 0.9"], **OPTIONS)
    assert more.history.constraints.shape == (30, 3) and (more.history.values[more.history.feasible] >= 0.9).all()
    front = lamcts.minimize(objectives.make("zdt1", dim=4), budget=20, **OPTIONS).front
    assert front.reference == objectives.make("zdt1", dim=4).reference


def test_each_evaluation_says_what_it_came_to_and_what_was_found_so_far() -> None:
    evaluations = list(lamcts.run(cheap, BOX, budget=30, **BOUND, **OPTIONS))
    best = math.nan
    for one in evaluations:
        stress = cheap(one.point)["stress"]
        assert one.feasible == (stress <= 4) and one.violation == pytest.approx(max(stress - 4, 0))
        best = np.fmin(best, one.value) if one.feasible else best
        assert np.array_equal(one.best, best, equal_nan=True)
        assert (one.lead_violation == 0) == (best == best)
    sizes = [one.best for one in lamcts.run(beam, BOX, budget=30, **TWO, **OPTIONS)]
    last = lamcts.minimize(beam, BOX, budget=30, **TWO, **OPTIONS)
    assert sizes[-1] == len(last.front) > 1 and isinstance(next(lamcts.run(beam, BOX, budget=1, **TWO)).value, dict)


def test_a_point_may_be_checked_and_not_run() -> None:
    def f(point: np.ndarray) -> dict[str, float | None]:
        found = cheap(point)
        return found if found["stress"] <= 4 else {"cost": None, "stress": found["stress"]}

    runs = list(lamcts.run(f, BOX, budget=20, **BOUND, **OPTIONS))
    assert {one.checked for one in runs} == {True, False} and not any(one.failed for one in runs)
    result = lamcts.minimize(f, BOX, budget=20, **BOUND, **OPTIONS)
    assert np.array_equal(result.history.checked, np.isnan(result.history.values))
    assert np.array_equal(result.history.checked, result.history.violation > 0) and result.nfev == 20


def test_a_target_counts_feasible_points_alone() -> None:
    bound = lamcts.maximize(cheap, BOX, budget=200, target=0.1, **BOUND, **OPTIONS)
    assert bound.status == "target" and bound.feasible
    assert (bound.history.values[:-1] >= 0.1).any()  # infeasible ones did not count
    assert lamcts.maximize(cheap, BOX, budget=20, target=0.33, **BOUND, **OPTIONS).status == "budget"


def test_patience_counts_from_the_last_gain_of_the_front_and_equals_are_none() -> None:
    result = lamcts.minimize(lambda p: [1.0, 2.0], BOX, budget=50, objectives=2, patience=7, **OPTIONS)
    assert result.status == "patience" and result.nfev == 8
    real = lamcts.minimize(beam, BOX, budget=200, patience=15, **TWO, **OPTIONS)
    last = max(int(np.flatnonzero(real.history.trial == point.trial)[0]) for point in real.front)
    assert real.status == "patience" and real.nfev == last + 1 + 15


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objectives": 2, "target": 1.0}, "target: expected none with several objectives, got 1"),
        ({"objectives": 2, "noisy": True}, "noisy: expected False with several objectives"),
        ({"constraints": 1, "noisy": True}, "noisy: expected False with constraints"),
        ({"constraints": ["stress < "]}, "constraints: expected 'name <= number'"),
        ({"objectives": {"cost": "low"}}, "objectives: expected 'min' or 'max' for 'cost'"),
        ({"objectives": 2, "reference": [1]}, "reference: expected a number for each of f1, f2"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lamcts.minimize(lambda point: pytest.fail("it started"), BOX, budget=10, **options)


def test_progress_shows_the_least_violation_then_the_best_or_the_front() -> None:
    def shown(f: Any, **settings: Any) -> str:
        stream = io.StringIO()
        lamcts.minimize(f, BOX, budget=30, **{**OPTIONS, "progress": stream}, **settings)
        return stream.getvalue()

    assert "none feasible, least violation " in shown(cheap, objectives=["cost"], constraints=["stress <= -1"])
    assert "  best 0." in shown(cheap, **BOUND)
    assert "  front of " in shown(beam, **TWO)


@pytest.mark.parametrize("goals", [BOUND, TWO], ids=["bound", "two"])
def test_a_run_in_processes_finds_what_one_process_finds_and_a_journal_goes_on(goals: dict, tmp_path: Any) -> None:
    f = cheap if len(goals["objectives"]) == 1 else beam
    alone = lamcts.minimize(f, BOX, budget=12, journal=tmp_path / "a.db", **goals, **OPTIONS)
    shared = lamcts.minimize(f, BOX, budget=12, workers=2, **goals, **OPTIONS)
    order = np.argsort(shared.history.trial)
    assert shared.history.values[order].tobytes() == alone.history.values.tobytes()
    lamcts.minimize(f, BOX, budget=5, journal=tmp_path / "b.db", **goals, **OPTIONS)
    later = lamcts.minimize(f, BOX, budget=12, journal=tmp_path / "b.db", **goals, **OPTIONS)
    assert later.history.constraints.tobytes() == alone.history.constraints.tobytes()
    assert repr(later) == repr(alone)
    record = Journal.read(tmp_path / "b.db")
    assert np.array_equal(record.values, alone.history.values)
    assert [point.values for point in record.front] == [point.values for point in getattr(alone, "front", record.front)]
