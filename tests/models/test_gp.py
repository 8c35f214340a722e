"""The closed form against finite differences, scikit-learn and gpytorch."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from lamcts.models.fit import LENGTH_LOCATION, Loss, fit, prior_mode
from lamcts.models.gp import GaussianProcess, Hyper
from lamcts.models.kernel import correlate, fall, matern, squares
from lamcts.outcomes.observations import Floats

HYPER = Hyper(np.array([0.3, 0.5, 1.0, 2.0]), 1e-3)
THETA = np.append(np.log(HYPER.lengths), np.log(HYPER.noise))


def rows(n: int = 60, d: int = 4, seed: int = 0) -> tuple[Floats, Floats]:
    x = np.random.default_rng(seed).random((n, d))
    z = np.sin(6 * x).sum(1)
    return x, ((z - z.mean()) / z.std())[:, None]


def test_the_gradient_of_the_loss_is_its_slope() -> None:
    x, z = rows()
    loss = Loss(x, z, LENGTH_LOCATION)
    slope = approx_fprime(THETA, lambda theta: loss(theta)[0], 1e-6)
    assert np.allclose(loss(THETA)[1], slope, rtol=1e-4, atol=1e-4)


def test_the_loss_and_its_gradient_are_those_of_gpytorch() -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    from lamcts.models.torch_gp import TorchLoss

    x, z = rows()
    ours, theirs = Loss(x, z, LENGTH_LOCATION)(THETA), TorchLoss(x, z, LENGTH_LOCATION)(THETA)
    assert abs(ours[0] - theirs[0]) < 1e-8
    assert np.abs(ours[1] - theirs[1]).max() < 1e-6


def test_moments_are_those_of_gpytorch() -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    from lamcts.models.torch_gp import TorchProcess

    x, z = rows()
    at = np.random.default_rng(1).random((50, 4))
    ours, theirs = GaussianProcess(x, z, HYPER), TorchProcess(x, z, HYPER)
    for a, b in zip(ours.moments(at), theirs.moments(at), strict=True):
        assert np.abs(a - b).max() < 1e-6
    more = np.vstack([z, [[0.5]]])
    grown = theirs.extended(at[:1], more)
    assert isinstance(grown, TorchProcess)
    assert np.abs(grown.expect(at) - ours.extended(at[:1], more).expect(at)).max() < 1e-6


def test_moments_are_those_of_scikit_learn() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    x, z = rows()
    at = np.random.default_rng(1).random((50, 4))
    ours = GaussianProcess(x, z, HYPER)
    signal, level = float(ours.signal[0]), float(ours.mean[0])
    kernel = ConstantKernel(signal) * Matern(HYPER.lengths, nu=2.5) + WhiteKernel(signal * HYPER.noise)
    oracle = GaussianProcessRegressor(kernel, optimizer=None).fit(x, z[:, 0] - level)
    mean, deviation = oracle.predict(at, return_std=True)
    assert np.abs(ours.expect(at)[:, 0] - level - mean).max() < 1e-6
    assert np.abs(ours.moments(at)[1][:, 0] + signal * HYPER.noise - deviation**2).max() < 1e-6


def test_the_profiled_mean_and_signal_are_the_most_likely() -> None:
    x, z = rows(20)
    best = GaussianProcess(x, z, HYPER)

    def loss(signal: float, mean: float) -> float:
        from lamcts.models.gp import SIGNAL_RATE, SIGNAL_SHAPE

        white = best.whiten(z - mean)[:, 0]
        square = float(white @ white) / 2 + SIGNAL_RATE
        return (len(z) / 2 + SIGNAL_SHAPE + 1) * np.log(signal) + square / signal

    least = loss(float(best.signal[0]), float(best.mean[0]))
    for signal, mean in ((1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01)):
        assert loss(float(best.signal[0]) * signal, float(best.mean[0]) + mean) > least


def test_a_grown_posterior_is_the_one_made_anew() -> None:
    x, z = rows()
    at = np.random.default_rng(1).random((50, 4))
    grown = GaussianProcess(x[:50], z[:50], HYPER).extended(x[50:], z)
    for a, b in zip(grown.moments(at), GaussianProcess(x, z, HYPER).moments(at), strict=True):
        assert np.abs(a - b).max() < 1e-9


def test_a_fantasy_keeps_the_mean_and_lowers_the_variance_there() -> None:
    x, z = rows()
    at = np.random.default_rng(1).random((5, 4))
    plain = GaussianProcess(x, z, HYPER)
    fantasy = plain.fantasize(at)
    assert np.abs(fantasy.expect(x) - plain.expect(x)).max() < 1e-9
    assert (fantasy.moments(at)[1] < 0.1 * plain.moments(at)[1]).all()


def test_fitted_values_are_the_posterior_mean_at_the_rows() -> None:
    x, z = rows()
    model = GaussianProcess(x, z, Hyper(HYPER.lengths, 0.3))
    assert np.abs(model.fitted() - model.expect(x)).max() < 1e-10


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_duplicate_rows_and_equal_losses_are_no_error(noise: float) -> None:
    x = np.repeat(np.random.default_rng(0).random((5, 3)), 8, axis=0)
    model = GaussianProcess(x, np.zeros((40, 1)), Hyper(np.full(3, 50.0), noise))
    mean, variance = model.moments(x)
    assert np.abs(mean).max() < 1e-6
    assert np.isfinite(variance).all()
    hyper, loss = fit(x, np.zeros((40, 1)), prior_mode(3, LENGTH_LOCATION), LENGTH_LOCATION, 20)
    assert np.isfinite(loss)
    assert np.isfinite(hyper.lengths).all()


def test_one_row_is_enough() -> None:
    x = np.array([[0.2, 0.7]])
    hyper, _ = fit(x, np.zeros((1, 1)), prior_mode(2, LENGTH_LOCATION), LENGTH_LOCATION, 20)
    mean, variance = GaussianProcess(x, np.zeros((1, 1)), hyper).moments(np.array([[0.2, 0.7], [0.9, 0.1]]))
    assert mean[0, 0] == mean[1, 0] == 0.0
    assert variance[0, 0] < variance[1, 0]


def test_a_fit_finds_which_coordinates_matter() -> None:
    x = np.random.default_rng(0).random((80, 5))
    z = np.sin(8 * x[:, 1])
    hyper, _ = fit(x, ((z - z.mean()) / z.std())[:, None], prior_mode(5, LENGTH_LOCATION), LENGTH_LOCATION, 100)
    assert hyper.lengths.argmin() == 1
    assert hyper.lengths[1] < 0.2 * np.delete(hyper.lengths, 1).min()


def test_a_fit_improves_on_its_start_and_says_by_how_much() -> None:
    x, z = rows()
    start = prior_mode(4, LENGTH_LOCATION)
    hyper, value = fit(x, z, start, LENGTH_LOCATION, 50)
    loss = Loss(x, z, LENGTH_LOCATION)
    assert value < loss(np.append(np.log(start.lengths), np.log(start.noise)))[0]
    assert abs(loss(np.append(np.log(hyper.lengths), np.log(hyper.noise)))[0] - value) < 1e-8


def test_the_mode_of_the_prior_grows_with_the_root_of_the_dimension_and_has_no_slope() -> None:
    assert np.isclose(prior_mode(100, LENGTH_LOCATION).lengths[0], 10 * prior_mode(1, LENGTH_LOCATION).lengths[0])
    mode = prior_mode(3, LENGTH_LOCATION)
    loss = Loss(np.full((1, 3), 0.5), np.zeros((1, 1)), LENGTH_LOCATION)
    slope = loss(np.append(np.log(mode.lengths), np.log(mode.noise)))[1]
    assert np.abs(slope[:-1]).max() < 1e-12  # one row says nothing about lengths


def test_correlations_in_single_precision_stay_single_and_agree() -> None:
    a, b = np.random.default_rng(0).random((2, 30, 4))
    single = matern(a.astype(np.float32), b.astype(np.float32))
    assert single.dtype == np.float32
    assert np.abs(single - matern(a, b)).max() < 1e-5
    assert np.abs(np.diag(matern(a, a)) - 1.0).max() < 1e-6


def test_the_fall_of_a_correlation_is_its_slope_for_each_unit_of_distance() -> None:
    a, b = np.random.default_rng(0).random((2, 1, 4))
    step = 1e-6 * np.eye(4)
    slope = [(matern(a + own, b) - matern(a - own, b))[0, 0] / 2e-6 for own in step[:, None]]
    assert np.allclose(slope, -fall(np.sqrt(squares(a, b)))[0, 0] * (a - b)[0])


def test_the_buffers_of_a_fit_are_filled_with_the_same_correlations() -> None:
    x = np.random.default_rng(0).random((30, 4))
    kernel, slope, work = np.empty((3, 30, 30))
    correlate(x, kernel, slope, work)
    assert np.allclose(kernel, matern(x, x), atol=1e-12)
    assert np.allclose(slope, fall(np.sqrt(squares(x, x))), atol=1e-6)


def test_several_columns_have_the_posterior_that_each_would_have_alone() -> None:
    x, z = rows()
    both, at = GaussianProcess(x, np.hstack([z, 2 * z - x[:, :1]]), HYPER), x[:5] + 0.01
    for j in range(2):
        alone = GaussianProcess(x, both.z[:, [j]], HYPER)
        for a, b in zip(both.moments(at), alone.moments(at), strict=True):
            assert np.allclose(a[:, [j]], b, atol=1e-10)
