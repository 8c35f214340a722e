"""The loss of the hyper-parameters by finite differences and dense formulas, and what a fit finds back."""

import math

import numpy as np
import pytest
from hamming_cases import SPACES, made, matrix, slope_of

from lamcts.models.fit import NO_FACTOR
from lamcts.models.gp import SIGNAL_SHAPE, profiled_signal
from lamcts.models.hamming import Coding, HammingHyper
from lamcts.models.hamming_fit import MAX_DEVIATIONS, HammingLoss, HammingPrior, fit, hyper_of
from lamcts.spaces import Choice, Float, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

KINDS = pytest.mark.parametrize("name", list(SPACES))
CATEGORIES, OPTIONS = 6, 3
PRIOR = HammingPrior()


def thetas(loss: HammingLoss, count: int) -> Floats:
    rng = np.random.default_rng(3)
    return loss.centre + loss.spreads * rng.standard_normal((count, len(loss.centre)))


@KINDS
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    _, coding, z = made(name, 14)
    loss = HammingLoss(coding(z), np.random.default_rng(4).standard_normal(14), coding.owner, PRIOR)
    for theta in thetas(loss, 4):
        value, gradient = loss(theta)
        assert math.isfinite(value)
        assert np.abs(slope_of(lambda at: loss(at)[0], theta) - gradient).max() < 1e-5


@KINDS
def test_the_loss_is_the_log_posterior_of_the_dense_formula(name: str) -> None:
    parameters, coding, z = made(name, 14)
    y = np.random.default_rng(4).standard_normal(14)
    loss = HammingLoss(coding(z), y, coding.owner, PRIOR)

    def expected(theta: Floats) -> float:
        hyper = hyper_of(theta, coding.categories)
        system = matrix(parameters, hyper, z, z) + hyper.noise * np.eye(14)
        solved = np.linalg.solve(system, np.column_stack([y, np.ones(14)]))
        away = y - solved[:, 0].sum() / solved[:, 1].sum()
        signal = profiled_signal(float(away @ np.linalg.solve(system, away)), 14)
        priors = (((theta - loss.centre) / loss.spreads) ** 2).sum() / 2
        determinant = float(np.linalg.slogdet(system)[1]) / 2
        return (14 / 2 + SIGNAL_SHAPE + 1) * math.log(signal) + determinant + float(priors)

    for theta in thetas(loss, 3):
        assert loss(theta)[0] == pytest.approx(expected(theta), rel=1e-9)


def drawn(seed: int, n: int, weights: Floats) -> tuple[Coding, Floats, Floats]:
    """Return a coding, codes, and losses drawn from the process of some weights."""
    parameters = Parameters(Space([Choice(range(OPTIONS)) for _ in weights]))
    rng = np.random.default_rng(seed)
    z = np.unique(parameters.draw(2 * n, rng), axis=0)
    z = z[rng.permutation(len(z))[:n]]
    kernel = matrix(parameters, HammingHyper(weights, np.empty(0), 0.0), z, z)
    y = np.linalg.cholesky(kernel + 1e-8 * np.eye(n)) @ rng.standard_normal(n)
    return Coding(parameters), z, (y - y.mean()) / y.std()


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_parameters_without_effect_become_small(seed: int) -> None:
    weights = np.array([0.5, 0.5, 0.5, 1e-9, 1e-9, 1e-9])
    coding, z, y = drawn(seed, 120, weights)
    found = hyper_of(fit(coding(z), y, coding.owner, PRIOR, None, 50), CATEGORIES)
    assert found.weights[3:].max() < 0.25 * found.weights[:3].min()
    assert found.noise < 1e-2


def test_a_sum_over_parameters_is_found_where_all_weights_may_be_small_together() -> None:
    parameters = Parameters(Space([Choice(range(OPTIONS)) for _ in range(CATEGORIES)]))
    coding, z = Coding(parameters), parameters.draw(60, np.random.default_rng(0))
    y = z.sum(1)
    y = (y - y.mean()) / y.std()
    alone, together = (
        hyper_of(fit(coding(z), y, coding.owner, PRIOR, None, 50, shared), CATEGORIES).weights for shared in (0.0, 1.5)
    )
    assert together.max() < alone.min() / 3


@KINDS
def test_the_gradient_knows_of_the_shared_factor(name: str) -> None:
    _, coding, z = made(name, 12)
    inputs, y = coding(z), np.random.default_rng(4).standard_normal(12)
    loss, bare = HammingLoss(inputs, y, coding.owner, PRIOR, 1.5), HammingLoss(inputs, y, coding.owner, PRIOR)
    c, s, t = coding.categories, PRIOR.weight_spread, 1.5
    for theta in thetas(loss, 3):
        away = (theta - loss.centre)[:c]
        cov = s * s * np.eye(c) + t * t
        expected = bare(theta)[0] + float(away @ (np.linalg.solve(cov, away) - away / s**2)) / 2
        value, gradient = loss(theta)
        assert value == pytest.approx(expected, rel=1e-9)
        for i in range(len(theta)):
            step = 1e-6 * (np.arange(len(theta)) == i)
            assert gradient[i] == pytest.approx(
                (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-6, rel=1e-4, abs=1e-4
            )


def test_noise_is_found_back_where_points_come_twice() -> None:
    coding, z, y = drawn(0, 75, np.full(CATEGORIES, 0.3))
    twice, rng = np.repeat(z, 2, axis=0), np.random.default_rng(1)
    found = []
    for noise in (0.0, 0.3):
        noisy = np.repeat(y, 2) + math.sqrt(noise) * rng.standard_normal(150)
        found.append(hyper_of(fit(coding(twice), noisy, coding.owner, PRIOR, None, 50), CATEGORIES).noise)
    assert found[0] < 1e-3
    assert 0.15 < found[1] < 0.6


def test_the_length_of_a_number_without_effect_becomes_long() -> None:
    parameters = Parameters(Space([Float(0, 1), Float(0, 1), Choice(list("abc"))]))
    coding, z = Coding(parameters), parameters.draw(60, np.random.default_rng(0))
    y = np.sin(8.0 * z[:, 0])
    found = hyper_of(fit(coding(z), (y - y.mean()) / y.std(), coding.owner, PRIOR, None, 50), 1)
    assert found.lengths[0] < 0.5 * found.lengths[1]


@KINDS
def test_a_fit_is_no_worse_than_its_start_and_stays_within_bounds(name: str) -> None:
    _, coding, z = made(name, 20)
    inputs, y = coding(z), np.random.default_rng(5).standard_normal(20)
    loss = HammingLoss(inputs, y, coding.owner, PRIOR)
    first = fit(inputs, y, coding.owner, PRIOR, None, 15)
    again = fit(inputs, y, coding.owner, PRIOR, first, 15)
    assert loss(again)[0] <= loss(first)[0] + 1e-9 <= loss(loss.centre)[0] + 1e-9
    far = fit(inputs, y, coding.owner, PRIOR, np.full(len(loss.centre), 1e9), 15)
    assert (np.abs(far - loss.centre) <= MAX_DEVIATIONS * loss.spreads + 1e-12).all()


@KINDS
def test_constant_losses_are_no_error(name: str) -> None:
    _, coding, z = made(name, 9)
    theta = fit(coding(z), np.zeros(9), coding.owner, PRIOR, None, 15)
    assert np.isfinite(theta).all()


def test_a_matrix_without_a_factor_is_a_loss_to_step_back_from() -> None:
    _, coding, z = made("categories", 6)
    loss = HammingLoss(coding(np.repeat(z, 2, axis=0)), np.arange(12.0), coding.owner, PRIOR)
    theta = loss.centre.copy()
    theta[-1] = -math.inf  # no noise at all, and every row twice
    with np.errstate(invalid="ignore"):
        value, gradient = loss(theta)
    assert value == NO_FACTOR
    assert not gradient.any()


def test_two_random_points_are_about_equally_like_each_other_in_all_spaces() -> None:
    means = []
    for p in (4, 16, 64):
        coding = Coding(parameters := Parameters(Space([Choice(list("abcd")) for _ in range(p)])))
        hyper = hyper_of(PRIOR.centre(p, 0), p)
        z, t = parameters.draw(200, np.random.default_rng(0)), parameters.draw(200, np.random.default_rng(1))
        means.append(np.exp(-(hyper.weights * (z != t)).sum(1)).mean())
        assert coding.categories == p
    assert max(means) < 1.2 * min(means)
