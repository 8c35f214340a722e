import numpy as np
import pytest

from lamcts.models.quadratic_posterior import GRID, JITTER, LEVEL, QuadraticPosterior
from lamcts.models.quadrics import QuadricPosteriors
from lamcts.observations import Floats


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def columns(steps: Floats) -> Floats:
    """Return a curved quantity, a straight one, and noise, [3, n]."""
    curved = steps[:, 0] + (steps**2).sum(1)
    return np.array([curved, steps @ np.arange(1.0, steps.shape[1] + 1), rng(9).standard_normal(len(steps))])


@pytest.fixture
def model() -> QuadricPosteriors:
    steps = rng().uniform(-1, 1, (24, 3))
    return QuadricPosteriors(steps, columns(steps), [None] * 3, rng(1))


def test_each_column_is_told_as_by_a_model_of_its_own_at_the_same_place(model: QuadricPosteriors) -> None:
    ours, s = model.mean(), rng(2).uniform(-1, 1, 3)
    for j, column in enumerate(columns(model.steps)):
        alone = QuadraticPosterior(model.steps, column, model.places[j], rng())
        alone.place, alone._fit = model.places[j], alone._fitted(model.places[j])
        value, slope = alone.mean().slope(s)
        np.testing.assert_allclose(ours.at(s)[j] - ours.at(0 * s)[j], value, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ours.slopes(s)[j], slope, rtol=1e-6, atol=1e-8)


def test_polynomials_are_had_exactly_and_noise_is_not(model: QuadricPosteriors) -> None:
    new = rng(3).uniform(-1, 1, (5, 3))
    quadrics = model.mean()
    off = np.abs(np.array([quadrics.at(s) for s in new]).T - columns(new))[:2]
    assert off.max() < 1e-4
    sizes = np.array([model.deviations(s) for s in new])
    assert sizes[:, :2].max() < 1e-2 < 0.3 < sizes[:, 2].min()


def test_columns_choose_among_all_places_by_their_own_evidence(model: QuadricPosteriors) -> None:
    assert GRID[3][model.places[1][3]] == 0 < GRID[3][model.places[2][3]]
    swapped = QuadricPosteriors(model.steps, columns(model.steps)[::-1], [None] * 3, rng(1))
    assert swapped.places == model.places[::-1]


def test_the_deviation_is_that_of_a_regression(model: QuadricPosteriors) -> None:
    s, steps = rng(4).uniform(-1, 1, 3), np.vstack([model.steps, np.zeros(3)])
    steps[-1] = s
    for j, place in enumerate(model.places):
        curvature, bowl, remainder, noise = (values[at] for values, at in zip(GRID, place, strict=True))
        products, squares = steps @ steps.T, (steps**2).sum(1)
        kernel = LEVEL**2 + products + curvature**2 / 2 * products**2 + bowl**2 / 4 * np.outer(squares, squares)
        errors = noise**2 + remainder**2 / 6 * squares**3
        whole = kernel + np.diag(errors)
        told = whole[:-1, :-1] + JITTER * np.diag(np.diag(whole[:-1, :-1]))
        square = columns(model.steps)[j] @ np.linalg.solve(told, columns(model.steps)[j]) / len(model.steps)
        left = whole[-1, -1] - kernel[-1, :-1] @ np.linalg.solve(told, kernel[:-1, -1])
        np.testing.assert_allclose(model.deviations(s)[j], np.sqrt(square * max(left, 0.0)), rtol=1e-2, atol=1e-5)


def test_draws_scatter_round_the_mean_by_their_temperature(model: QuadricPosteriors) -> None:
    s = np.full(3, 0.5)
    assert np.array_equal(model.draw(rng(), 0.0).at(s), model.mean().at(s))
    drawn = np.array([model.draw(rng(i), 1.0).at(s) for i in range(200)])
    assert np.all(np.abs(drawn.mean(0) - model.mean().at(s)) < 5 * drawn.std(0) / np.sqrt(200) + 1e-6)
    assert drawn.std(0)[2] > 0.05


def test_a_column_more_changes_no_other(model: QuadricPosteriors) -> None:
    fewer = QuadricPosteriors(model.steps, columns(model.steps)[:2], [None] * 2, rng(1))
    assert fewer.places == model.places[:2]
    np.testing.assert_allclose(fewer.mean().weights, model.mean().weights[:2], rtol=1e-9)
