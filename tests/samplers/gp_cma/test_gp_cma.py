"""`GpCma` as a whole, through the optimizer: what it finds, and what it bears."""

import math
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers.gp_cma import GpCma
from lamcts.spaces import Box
from lamcts.types import Floats

Loss = Callable[[Floats], float]


def optimizer(low: float, high: float, dim: int, seed: int = 0, **settings: Any) -> lamcts.Optimizer:
    """Return an optimizer of a box that begins at its centre."""
    centre = np.full(dim, (low + high) / 2)
    fixed = {"sampler": GpCma(**settings), "n_init": 1, "x0": centre, "seed": seed}
    return lamcts.Optimizer(Box(low, high, dim=dim), **fixed)  # type: ignore[arg-type]


def losses(opt: lamcts.Optimizer, loss: Loss, budget: int, batch: int = 1) -> Floats:
    """Evaluate that many points more, in batches, and return their losses in order."""
    found = list[float]()
    while len(found) < budget:
        trials = opt.ask(min(batch, budget - len(found)))
        assert len({tuple(trial.point) for trial in trials}) == len(trials)
        values = [loss(np.asarray(trial.point)) for trial in trials]
        opt.tell(trials, values)
        found += values
    return np.array(found)


def sphere(x: Floats) -> float:
    return float(np.square(x - 1.3).sum())


def valley(x: Floats) -> float:
    """Return Rosenbrock's loss of a point."""
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


# What it finds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_one_by_one_it_finds_the_bottom_of_a_sphere_within_a_hundred_evaluations(seed: int) -> None:
    assert losses(optimizer(-5, 5, 5, seed), sphere, 100).min() < 1e-6


@pytest.mark.parametrize("batch, budget, least", [(7, 100, 1e-6), (100, 400, 1e-3)])
@pytest.mark.parametrize("seed", range(3))
def test_so_it_does_in_batches(batch: int, budget: int, least: float, seed: int) -> None:
    assert losses(optimizer(-5, 5, 5, seed), sphere, budget, batch).min() < least


@pytest.mark.dear
def test_it_follows_a_bent_valley_to_its_bottom() -> None:
    assert losses(optimizer(-2, 3, 4), valley, 250).min() < 1e-4


@pytest.mark.dear
def test_a_turned_ellipsoid_is_no_harder_than_its_condition() -> None:
    turn, weights = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0], np.geomspace(1, 1e4, 5)
    found = losses(optimizer(-5, 5, 5), lambda x: float(np.square((x - 1) @ turn) @ weights), 200)
    assert found.min() < 1e-6 * found[0]


@pytest.mark.parametrize("batch, budget", [(1, 60), (7, 120), (100, 400)])
@pytest.mark.parametrize("seed", range(2))
def test_the_corner_of_a_linear_slope_is_reached_exactly(batch: int, budget: int, seed: int) -> None:
    slope = np.linspace(1, 2, 10) * np.where(np.arange(10) % 2, 1, -1)
    opt = optimizer(-5, 5, 10, seed)
    losses(opt, lambda x: float(slope @ x), budget, batch)
    assert np.array_equal(opt.best.point, -5 * np.sign(slope))


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_one_dimension_is_enough(batch: int) -> None:
    assert losses(optimizer(-5, 5, 1), sphere, max(40, 3 * batch), batch).min() < 1e-3


def test_in_two_hundred_and_fifty_dimensions_it_goes_down_from_the_first_steps_on() -> None:
    """The bottom lies anywhere: an axis step, a quarter of the box, gains where it is farther than half of that."""
    bottom = np.random.default_rng(0).uniform(-5, 5, 250)
    alone = losses(optimizer(-5, 5, 250), lambda x: float(np.square(x - bottom).sum()), 30)
    assert alone.min() < 0.93 * alone[0]


@pytest.mark.dear
def test_in_two_hundred_and_fifty_dimensions_batches_go_down() -> None:
    batches = losses(optimizer(-5, 5, 250), sphere, 1500, 100)
    assert batches.min() < 0.2 * batches[0]


def test_minimize_takes_it_as_a_sampler() -> None:
    result = lamcts.minimize(sphere, Box(-5, 5, dim=3), budget=60, sampler=GpCma(), n_init=1, seed=0)
    assert result.fun < 1e-6
    assert len(result.history) == 60


def test_a_step_size_of_the_users_is_the_first_one() -> None:
    """Many rows are known: the start is over at once, and draws come from round the best row."""
    x = np.random.default_rng(0).uniform(-5, 5, (60, 4))
    spreads = []
    for sigma in (0.02, 0.3):
        opt = optimizer(-5, 5, 4, sigma=sigma)
        opt.tell_points(list(x), [sphere(row) for row in x])
        points = np.array([trial.point for trial in opt.ask(40)])
        spreads.append(points.std(0).mean() / 10)
    assert spreads[0] < 0.05 < 0.1 < spreads[1]


@pytest.mark.parametrize("sigma", [0.0, -0.1, 1.5, math.nan])
def test_a_step_size_that_is_no_share_of_the_cube_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match=r"GpCma: expected .* for sigma"):
        GpCma(sigma=sigma)


# What it bears ------------------------------------------------------------------------------------------------------


def test_results_may_come_in_any_order_and_some_never() -> None:
    opt, rng, out = optimizer(-5, 5, 4), np.random.default_rng(0), list[Any]()
    for k in range(120):
        out += opt.ask(int(rng.integers(1, 4)))
        rng.shuffle(out)
        if k % 10 == 9:
            opt.forget(out.pop())
        back, out = out[:2], out[2:]
        opt.tell(back, [sphere(np.asarray(trial.point)) for trial in back])
        if len(out) > 6:
            opt.tell(out, [sphere(np.asarray(trial.point)) for trial in out])
            out = []
    assert opt.best.value < 1e-4


def test_many_points_are_distinct_while_nothing_comes_back() -> None:
    opt = optimizer(-5, 5, 3)
    trials = [trial for n in (1, 7, 100, 1, 40) for trial in opt.ask(n)]
    assert len({tuple(trial.point) for trial in trials}) == 149
    opt.tell(trials[::-1], [sphere(np.asarray(trial.point)) for trial in trials[::-1]])
    assert losses(opt, sphere, 30).min() < 1e-3


@pytest.mark.parametrize("batch", [1, 7])
def test_a_third_of_the_evaluations_may_fail(batch: int) -> None:
    fails = np.random.default_rng(0)
    found = losses(optimizer(-5, 5, 4), lambda x: math.nan if fails.random() < 1 / 3 else sphere(x), 150, batch)
    assert 30 < np.isnan(found).sum() < 70
    assert np.nanmin(found) < 0.5 * sphere(np.zeros(4))


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.dear)])
def test_it_mostly_stays_out_of_a_half_space_that_fails_and_goes_on(batch: int, seed: int) -> None:
    """The bottom lies in there, 0.8 behind the border: the least loss outside is 0.64."""
    found = losses(optimizer(-5, 5, 4, seed), lambda x: math.nan if x[0] > 0.5 else sphere(x), 150, batch)
    assert 0 < np.isnan(found[75:]).mean() < 0.5
    assert np.nanmin(found) < 1.5


def test_while_everything_fails_it_asks_for_other_points_and_then_begins() -> None:
    opt = optimizer(-5, 5, 3)
    assert np.isnan(losses(opt, lambda x: math.nan, 30)).all()
    assert losses(opt, sphere, 80).min() < 1e-4


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: 3.0,
        lambda x: 0.0,
        lambda x: float(np.floor(x).sum()),
        lambda x: 1e300 * math.tanh(x.sum()),
        lambda x: math.copysign(1.7e308, x.sum() - 1),
        lambda x: 1e-300 * float(np.abs(x).sum()),
        lambda x: 1e9 + 1e-7 * float(np.abs(x).sum()),
        lambda x: 0.0 if x[0] > 1 else 1.0,
    ],
    ids=["constant", "zero", "steps", "1e300", "1.7e308", "1e-300", "flat", "plateau"],
)
@pytest.mark.parametrize("batch", [1, 7])
def test_it_goes_on_whatever_the_losses_are(loss: Loss, batch: int) -> None:
    found = losses(optimizer(-5, 5, 3), loss, 84, batch)
    assert len(found) == 84
    assert found.min() == found[0] or found.min() < found[0]


def test_steps_are_climbed_down_to_the_lowest() -> None:
    assert losses(optimizer(-5, 5, 3), lambda x: float(np.floor(x).sum()), 120).min() == -15.0


@pytest.mark.parametrize("low, high", [(1.0, 1.0 + 1e-12), (0.0, 1e-300), (-1e307, 1e307), (1e9, 1e9 + 1)])
def test_tiny_far_and_huge_boxes_are_searched_like_others(low: float, high: float) -> None:
    goal, width = low + 0.7 * (high / 2 - low / 2) * 2, high / 2 - low / 2
    found = losses(optimizer(low, high, 3), lambda x: float(np.square((x - goal) / width).sum()), 60)
    assert found.min() < 1e-4 < found[0]


# What does not change the points ------------------------------------------------------------------------------------


def run(seed: int = 0, factor: float = 1.0, batch: int = 1) -> Floats:
    """Return the points that are asked for on a rough loss in [-5, 5]^3 times a factor, in the cube."""
    opt = optimizer(-5 * factor, 5 * factor, 3, seed)
    losses(opt, lambda x: valley(x / factor) + float(np.sin(5 * x / factor).sum()), 63, batch)
    return np.array(opt.seen.x)


@pytest.mark.parametrize("batch", [1, 7])
def test_equal_seeds_give_equal_points_and_others_others(batch: int) -> None:
    assert np.array_equal(run(1, batch=batch), run(1, batch=batch))
    assert not np.array_equal(run(1, batch=batch), run(2, batch=batch))


def test_so_they_do_in_threads_side_by_side() -> None:
    found = dict[int, Floats]()
    threads = [Thread(target=lambda k=k: found.update({k: run(k)})) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        assert np.array_equal(found[k], run(k))


@pytest.mark.parametrize("batch", [1, 7])
def test_a_box_times_a_power_of_two_has_the_same_points_in_the_cube(batch: int) -> None:
    assert np.array_equal(run(batch=batch), run(factor=1024.0, batch=batch))


def test_a_box_times_a_thousand_has_nearly_the_same_first_points() -> None:
    np.testing.assert_allclose(run()[:15], run(factor=1000.0)[:15], atol=0.01)  # rounding grows
