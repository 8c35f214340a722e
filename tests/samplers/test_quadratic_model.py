import numpy as np
import pytest

from lamcts.samplers.quadratic.model import _bounded
from lamcts.samplers.quadratic.posterior import JITTER, LEVEL_DEVIATION, GridIndex, QuadraticPosteriors, TermScales
from lamcts.types import Floats


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def columns(steps: Floats) -> Floats:
    """Return a curved quantity, a straight one, and noise, [3, n]."""
    curved = steps[:, 0] + (steps**2).sum(1)
    return np.array([curved, steps @ np.arange(1.0, steps.shape[1] + 1), rng(9).standard_normal(len(steps))])


@pytest.fixture
def model() -> QuadraticPosteriors:
    steps = rng().uniform(-1, 1, (24, 3))
    return QuadraticPosteriors(steps, columns(steps), [None] * 3, rng(1))


def covariance(a: Floats, b: Floats, index: GridIndex) -> Floats:
    """Return the covariances of the values at steps a [m, d] and b [n, d], written out, [m, n]."""
    prior, products = TermScales.at(index), a @ b.T
    bowl = np.outer((a**2).sum(1), (b**2).sum(1))
    bent = prior.curvature**2 / 2 * products**2 + prior.bowl**2 / 4 * bowl + prior.diagonal**2 / 4 * (a**2 @ (b**2).T)
    return np.asarray(LEVEL_DEVIATION**2 + products + bent)


def whole(steps: Floats, index: GridIndex) -> Floats:
    """Return the covariance of the results at steps, errors and all, [n, n]."""
    prior, kernel = TermScales.at(index), covariance(steps, steps, index)
    errors = prior.noise**2 + prior.remainder**2 / 6 * (steps**2).sum(1) ** 3
    return np.asarray(kernel + np.diag(errors + JITTER * np.diag(kernel)))


def test_each_column_is_told_as_by_a_regression_of_its_own(model: QuadraticPosteriors) -> None:
    ours, at, h = model.mean(), rng(2).uniform(-1, 1, (1, 3)), 1e-4
    for j, column in enumerate(columns(model.steps)):
        weights = np.linalg.solve(whole(model.steps, model.indices[j]), column)
        told = lambda s: covariance(s, model.steps, model.indices[j]) @ weights  # noqa: B023, E731
        np.testing.assert_allclose(ours.at(at[0])[j], told(at)[0], rtol=1e-5, atol=1e-6)
        slope = (told(at + h * np.eye(3)) - told(at - h * np.eye(3))) / (2 * h)
        np.testing.assert_allclose(ours.slopes(at[0])[j], slope, rtol=1e-4, atol=1e-5)


def test_polynomials_are_had_exactly_and_noise_is_not(model: QuadraticPosteriors) -> None:
    new = rng(3).uniform(-1, 1, (5, 3))
    quadrics = model.mean()
    off = np.abs(np.array([quadrics.at(s) for s in new]).T - columns(new))[:2]
    assert off.max() < 1e-4
    sizes = np.array([model.deviations(s) for s in new])
    assert sizes[:, :2].max() < 1e-2 < 0.3 < sizes[:, 2].min()


def test_columns_choose_among_all_places_by_their_own_evidence(model: QuadraticPosteriors) -> None:
    assert TermScales.at(model.indices[1]).noise == 0 < TermScales.at(model.indices[2]).noise
    swapped = QuadraticPosteriors(model.steps, columns(model.steps)[::-1], [None] * 3, rng(1))
    assert swapped.indices == model.indices[::-1]


def test_the_deviation_is_that_of_a_regression(model: QuadraticPosteriors) -> None:
    s = rng(4).uniform(-1, 1, (1, 3))
    for j, (index, column) in enumerate(zip(model.indices, columns(model.steps), strict=True)):
        kernel, cross = whole(model.steps, index), covariance(s, model.steps, index)[0]
        square = column @ np.linalg.solve(kernel, column) / len(column)
        left = whole(s, index) / (1 + JITTER) - cross @ np.linalg.solve(kernel, cross)
        np.testing.assert_allclose(
            model.deviations(s[0])[j], np.sqrt(square * left.clip(0)[0, 0]), rtol=1e-2, atol=1e-5
        )


def error(steps: Floats, column: Floats, new: Floats, told: Floats) -> float:
    """Return the largest error of the mean at `new`, after some looks at the hyper-parameters."""
    indices, draws = None, rng(1)
    for _ in range(20):
        model = QuadraticPosteriors(steps, column[None], [indices], draws)
        indices = model.indices[0]
    mean = model.mean()
    return float(max(abs(mean.at(s)[0] - y) for s, y in zip(new, told, strict=True)))


def test_what_bends_along_each_parameter_by_itself_is_known_from_fewer_rows_than_coefficients() -> None:
    bent = lambda s: s @ np.arange(1.0, 11.0) + s**2 @ np.arange(-5.0, 5.0)  # noqa: E731
    steps, new = rng().uniform(-1, 1, (28, 10)), rng(3).uniform(-1, 1, (9, 10))
    assert error(steps, bent(steps), new, bent(new)) < 0.05


def test_rows_far_outside_a_narrow_box_tell_what_is_of_second_order_exactly() -> None:
    bent = lambda s: s.sum(1) + 1e-3 * s[:, 0] * s[:, 1] - 2e-3 * s[:, 2] ** 2  # noqa: E731
    steps, new = 300 * rng().uniform(-1, 1, (40, 5)), rng(3).uniform(-1, 1, (9, 5))
    steps[0] = 0.0
    assert error(steps, bent(steps), new, bent(new)) < 1e-3


def test_draws_scatter_round_the_mean(model: QuadraticPosteriors) -> None:
    s = np.full(3, 0.5)
    drawn = np.array([model.draw(rng(i)).at(s) for i in range(200)])
    assert np.all(np.abs(drawn.mean(0) - model.mean().at(s)) < 5 * drawn.std(0) / np.sqrt(200) + 1e-6)
    assert drawn.std(0)[2] > 0.05


def test_draws_scatter_as_far_as_a_new_result(model: QuadraticPosteriors) -> None:
    s = np.array([1.0, 2.0, -1.0])  # beyond the rows: curvatures, which are not determined there, matter most
    drawn = np.array([model.draw(rng(i)).at(s) for i in range(1000)])
    errors = [TermScales.at(index).errors((s @ s)[None])[0] for index in model.indices]
    left = np.square(model.deviations(s)) - model._squares * errors  # a draw has no error of its own
    np.testing.assert_allclose(drawn.std(0)[1:], np.sqrt(left[1:].clip(0)), rtol=0.1, atol=1e-6)


def test_a_constraint_that_most_rows_lie_on_keeps_its_slope() -> None:
    steps = rng().uniform(-1, 1, (40, 3))
    steps[8:, 0] = 1e-12 * steps[8:, 0]  # to the last digits
    values = 5.0 * steps[:, 0]
    assert np.array_equal(_bounded(values, 0.0, steps), values)
    values[0] = 1e30
    assert _bounded(values, 0.0, steps)[0] < 1e5
    assert np.array_equal(_bounded(values, 0.0, steps)[1:], values[1:])


def test_a_column_without_errors_is_noticed_at_the_next_fit() -> None:
    steps = rng().uniform(-1, 1, (9, 2))
    noisy = (0, 3, 2, 3, 2)
    model = QuadraticPosteriors(steps, (steps @ np.array([1.0, -2.0]))[None], [noisy], rng(1))
    assert model.indices[0][3:] == (0, 0)


def test_a_column_more_changes_no_other(model: QuadraticPosteriors) -> None:
    fewer = QuadraticPosteriors(model.steps, columns(model.steps)[:2], [None] * 2, rng(1))
    assert fewer.indices == model.indices[:2]
    np.testing.assert_allclose(fewer.mean().weights, model.mean().weights[:2], rtol=1e-9)
