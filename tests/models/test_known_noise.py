"""Known noise on the diagonal of the Gaussian processes."""

from typing import Any

import numpy as np
import pytest

from lamcts.models.coding import Inputs
from lamcts.models.fit import Loss, fit
from lamcts.models.kernel import Hyper, matern
from lamcts.models.known_noise import KnownNoise, carried
from lamcts.models.output_transforms import Scale, half_rank
from lamcts.models.posterior import Posterior
from lamcts.models.priors import REAL_PRIOR, KernelPrior

RNG = np.random.default_rng(3)
X = RNG.random((12, 2))
ROWS = Inputs.of(X)
Y = np.sin(5 * X[:, 0]) + X[:, 1]
Z = Scale.of(Y).down(Y)
SEMS = np.where(np.arange(12) % 3 == 0, np.nan, RNG.random(12) / 2)
HYPER = Hyper(np.array([0.6, 0.9]), 1e-3)


def test_a_process_with_known_noise_is_the_formula_with_a_matrix_inverse() -> None:
    known = KnownNoise.of(SEMS, Y, Z)
    assert known is not None
    process = Posterior.of(ROWS, Z[:, None], HYPER, known)
    scaled = (X - X.mean(0)) / HYPER.lengths
    at = RNG.random((4, 2))
    cross = matern((at - X.mean(0)) / HYPER.lengths, scaled)
    width = Scale.of(Y).width * 2.0 ** Scale.of(Y).exponent
    noise = np.asarray(process.noise)
    np.testing.assert_allclose((noise - HYPER.noise)[1] / (noise - HYPER.noise)[2], (SEMS[1] / SEMS[2]) ** 2)
    np.testing.assert_allclose(known.variance, np.nan_to_num(SEMS / width) ** 2, atol=1e-15)
    inverse = np.linalg.inv(matern(scaled, scaled) + np.diag(noise))
    mean = (inverse @ Z).sum() / inverse.sum()
    np.testing.assert_allclose(process.expect(Inputs.of(at))[:, 0], mean + cross @ inverse @ (Z - mean), rtol=1e-8)
    np.testing.assert_allclose(
        process.moments(Inputs.of(at))[1][:, 0] / process.signal[0], 1 - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    )
    np.testing.assert_allclose(process.fitted(), process.expect(ROWS), atol=1e-8)


def test_the_signal_settles_where_known_noise_is_a_share_of_it() -> None:
    x = np.linspace(0, 1, 80)[:, None]
    rng, sd = np.random.default_rng(0), np.where(np.arange(80) % 2, 0.05, 1.5)
    y = np.sin(6 * x[:, 0]) + sd * rng.standard_normal(80)
    z = Scale.of(y).down(y)
    known = KnownNoise.of(sd, y, z)
    assert known is not None
    rows, prior = Inputs.of(x), REAL_PRIOR.of(0, 1)
    models = [
        Posterior.of(rows, z[:, None], fit(rows, z[:, None], prior, (), 30, own)[0], own) for own in (known, None)
    ]
    truth = Scale.of(y).down(np.sin(6 * x[:, 0]))
    told, blind = (float(np.abs(model.expect(rows)[:, 0] - truth).mean()) for model in models)
    assert told < blind / 2


def test_noise_that_is_not_known_changes_nothing() -> None:
    assert KnownNoise.of(None, Y, Z) is None and KnownNoise.of(np.full(12, np.nan), Y, Z) is None


def test_an_exact_row_is_met_and_one_without_an_error_keeps_the_fitted_noise() -> None:
    known = KnownNoise.of(np.where(np.arange(12) < 6, 0.0, np.nan), Y, Z)
    process = Posterior.of(ROWS, Z[:, None], Hyper(HYPER.lengths, 0.3), known)
    miss = np.abs(process.expect(ROWS)[:, 0] - Z)
    assert miss[:6].max() < 1e-3 < 1e-2 < miss[6:].max()


@pytest.mark.parametrize("prior", [REAL_PRIOR.of(0, 2), KernelPrior().of(0, 2)], ids=["local", "mixed"])
@pytest.mark.parametrize("k", range(3))
def test_the_slope_of_the_loss_with_known_noise_is_that_of_its_differences(k: int, prior: Any) -> None:
    known = KnownNoise(RNG.random(12), np.where(np.arange(12) % 4 == 0, 0.0, 1.0))
    loss, theta = Loss(ROWS, Z[:, None], prior, known), np.array([-0.5, 0.2, -2.0])
    step = 1e-5 * np.eye(3)[k]
    slope = (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5
    assert slope == pytest.approx(loss(theta)[1][k], rel=1e-4)


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
