"""Predictions of the model of a run: moments, feasibility, leave-one-out quality, bad input."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.models import predictor as module
from lamcts.models.predictor import Evaluated, RunModel
from lamcts.outcomes.goals import Goals

BOX = lamcts.Box(-1, 1, dim=2)


def smooth(point: Any) -> float:
    return float(np.sin(3 * point[0]) + point[1] ** 2)


def told(n: int, seed: int = 0) -> Evaluated:
    x = np.random.default_rng(seed).random((n, 2))
    f = np.array([[smooth(BOX.decode(row))] for row in x])
    return Evaluated(x, f, np.empty((n, 0)), None)


def test_left_out_quality_is_that_of_models_without_the_row() -> None:
    model = RunModel(BOX, Goals(), told(20))
    (column,) = model.objectives
    process = column.process
    z, mean, found = process.z[:, 0], process.mean[0], []
    kernel = process.root @ process.root.T
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        inverse = np.linalg.inv(kernel[np.ix_(rest, rest)])
        found.append(mean + kernel[i, rest] @ inverse @ (z[rest] - mean))
    np.testing.assert_allclose(process.left_out()[:, 0], found, atol=1e-6)
    r2, rank = column.quality
    assert r2 == pytest.approx(1 - np.square(z - found).sum() / np.square(z - z.mean()).sum(), abs=1e-9)
    assert 0.5 < r2 <= 1 and 0.5 < rank <= 1


def test_means_are_near_and_within_the_deviations_that_are_predicted() -> None:
    model, x = RunModel(BOX, Goals(), told(40)), np.random.default_rng(9).random((500, 2))
    truth = np.array([smooth(BOX.decode(row)) for row in x])
    prediction = model(x)
    assert np.abs(prediction.mean - truth).max() < 0.3
    assert np.mean(np.abs(prediction.mean - truth) < 3 * prediction.std + 1e-3) > 0.95
    at_rows = model(told(40).x)
    assert at_rows.std.max() < prediction.std.max() and (prediction.feasible == 1).all()


def test_the_sign_and_the_unit_are_those_of_the_user() -> None:
    one, other = told(30), told(30)
    turned = Evaluated(other.x, -1000 * other.f + 7, other.g, None)  # losses of 1000 f - 7, maximised
    x = np.random.default_rng(1).random((9, 2))
    plain, scaled = RunModel(BOX, Goals(), one)(x), RunModel(BOX, Goals.of(True), turned)(x)
    np.testing.assert_allclose(scaled.mean, 1000 * plain.mean - 7, rtol=1e-3, atol=2)
    np.testing.assert_allclose(scaled.std, 1000 * plain.std, rtol=0.1)


def test_noise_that_is_told_pulls_the_mean_to_the_precise_values() -> None:
    x = np.repeat(np.random.default_rng(0).random((12, 2)), 2, axis=0)
    f = np.array([[smooth(BOX.decode(row))] for row in x])
    f[1::2] += 3.0  # the second value at each point is far off
    sems = np.tile([[0.01], [3.0]], (12, 1))
    blind, aware = (RunModel(BOX, Goals(), Evaluated(x, f, np.empty((24, 0)), own))(x[::2]) for own in (None, sems))
    assert np.abs(aware.mean - f[::2, 0]).max() < 0.2 < 1 < np.abs(blind.mean - f[::2, 0]).min() + 0.5


def test_of_many_rows_the_better_half_is_modelled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 40)
    data = told(100)
    (column,) = RunModel(BOX, Goals(), data).objectives
    z = np.sort(column.process.z[:, 0])
    best = np.sort(column.scale.down(data.f[:, 0]))[:20]
    assert len(z) == 40 and np.allclose(z[:20], best)


def space_and(kind: str) -> tuple[Any, Any]:
    choice = lamcts.Choice(["a", "b", "c"])
    spaces: dict[str, Any] = {
        "mixed": {"kind": choice, "x": lamcts.Float(0, 1), "n": lamcts.Int(1, 9)},
        "conditional": {"kind": choice, "x": lamcts.Float(0, 1, when={"kind": "a"}), "n": lamcts.Int(1, 9)},
        "order": {"order": lamcts.Permutation(["u", "v", "w", "x"]), "n": lamcts.Int(1, 9)},
    }
    if kind == "table":
        return lamcts.Finite([(i, j) for i in range(8) for j in range(8)]), lambda point: point[0] - point[1]
    if kind == "order":
        return lamcts.Space(spaces[kind]), lambda point: point["order"].index("v") + point["n"] / 9
    return lamcts.Space(spaces[kind]), lambda point: "abc".index(point["kind"]) + point["n"] / 9 + point.get("x", 0)


@pytest.mark.parametrize("kind", ["mixed", "conditional", "order", "table"])
def test_every_kind_of_space_has_predictions(kind: str) -> None:
    space, f = space_and(kind)
    result = lamcts.minimize(f, space, budget=40, seed=0, sampler="uniform")
    some = lamcts.minimize(f, space, budget=30, seed=1, sampler="uniform")
    mean, std, feasible = result.predict(some.history.points)
    assert np.corrcoef(mean, some.history.values)[0, 1] > 0.8
    assert mean.shape == std.shape == feasible.shape == (30,) and (std >= 0).all()
    assert result.best_predicted.value <= np.quantile(result.history.values, 0.1)


def test_constraints_have_a_probability_and_several_objectives_a_column_each() -> None:
    def f(point: Any) -> dict[str, float]:
        return {"a": smooth(point), "b": -smooth(point) / 2, "mass": float(point[0])}

    goals: dict[str, Any] = {"objectives": {"a": "min", "b": "max"}, "constraints": ["mass <= 0.2"]}
    result = lamcts.minimize(f, BOX, budget=40, seed=0, sampler="uniform", **goals)
    mean, std, feasible = result.predict([[-0.8, 0.1], [0.9, 0.1]])
    assert mean.shape == std.shape == (2, 2)
    np.testing.assert_allclose(mean[:, 1], -mean[:, 0] / 2, atol=0.05)
    assert feasible[0] > 0.99 and feasible[1] < 0.01
    with pytest.raises(RuntimeError, match="best_predicted: there are several objectives; `front`"):
        _ = result.best_predicted
    opt = lamcts.Optimizer(BOX, seed=0, constraints=["mass <= -0.3"])
    for _ in range(15):
        (trial,) = opt.ask()
        opt.tell(trial, {"value": smooth(trial.point), "mass": float(trial.point[0])})
    best = opt.best_predicted
    assert best.point[0] <= -0.3 and best.value == pytest.approx(smooth(best.point))


def test_under_noise_the_summary_reports_the_best_predicted_point_and_its_quality() -> None:
    def f(point: Any, seed: int) -> tuple[float, float]:
        return smooth(point) + 0.5 * float(np.random.default_rng(seed).normal()), 0.5

    result = lamcts.minimize(f, BOX, budget=40, seed=0)
    assert "best_predicted: BestPredicted(point=array(" in repr(result) and "rank_correlation=" in repr(result)
    assert "best_predicted" in result._repr_html_()
    best = result.best_predicted
    row = int(np.flatnonzero(result.history.trial == best.trial)[-1])
    assert result.history.values[row] == best.value
    means = result.predict(result.history.points).mean
    assert best.mean == pytest.approx(means.min())
    again = pickle.loads(pickle.dumps(result))
    assert again.best_predicted.value == best.value
    quiet = lamcts.minimize(smooth, BOX, budget=14, seed=0)
    assert "best_predicted" not in repr(quiet) and quiet.best_predicted.value <= np.median(quiet.history.values)


def test_re_evaluations_count() -> None:
    def f(point: Any, seed: int) -> float:
        return smooth(point) + 0.5 * float(np.random.default_rng(seed).normal())

    result = lamcts.minimize(f, BOX, budget=40, seed=0, noisy=True)
    assert result.history.again.sum() == 4 and "best_predicted" in repr(result)
    assert math.isfinite(result.best_predicted.mean)
    opt = lamcts.Optimizer(BOX, seed=0, noisy=True)
    for left in range(40, 0, -1):
        (trial,) = opt.ask(left=left)
        opt.tell(trial, f(trial.point, trial.seed))
    assert opt.confirmed.sum() == 4 and np.array_equal(opt.seen.y, result.history.values)
    assert opt.best_predicted._replace(point=None) == result.best_predicted._replace(point=None)


def test_an_optimizer_and_its_result_predict_the_same_and_the_model_is_kept_until_it_is_told_more() -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    result = lamcts.minimize(smooth, BOX, budget=15, seed=0)
    for _ in range(15):
        (trial,) = opt.ask()
        opt.tell(trial, smooth(trial.point))
    np.testing.assert_array_equal(opt.predict([[0.1, 0.2]]).mean, result.predict([[0.1, 0.2]]).mean)
    model = opt._models.of()
    assert opt._models.of() is model
    opt.tell_point([0.5, 0.5], 9.0)
    assert opt._models.of() is not model and opt.predict([[0.5, 0.5]]).mean > result.predict([[0.5, 0.5]]).mean + 1
    assert opt.predict([]).mean.shape == (0,)


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([[0.1, 0.2], [2.0, 0.1]], r"predict: point 1: coordinate 0: expected a number in \[-1.0, 1.0\], got 2.0"),
        ([[0.1]], "predict: point 0: expected an array of shape"),
        ({"x": 1}, "expected a list of points, got {'x': 1}; pass"),
        (5, "expected a list of points, got 5"),
    ],
)
def test_points_that_are_none_of_the_space_are_refused(points: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        lamcts.minimize(smooth, BOX, budget=12, seed=0).predict(points)


def test_too_few_and_equal_values_are_refused() -> None:
    opt = lamcts.Optimizer(BOX, seed=0)
    opt.tell(opt.ask(6), [1.0, None, 2.0, 3.0, math.nan, 4.0])
    with pytest.raises(ValueError, match="expected at least 5 evaluations with a value, got 4; run on"):
        opt.predict([[0, 0]])
    equal = lamcts.minimize(lambda point: 1.0, BOX, budget=12, seed=0)
    with pytest.raises(ValueError, match="expected values that differ, got 12 times value 1"):
        _ = equal.best_predicted
