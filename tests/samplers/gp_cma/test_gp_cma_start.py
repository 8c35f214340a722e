import numpy as np
import pytest

from lamcts.samplers.gp_cma.start import (
    CONSTANT_VARIANCE,
    FIRST_STEP,
    GROWTH,
    MIN_HALF_WIDTH,
    MODEL_STEPS,
    SHRINKAGE,
    SLOPE_VARIANCE,
    Start,
    least_norm_quadratic,
    minimiser,
)
from lamcts.types import Floats

CENTRE = np.full(3, 0.5)


def quadratic(d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return a slope [d] and a symmetric matrix [d, d]."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((d, d))
    return rng.standard_normal(d), a + a.T


def values(u: Floats, slope: Floats, matrix: Floats) -> Floats:
    found: Floats = u @ slope + np.einsum("ij,jk,ik->i", u, matrix, u) / 2
    return found


# Axis steps ---------------------------------------------------------------------------------------------------------


def test_axis_steps_go_along_each_axis_in_turn_then_the_other_way_and_then_end() -> None:
    start = Start()
    for sign in (1, -1):
        for axis in range(3):
            x = start.axis_step(CENTRE)
            assert x is not None
            np.testing.assert_allclose(x - CENTRE, sign * FIRST_STEP * np.eye(3)[axis], atol=1e-15)
    assert start.axis_step(CENTRE) is None
    assert start.axes == 6


def test_axis_steps_begin_at_the_point_given_and_go_inwards_at_a_bound() -> None:
    rng, start = np.random.default_rng(0), Start()
    for k in range(10):
        best = rng.integers(0, 2, 5).astype(float)
        kept = best.copy()
        x = start.axis_step(best)
        assert x is not None
        assert np.flatnonzero(x != best).tolist() == [k % 5]
        assert (x >= 0).all() and (x <= 1).all()
        assert np.array_equal(best, kept)


def test_a_short_step_goes_down_along_axes_with_a_step_alone_and_no_farther_than_an_axis_step() -> None:
    slope = np.array([3.0, -1.0, 0.5, 2.0])
    x = np.vstack([np.full(4, 0.5), 0.5 + FIRST_STEP * np.eye(4)[:2]])
    moved = Start().short_step(x, x @ slope) - x[2]
    assert moved[0] < 0 < moved[1]
    np.testing.assert_allclose(moved[2:], 0, atol=1e-9)
    assert np.linalg.norm(moved) <= FIRST_STEP + 1e-12


@pytest.mark.parametrize("rows, over", [(1, False), (5, False), (24, False), (25, True)])
def test_one_by_one_the_start_takes_d_axis_steps_and_four_d_of_the_quadratic(rows: int, over: bool) -> None:
    assert Start().over(rows, 5, 1) == over == (rows >= 5 + MODEL_STEPS * 5)


def test_in_batches_it_takes_less_and_it_is_over_where_the_region_is_small_or_all_directions_are_used_up() -> None:
    assert not Start().over(7, 5, 7)
    assert Start().over(8, 5, 7)
    assert not Start(axes=5).over(8, 5, 7)  # a step of the quadratic follows the axis steps
    assert Start(axes=5, steps=7).over(15, 5, 7)
    assert Start(radius=MIN_HALF_WIDTH / 2).over(6, 5, 1)
    assert not Start(radius=MIN_HALF_WIDTH / 2).over(5, 5, 1)  # too few rows for a quadratic, and directions left
    assert Start(axes=10).over(0, 5, 1)
    assert not Start(axes=9).over(0, 5, 1)


# The quadratic ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 7, 10])
def test_the_quadratic_of_least_norm_interpolates_its_rows(n: int) -> None:
    d, rng = 3, np.random.default_rng(n)
    u, z = rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)
    slope, matrix = least_norm_quadratic(u, z)
    assert np.array_equal(matrix, matrix.T) or np.allclose(matrix, matrix.T)
    rest = z - values(u, slope, matrix)
    np.testing.assert_allclose(rest, rest.mean(), atol=2e-3)  # but for the constant, which no one asks for


def test_of_all_quadratics_through_the_rows_it_has_the_least_norm() -> None:
    """Of the matrix, as Powell's (2004), but that slope and constant count a little: they are nearly free, not free."""
    d, n, rng = 3, 7, np.random.default_rng(2)
    u, z = rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)
    squares = np.einsum("ij,ik->ijk", u, u).reshape(n, d * d) / 2**0.5
    features = np.column_stack([np.full(n, CONSTANT_VARIANCE**0.5), SLOPE_VARIANCE**0.5 * u, squares])
    found = np.linalg.lstsq(features, z, rcond=None)[0]  # the least of many solutions
    slope, matrix = least_norm_quadratic(u, z)
    np.testing.assert_allclose(slope, SLOPE_VARIANCE**0.5 * found[1 : d + 1], atol=1e-3 * np.abs(slope).max())
    np.testing.assert_allclose(matrix.ravel(), 2**0.5 * found[d + 1 :], atol=1e-3 * np.abs(matrix).max())

    linear = np.column_stack([np.ones(n), u])
    system = np.block([[np.square(u @ u.T) / 2, linear], [linear.T, np.zeros((d + 1, d + 1))]])
    solved = np.linalg.solve(system, np.concatenate([z, np.zeros(d + 1)]))
    np.testing.assert_allclose(matrix, (u.T * solved[:n]) @ u, atol=0.06 * np.abs(matrix).max())


def test_as_many_rows_as_coefficients_give_an_exact_quadratic_back() -> None:
    d = 4
    slope, matrix = quadratic(d)
    u = np.random.default_rng(1).uniform(-1, 1, ((d + 1) * (d + 2) // 2, d))
    found, curvature = least_norm_quadratic(u, 5 + values(u, slope, matrix))
    size = np.abs(matrix).max()
    np.testing.assert_allclose(curvature, matrix, atol=0.02 * size)
    np.testing.assert_allclose(found, slope, atol=0.02 * size)
    again = least_norm_quadratic(u, 1e3 + values(u, slope, matrix))[1]
    np.testing.assert_allclose(again, curvature, atol=0.05 * size)  # the constant is nearly free


def test_a_linear_loss_gives_its_slope_and_next_to_no_curvature() -> None:
    d, slope = 3, np.array([1.0, -2.0, 0.5])
    u = np.random.default_rng(0).uniform(-1, 1, (5, d))
    found, curvature = least_norm_quadratic(u, u @ slope)
    np.testing.assert_allclose(found, slope, atol=0.1)
    assert np.abs(curvature).max() < 0.15


def test_rows_that_coincide_do_no_harm() -> None:
    u = np.tile(np.array([[0.1, 0.2]]), (6, 1))
    slope, curvature = least_norm_quadratic(u, np.arange(6.0))
    assert np.isfinite(slope).all() and np.isfinite(curvature).all()


def test_the_minimiser_of_a_bowl_is_its_bottom_and_elsewhere_the_best_corner() -> None:
    low, high = np.full(2, -1.0), np.full(2, 2.0)
    bottom = minimiser(np.array([-1.0, 0.5]), np.diag([2.0, 1.0]), low, high)
    np.testing.assert_allclose(bottom, [0.5, -0.5], atol=1e-5)
    np.testing.assert_allclose(minimiser(np.array([1.0, -1.0]), np.zeros((2, 2)), low, high), [-1.0, 2.0])


# Steps of the quadratic ---------------------------------------------------------------------------------------------


def seen(n: int, d: int, goal: float, seed: int = 0) -> tuple[Floats, Floats]:
    x = np.random.default_rng(seed).random((n, d))
    return x, np.square(x - goal).sum(1)


@pytest.mark.parametrize("goal", [0.4, -2.0, 3.0])
@pytest.mark.parametrize("k", [1, 6])
def test_steps_of_the_quadratic_stay_in_the_cube_and_within_twice_the_region(goal: float, k: int) -> None:
    d = 4
    for seed in range(5):
        x, y = seen(12, d, goal, seed)
        start = Start(radius=0.2)
        points = start.model_steps(x, y, k, np.random.default_rng(0))
        best = x[np.argmin(y)]
        assert points.shape == (k, d)
        assert (points >= -1e-12).all() and (points <= 1 + 1e-12).all()
        assert np.abs(points[0] - best).max() <= 0.2 + 1e-12
        assert np.abs(points - best).max() <= 0.4 + 1e-12


def test_the_first_step_of_a_bowl_is_its_bottom_and_the_others_of_a_batch_are_elsewhere() -> None:
    x, y = seen(15, 4, 0.45)
    points = Start(radius=0.5).model_steps(x, y, 5, np.random.default_rng(0))
    np.testing.assert_allclose(points[0], 0.45, atol=0.01)
    assert np.abs(points[1:] - 0.45).max(1).min() > 0.01


def test_a_step_to_the_rim_is_long_and_one_to_the_bottom_near_by_is_not() -> None:
    x, y = seen(15, 4, 0.45)
    narrow, wide = Start(radius=0.02), Start(radius=0.5)
    narrow.model_steps(x, y, 1, np.random.default_rng(0))
    wide.model_steps(x, y, 1, np.random.default_rng(0))
    assert narrow.was_long is True
    assert wide.was_long is False


def test_a_step_to_a_known_point_gives_way_to_a_draw_of_the_region() -> None:
    x = np.vstack([np.zeros(4), np.random.default_rng(0).random((15, 4))])  # a slope, whose lowest corner is known
    one, two = (Start(radius=0.3).model_steps(x, x.sum(1), 1, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert min(one.max(), two.max(), np.abs(one - two).max()) > 0.015
    assert max(one.max(), two.max()) <= 0.3


def test_the_other_steps_come_of_the_generator_alone() -> None:
    x, y = seen(12, 4, 0.3)
    one, two, other = (Start().model_steps(x, y, 6, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    "was_long, improved, factor",
    [(True, True, GROWTH), (False, True, 1.0), (True, False, SHRINKAGE), (False, False, SHRINKAGE), (None, False, 1.0)],
)
def test_the_region_grows_after_a_long_gain_and_shrinks_after_a_step_for_nothing(
    was_long: bool | None, improved: bool, factor: float
) -> None:
    start = Start(radius=0.2, was_long=was_long)
    start.resize(improved)
    assert start.radius == pytest.approx(0.2 * factor)


def test_the_region_stops_growing_once_it_is_wider_than_the_cube() -> None:
    start, rng = Start(), np.random.default_rng(0)
    x = np.vstack([CENTRE, CENTRE + FIRST_STEP * np.eye(3)])
    for _ in range(10):
        start.model_steps(x, x.sum(1), 1, rng)
        start.resize(True)
    assert 0.5 < start.radius <= GROWTH
    radius = start.radius
    start.axis_step(CENTRE)
    start.resize(False)
    assert start.radius == radius
