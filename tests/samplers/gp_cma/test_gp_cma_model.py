from copy import deepcopy
from dataclasses import astuple, replace
from itertools import product

import numpy as np
import pytest

from lamcts.models.coding import Inputs
from lamcts.samplers.gp_cma.distribution import Distribution, Whitening
from lamcts.samplers.gp_cma.model import (
    LENGTHS,
    MAX_ROWS,
    NOISES,
    QUADRATICS,
    ROWS_PER_DIM,
    TRY_EVERY,
    Fit,
    GridIndex,
    RunPosterior,
    fitted,
    nearest,
    transforms,
)
from lamcts.types import Floats

SHAPE = len(LENGTHS), len(NOISES), len(QUADRATICS)
BEST_ROOT = 2  # index of the roots among the transforms


def skewed(d: int = 3, sigma: float = 0.05) -> Distribution:
    factor = np.random.default_rng(1).standard_normal((d, 2 * d))
    return replace(Distribution.at(np.linspace(0.3, 0.7, d), sigma), covariance=factor @ factor.T / d)


def rough(x: Floats) -> Floats:
    return np.square(x - 0.5).sum(1) + 0.02 * np.sin(40 * x).sum(1)


def rows(n: int = 40, d: int = 3, seed: int = 0) -> tuple[Distribution, Floats, Floats]:
    own = skewed(d)
    x = own.draw(n, np.random.default_rng(seed))
    return own, x, rough(x)


# Transforms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-1000, -41, -1, 1, 7, 200, 1000])
def test_losses_times_a_power_of_two_are_transformed_to_the_same_bits(power: int) -> None:
    y = np.random.default_rng(0).standard_normal(50) * 3
    for plain, scaled in zip(transforms(y), transforms(np.ldexp(y, power)), strict=True):
        assert np.array_equal(plain, scaled)


@pytest.mark.parametrize("factor, shift", [(1.0, 1e3), (3.7, -20.0), (1e-9, 0.0), (1e200, 0.0)])
def test_another_unit_and_another_zero_hardly_change_transformed_losses(factor: float, shift: float) -> None:
    y = np.random.default_rng(0).standard_normal(50) * 3
    for plain, scaled in zip(transforms(y), transforms(y * factor + shift), strict=True):
        np.testing.assert_allclose(plain, scaled, atol=1e-6)


def test_an_exact_shift_changes_no_bit() -> None:
    y = np.random.default_rng(0).integers(0, 1000, 50).astype(float)
    for plain, shifted in zip(transforms(y), transforms(y - 2.0**20), strict=True):
        assert np.array_equal(plain, shifted)


def test_ranks_are_the_same_under_any_increasing_map_and_the_other_transforms_are_not() -> None:
    y = np.random.default_rng(0).standard_normal(50)
    same = [np.array_equal(a, b) for a, b in zip(transforms(y), transforms(np.exp(5 * y)), strict=True)]
    assert same == [False, True, False]


def test_transforms_are_in_standard_units_keep_the_order_and_the_root_opens_the_low_end() -> None:
    y = np.square(np.random.default_rng(0).standard_normal(200))
    for z in transforms(y):
        assert (z.mean(), z.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
        assert np.array_equal(np.argsort(z), np.argsort(y))
    linear, _, root = transforms(y)
    low, middle = np.argsort(y)[[0, 100]]
    assert root[middle] - root[low] > 2 * (linear[middle] - linear[low])


@pytest.mark.parametrize("y", [np.zeros(6), np.full(6, 1e300), np.array([-1e300, 1e300]), np.array([5e-324, 0.0])])
def test_equal_and_extreme_losses_are_transformed_to_finite_numbers(y: Floats) -> None:
    for z in transforms(y):
        assert np.isfinite(z).all()
        assert (z == 0).all() == (y == y[0]).all()


# Coordinates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
@pytest.mark.parametrize("stretch", [1.0, 3.0])
def test_a_frame_is_the_distributions_coordinates_and_back_leads_back(diagonal: bool, stretch: float) -> None:
    own = replace(Distribution.at(np.full(3, 0.5), 0.1), covariance=np.array([1.0, 4.0, 0.1])) if diagonal else skewed()
    x = np.random.default_rng(0).random((6, 3))
    frame = Whitening.of(own, stretch)
    np.testing.assert_allclose(frame(x), own.whiten(x) / stretch, rtol=1e-10)
    for one, u in zip(x, frame(x), strict=True):
        np.testing.assert_allclose(frame.back(u), one, atol=1e-12)


def test_a_model_keeps_its_coordinates_while_the_distribution_moves_on() -> None:
    own, x, y = rows()
    model, _ = fitted(own, x, y, Fit(), len(x))
    before = model.expect(x)
    for _ in range(5):
        own.update(own.draw(10, np.random.default_rng(0)))
    assert np.array_equal(model.expect(x), before)


def test_the_model_is_the_same_in_a_turned_and_scaled_cube() -> None:
    d = 3
    own, x, y = rows()
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((d, d)))[0]
    other = replace(Distribution.at(turn @ own.mean, own.sigma / 4), covariance=turn @ own.covariance @ turn.T)
    far = other.mean + (x - own.mean) @ turn.T / 4
    one, two = fitted(own, x, y, Fit(), len(x))[0], fitted(other, far, y, Fit(), len(x))[0]
    np.testing.assert_allclose(one.expect(x[:5] + 0.01), two.expect(far[:5] + 0.01 * turn.sum(1) / 4), rtol=1e-6)
    assert one.correlation == pytest.approx(two.correlation)


def test_the_stretch_is_what_brings_the_median_row_to_the_usual_distance_and_never_below_one() -> None:
    own, x, y = rows(200)
    assert fitted(own, x, y, Fit(), 200)[0].frame.stretch < 1.2
    wide = fitted(own, own.mean + 50 * (x - own.mean), y, Fit(), 200)[0].frame
    assert 40 < wide.stretch < 60
    assert fitted(own, own.mean + 0.01 * (x - own.mean), y, Fit(), 200)[0].frame.stretch == 1.0


# Fits ---------------------------------------------------------------------------------------------------------------


def test_neighbours_are_one_step_along_each_axis_in_turn_and_never_leave_the_grid() -> None:
    for index in product(*map(range, SHAPE)):
        here, found = GridIndex(*index), set()
        for _ in range(6):
            neighbour, here = here.neighbour(), here.turned()
            if neighbour is None:
                continue
            other = astuple(neighbour)[:3]
            assert neighbour.turn == here.turn
            assert all(0 <= k < size for k, size in zip(other, SHAPE, strict=True))
            assert sum(abs(a - b) for a, b in zip(index, other, strict=True)) == 1
            found.add(other)
        inner = sum((k > 0) + (k < size - 1) for k, size in zip(index, SHAPE, strict=True))
        assert len(found) == inner
        assert astuple(here) == (*index, 0)


@pytest.mark.parametrize("n", [5, 40, 150])
def test_the_misfit_of_no_transform_rises_from_fit_to_fit(n: int) -> None:
    own, x, y = rows(n)
    fit, moved = Fit(), 0
    for _ in range(24):
        before, saved = fit, deepcopy(fit)
        model, fit = fitted(own, x, y, before, before.tried + TRY_EVERY)
        assert before == saved  # it is journalled
        for z, old, new in zip(transforms(y), before.indices, fit.indices, strict=True):
            inputs = model.posterior.inputs
            one, two = (RunPosterior.of(inputs, z[:, None], index.hyper(3)).misfit() for index in (old, new))
            assert two <= one
            assert (two < one) == (astuple(old)[:3] != astuple(new)[:3])
            moved += two < one
    assert moved > 0


def test_another_transform_is_tried_after_three_evaluations_and_both_others_in_turn() -> None:
    own, x, _ = rows(150)
    fit, y = Fit(transform=0), np.square(x - own.mean).sum(1)
    tried = []
    for told in range(150, 162):
        turns = [index.turn for index in fit.indices]
        _, fit = fitted(own, x, y, fit, told)
        tried.append([k for k, index in enumerate(fit.indices) if index.turn != turns[k]])
    assert fit.transform == 0
    assert tried == [[0, 1], [0], [0], [0, 2], [0], [0]] * 2


def test_the_transform_taken_is_the_one_that_suits_the_losses() -> None:
    own = Distribution.at(np.full(4, 0.5), 0.1)
    x = own.draw(80, np.random.default_rng(0))
    square = np.square(x - 0.5).sum(1)
    taken = {}
    for name, y in {"quadratic": square, "steep": np.exp(30 * np.sqrt(square)), "quartic": square**2}.items():
        fit = Fit(transform=0)
        for _ in range(8):
            _, fit = fitted(own, x, y, fit, fit.tried + TRY_EVERY)
        taken[name] = fit.transform
    assert taken["quadratic"] == 0
    assert taken["steep"] == 1
    assert taken["quartic"] == BEST_ROOT


def test_the_skill_of_noise_is_low_and_that_of_a_smooth_loss_is_high() -> None:
    own, x, _ = rows(80)
    noise, _ = fitted(own, x, np.random.default_rng(7).standard_normal(80), Fit(), 80)
    smooth, _ = fitted(own, x, np.square(x - 0.5).sum(1), Fit(), len(x))
    assert noise.correlation < 0.4 < 0.9 < smooth.correlation


def test_equal_losses_have_no_skill_and_keep_the_transform() -> None:
    own, x, _ = rows()
    model, fit = fitted(own, x, np.ones(40), Fit(transform=2), 40)
    assert model.correlation == 0
    assert fit.transform == 2


# What the model is asked --------------------------------------------------------------------------------------------


def test_the_minimiser_is_below_where_it_started_and_within_its_bounds() -> None:
    own, x, y = rows(60)
    model, _ = fitted(own, x, y, Fit(), len(x))
    for start in own.draw(8, np.random.default_rng(3)):
        found = model.minimiser(start, 1.5)
        assert model.expect(found[None])[0] <= model.expect(start[None])[0]
        bound = np.maximum(1.5, np.abs(own.whiten(start[None])))
        assert (np.abs(own.whiten(found[None])) <= bound + 1e-9).all()


def test_the_minimiser_of_a_quadratic_is_its_bottom() -> None:
    own = skewed()
    x, goal = own.draw(40, np.random.default_rng(0)), own.mean + 0.02
    fit = Fit(transform=0)
    for _ in range(8):
        model, fit = fitted(own, x, np.square(x - goal).sum(1), fit, 40)
    np.testing.assert_allclose(model.minimiser(x[0], 3.0), goal, atol=1e-3)


def test_samples_have_the_mean_and_covariance_of_the_posterior_and_vary_less_about_points_that_are_out() -> None:
    own, x, y = rows()
    model, _ = fitted(own, x, y, Fit(), len(x))
    at, none = own.mean + np.outer([2.0, 2.5, -1.0], own.deviations), np.empty((0, 3))
    found = model.sample(at, 40_000, none, np.random.default_rng(0))
    mean, share = model.posterior.joint(Inputs.of(model.frame(at)))
    covariance = model.posterior.signal[0] * share
    spread = np.sqrt(covariance.diagonal())
    np.testing.assert_allclose((found.mean(0) - mean[:, 0]) / spread, 0, atol=0.03)
    scale = np.outer(spread, spread)
    np.testing.assert_allclose(np.cov(found.T) / scale, covariance / scale, atol=0.03)
    assert model.sample(at[:1], 2000, at[:1], np.random.default_rng(0)).std() < 0.5 * found[:, 0].std()


# Rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, most", [(2, 2 * ROWS_PER_DIM), (5, 5 * ROWS_PER_DIM), (30, MAX_ROWS)])
def test_the_rows_are_the_nearest_ones_nearest_first_and_no_more_than_the_most(d: int, most: int) -> None:
    own = skewed(d)
    x = np.random.default_rng(0).random((most + 100, d))
    far = np.linalg.norm(own.whiten(x), axis=1)
    found = nearest(own, x, None)
    assert len(found) == most
    assert np.array_equal(found, np.argsort(far)[:most])
    assert sorted(nearest(own, x[:7], None)) == list(range(7))


def test_with_a_reach_they_are_those_within_it_and_never_fewer_than_a_few() -> None:
    d, reach = 4, 1.5
    own = skewed(d)
    x = own.mean + 1.5 * (own.draw(70, np.random.default_rng(0)) - own.mean)
    far = np.linalg.norm(own.whiten(x), axis=1)
    inside = int((far <= reach * d**0.5).sum())
    found = nearest(own, x, reach)
    assert 2 * d + 10 < inside < 70
    assert len(found) == inside and far[found].max() <= reach * d**0.5
    assert len(nearest(own, x, 1e-6)) == 2 * d + 10
    assert len(nearest(own, x[:5], 1e-6)) == 5
    assert len(nearest(own, np.tile(own.mean, (500, 1)), reach)) == ROWS_PER_DIM * d
