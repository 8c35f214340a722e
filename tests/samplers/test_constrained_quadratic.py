import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.outcomes.observations import Floats, Observations
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.scalarised import Scalarised, adapt_to_goals
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box, Float, Int, Space
from lamcts.spaces.regions.region import Region

Told = Callable[[Any], Any]


def corner(x: Floats) -> dict[str, float]:
    """Return a curved loss, a plane and a sphere; the minimum lies where both are just kept."""
    tilted = float(np.exp(x[0]) + (x[1:] ** 2).sum())
    return {"loss": tilted, "sum": float(x.sum()), "ball": float(((x - 0.5) ** 2).sum())}


def optimizer(dim: int = 5, constraints: Sequence[str] = ("sum >= 2", "ball <= 0.3"), **more: Any) -> lamcts.Optimizer:
    more = {"sampler": "quadratic", "seed": 3, **more}
    return lamcts.Optimizer(Box(0.0, 1.0, dim=dim), objectives={"loss": "min"}, constraints=list(constraints), **more)


def go(opt: lamcts.Optimizer, told: Told, evaluations: int, batch: int = 1) -> Floats:
    """Run for some evaluations; return the points asked for, [n, d]."""
    asked = []
    for _ in range(evaluations // batch):
        trials = opt.ask(batch)
        asked += [trial.point for trial in trials]
        opt.tell(trials, [told(trial.point) for trial in trials])
    return np.array(asked)


def least(told: Callable[[Floats], dict[str, float]], dim: int = 5) -> float:
    """Return the optimum of `corner` as SLSQP finds it."""
    from scipy.optimize import minimize

    bounds = [
        {"type": "ineq", "fun": lambda x: told(x)["sum"] - 2},
        {"type": "ineq", "fun": lambda x: 0.3 - told(x)["ball"]},
    ]
    found = minimize(lambda x: told(x)["loss"], np.full(dim, 0.5), bounds=[(0, 1)] * dim, constraints=bounds)
    return float(found.fun)


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_within_the_constraints_at_the_optimum_on_their_edge(seed: int) -> None:
    opt = optimizer(seed=seed)
    go(opt, corner, 70)
    assert opt.best.feasible
    assert 0 <= opt.best.value - least(corner) < 1e-5


def test_batches_reach_it_too() -> None:
    opt = optimizer()
    go(opt, corner, 100, batch=5)
    assert opt.best.feasible
    assert opt.best.value - least(corner) < 1e-3


@pytest.mark.dear
def test_equalities_are_met_and_kept_to_while_the_loss_falls_along_them() -> None:
    opt = optimizer(constraints=["sum == 2 +- 1e-4", "ball == 0.3 +- 1e-4"])
    go(opt, corner, 60)
    assert opt.best.feasible
    assert opt.best.constraints == pytest.approx({"sum": 2, "ball": 0.3}, abs=1.001e-4)
    assert opt.best.value < 2.0498 + 1e-3  # as SLSQP finds it


def test_where_the_feasible_share_is_tiny_it_is_found_by_mending_what_is_broken() -> None:
    def sliver(x: Floats) -> dict[str, float]:
        return {"loss": float(x.sum()), "ball": float(((x - 0.3) ** 2).sum())}

    opt = optimizer(8, ["ball <= 1e-4"])
    go(opt, sliver, 60)
    assert opt.best.feasible
    assert opt.best.value < 2.4 - 0.9 * 0.01 * math.sqrt(8)


def test_where_the_constraints_contradict_each_other_the_violation_falls() -> None:
    def torn(x: Floats) -> dict[str, float]:
        return {"loss": float(x[0]), "low": float(x.sum()), "high": float(x.sum())}

    opt = optimizer(3, ["low <= 1", "high >= 1.2"])
    go(opt, torn, 40)
    assert not opt.best.feasible
    assert max(opt.seen.g[opt.seen.good].max(1).min(), 0.1) < 0.12


SCALED: dict[str, Callable[[dict[str, float]], dict[str, float]]] = {
    "the loss in another unit": lambda q: {**q, "loss": q["loss"] * 2.0**7},
    "a constraint in another unit": lambda q: {**q, "sum": 2 + (q["sum"] - 2) * 2.0**-9},
}


@pytest.mark.parametrize("kind", SCALED)
def test_units_change_no_proposal(kind: str) -> None:
    whole = lambda x: {name: math.ldexp(round(math.ldexp(v, 20)), -20) for name, v in corner(x).items()}  # noqa: E731
    plain = go(optimizer(), whole, 40)
    assert np.array_equal(plain, go(optimizer(), lambda x: SCALED[kind](whole(x)), 40))


def test_the_order_of_the_constraints_changes_no_proposal() -> None:
    names = ["sum >= 2", "ball <= 0.3", "loss <= 3"]
    assert np.array_equal(*(go(optimizer(constraints=own), corner, 50) for own in (names, names[::-1])))


def test_constraints_that_nothing_breaks_change_no_proposal() -> None:
    idle = [f"idle{i} <= 1" for i in range(9)]
    told = lambda x: {**corner(x), **{f"idle{i}": 0.1 * i * x[0] for i in range(9)}}  # noqa: E731
    plain = go(optimizer(), corner, 50)
    assert np.array_equal(plain, go(optimizer(constraints=("sum >= 2", "ball <= 0.3", *idle)), told, 50))


def mixed(x: Floats) -> Any:
    """Return what an evaluation may come to: a value, a failure, a check alone, a constraint that was not measured."""
    kind, values = int(1e6 * x[0]) % 5, corner(x)
    if kind == 0:
        return None
    return {**values, "loss": None} if kind == 1 and values["sum"] < 2 else values


@pytest.mark.parametrize("batch", [1, 3])
def test_a_run_goes_on_bit_for_bit(batch: int) -> None:
    opt = optimizer()
    go(opt, mixed, 36, batch)
    twin = optimizer()
    twin.load_state_dict(json.loads(json.dumps(opt.state_dict(), default=lambda array: array.tolist())))
    assert np.array_equal(go(opt, mixed, 30, batch), go(twin, mixed, 30, batch))


def test_checks_without_a_value_teach_the_constraints() -> None:
    def told(x: Floats) -> Any:
        values = corner(x)
        kept = values["sum"] >= 2 and values["ball"] <= 0.3
        return values if kept else {**values, "loss": None}

    opt = optimizer()
    go(opt, told, 100)
    assert opt.best.value - least(corner) < 1e-3


def test_an_excess_that_is_infinite_does_not_drown_the_others() -> None:
    told = lambda x: {**corner(x), "ball": math.inf if x[0] > 0.8 else corner(x)["ball"]}  # noqa: E731
    opt = optimizer()
    go(opt, told, 80)
    assert np.max(opt.seen.g) > 1e200
    assert opt.best.value - least(corner) < 1e-3


def test_discrete_parameters_stay_where_the_centre_has_them() -> None:
    space = Space({"a": Float(0.0, 1.0), "k": Int(0, 3), "b": Float(0.0, 1.0)})
    goals = {"objectives": {"f": "min"}, "constraints": ["s >= 1"]}
    opt = lamcts.Optimizer(space, sampler="quadratic", seed=0, n_init=10, **goals)
    told = lambda p: {"f": p["a"] ** 2 + p["b"] ** 2 + (p["k"] - 2) ** 2, "s": p["a"] + p["b"]}  # noqa: E731
    for _ in range(60):
        (trial,) = opt.ask()
        opt.tell(trial, told(trial.point))
    assert opt.best.feasible
    assert opt.best.value < 0.55


def test_with_one_objective_it_is_shown_the_constraints_and_with_two_one_number() -> None:
    one, two = (Observations(2, losses=m, constraints=1) for m in (1, 2))
    assert adapt_to_goals(Quadratic(), one) == Quadratic()
    assert adapt_to_goals(Quadratic(), two) == Scalarised(Quadratic())
    assert adapt_to_goals(Turbo(), Observations(2)) == Turbo()


def append(seen: Observations, x: Floats, trials: Any) -> Any:
    told = [corner(row) for row in x]
    f, g = np.array([q["loss"] for q in told]), np.array([[2 - q["sum"], q["ball"] - 0.3] for q in told])
    return seen.append(x, f, np.full(len(x), np.nan), trials, np.zeros(len(x), np.int64), g)


def searched(seed: int) -> tuple[list[Any], list[bool], Observations]:
    """Run one search to its end; return its notes, which of them are draws', and the rows."""
    space, seen = Box(0.0, 1.0, dim=5), Observations(5, constraints=2)
    append(seen, space.sample(20, np.random.default_rng(0)), np.arange(20))
    session = Quadratic().start(Region(space, (), seen.good), seen, np.random.default_rng(seed))
    told, drawn = list[Any](), list[bool]()
    while not session.done and len(told) < 300:
        drawn += [session.progress.box.failures % 2 == 1]
        x, notes, _ = session.ask(1)
        told += notes
        session.tell(notes, append(seen, x, np.array([len(seen)])))
    return told, drawn, seen


@pytest.mark.dear
@pytest.mark.parametrize("seed", range(10))
def test_its_end_is_seen_by_the_mean_of_the_models_and_never_by_a_draw(seed: int) -> None:
    told, drawn, _ = searched(seed)
    settled = np.array([note[2] for note in told])
    assert settled.any()
    assert not (settled & drawn).any()
    assert len(told) < 200


def test_where_a_point_would_keep_more_margin_than_there_is_to_gain_a_shorter_step_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws = np.random.default_rng(5)
    x = np.vstack([np.full(10, 0.5), 0.5 + 0.3 * draws.uniform(-1, 1, (14, 10))])
    off, seen = x - 0.5, Observations(10, constraints=1)
    g = 3 * (off @ np.linspace(-1, 1, 10)) ** 2 + 3 * np.sin(9 * off[:, 0]) - 0.1 * off.sum(1) - 1e-3
    seen.append(x, x @ np.linspace(1, 2, 10), np.full(15, np.nan), np.arange(15), np.zeros(15, np.int64), g[:, None])
    region = Region(Box(0.0, 1.0, dim=10), (), seen.good)

    def note() -> Any:
        return Quadratic().start(region, seen, np.random.default_rng(0)).ask(1).notes[0]

    monkeypatch.setattr("lamcts.samplers.quadratic.LENGTH_MAX", 0.6)
    monkeypatch.setattr("lamcts.samplers.quadratic.model.MARGIN_DEVIATIONS", 1.0)
    assert note()[1:] == [pytest.approx(1.07, abs=0.1), False]
    monkeypatch.setattr("lamcts.samplers.quadratic.session.BOX_SCALES", (1.0,))
    assert note()[1:] == [0.0, True]


def test_where_another_search_has_ended_it_goes_on_from_rows_of_its_own_alone() -> None:
    space, seen = Box(0.0, 1.0, dim=5), Observations(5, constraints=2)
    append(seen, space.sample(20, np.random.default_rng(0)), np.arange(20))
    whole = Region(space, (), seen.good)
    for offered, first, last in [(seen.good, 20, 110), (seen.good[:0], 110, 112)]:
        session = Quadratic().start(replace(whole, rows=offered), seen, np.random.default_rng(1))
        for trial in range(first, last):
            session.move(replace(whole, rows=seen.good))
            x, notes, _ = session.ask(1)
            session.tell(notes, append(seen, x, np.array([trial])))
    assert session.state()["centre"] >= 110
    assert np.abs(seen.x[111] - seen.x[110]).max() <= 0.25 + 1e-9  # nor does it look at all of the cube at once
