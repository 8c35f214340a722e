"""The loss of the hyper-parameters by finite differences and dense formulas, and what a fit finds back."""

import math

import numpy as np
import pytest
from kernel_cases import SPACES, made, matrix, slope_of

from lamcts.models.coding import Coding, Inputs
from lamcts.models.fit import NO_FACTOR, Loss, fit
from lamcts.models.kernel import Hyper
from lamcts.models.posterior import SIGNAL_SHAPE, Posterior, profiled_signal
from lamcts.models.priors import REAL_PRIOR, KernelPrior, Prior
from lamcts.spaces import Choice, Float, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

KINDS = pytest.mark.parametrize("name", list(SPACES))
CATEGORIES, OPTIONS = 6, 3
PRIOR = KernelPrior()


def prior_of(coding: Coding, shared: float = 0.0) -> Prior:
    return PRIOR.of(coding.n_categories, coding.n_numbers, shared)


def thetas(prior: Prior, count: int) -> Floats:
    rng = np.random.default_rng(3)
    return prior.centre + prior.spread * rng.standard_normal((count, len(prior.centre)))


@KINDS
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    _, coding, z = made(name, 14)
    prior = prior_of(coding)
    loss = Loss(coding(z), np.random.default_rng(4).standard_normal((14, 2)), prior)
    for theta in thetas(prior, 4):
        value, gradient = loss(theta)
        assert math.isfinite(value)
        assert np.abs(slope_of(lambda at: loss(at)[0], theta) - gradient).max() < 1e-5


@KINDS
def test_the_loss_is_the_log_posterior_of_the_dense_formula(name: str) -> None:
    parameters, coding, z = made(name, 14)
    y = np.random.default_rng(4).standard_normal(14)
    prior = prior_of(coding)
    loss = Loss(coding(z), y[:, None], prior)

    def expected(theta: Floats) -> float:
        hyper = prior.hyper(theta)
        system = matrix(parameters, hyper, z, z) + hyper.noise * np.eye(14)
        solved = np.linalg.solve(system, np.column_stack([y, np.ones(14)]))
        away = y - solved[:, 0].sum() / solved[:, 1].sum()
        signal = profiled_signal(float(away @ np.linalg.solve(system, away)), 14)
        priors = (((theta - prior.centre) / prior.spread) ** 2).sum() / 2
        determinant = float(np.linalg.slogdet(system)[1]) / 2
        return (14 / 2 + SIGNAL_SHAPE + 1) * math.log(signal) + determinant + float(priors)

    for theta in thetas(prior, 3):
        assert loss(theta)[0] == pytest.approx(expected(theta), rel=1e-9)


def drawn(seed: int, n: int, weights: Floats) -> tuple[Coding, Floats, Floats]:
    """Return a coding, codes, and losses drawn from the process of some weights."""
    parameters = Parameters(Space([Choice(range(OPTIONS)) for _ in weights]))
    rng = np.random.default_rng(seed)
    z = np.unique(parameters.draw(2 * n, rng), axis=0)
    z = z[rng.permutation(len(z))[:n]]
    kernel = matrix(parameters, Hyper(np.empty(0), 0.0, weights), z, z)
    y = np.linalg.cholesky(kernel + 1e-8 * np.eye(n)) @ rng.standard_normal(n)
    return Coding(parameters), z, ((y - y.mean()) / y.std())[:, None]


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_parameters_without_effect_become_small(seed: int) -> None:
    weights = np.array([0.5, 0.5, 0.5, 1e-9, 1e-9, 1e-9])
    coding, z, y = drawn(seed, 120, weights)
    found, _ = fit(coding(z), y, prior_of(coding), iterations=50)
    assert found.weights[3:].max() < 0.25 * found.weights[:3].min()
    assert found.noise < 1e-2


def test_a_sum_over_parameters_is_found_where_all_weights_may_be_small_together() -> None:
    parameters = Parameters(Space([Choice(range(OPTIONS)) for _ in range(CATEGORIES)]))
    coding, z = Coding(parameters), parameters.draw(60, np.random.default_rng(0))
    y = z.sum(1)
    y = ((y - y.mean()) / y.std())[:, None]
    alone, together = (fit(coding(z), y, prior_of(coding, shared), iterations=50)[0].weights for shared in (0.0, 1.5))
    assert together.max() < alone.min() / 3


@KINDS
def test_the_gradient_knows_of_the_shared_factor(name: str) -> None:
    _, coding, z = made(name, 12)
    inputs, y = coding(z), np.random.default_rng(4).standard_normal((12, 1))
    prior = prior_of(coding, 1.5)
    loss, bare = Loss(inputs, y, prior), Loss(inputs, y, prior_of(coding))
    c, s, t = coding.n_categories, PRIOR.weight_spread, 1.5
    for theta in thetas(prior, 3):
        away = (theta - prior.centre)[:c]
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
        noisy = np.repeat(y, 2, axis=0) + math.sqrt(noise) * rng.standard_normal((150, 1))
        found.append(fit(coding(twice), noisy, prior_of(coding), iterations=50)[0].noise)
    assert found[0] < 1e-3
    assert 0.15 < found[1] < 0.6


def test_the_length_of_a_number_without_effect_becomes_long() -> None:
    parameters = Parameters(Space([Float(0, 1), Float(0, 1), Choice(list("abc"))]))
    coding, z = Coding(parameters), parameters.draw(60, np.random.default_rng(0))
    y = np.sin(8.0 * z[:, 0])
    found, _ = fit(coding(z), ((y - y.mean()) / y.std())[:, None], prior_of(coding), iterations=50)
    assert found.lengths[0] < 0.5 * found.lengths[1]


@KINDS
def test_a_fit_is_no_worse_than_its_start_and_stays_within_bounds(name: str) -> None:
    _, coding, z = made(name, 20)
    inputs, y, prior = coding(z), np.random.default_rng(5).standard_normal((20, 1)), prior_of(coding)
    loss = Loss(inputs, y, prior)
    first, value = fit(inputs, y, prior)
    again, better = fit(inputs, y, prior, [first])
    assert better <= value + 1e-9 <= loss(prior.centre)[0] + 1e-9
    assert loss(prior.theta(again))[0] == pytest.approx(better)
    far = Hyper(np.full(coding.n_numbers, 1e9), 1e9, np.full(coding.n_categories, 1e9))
    ended = prior.theta(fit(inputs, y, prior, [far])[0])
    assert (prior.low <= ended).all() and (ended <= prior.high).all()


@KINDS
def test_constant_losses_are_no_error(name: str) -> None:
    _, coding, z = made(name, 9)
    hyper, loss = fit(coding(z), np.zeros((9, 1)), prior_of(coding))
    assert np.isfinite([*hyper.weights, *hyper.lengths, hyper.noise, loss]).all()


def test_a_matrix_without_a_factor_is_a_loss_to_step_back_from() -> None:
    _, coding, z = made("categories", 6)
    prior = prior_of(coding)
    loss = Loss(coding(np.repeat(z, 2, axis=0)), np.arange(12.0)[:, None], prior)
    theta = prior.centre.copy()
    theta[-1] = -math.inf  # no noise at all, and every row twice
    with np.errstate(invalid="ignore"):
        value, gradient = loss(theta)
    assert value == NO_FACTOR
    assert not gradient.any()


def test_two_random_points_are_about_equally_like_each_other_in_all_spaces() -> None:
    means = []
    for p in (4, 16, 64):
        coding = Coding(parameters := Parameters(Space([Choice(list("abcd")) for _ in range(p)])))
        hyper = PRIOR.of(p, 0).mode
        z, t = parameters.draw(200, np.random.default_rng(0)), parameters.draw(200, np.random.default_rng(1))
        means.append(np.exp(-(hyper.weights * (z != t)).sum(1)).mean())
        assert coding.n_categories == p
    assert max(means) < 1.2 * min(means)


# Of numbers alone, under the prior of local models --------------------------------------------------------------------


def rows(n: int = 60, d: int = 4) -> tuple[Inputs, Floats]:
    x = np.random.default_rng(0).random((n, d))
    z = np.sin(6 * x).sum(1)
    return Inputs.of(x), ((z - z.mean()) / z.std())[:, None]


def test_the_loss_and_its_gradient_are_those_of_gpytorch() -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    from lamcts.models.gpytorch_loss import GpytorchLoss

    inputs, z = rows()
    z = np.hstack([z, inputs.numbers[:, :1]])
    prior = REAL_PRIOR.of(0, 4)
    theta = prior.theta(Hyper(np.array([0.3, 0.5, 1.0, 2.0]), 1e-3))
    ours, theirs = Loss(inputs, z, prior)(theta), GpytorchLoss(inputs, z, prior, "cpu")(theta)
    assert abs(ours[0] - theirs[0]) < 1e-8
    assert np.abs(ours[1] - theirs[1]).max() < 1e-6


def test_a_fit_on_a_device_ends_where_ours_does() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    inputs, z = rows()
    prior = REAL_PRIOR.of(0, 4)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    (ours, loss), (theirs, other) = fit(inputs, z, prior), fit(inputs, z, prior, device=device)
    assert abs(loss - other) < 1e-5
    assert abs(Loss(inputs, z, prior)(prior.theta(theirs))[0] - loss) < 1e-5
    np.testing.assert_allclose(theirs.lengths, ours.lengths, rtol=1e-3)


def test_without_a_factor_the_loss_on_a_device_is_to_step_back_from() -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    from lamcts.models.gpytorch_loss import GpytorchLoss

    prior = REAL_PRIOR.of(0, 3)
    loss = GpytorchLoss(Inputs.of(np.zeros((12, 3))), np.arange(12.0)[:, None], prior, "cpu")
    value, gradient = loss(np.append(prior.centre[:-1], -100.0))
    assert value == NO_FACTOR
    assert not gradient.any()


def test_one_row_is_enough() -> None:
    inputs = Inputs.of(np.array([[0.2, 0.7]]))
    hyper, _ = fit(inputs, np.zeros((1, 1)), REAL_PRIOR.of(0, 2))
    mean, variance = Posterior.of(inputs, np.zeros((1, 1)), hyper).moments(
        Inputs.of(np.array([[0.2, 0.7], [0.9, 0.1]]))
    )
    assert mean[0, 0] == mean[1, 0] == 0.0
    assert variance[0, 0] < variance[1, 0]


def test_a_fit_finds_which_coordinates_matter() -> None:
    x = np.random.default_rng(0).random((80, 5))
    z = np.sin(8 * x[:, 1])
    hyper, _ = fit(Inputs.of(x), ((z - z.mean()) / z.std())[:, None], REAL_PRIOR.of(0, 5), iterations=100)
    assert hyper.lengths.argmin() == 1
    assert hyper.lengths[1] < 0.2 * np.delete(hyper.lengths, 1).min()


def test_duplicate_rows_and_equal_losses_are_fitted_without_an_error() -> None:
    x = np.repeat(np.random.default_rng(0).random((5, 3)), 8, axis=0)
    hyper, loss = fit(Inputs.of(x), np.zeros((40, 1)), REAL_PRIOR.of(0, 3))
    assert np.isfinite([*hyper.lengths, loss]).all()


def test_the_mode_of_the_prior_grows_with_the_root_of_the_dimension_and_has_no_slope() -> None:
    assert np.isclose(REAL_PRIOR.of(0, 100).mode.lengths[0], 10 * REAL_PRIOR.of(0, 1).mode.lengths[0])
    prior = REAL_PRIOR.of(0, 3)
    slope = Loss(Inputs.of(np.full((1, 3), 0.5)), np.zeros((1, 1)), prior)(prior.theta(prior.mode))[1]
    assert np.abs(slope[:-1]).max() < 1e-12  # one row says nothing about lengths
