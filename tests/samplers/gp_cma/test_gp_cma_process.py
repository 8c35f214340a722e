"""The Gaussian process of `GpCma` against differences, dense linear algebra and processes that are fitted afresh."""

from collections.abc import Sequence

import numpy as np
import pytest

from lamcts.models.gp import matern
from lamcts.samplers.gp_cma.model import HyperParameters, Process, factor
from lamcts.types import Floats

HYPERS = [HyperParameters(1.5, 1e-4, 0.0), HyperParameters(1.5, 1e-4, 10.0), HyperParameters(0.4, 1e-1, 1000.0)]


def rows(n: int = 20, d: int = 3, seed: int = 0) -> tuple[Floats, Floats]:
    """Return points [n, d] and losses [n] in about standard units."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, d))
    return u, np.sin(2 * u[:, 0]) + 0.3 * np.square(u).sum(1) - 0.5 + 0.1 * rng.standard_normal(n)


def covariance(process: Process, u: Floats) -> Floats:
    """Return the prior covariance of observations at `u` [n, d], in units of the signal."""
    return kernel(process.hyper, u, u) + process.hyper.noise * np.eye(len(u))


def kernel(hyper: HyperParameters, a: Floats, b: Floats) -> Floats:
    """Return the kernel as the docstring of `Process` has it, one pair at a time."""
    found = np.empty((len(a), len(b)))
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            r = np.sqrt(5) * np.linalg.norm(u - v) / hyper.length
            found[i, j] = (1 + r + r**2 / 3) * np.exp(-r) + hyper.quadratic * ((1 + u @ v / len(u)) ** 2 - 1)
    return found


def held(process: Process, keep: Sequence[int], u: Floats) -> Floats:
    """Return the forecasts at `u` from some rows of a process, with its mean."""
    own, z = process.u[keep], process.z[keep]
    weights = np.linalg.solve(covariance(process, own), z - process.mean)
    return process.mean + kernel(process.hyper, u, own) @ weights


@pytest.mark.parametrize("hyper", HYPERS)
def test_forecasts_mean_and_signal_are_those_of_dense_linear_algebra(hyper: HyperParameters) -> None:
    u, z = rows()
    own, n = Process(u, z, hyper), len(z)
    inverse, ones = np.linalg.inv(covariance(own, u)), np.ones(n)
    mean = ones @ inverse @ z / (ones @ inverse @ ones)
    assert own.mean == pytest.approx(mean, rel=1e-6)
    assert own.signal == pytest.approx((z - mean) @ inverse @ (z - mean) / n, rel=0.1)  # the prior's share is 2 rows
    x = np.random.default_rng(1).standard_normal((7, 3))
    np.testing.assert_allclose(own.expect(x), held(own, range(n), x), rtol=1e-6, atol=1e-6)


def test_the_misfit_orders_processes_as_their_likelihood_does() -> None:
    """Of mean and signal at their most likely values: `-2 log L = n log signal + log det K`, but for constants."""
    u, z = rows(60)
    misfits, expected = [], []
    for length in (0.2, 0.7, 2.0, 7.0):
        own = Process(u, z, HyperParameters(length, 1e-2, 0.0))
        k = covariance(own, u)
        rest = z - own.mean
        signal = rest @ np.linalg.solve(k, rest) / len(z)
        expected.append((len(z) * np.log(signal) + np.linalg.slogdet(k)[1]) / 2)
        misfits.append(own.misfit)
    np.testing.assert_allclose(np.diff(misfits), np.diff(expected), atol=0.05 * np.ptp(expected))


@pytest.mark.parametrize("hyper", HYPERS)
def test_the_slope_is_that_of_finite_differences(hyper: HyperParameters) -> None:
    own, x, h = Process(*rows(), hyper), np.array([0.3, -0.8, 0.1]), 1e-5
    value, slope = own.slope(x)
    assert value == pytest.approx(float(own.expect(x[None])[0]), rel=1e-9)
    steps = h * np.eye(3)
    differences = (own.expect(x + steps) - own.expect(x - steps)) / (2 * h)
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)


def test_the_slope_is_finite_at_a_row() -> None:
    own = Process(*rows(), HYPERS[1])
    assert np.isfinite(own.slope(own.u[4])[1]).all()


@pytest.mark.parametrize("hyper", HYPERS)
def test_forecasts_of_rows_left_out_are_those_of_processes_without_them_that_keep_the_mean(
    hyper: HyperParameters,
) -> None:
    own = Process(*rows(), hyper)
    expected = [held(own, [j for j in range(20) if j != i], own.u[[i]])[0] for i in range(20)]
    np.testing.assert_allclose(own.left_out(), expected, rtol=1e-6, atol=1e-6)


def test_a_mean_that_is_fitted_again_without_the_row_changes_them_little() -> None:
    """Exact would be `z - weights / diag(Q)`, `Q = K^-1 - K^-1 1 1' K^-1 / 1' K^-1 1` (Dubrule 1983): with K^-1 for Q a
    row has a say in the mean that forecasts it. That moves forecasts by a few hundredths of a standard unit.
    """
    own = Process(*rows(60), HYPERS[0])
    keep = ~np.eye(60, dtype=bool)
    exact = np.array([Process(own.u[k], own.z[k], own.hyper).expect(own.u[~k])[0] for k in keep])
    found = own.left_out()
    assert 1e-6 < np.abs(found - exact).max() < 0.1
    assert np.corrcoef(found, exact)[0, 1] > 0.999
    inverse = np.linalg.inv(covariance(own, own.u))
    q = inverse - np.outer(inverse.sum(1), inverse.sum(0)) / inverse.sum()
    np.testing.assert_allclose(own.z - own.weights / q.diagonal(), exact, atol=1e-6)


def test_other_losses_of_the_same_rows_give_what_a_new_process_gives() -> None:
    u, z = rows()
    own, other = Process(u, z, HYPERS[1]), Process(u, np.cos(3 * z), HYPERS[1])
    own.refit(np.cos(3 * z))
    assert (own.mean, own.signal, own.misfit) == (other.mean, other.signal, other.misfit)
    assert np.array_equal(own.weights, other.weights)
    assert np.array_equal(own.left_out(), other.left_out())


@pytest.mark.parametrize("hyper", HYPERS)
def test_fantasies_are_rows_with_their_forecasts(hyper: HyperParameters) -> None:
    own, rng = Process(*rows(), hyper), np.random.default_rng(2)
    out, x = rng.standard_normal((4, 3)), rng.standard_normal((9, 3))
    other = own.fantasize(out)
    assert (other.mean, other.signal) == (own.mean, own.signal)
    assert np.array_equal(other.u, np.vstack([own.u, out]))
    np.testing.assert_allclose(other.expect(x), held(other, range(24), x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.expect(x), own.expect(x), rtol=1e-6, atol=1e-6)  # what is expected is no news


def test_samples_vary_less_about_points_that_are_out() -> None:
    own, rng = Process(*rows(), HYPERS[0]), np.random.default_rng(0)
    x = np.array([[2.5, 2.5, 2.5]])
    before, after = (process.sample(x, 4000, rng).std() for process in (own, own.fantasize(x + 0.05)))
    assert after < 0.2 * before


@pytest.mark.parametrize("hyper", HYPERS)
def test_samples_have_the_mean_and_the_covariance_of_the_posterior(hyper: HyperParameters) -> None:
    own = Process(*rows(), hyper)
    x = np.random.default_rng(3).standard_normal((5, 3))
    found = own.sample(x, 40_000, np.random.default_rng(0))
    cross = kernel(hyper, x, own.u)
    expected = own.signal * (kernel(hyper, x, x) - cross @ np.linalg.solve(covariance(own, own.u), cross.T))
    spread = np.sqrt(expected.diagonal())
    assert found.shape == (40_000, 5)
    np.testing.assert_allclose((found.mean(0) - own.expect(x)) / spread, 0, atol=0.03)
    np.testing.assert_allclose(
        np.cov(found.T) / np.outer(spread, spread), expected / np.outer(spread, spread), atol=0.03
    )


def test_samples_at_rows_are_their_losses_up_to_noise() -> None:
    own = Process(*rows(), HyperParameters(1.5, 1e-8, 0.0))
    found = own.sample(np.vstack([own.u, own.u]), 50, np.random.default_rng(0))
    np.testing.assert_allclose(found, np.tile(own.z, (50, 2)), atol=1e-2)


def test_a_quadratic_is_forecast_to_a_thousandth_from_few_rows_more_than_it_has_coefficients() -> None:
    d, rng = 4, np.random.default_rng(0)
    a = rng.standard_normal((d, d))

    def quadratic(u: Floats) -> Floats:
        return np.einsum("ij,jk,ik->i", u, a @ a.T, u) + u @ np.arange(1.0, d + 1) + 3

    u, x = rng.standard_normal((20, d)), rng.standard_normal((200, d))  # 15 coefficients
    truth, hyper = quadratic(x), HyperParameters(4.0, 1e-8, 1000.0)
    error = np.abs(Process(u, quadratic(u), hyper).expect(x) - truth).max() / np.ptp(truth)
    without = np.abs(Process(u, quadratic(u), HyperParameters(4.0, 1e-8, 0.0)).expect(x) - truth).max() / np.ptp(truth)
    assert error < 1e-3 < 0.05 < without


def test_equal_losses_are_forecast_everywhere() -> None:
    u, _ = rows()
    own = Process(u, np.zeros(20), HYPERS[1])
    np.testing.assert_allclose(own.expect(u + 1), 0, atol=1e-12)
    assert own.signal > 0 and np.isfinite(own.misfit)
    assert np.isfinite(own.sample(u + 1, 3, np.random.default_rng(0))).all()


def test_it_takes_one_row_and_one_dimension() -> None:
    own = Process(np.zeros((1, 1)), np.array([0.7]), HYPERS[1])
    assert own.expect(np.array([[0.0], [3.0]])) == pytest.approx([0.7, 0.7])
    assert own.sample(np.array([[1.0]]), 2, np.random.default_rng(0)).shape == (2, 1)


def test_a_factor_times_itself_is_the_kernel_with_its_noise() -> None:
    u, _ = rows(30)
    root = factor(matern(u, u), 1e-3)
    assert (np.triu(root, 1) == 0).all()
    np.testing.assert_allclose(root @ root.T, matern(u, u) + 1e-3 * np.eye(30), atol=1e-12)


def test_a_singular_matrix_is_factorised_with_as_little_more_noise_as_it_takes() -> None:
    v = np.linspace(1.0, 2.0, 12)
    root = factor(np.outer(v, v), 0.0)
    error = np.abs(root @ root.T - np.outer(v, v)).max()
    assert 0 < error < 1e-8


@pytest.mark.parametrize("wrong", [-np.ones((3, 3)), np.array([[1.0, 5.0], [5.0, 1.0]])], ids=["negative", "no kernel"])
def test_of_a_matrix_that_cannot_be_factorised_the_diagonal_is_taken(wrong: Floats) -> None:
    expected = np.diag(np.sqrt(np.maximum(wrong.diagonal(), 0) + 1e-2))
    root = factor(wrong.copy(), 1e-2)
    np.testing.assert_allclose(root, expected)
    assert root.flags.f_contiguous


def test_rows_that_coincide_and_rows_far_away_do_no_harm() -> None:
    u, z = rows()
    u = np.vstack([u, u[:5], u[5:8] * 1e9])
    z = np.concatenate([z, z[:5] + 0.3, z[5:8]])
    for hyper in HYPERS:
        own = Process(u, z, hyper)
        assert np.isfinite(own.expect(u)).all() and np.isfinite(own.left_out()).all() and np.isfinite(own.misfit)
        assert np.isfinite(own.sample(u, 2, np.random.default_rng(0))).all()
