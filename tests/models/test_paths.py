import numpy as np

from lamcts.models.gp import Hyper, Posterior
from lamcts.models.paths import Paths

RNG = np.random.default_rng(0)
X = RNG.random((25, 2))
Z = np.sin(6 * X).sum(1)
AT = RNG.random((40, 2))


def test_draws_have_the_mean_and_covariance_of_the_posterior() -> None:
    posterior = Posterior(X, Z, Hyper(np.array([0.25, 0.4]), 1e-3))
    parts = [Paths(posterior, 20, np.random.default_rng(seed))(AT) for seed in range(200)]  # fresh waves for each 20
    draws = np.concatenate(parts, axis=1)  # [m, 4000]
    mean, covariance = posterior.joint(AT)
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(1) - mean) / deviation).max() < 0.15
    assert np.abs(np.cov(draws) - covariance).max() < 0.1 * covariance.max()
    assert np.abs(draws.std(1) / deviation - 1).max() < 0.15


def test_draws_pass_through_losses_without_noise() -> None:
    posterior = Posterior(X, Z, Hyper(np.array([0.25, 0.4]), 1e-6))
    assert np.abs(Paths(posterior, 8, np.random.default_rng(0))(X) - Z[:, None]).max() < 0.02


def test_draws_at_points_of_their_own_are_the_same_draws() -> None:
    posterior = Posterior(X, Z, Hyper(np.array([0.25, 0.4]), 1e-3))
    paths = Paths(posterior, 4, np.random.default_rng(0))
    own = paths.own(AT.reshape(4, 10, 2))  # [k, p]
    everywhere = paths(AT).reshape(4, 10, 4)  # [k, p, draw]
    assert np.abs(own - everywhere[np.arange(4), :, np.arange(4)]).max() < 1e-4


def test_the_slope_of_a_draw_is_its_change() -> None:
    posterior = Posterior(X, Z, Hyper(np.array([0.25, 0.4]), 1e-3))
    paths = Paths(posterior, 8, np.random.default_rng(0))
    at = np.random.default_rng(1).random((8, 2))
    values, gradient = paths.slope(at)
    assert np.abs(values - paths.own(at[:, None])[:, 0]).max() < 1e-4
    for j in range(2):
        step = 1e-2 * np.eye(2)[j]
        change = (paths.own((at + step)[:, None]) - paths.own((at - step)[:, None]))[:, 0] / 2e-2
        assert np.abs(gradient[:, j] - change).max() < 0.05 * np.abs(gradient).max()
