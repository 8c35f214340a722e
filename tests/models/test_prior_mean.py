"""Related tasks: their best points, and the mean that they give a process where they rank this task's evaluations."""

from typing import Any

import numpy as np
import pytest
from kernel_cases import SWITCHED

import lamcts
from lamcts.models.coding import Coding
from lamcts.models.kernel import Hyper
from lamcts.models.posterior import Posterior
from lamcts.models.prior_mean import RelatedModels
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.related import RelatedTask, RelatedTasks
from lamcts.spaces import Choice, Float, Int, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

SPACE = Space([Float(0, 1), Float(0, 1), Choice(list("abc")), Int(0, 9)])
PARAMETERS = Parameters(SPACE)
CODING = Coding(PARAMETERS)
X = SPACE.sample(60, np.random.default_rng(0))


def loss(x: Floats) -> Floats:
    return np.asarray(np.square(x[:, 0] - 0.3) + x[:, -1] + 0.3 * x[:, 2], float)


def models(*tasks: tuple[Floats, Floats]) -> RelatedModels:
    return RelatedModels(RelatedTasks(RelatedTask(*task) for task in tasks), CODING.inputs, KernelPrior())


def inputs(x: Floats) -> Any:
    return CODING(PARAMETERS.codes(x))


def standard(y: Floats) -> Floats:
    return np.asarray((y - y.mean()) / y.std())


NEW = SPACE.sample(20, np.random.default_rng(1))
GOOD, NOISE = (X, loss(X)), (X, np.random.default_rng(2).standard_normal(len(X)))


def test_a_task_that_ranks_well_is_the_mean_and_others_count_for_nothing() -> None:
    z = standard(loss(NEW))
    mean = models(GOOD).mean(inputs(NEW), z)
    assert mean is not None and np.corrcoef(mean(inputs(X)), loss(X))[0, 1] > 0.95
    assert models((X, -loss(X))).mean(inputs(NEW), z) is None
    assert models((X, np.ones(len(X)))).mean(inputs(NEW), z) is None
    assert models().mean(inputs(NEW), z) is None and models(GOOD).mean(inputs(NEW[:1]), z[:1]) is None
    both = models((X, -loss(X)), GOOD).mean(inputs(NEW), z)
    assert both is not None and np.array_equal(both(inputs(X)), mean(inputs(X)))


def test_chance_gives_a_mean_about_once_in_twenty() -> None:
    task, rng = models(NOISE), np.random.default_rng(3)
    found = [task.mean(inputs(SPACE.sample(12, rng)), rng.standard_normal(12)) for _ in range(200)]
    assert sum(one is not None for one in found) < 22


def test_a_process_with_a_mean_expects_it_far_from_its_rows_and_its_slopes_are_right() -> None:
    mean = models(GOOD).mean(inputs(NEW), standard(loss(NEW)))
    hyper = Hyper(np.full(CODING.n_numbers, 0.05), 1e-6, np.full(CODING.n_categories, 3.0))
    plain, given = (Posterior.of(inputs(NEW), standard(loss(NEW))[:, None], hyper, prior=p) for p in (None, mean))
    truth = standard(loss(X))
    errors = [float(np.abs(process.expect(inputs(X))[:, 0] - truth).mean()) for process in (plain, given)]
    assert errors[1] < 0.5 * errors[0]
    for found in (given.expect(inputs(NEW)), given.fitted()):
        assert np.allclose(found, given.z, atol=1e-3)
    assert np.allclose(given.moments(inputs(X))[0], given.expect(inputs(X)))
    fantasy = given.fantasize(inputs(X[:3]))
    assert np.allclose(fantasy.expect(inputs(X[3:])), given.expect(inputs(X[3:])), atol=1e-6)
    at = inputs(X[:5])
    for k in range(CODING.n_numbers):
        step = np.eye(CODING.n_numbers)[k] * 1e-6
        ends = [given.expect(at.with_numbers(at.numbers + side * step)) for side in (1, -1)]
        assert np.allclose(given.slopes(at)[2][:, :, k], (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-5)


def test_rows_left_out_are_forecast_with_the_mean() -> None:
    mean = models(GOOD).mean(inputs(NEW), standard(loss(NEW)))
    hyper = Hyper(np.full(CODING.n_numbers, 0.5), 1e-2, np.full(CODING.n_categories, 1.0))
    z = standard(loss(NEW))
    whole = Posterior.of(inputs(NEW), z[:, None], hyper, prior=mean)
    assert np.corrcoef(whole.left_out()[:, 0], z)[0, 1] > 0.9


def test_parameters_that_come_and_go_are_taken() -> None:
    parameters = Parameters(SWITCHED)
    x = SWITCHED.sample(30, np.random.default_rng(0))
    tasks = RelatedTasks([RelatedTask(x, x[:, 0])])
    coding = Coding(parameters)
    found = RelatedModels(tasks, coding.inputs, KernelPrior())
    assert found.mean(coding(parameters.codes(x)), standard(x[:, 0])) is not None


MIXED = {"a": lamcts.Float(0, 1), "n": lamcts.Int(1, 9)}


def value(point: Any) -> float:
    return float((point["a"] - 0.4) ** 2 + point["n"])


def pairs(sign: float = 1.0) -> list[Any]:
    rng = np.random.default_rng(0)
    points = [{"a": float(rng.random()), "n": int(rng.integers(1, 10))} for _ in range(20)]
    return [(point, sign * value(point)) for point in points]


BEST = min(pairs(), key=lambda pair: pair[1])[0]


def driven(opt: lamcts.Optimizer, n: int) -> list[Any]:
    found = []
    for _ in range(n):
        (trial,) = opt.ask()
        opt.tell(trial, value(trial.point))
        found.append(trial.point)
    return found


def test_the_best_point_of_a_task_follows_the_design_where_the_task_ranks_well() -> None:
    other = [*pairs(), ({"a": 0.9, "n": 9}, -100.0)]
    options: dict[str, Any] = {"seed": 0, "sampler": "uniform", "n_init": 6}
    points = driven(lamcts.Optimizer(MIXED, related=[pairs(-1.0), pairs(), other], **options), 9)
    without = driven(lamcts.Optimizer(MIXED, **options), 9)
    assert points[:6] == without[:6] and points[6:8] == [BEST, {"a": 0.9, "n": 9}] and points[8:] == without[6:7]


def test_a_task_that_ranks_no_better_than_chance_changes_nothing() -> None:
    options: dict[str, Any] = {"seed": 0, "sampler": "mixed_gp"}
    against = driven(lamcts.Optimizer(MIXED, related=[pairs(-1.0), [(BEST, 3.0)], [], [(BEST, None)]], **options), 20)
    assert against == driven(lamcts.Optimizer(MIXED, **options), 20)


def test_real_parameters_start_from_the_best_point_of_a_task() -> None:
    rng = np.random.default_rng(0)
    task = [(x, float(np.square(x - 0.7).sum())) for x in rng.random((40, 3))]
    best = min(task, key=lambda pair: pair[1])[0]
    assert isinstance(lamcts.Optimizer([(0, 1)] * 3, related=[task]).sampler, lamcts.samplers.MixedGp)
    opt = lamcts.Optimizer([(0, 1)] * 3, seed=0, related=[task], sampler="gp_cma")
    points = []
    for _ in range(12):
        (trial,) = opt.ask()
        points.append(trial.point)
        opt.tell(trial, float(np.square(trial.point - 0.65).sum()))
    assert any(np.allclose(point, best) for point in points[4:10]) and np.allclose(points[0], 0.5)


def test_a_related_point_that_a_rule_refuses_is_not_proposed() -> None:
    space = lamcts.Valid(lamcts.Space(MIXED), lambda point: point["n"] > BEST["n"])
    assert all(point["n"] > BEST["n"] for point in driven(lamcts.Optimizer(space, seed=0, related=[pairs()]), 14))


def test_an_optimizer_with_related_tasks_is_saved_and_differs_from_one_without(tmp_path: Any) -> None:
    options: dict[str, Any] = {"seed": 0, "n_init": 6, "sampler": "mixed_gp"}
    opt = lamcts.Optimizer(MIXED, related=[pairs()], **options)
    driven(opt, 6)
    opt.save(tmp_path / "run.db")
    again, points = lamcts.Optimizer.load(tmp_path / "run.db"), driven(opt, 6)
    assert driven(again, 6) == points and points[0] == BEST
    without = lamcts.Optimizer(MIXED, **options)
    with pytest.raises(ValueError, match="related differs from the saved run's"):
        without.load_state_dict(opt.state_dict())
    assert driven(without, 12)[6:] != points


@pytest.mark.parametrize("given", [[3], [[3]], [[({"a": 7, "n": 1}, 1.0)]], [[({"a": 0.1, "n": 1}, "x")]], 5], ids=str)
def test_what_is_no_task_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="related: expected lists of pairs of a point and its value, a list for each"):
        lamcts.Optimizer(MIXED, related=given)


@pytest.mark.parametrize(
    "goals", [{"objectives": ["c", "d"]}, {"objectives": ["c"], "constraints": ["d <= 0.5"]}], ids=str
)
def test_goals_of_several_columns_take_the_best_point(goals: Any) -> None:
    def both(point: Any) -> dict[str, float]:
        return {"c": value(point), "d": 0.1}

    opt = lamcts.Optimizer(MIXED, seed=0, related=[[(point, both(point)) for point, _ in pairs()]], n_init=8, **goals)
    points = []
    for _ in range(14):
        (trial,) = opt.ask()
        opt.tell(trial, both(trial.point))
        points.append(trial.point)
    assert points[8] == BEST
