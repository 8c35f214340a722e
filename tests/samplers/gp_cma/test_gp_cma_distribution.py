"""The search distribution against CMA-ES as published: Hansen 2016 (arXiv 1604.00772) and his library `cma`."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lamcts.samplers.gp_cma.distribution import DIAGONAL_ABOVE, MAX_MEAN_OUTSIDE, Distribution, Rates
from lamcts.types import Floats

Losses = Callable[[Floats], Floats]  # points [k, d] -> losses [k]


def library_run(mean: list[float], sigma: float, seed: int, **options: Any) -> Any:
    """Return a run of the library `cma` that leaves numpy's global generator alone."""
    cma, rng = pytest.importorskip("cma"), np.random.default_rng(seed)
    own = {"seed": math.nan, "randn": lambda *shape: rng.standard_normal(shape), "verbose": -9}
    return cma.CMAEvolutionStrategy(mean, sigma, own | options)


def default_size(d: int) -> int:
    """Return the population size of table 1."""
    return 4 + int(3 * math.log(d))


def turned(d: int, seed: int = 3) -> Floats:
    """Return a rotation [d, d]."""
    result: Floats = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    return result


def ellipsoid(d: int, condition: float) -> Losses:
    turn, weights = turned(d), np.geomspace(1.0, condition, d)
    return lambda x: np.square((x - 0.6) @ turn) @ weights


def run(own: Distribution, loss: Losses, generations: int, seed: int = 0, size: int | None = None) -> list[float]:
    """Feed true ranks to a distribution; return the loss of its mean after each generation."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(generations):
        x = own.draw(size or default_size(len(own.mean)), rng)
        own.update(x[np.argsort(loss(x), kind="stable")])
        found.append(float(loss(own.mean[None])[0]))
    return found


def skewed(d: int, seed: int = 0) -> Distribution:
    """Return a distribution with a covariance that is no multiple of the identity, away from every bound."""
    factor = np.random.default_rng(seed).standard_normal((d, 2 * d))
    return replace(Distribution.at(np.linspace(0.4, 0.6, d), 0.01), covariance=factor @ factor.T / d)


@pytest.mark.parametrize("condition, generations", [(1.0, 180), (1e4, 500)], ids=["sphere", "ellipsoid"])
@pytest.mark.parametrize("seed", range(3))
def test_on_true_ranks_it_converges_in_eight_dimensions(condition: float, generations: int, seed: int) -> None:
    own = Distribution.at(np.full(8, 0.4), 0.1)
    found = run(own, ellipsoid(8, condition), generations, seed)
    assert found[-1] < 1e-10 < 1e-4 < found[10]
    assert own.longest < 1e-4


def test_on_an_ellipsoid_the_axes_of_c_become_those_of_the_inverse_hessian() -> None:
    d, condition = 8, 1e4
    own = Distribution.at(np.full(d, 0.4), 0.1)
    run(own, ellipsoid(d, condition), 400)
    hessian = (turned(d) * np.geomspace(1.0, condition, d)) @ turned(d).T
    white = np.linalg.eigvalsh(hessian @ own.covariance @ hessian @ own.covariance)
    assert white[-1] / white[0] < 50**2  # 1e8 squared at first


def test_it_needs_about_as_many_evaluations_as_the_library_cma() -> None:
    loss, d, ours, theirs = ellipsoid(8, 1e3), 8, [], []
    for seed in range(5):
        found = run(Distribution.at(np.full(d, 0.4), 0.1), loss, 400, seed)
        ours.append(int(np.argmax(np.array(found) < 1e-8)))
        library = library_run(d * [0.4], 0.1, seed)
        for generation in range(400):  # noqa: B007
            points = library.ask()
            library.tell(points, loss(np.array(points)).tolist())
            if loss(library.mean[None])[0] < 1e-8:
                break
        theirs.append(generation)
    assert min(ours) > 0
    assert np.median(ours) < 1.25 * np.median(theirs)


@pytest.mark.parametrize("d", [2, 5, 8, 20, 40, 150])
@pytest.mark.parametrize("size", [None, 32, 101])
def test_weights_and_rates_of_c_are_those_of_the_library_cma(d: int, size: int | None) -> None:
    """The library departs from table 1 in c_sigma and, above the default size, in d_sigma; those follow below."""
    size = size or default_size(d)
    library = library_run(d * [0.5], 0.3, 0, popsize=size).sp
    own = Rates.of(d, size)
    np.testing.assert_allclose(own.weights, library.weights, rtol=1e-12, atol=1e-15)
    found = own.mass, own.path, own.rank_one, own.rank_mu
    np.testing.assert_allclose(found, (library.weights.mueff, library.cc, library.c1, library.cmu), rtol=1e-12)


@pytest.mark.parametrize("d, size", [(1, 4), (2, 6), (8, 10), (8, 81), (40, 15)])
def test_rates_of_the_step_size_are_those_of_table_1(d: int, size: int) -> None:
    own = Rates.of(d, size)
    path = (own.mass + 2) / (d + own.mass + 5)
    assert own.step_path == pytest.approx(path)
    assert own.damping == pytest.approx(1 + 2 * max(0, math.sqrt((own.mass - 1) / (d + 1)) - 1) + path)
    lengths = np.linalg.norm(np.random.default_rng(0).standard_normal((200_000, d)), axis=1)
    assert own.usual_length == pytest.approx(lengths.mean(), rel=5e-3)


@pytest.mark.parametrize("d", [1, 2, 8, 50, 201, 1000])
@pytest.mark.parametrize("size", [4, 5, 32, 500])
def test_rates_keep_c_positive_whatever_the_size(d: int, size: int) -> None:
    own = Rates.of(d, size)
    assert own.rank_one > 0 and own.rank_mu > 0 and own.rank_one + own.rank_mu <= 1
    assert own.weights[: size // 2].sum() == pytest.approx(1)
    lost = -d * own.rank_mu * own.weights[own.weights < 0].sum()  # most that a generation takes from any axis
    assert lost <= 1 - own.rank_one - own.rank_mu + 1e-12


@pytest.mark.parametrize("generation, size", [(0, 0.5), (0, 1.0), (0, 2.0), (4, 0.3), (4, 2.0), (99, 1.0), (99, 30.0)])
def test_one_update_is_that_of_the_tutorial(generation: int, size: float) -> None:
    """An oracle that takes the matrices of the tutorial literally: C^-1/2, and no axes."""
    d, k = 3, 9
    own, rng = skewed(d), np.random.default_rng(1)
    own.path, own.step_path, own.generation = rng.standard_normal(d), np.full(d, size), generation
    mean, sigma, c, path, step_path = own.mean, own.sigma, own.covariance, own.path, own.step_path
    rates, x = Rates.of(d, k), own.draw(k, rng)
    values, axes = np.linalg.eigh(c)
    inverse_root = axes @ np.diag(values**-0.5) @ axes.T

    y = (x - mean) / sigma
    y *= np.minimum(1, (math.sqrt(d) + 2 * d / (d + 2)) / np.linalg.norm(y @ inverse_root, axis=1))[:, None]
    w, mass, mu = rates.weights, rates.mass, k // 2
    step = w[:mu] @ y[:mu]
    cs, cc = rates.step_path, rates.path
    step_path = (1 - cs) * step_path + math.sqrt(cs * (2 - cs) * mass) * inverse_root @ step
    length = float(np.linalg.norm(step_path))
    share = math.sqrt(1 - (1 - cs) ** (2 * (generation + 1)))
    steady = length / share < (1.4 + 2 / (d + 1)) * rates.usual_length
    path = (1 - cc) * path + steady * math.sqrt(cc * (2 - cc) * mass) * step
    active = [
        one if one >= 0 else one * d / float(np.sum((inverse_root @ v) ** 2)) for one, v in zip(w, y, strict=True)
    ]
    many = sum(one * np.outer(v, v) for one, v in zip(active, y, strict=True))
    lost = (1 - steady) * rates.rank_one * cc * (2 - cc)
    new = (1 + lost - rates.rank_one - rates.rank_mu * w.sum()) * c
    new = new + rates.rank_one * np.outer(path, path) + rates.rank_mu * many
    growth = min(1.0, cs / rates.damping * (length / rates.usual_length - 1))  # the library's: at most e a generation

    own.update(x)
    np.testing.assert_allclose(own.mean, mean + sigma * step, rtol=1e-12)
    np.testing.assert_allclose(own.step_path, step_path, rtol=1e-10)
    np.testing.assert_allclose(own.path, path, rtol=1e-10)
    np.testing.assert_allclose(own.covariance, new, rtol=1e-10)
    assert own.sigma == pytest.approx(sigma * math.exp(growth))


@pytest.mark.parametrize("size", [20, 500])
def test_a_diagonal_learns_faster_as_ros_and_hansen_have_it(size: int) -> None:
    d = DIAGONAL_ABOVE + 1
    own, factor = Rates.of(d, size), (d + 2) / 3
    one = 2 / ((d + 1.3) ** 2 + own.mass)
    many = 2 * (0.25 + own.mass + 1 / own.mass - 2) / ((d + 2) ** 2 + own.mass)
    assert (own.rank_one, own.rank_mu) == (pytest.approx(one * factor), pytest.approx(min(0.5, many * factor)))


@pytest.mark.parametrize("length, waits", [(0.5, False), (4.0, True)], ids=["short", "long"])
def test_the_path_of_c_waits_while_the_step_size_grows_fast(length: float, waits: bool) -> None:
    d = 6
    own, rng = Distribution.at(np.full(d, 0.5), 0.01), np.random.default_rng(0)
    own.generation, own.step_path = 100, np.eye(d)[0] * length * math.sqrt(d)
    own.update(own.draw(12, rng))
    assert (own.path == 0).all() == waits


def test_a_turned_problem_gives_turned_results() -> None:
    d, shift = 6, 0.5
    turn, plain = turned(d), ellipsoid(d, 100.0)
    own, other = (Distribution.at(np.full(d, shift), 0.01) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = own.mean + own.sigma * rng.standard_normal((10, d)) @ np.linalg.cholesky(own.covariance).T
        order = np.argsort(plain(x))
        own.update(x[order])
        other.update((x[order] - shift) @ turn.T + shift)
    np.testing.assert_allclose(other.mean - shift, turn @ (own.mean - shift), atol=1e-12)
    np.testing.assert_allclose(other.covariance, turn @ own.covariance @ turn.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.path, turn @ own.path, atol=1e-11)
    assert other.sigma == pytest.approx(own.sigma, rel=1e-10)


@pytest.mark.parametrize("d", [1, 4, DIAGONAL_ABOVE + 1])
def test_whitened_draws_are_the_normal_numbers_that_made_them(d: int) -> None:
    factor = np.random.default_rng(0).standard_normal((d, d + 2))
    covariance = factor @ factor.T if d <= DIAGONAL_ABOVE else np.square(factor[:, 0]) + 0.1
    own = replace(Distribution.at(np.full(d, 0.5), 0.02), covariance=covariance)
    z = np.random.default_rng(7).standard_normal((5, d))
    white = own.whiten(own.draw(5, np.random.default_rng(7)))
    np.testing.assert_allclose(white, z, rtol=1e-8, atol=1e-8)


def test_draws_have_the_mean_and_the_covariance_that_they_should_have() -> None:
    own = skewed(3)
    x = own.draw(100_000, np.random.default_rng(0))
    expected = own.sigma**2 * own.covariance
    np.testing.assert_allclose(x.mean(0), own.mean, atol=4 * own.deviations.max() / 300)
    np.testing.assert_allclose(np.cov(x.T), expected, atol=0.03 * expected.max())
    np.testing.assert_allclose(own.deviations, np.sqrt(expected.diagonal()))
    assert own.longest == pytest.approx(math.sqrt(np.linalg.eigvalsh(expected)[-1]))


@pytest.mark.parametrize("goal", [-3.0, 4.0])
def test_the_mean_leaves_the_cube_by_at_most_one_standard_deviation(goal: float) -> None:
    d, ends = 5, []
    own, rng = Distribution.at(np.full(d, 0.5), 0.2), np.random.default_rng(0)
    for _ in range(40):
        rim = MAX_MEAN_OUTSIDE * own.deviations
        x = own.draw(12, rng)
        own.update(x[np.argsort(np.square(x - goal).sum(1))])
        assert (own.mean >= -rim).all() and (own.mean <= 1 + rim).all()
        ends.append((own.mean == np.clip(goal, -rim, 1 + rim)).mean())
    assert max(ends) == 1.0  # it gets as far as it may along each axis


def test_no_axis_grows_wider_than_its_bound() -> None:
    own, rng = replace(Distribution.at(np.full(4, 0.5), 0.2), widest=0.6), np.random.default_rng(0)
    for _ in range(40):
        x = own.draw(10, rng)
        own.update(x[np.argsort(x[:, 0])])
        assert own.longest <= 0.6 * (1 + 1e-12)
    assert own.longest == pytest.approx(0.6)


def test_above_two_hundred_dimensions_the_covariance_is_a_diagonal_and_it_descends() -> None:
    d = DIAGONAL_ABOVE + 1
    own = Distribution.at(np.full(d, 0.5), 0.1)
    assert own.covariance.shape == (d,) and own.axes is None
    scales = np.geomspace(1.0, 100.0, d)
    found = run(own, lambda x: np.square(x - 0.6) @ scales, 400, size=30)
    assert found[-1] < 1e-2 * found[0]
    assert (own.covariance > 0).all()
    assert Distribution.at(np.full(d - 1, 0.5), 0.1).covariance.shape == (d - 1, d - 1)


def test_a_diagonal_update_is_the_diagonal_of_the_full_one() -> None:
    """Paths, weights and rates being equal, which they are as long as C is diagonal: in the first update."""
    d, rng = 5, np.random.default_rng(0)
    variances = rng.random(d) + 0.5
    full = replace(Distribution.at(np.full(d, 0.5), 0.01), covariance=np.diag(variances))
    flat = replace(Distribution.at(np.full(d, 0.5), 0.01), covariance=variances)
    x = full.draw(8, rng)
    full.update(x)
    flat.update(x)
    np.testing.assert_allclose(flat.mean, full.mean, rtol=1e-14)
    np.testing.assert_allclose(flat.covariance, full.covariance.diagonal(), rtol=1e-12)
    assert flat.sigma == pytest.approx(full.sigma)


def test_a_point_that_no_draw_would_reach_counts_as_one_at_the_rim() -> None:
    d, far = 4, np.array([1e6, 0.0, 0.0, 0.0])
    rim = math.sqrt(d) + 2 * d / (d + 2)
    own, other = (Distribution.at(np.full(d, 0.5), 1e-4) for _ in range(2))
    x = own.draw(8, np.random.default_rng(0))
    own.update(np.vstack([0.5 + far, x]))
    other.update(np.vstack([0.5 + 1e-4 * rim * far / 1e6, x]))
    np.testing.assert_allclose(own.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(own.covariance, other.covariance, rtol=1e-9, atol=1e-15)
    assert own.sigma < 3e-4


@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
def test_axes_that_collapse_stay_within_what_double_precision_can_invert(diagonal: bool) -> None:
    own = replace(Distribution.at(np.full(2, 0.5), 0.1), covariance=np.ones(2) if diagonal else np.eye(2))
    rng, weights = np.random.default_rng(0), np.array([1.0, 1e30])
    for _ in range(400):
        x = own.draw(8, rng)
        own.update(x[np.argsort(np.square(x - 0.5) @ weights)])
        assert np.isfinite(own.whiten(x)).all()
        assert (own.deviations > 0).all()
        again = replace(Distribution.at(own.mean, own.sigma), covariance=own.covariance.copy())  # as from a saved state
        assert np.array_equal(again.covariance, own.covariance) and np.array_equal(again.scales, own.scales)
    assert 1e6 < own.scales.max() / own.scales.min() <= 1.01e7
