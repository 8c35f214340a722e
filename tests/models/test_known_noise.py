"""Known noise on the diagonal of the Gaussian processes."""

from typing import Any

import numpy as np
import pytest

from lamcts.models.fit import LENGTH_LOCATION, Loss, fit, prior_mode
from lamcts.models.gp import GaussianProcess, Hyper
from lamcts.models.hamming import Coding, HammingPosterior
from lamcts.models.hamming_fit import HammingLoss, HammingPrior, hyper_of
from lamcts.models.kernel import matern
from lamcts.models.known_noise import KnownNoise, carried, settle
from lamcts.models.output_transforms import Scale, half_rank
from lamcts.spaces import Box
from lamcts.spaces.parameters import Parameters

RNG = np.random.default_rng(3)
X = RNG.random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
Z = Scale.of(Y).down(Y)
SEMS = np.where(np.arange(12) % 3 == 0, np.nan, RNG.random(12) / 2)
HYPER = Hyper(np.array([0.6, 0.9]), 1e-3)


def test_a_process_with_known_noise_is_the_formula_with_a_matrix_inverse() -> None:
    known = KnownNoise.of(SEMS, Y, Z)
    assert known is not None
    process = GaussianProcess(X, Z[:, None], HYPER, known)
    scaled = (X - X.mean(0)) / HYPER.lengths
    at = RNG.random((4, 2))
    cross = matern((at - X.mean(0)) / HYPER.lengths, scaled)
    width = Scale.of(Y).width * 2.0 ** Scale.of(Y).exponent
    noise = np.asarray(process.noise)
    np.testing.assert_allclose((noise - HYPER.noise)[1] / (noise - HYPER.noise)[2], (SEMS[1] / SEMS[2]) ** 2)
    np.testing.assert_allclose(known.variance, np.nan_to_num(SEMS / width) ** 2, atol=1e-15)
    inverse = np.linalg.inv(matern(scaled, scaled) + np.diag(noise))
    mean = (inverse @ Z).sum() / inverse.sum()
    np.testing.assert_allclose(process.expect(at)[:, 0], mean + cross @ inverse @ (Z - mean), rtol=1e-8)
    np.testing.assert_allclose(
        process.moments(at)[1][:, 0] / process.signal[0], 1 - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    )
    np.testing.assert_allclose(process.fitted(), process.expect(X), atol=1e-8)


def test_the_signal_settles_where_known_noise_is_a_share_of_it() -> None:
    x = np.linspace(0, 1, 80)[:, None]
    rng, sd = np.random.default_rng(0), np.where(np.arange(80) % 2, 0.05, 1.5)
    y = np.sin(6 * x[:, 0]) + sd * rng.standard_normal(80)
    z = Scale.of(y).down(y)
    known = KnownNoise.of(sd, y, z)
    assert known is not None
    hyper, _ = fit(x, z[:, None], prior_mode(1, LENGTH_LOCATION), LENGTH_LOCATION, 30, known)
    told, blind = (
        GaussianProcess(x, z[:, None], hyper, known),
        GaussianProcess(x, z[:, None], *fit(x, z[:, None], prior_mode(1, LENGTH_LOCATION), LENGTH_LOCATION, 30)[:1]),
    )
    truth = Scale.of(y).down(np.sin(6 * x[:, 0]))

    def error(process: GaussianProcess) -> float:
        return float(np.abs(process.expect(x)[:, 0] - truth).mean())

    assert error(told) < error(blind) / 2


def test_noise_that_is_not_known_changes_nothing() -> None:
    assert KnownNoise.of(None, Y, Z) is None and KnownNoise.of(np.full(12, np.nan), Y, Z) is None


def test_an_exact_row_is_met_and_one_without_an_error_keeps_the_fitted_noise() -> None:
    known = KnownNoise.of(np.where(np.arange(12) < 6, 0.0, np.nan), Y, Z)
    process = GaussianProcess(X, Z[:, None], Hyper(HYPER.lengths, 0.3), known)
    miss = np.abs(process.expect(X)[:, 0] - Z)
    assert miss[:6].max() < 1e-3 < 1e-2 < miss[6:].max()


@pytest.mark.parametrize("k", range(3))
def test_the_slope_of_the_loss_with_known_noise_is_that_of_its_differences(k: int) -> None:
    known = KnownNoise(RNG.random(12), np.where(np.arange(12) % 4 == 0, 0.0, 1.0))
    loss, theta = Loss(X, Z[:, None], LENGTH_LOCATION, known), np.array([-0.5, 0.2, -2.0])
    step = 1e-5 * np.eye(3)[k]
    slope = (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5
    assert slope == pytest.approx(loss(theta)[1][k], rel=1e-4)


@pytest.mark.parametrize("k", range(3))
def test_the_slope_of_the_hamming_loss_with_known_noise_is_that_of_its_differences(k: int) -> None:
    parameters = Parameters(Box(0, 1, dim=2))
    coding = Coding(parameters)
    loss = HammingLoss(coding(parameters.codes(X)), Z, coding.owner, HammingPrior())
    loss.known, theta = (
        KnownNoise(RNG.random(12), np.where(np.arange(12) % 4 == 0, 0.0, 1.0)),
        np.array([-0.5, 0.2, -2.0]),
    )
    step = 1e-5 * np.eye(3)[k]
    slope = (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5
    assert slope == pytest.approx(loss(theta)[1][k], rel=1e-4)


def test_the_hamming_process_with_known_noise_is_that_of_reals() -> None:
    parameters = Parameters(Box(0, 1, dim=2))
    coding, known = Coding(parameters), KnownNoise.of(SEMS, Y, Z)
    theta = np.log([*HYPER.lengths, HYPER.noise])
    own = HammingPosterior(coding(parameters.codes(X)), Z, hyper_of(theta, 0), coding.owner, known)
    process, at = GaussianProcess(X, Z[:, None], HYPER, known), RNG.random((5, 2))
    mean, variance = own.moments(coding(parameters.codes(at)))
    np.testing.assert_allclose(mean, process.expect(at)[:, 0])
    np.testing.assert_allclose(variance, process.moments(at)[1][:, 0])


@pytest.mark.parametrize("units", [lambda y: Scale.of(y).down(y), half_rank, np.cbrt])
def test_errors_carry_over_to_the_units_of_the_model(units: Any) -> None:
    y = np.sort(RNG.standard_normal(200))
    sd = carried(y, units(y), np.full(200, 1e-3))
    slope = np.gradient(units(y), y)
    assert np.median(sd / (1e-3 * slope)) == pytest.approx(1.0, rel=0.3)
    assert (carried(y, units(y), np.zeros(200)) == 0).all()


def test_huge_and_equal_losses_carry_over_without_a_warning() -> None:
    y = np.array([-1e308, 1e308, 0.0])
    assert np.isfinite(carried(y, np.array([-1.0, 1.0, 0.0]), np.array([1e308, 1e300, 0.0]))).all()
    assert carried(np.ones(3), np.zeros(3), np.array([0.0, 0.1, 2.0])).tolist() == [0.0, 1.0, 1.0]
    assert 0 < settle(lambda signal: 1 / (1 + 1 / signal)) < 1
