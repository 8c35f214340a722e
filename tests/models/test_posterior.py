"""The posterior, held against its kernel pair by pair, dense formulas and scikit-learn."""

from collections.abc import Sequence

import numpy as np
import pytest
from kernel_cases import SPACES, SWITCHED, made, matrix, slope_of, some_hyper
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from lamcts.models.coding import Coding, Inputs
from lamcts.models.kernel import Hyper, Kernel, correlate, fall, matern, squares
from lamcts.models.posterior import SIGNAL_RATE, SIGNAL_SHAPE, Posterior, factor, profiled_signal
from lamcts.spaces import Choice, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

KINDS = pytest.mark.parametrize("name", list(SPACES))
HYPER = Hyper(np.array([0.3, 0.5, 1.0, 2.0]), 1e-3)


def standing(name: str, n: int = 12, noise: float = 0.02) -> tuple[Posterior, Parameters, Coding, Floats, Floats]:
    """Return a posterior over `n` rows, parameters, coding, the codes of the rows, and those of nine others."""
    parameters, coding, z = made(name, n + 9)
    y = np.random.default_rng(2).standard_normal((n, 1))
    return Posterior.of(coding(z[:n]), y, some_hyper(coding, noise=noise)), parameters, coding, z[:n], z[n:]


def dense(posterior: Posterior, kernel: Floats, cross: Floats) -> tuple[Floats, Floats, float, float]:
    """Return mean and variance [m], and the process's own mean and signal, by plain solving."""
    y, n = posterior.z[:, 0], len(posterior.z)
    system = kernel + posterior.hyper.noise * np.eye(n)
    level = float(np.linalg.solve(system, y).sum() / np.linalg.solve(system, np.ones(n)).sum())
    signal = profiled_signal(float((y - level) @ np.linalg.solve(system, y - level)), n)
    mean = level + cross.T @ np.linalg.solve(system, y - level)
    variance = signal * (1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(system, cross)))
    return mean, variance, level, signal


@KINDS
def test_the_kernel_is_the_product_over_categories_times_that_of_the_numbers(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    kernel = posterior.kernel(coding(others))
    assert np.abs(kernel.T - matrix(parameters, posterior.hyper, z, others)).max() < 1e-12
    assert np.abs(posterior.kernel.diagonal(coding(others)) - 1.0).max() < 1e-12


@KINDS
def test_the_posterior_is_that_of_the_dense_formula(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    kernel, cross = (matrix(parameters, posterior.hyper, z, t) for t in (z, others))
    mean, variance, level, signal = dense(posterior, kernel, cross)
    assert (posterior.mean[0], posterior.signal[0]) == (pytest.approx(level), pytest.approx(signal))
    got_mean, got_variance = posterior.moments(coding(others))
    assert np.abs(got_mean[:, 0] - mean).max() < 1e-9
    assert np.abs(got_variance[:, 0] - np.maximum(variance, 0.0)).max() < 1e-9
    own, _, _, _ = dense(posterior, kernel, kernel)
    assert np.abs(posterior.fitted()[:, 0] - own).max() < 1e-9
    joint_mean, share = posterior.joint(coding(others))
    assert np.abs(joint_mean[:, 0] - mean).max() < 1e-9
    assert np.abs(signal * share.diagonal() - variance).max() < 1e-9


@KINDS
def test_what_is_said_of_a_row_that_is_left_out_is_that_of_the_dense_formula(name: str) -> None:
    posterior, parameters, _, z, _ = standing(name)
    system = matrix(parameters, posterior.hyper, z, z) + posterior.hyper.noise * np.eye(len(z))
    got, mean = posterior.left_out()[:, 0], posterior.mean[0]
    for i in range(len(z)):
        rest = np.delete(np.arange(len(z)), i)
        away = np.linalg.solve(system[np.ix_(rest, rest)], posterior.z[rest, 0] - mean)
        assert got[i] == pytest.approx(mean + system[i, rest] @ away, abs=1e-9)


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
    assert np.abs(new.z[-3:] - mean[:3]).max() < 1e-12
    assert np.abs(new.fitted()[-3:] - mean[:3]).max() < 1e-9


@KINDS
def test_fantasies_are_the_process_of_all_rows_with_mean_and_signal_as_they_were(name: str) -> None:
    posterior, parameters, coding, z, others = standing(name)
    new = posterior.fantasize(coding(others[:2])).fantasize(coding(others[2:3]))
    both = np.vstack([z, others[:3]])
    system = matrix(parameters, posterior.hyper, both, both) + posterior.hyper.noise * np.eye(len(both))
    cross = matrix(parameters, posterior.hyper, both, others)
    variance = posterior.signal * (1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(system, cross)))
    assert np.abs(new.moments(coding(others))[1][:, 0] - np.maximum(variance, 0.0)).max() < 1e-9


@pytest.mark.parametrize("quadratic", [0.0, 3.0])
@pytest.mark.parametrize("name", ["numbers", "mixed", "wide", "switched"])
def test_slopes_are_those_of_finite_differences(name: str, quadratic: float) -> None:
    plain, _, coding, _, others = standing(name)
    hyper = Hyper(plain.hyper.lengths, plain.hyper.noise, plain.hyper.weights, quadratic)
    posterior, at = Posterior.of(plain.inputs, plain.z, hyper), coding(others)
    mean, variance, by_mean, by_variance = posterior.slopes(at)
    for given, expected in zip((mean, variance), posterior.moments(at), strict=True):
        assert np.abs(given - expected).max() < 1e-9
    assert all(np.allclose(a, b) for a, b in zip(posterior.mean_slopes(at), (mean, by_mean), strict=True))
    for k in range(len(at)):
        for which, slope in ((0, by_mean), (1, by_variance)):

            def moment(numbers: Floats, k: int = k, which: int = which) -> float:
                return float(posterior.moments(at.at(np.array([k])).with_numbers(numbers[None]))[which][0, 0])

            assert np.abs(slope_of(moment, at.numbers[k]) - slope[k, 0]).max() < 1e-4


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
    kernel = Kernel(inputs, some_hyper(coding)).matrix
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
    posterior = Posterior.of(inputs, np.array([[1.0], [2.0], [3.0]]), some_hyper(coding))
    assert (coding.n_categories, coding.n_numbers) == (0, 0)
    assert posterior.moments(inputs.at(np.array([0])))[0][0] == pytest.approx(2.0)


def test_equal_rows_with_hardly_any_noise_are_no_error() -> None:
    _, coding, z = made("mixed", 3)
    inputs = coding(np.repeat(z, 5, axis=0))
    posterior = Posterior.of(inputs, np.arange(15.0)[:, None], some_hyper(coding, noise=1e-9))
    assert np.abs(posterior.moments(coding(z))[0][:, 0] - [2.0, 7.0, 12.0]).max() < 1e-3


# Of numbers alone ----------------------------------------------------------------------------------------------------


def rows(n: int = 60, d: int = 4, seed: int = 0) -> tuple[Inputs, Floats]:
    x = np.random.default_rng(seed).random((n, d))
    z = np.sin(6 * x).sum(1)
    return Inputs.of(x), ((z - z.mean()) / z.std())[:, None]


AT = Inputs.of(np.random.default_rng(1).random((50, 4)))


def test_moments_are_those_of_scikit_learn() -> None:
    inputs, z = rows()
    ours = Posterior.of(inputs, z, HYPER)
    signal, level = float(ours.signal[0]), float(ours.mean[0])
    kernel = ConstantKernel(signal) * Matern(HYPER.lengths, nu=2.5) + WhiteKernel(signal * HYPER.noise)
    oracle = GaussianProcessRegressor(kernel, optimizer=None).fit(inputs.numbers, z[:, 0] - level)
    mean, deviation = oracle.predict(AT.numbers, return_std=True)
    assert np.abs(ours.expect(AT)[:, 0] - level - mean).max() < 1e-6
    assert np.abs(ours.moments(AT)[1][:, 0] + signal * HYPER.noise - deviation**2).max() < 1e-6


def test_the_profiled_mean_and_signal_are_the_most_likely() -> None:
    inputs, z = rows(20)
    best = Posterior.of(inputs, z, HYPER)

    def loss(signal: float, mean: float) -> float:
        white = best.whiten(z - mean)[:, 0]
        square = float(white @ white) / 2 + SIGNAL_RATE
        return (len(z) / 2 + SIGNAL_SHAPE + 1) * np.log(signal) + square / signal

    least = loss(float(best.signal[0]), float(best.mean[0]))
    for signal, mean in ((1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01)):
        assert loss(float(best.signal[0]) * signal, float(best.mean[0]) + mean) > least


def test_several_columns_have_the_posterior_that_each_would_have_alone() -> None:
    inputs, z = rows()
    both = Posterior.of(inputs, np.hstack([z, 2 * z - inputs.numbers[:, :1]]), HYPER)
    for j in range(2):
        alone = Posterior.of(inputs, both.z[:, [j]], HYPER)
        for a, b in zip(both.moments(AT), alone.moments(AT), strict=True):
            assert np.allclose(a[:, [j]], b, atol=1e-10)
        for a, b in zip(both.slopes(AT), alone.slopes(AT), strict=True):
            assert np.allclose(a[:, [j]], b, atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_duplicate_rows_and_equal_losses_are_no_error(noise: float) -> None:
    inputs = Inputs.of(np.repeat(np.random.default_rng(0).random((5, 3)), 8, axis=0))
    mean, variance = Posterior.of(inputs, np.zeros((40, 1)), Hyper(np.full(3, 50.0), noise)).moments(inputs)
    assert np.abs(mean).max() < 1e-6
    assert np.isfinite(variance).all()


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


# With a quadratic part ------------------------------------------------------------------------------------------------


def wide(length: float, noise: float, quadratic: float, d: int = 3) -> Hyper:
    return Hyper(np.full(d, length), noise, quadratic=quadratic)


HYPERS = [wide(1.5, 1e-4, 0.0), wide(1.5, 1e-4, 10.0), wide(0.4, 1e-1, 1000.0)]


def bowl(n: int = 20) -> tuple[Inputs, Floats]:
    """Return rows [n, 3] about 0, and losses in about standard units."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((n, 3))
    z = np.sin(2 * u[:, 0]) + 0.3 * np.square(u).sum(1) - 0.5 + 0.1 * rng.standard_normal(n)
    return Inputs.of(u), z[:, None]


def kernel(hyper: Hyper, a: Floats, b: Floats) -> Floats:
    """Return the kernel as its module has it, one pair at a time."""
    found = np.empty((len(a), len(b)))
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            r = np.sqrt(5) * np.linalg.norm((u - v) / hyper.lengths)
            found[i, j] = (1 + r + r**2 / 3) * np.exp(-r) + hyper.quadratic * ((1 + u @ v / len(u)) ** 2 - 1)
    return found


def held(own: Posterior, keep: Sequence[int], u: Floats) -> Floats:
    """Return the forecasts at `u` from some rows of a process, with its mean."""
    x, z = own.inputs.numbers[keep], own.z[keep, 0]
    system = kernel(own.hyper, x, x) + own.hyper.noise * np.eye(len(x))
    return own.mean[0] + kernel(own.hyper, u, x) @ np.linalg.solve(system, z - own.mean[0])


@pytest.mark.parametrize("hyper", HYPERS)
def test_forecasts_with_a_quadratic_part_are_those_of_dense_linear_algebra(hyper: Hyper) -> None:
    own, rng = Posterior.of(*bowl(), hyper), np.random.default_rng(1)
    x, out = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(own.expect(Inputs.of(x))[:, 0], held(own, range(20), x), rtol=1e-6, atol=1e-6)
    left = [held(own, [j for j in range(20) if j != i], own.inputs.numbers[[i]])[0] for i in range(20)]
    np.testing.assert_allclose(own.left_out()[:, 0], left, rtol=1e-6, atol=1e-6)
    other = own.fantasize(Inputs.of(out))
    assert (other.mean, other.signal) == (own.mean, own.signal)
    np.testing.assert_allclose(other.expect(Inputs.of(x))[:, 0], held(other, range(24), x), rtol=1e-6, atol=1e-6)


def test_the_misfit_orders_processes_as_their_likelihood_does() -> None:
    """Of mean and signal at their most likely values: `-2 log L = n log signal + log det K`, but for constants."""
    inputs, z = bowl(60)
    misfits, expected = [], []
    for length in (0.2, 0.7, 2.0, 7.0):
        own = Posterior.of(inputs, z, wide(length, 1e-2, 0.0))
        k = kernel(own.hyper, inputs.numbers, inputs.numbers) + 1e-2 * np.eye(60)
        rest = z[:, 0] - own.mean[0]
        signal = rest @ np.linalg.solve(k, rest) / len(z)
        expected.append((len(z) * np.log(signal) + np.linalg.slogdet(k)[1]) / 2)
        misfits.append(own.misfit())
    np.testing.assert_allclose(np.diff(misfits), np.diff(expected), atol=0.05 * np.ptp(expected))


def test_a_mean_that_is_fitted_again_without_the_row_changes_them_little() -> None:
    """Exact would be `z - weights / diag(Q)`, `Q = K^-1 - K^-1 1 1' K^-1 / 1' K^-1 1` (Dubrule 1983): with K^-1 for Q a
    row has a say in the mean that forecasts it. That moves forecasts by a few hundredths of a standard unit.
    """
    own = Posterior.of(*bowl(60), HYPERS[0])
    all_rows = np.arange(60)
    exact = np.array(
        [
            Posterior.of(own.inputs.at(np.delete(all_rows, i)), np.delete(own.z, i, 0), own.hyper).expect(
                own.inputs.at(all_rows[[i]])
            )[0, 0]
            for i in all_rows
        ]
    )
    found = own.left_out()[:, 0]
    assert 1e-6 < np.abs(found - exact).max() < 0.1
    assert np.corrcoef(found, exact)[0, 1] > 0.999


def test_a_quadratic_is_forecast_to_a_thousandth_from_few_rows_more_than_it_has_coefficients() -> None:
    d, rng = 4, np.random.default_rng(0)
    a = rng.standard_normal((d, d))

    def quadratic(u: Floats) -> Floats:
        return np.einsum("ij,jk,ik->i", u, a @ a.T, u) + u @ np.arange(1.0, d + 1) + 3

    u, x = rng.standard_normal((20, d)), rng.standard_normal((200, d))  # 15 coefficients
    truth = quadratic(x)

    def error(variance: float) -> float:
        own = Posterior.of(Inputs.of(u), quadratic(u)[:, None], wide(4.0, 1e-8, variance, d))
        return float(np.abs(own.expect(Inputs.of(x))[:, 0] - truth).max() / np.ptp(truth))

    assert error(1000.0) < 1e-3 < 0.05 < error(0.0)


def test_rows_that_coincide_and_rows_far_away_do_no_harm() -> None:
    inputs, z = bowl()
    u = inputs.numbers
    inputs = Inputs.of(np.vstack([u, u[:5], u[5:8] * 1e9]))
    z = np.concatenate([z, z[:5] + 0.3, z[5:8]])
    for hyper in HYPERS:
        own = Posterior.of(inputs, z, hyper)
        assert np.isfinite(own.expect(inputs)).all() and np.isfinite(own.left_out()).all() and np.isfinite(own.misfit())
        assert np.isfinite(factor(own.joint(inputs)[1], 1e-8)).all()


# The factor -----------------------------------------------------------------------------------------------------------


def test_a_factor_times_itself_is_the_kernel_with_its_noise() -> None:
    u = bowl(30)[0].numbers
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
