"""The process of categories and numbers, held against its kernel pair by pair and dense formulas."""

import numpy as np
import pytest
from hamming_cases import SPACES, SWITCHED, made, matrix, part, slope_of, some_hyper

from lamcts.models.gp import profiled_signal
from lamcts.models.hamming import Coding, HammingPosterior, Inputs
from lamcts.spaces import Choice, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

KINDS = pytest.mark.parametrize("name", list(SPACES))


def standing(
    name: str, n: int = 12, noise: float = 0.02
) -> tuple[HammingPosterior, Parameters, Coding, Floats, Floats]:
    """Return a posterior over `n` rows, parameters, coding, the codes of the rows, and those of nine others."""
    parameters, coding, z = made(name, n + 9)
    y = np.random.default_rng(2).standard_normal(n)
    posterior = HammingPosterior(coding(z[:n]), y, some_hyper(coding, noise=noise), coding.owner)
    return posterior, parameters, coding, z[:n], z[n:]


def dense(posterior: HammingPosterior, kernel: Floats, cross: Floats) -> tuple[Floats, Floats, float, float]:
    """Return mean and variance [m], and the process's own mean and signal, by plain solving."""
    y, n = posterior.y, len(posterior.y)
    system = kernel + posterior.hyper.noise * np.eye(n)
    level = float(np.linalg.solve(system, y).sum() / np.linalg.solve(system, np.ones(n)).sum())
    signal = profiled_signal(float((y - level) @ np.linalg.solve(system, y - level)), n)
    mean = level + cross.T @ np.linalg.solve(system, y - level)
    variance = signal * (1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(system, cross)))
    return mean, variance, level, signal


@KINDS
def test_the_kernel_is_the_product_over_categories_times_that_of_the_numbers(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    kernel = posterior._correlate(coding(others))
    assert np.abs(kernel - matrix(parameters, posterior.hyper, z, others)).max() < 1e-12


@KINDS
def test_the_posterior_is_that_of_the_dense_formula(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    kernel, cross = (matrix(parameters, posterior.hyper, z, t) for t in (z, others))
    mean, variance, level, signal = dense(posterior, kernel, cross)
    assert (posterior.mean, posterior.signal) == (pytest.approx(level), pytest.approx(signal))
    got_mean, got_variance = posterior.moments(coding(others))
    assert np.abs(got_mean - mean).max() < 1e-9
    assert np.abs(got_variance - np.maximum(variance, 0.0)).max() < 1e-9
    own, _, _, _ = dense(posterior, kernel, kernel)
    assert np.abs(posterior.fitted() - own).max() < 1e-9


@KINDS
def test_what_is_said_of_a_row_that_is_left_out_is_that_of_the_dense_formula(name: str) -> None:
    posterior, parameters, _, z, _ = standing(name)
    system = matrix(parameters, posterior.hyper, z, z) + posterior.hyper.noise * np.eye(len(z))
    got = posterior.left_out()
    for i in range(len(z)):
        rest = np.delete(np.arange(len(z)), i)
        away = np.linalg.solve(system[np.ix_(rest, rest)], posterior.y[rest] - posterior.mean)
        assert got[i] == pytest.approx(posterior.mean + system[i, rest] @ away, abs=1e-9)


@KINDS
def test_fantasies_keep_the_mean_everywhere_and_lower_the_variance(name: str) -> None:
    posterior, _, coding, _, others = standing(name)
    believed, rest = coding(others[:3]), coding(others)
    mean, variance = posterior.moments(rest)
    new = posterior.fantasize(believed)
    new_mean, new_variance = new.moments(rest)
    assert np.abs(new_mean - mean).max() < 1e-9
    assert (new_variance <= variance + 1e-12).all()
    assert (new_variance[:3] <= 0.05 * new.signal).all()
    assert np.abs(new.y[-3:] - mean[:3]).max() < 1e-12
    assert np.abs(new.fitted()[-3:] - mean[:3]).max() < 1e-9


@KINDS
def test_fantasies_are_the_process_of_all_rows_with_mean_and_signal_as_they_were(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    new = posterior.fantasize(coding(others[:2])).fantasize(coding(others[2:3]))
    both = np.vstack([z, others[:3]])
    system = matrix(parameters, posterior.hyper, both, both) + posterior.hyper.noise * np.eye(len(both))
    cross = matrix(parameters, posterior.hyper, both, others)
    variance = posterior.signal * (1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(system, cross)))
    assert np.abs(new.moments(coding(others))[1] - np.maximum(variance, 0.0)).max() < 1e-9


@pytest.mark.parametrize("name", ["numbers", "mixed", "wide", "switched"])
def test_slopes_are_those_of_finite_differences(name: str) -> None:
    posterior, _, coding, _, others = standing(name)
    at = coding(others)
    mean, variance, by_mean, by_variance = posterior.slopes(at)
    plain_mean, plain_variance = posterior.moments(at)
    assert np.abs(mean - plain_mean).max() < 1e-12
    assert np.abs(variance - plain_variance).max() < 1e-9
    for k in range(len(at)):
        for which, slope in ((0, by_mean), (1, by_variance)):

            def moment(numbers: Floats, k: int = k, which: int = which) -> float:
                return float(posterior.moments(Inputs(at.options[[k]], at.orders[[k]], numbers[None]))[which][0])

            assert np.abs(slope_of(moment, at.numbers[k]) - slope[k]).max() < 1e-5


def test_at_a_row_of_the_model_the_mean_has_a_slope_and_the_variance_hardly_any() -> None:
    posterior, _, coding, z, _ = standing("numbers", noise=1e-6)
    _, variance, by_mean, by_variance = posterior.slopes(coding(z))
    assert np.isfinite(by_mean).all()
    assert variance.max() < 1e-4
    assert np.abs(by_variance).max() < 1e-3


def test_two_rows_that_differ_where_they_are_switched_off_are_one_to_the_kernel() -> None:
    parameters, z = Parameters(SWITCHED), np.zeros((4, 5))
    z[:, 1], z[:, 2] = (0, 2, 0, 0), (0.1, 0.9, 0.5, 0.5)
    z[3, 0] = 1.0  # on: at the option and the number that stand for those switched off
    inputs, coding = Coding(parameters)(z), Coding(parameters)
    assert np.array_equal(inputs.options[0], inputs.options[1])
    assert np.array_equal(inputs.numbers[0], inputs.numbers[1])
    kernel = HammingPosterior(inputs, np.zeros(4), some_hyper(coding), coding.owner)._correlate(inputs)
    assert kernel[0, 1] == pytest.approx(1.0, abs=1e-12)
    weights = some_hyper(coding).weights  # the switch, the option, the other option, whether the number is active
    assert kernel[2, 3] == pytest.approx(float(np.exp(-weights[[0, 1, 3]].sum())))


def test_what_is_active_may_be_given() -> None:
    parameters, coding, z = made("mixed", 2)
    off = np.ones(z.shape, bool)
    off[:, 1] = False
    assert (coding(z).options[:, 0] > 0).all()
    assert coding(z, off).options[:, 0].tolist() == [0, 0]
    assert parameters.active(z).all()


@pytest.mark.parametrize("n", [1, 2])
@KINDS
def test_one_row_and_two_are_enough(name: str, n: int) -> None:
    posterior, _, coding, _, others = standing(name, n)
    mean, variance = posterior.moments(coding(others))
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()


def test_a_space_of_constants_has_a_process_too() -> None:
    coding = Coding(Parameters(Space([Choice(["a"]), Choice([1])])))
    inputs = coding(np.zeros((3, 2)))
    posterior = HammingPosterior(inputs, np.array([1.0, 2.0, 3.0]), some_hyper(coding), coding.owner)
    assert (coding.categories, coding.numbers) == (0, 0)
    assert posterior.moments(part(inputs, [0]))[0][0] == pytest.approx(2.0)


def test_equal_rows_with_hardly_any_noise_are_no_error() -> None:
    _, coding, z = made("mixed", 3)
    inputs = coding(np.repeat(z, 5, axis=0))
    posterior = HammingPosterior(inputs, np.arange(15.0), some_hyper(coding, noise=1e-9), coding.owner)
    means = np.array([2.0, 7.0, 12.0])
    assert np.abs(posterior.moments(coding(z))[0] - means).max() < 1e-3
