import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper
from lamcts.models.posterior import Posterior
from lamcts.models.posterior_paths import PosteriorPaths

RNG = np.random.default_rng(0)
X = RNG.random((25, 2))
Z = np.sin(6 * X).sum(1)
AT = RNG.random((40, 2))


def test_draws_have_the_mean_and_covariance_of_the_posterior() -> None:
    process = Posterior.of(Inputs.of(X), Z[:, None], Hyper(np.array([0.25, 0.4]), 1e-3))
    parts = [
        PosteriorPaths(process, 20, np.random.default_rng(seed))(AT) for seed in range(200)
    ]  # fresh waves for each 20
    draws = np.concatenate(parts, axis=1)  # [m, 4000]
    mean, share = process.joint(Inputs.of(AT))
    mean, covariance = mean[:, 0], process.signal[0] * share
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(1) - mean) / deviation).max() < 0.15
    assert np.abs(np.cov(draws) - covariance).max() < 0.1 * covariance.max()
    assert np.abs(draws.std(1) / deviation - 1).max() < 0.15


def test_draws_pass_through_losses_without_noise() -> None:
    process = Posterior.of(Inputs.of(X), Z[:, None], Hyper(np.array([0.25, 0.4]), 1e-6))
    assert np.abs(PosteriorPaths(process, 8, np.random.default_rng(0))(X) - Z[:, None]).max() < 0.02
