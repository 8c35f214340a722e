import itertools

import numpy as np
import pytest
from scipy import stats

from lamcts.models.quadratic_posterior import (
    FIRST_INDEX,
    GRID,
    JITTER,
    LEVEL_DEVIATION,
    GridIndex,
    QuadraticPosterior,
    Quadric,
)
from lamcts.outcomes.observations import Floats

INDICES: list[GridIndex] = [(0, 0, 4, 1), FIRST_INDEX, (2, 0, 8, 0), (0, 2, 5, 5), (2, 2, 7, 3)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


EVERYWHERE = list(itertools.product(*(range(len(values)) for values in GRID)))


def rows(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return steps [n, d], the first of them 0, and losses [n] that are no polynomial."""
    draw = rng(seed)
    steps = draw.uniform(-1.5, 1.5, (n, d))
    steps[0] = 0
    return steps, np.sin(steps).sum(1) + 0.7 * (steps**2).sum(1) + 0.2 * draw.standard_normal(n)


def at(steps: Floats, losses: Floats, index: GridIndex) -> QuadraticPosterior:
    """Return the model with the hyper-parameters of `index`, whatever the evidence says."""
    model = QuadraticPosterior(steps, losses, index, rng())
    model.index, model._fit = index, model._fitted(index)
    return model


class Dense:
    """The same prior as a linear regression on explicit features: 1, s_i, |s|^2 / 2, s_i s_j."""

    def __init__(self, steps: Floats, losses: Floats, index: GridIndex) -> None:
        self.curvature, self.bowl, remainder, noise = (values[k] for values, k in zip(GRID, index, strict=True))
        features = self.features(steps)
        errors = noise**2 + remainder**2 / 6 * (steps**2).sum(1) ** 3
        covariance = features @ features.T + np.diag(errors)
        self.errors = np.diag(errors) + JITTER * np.diag(np.diag(covariance))
        self.covariance = features @ features.T + self.errors
        self.gain = np.linalg.solve(self.covariance, features).T  # [features, n]
        self.mean = self.gain @ losses
        self.square = float(losses @ np.linalg.solve(self.covariance, losses)) / len(losses)
        self.posterior = np.eye(features.shape[1]) - self.gain @ features

    def features(self, s: Floats) -> Floats:
        """Return the features of `s` [n, d], each times its standard deviation a priori."""
        d = s.shape[1]
        columns = [np.full(len(s), LEVEL_DEVIATION), *s.T, self.bowl * (s**2).sum(1) / 2]
        for i, j in itertools.combinations_with_replacement(range(d), 2):
            columns.append(self.curvature * s[:, i] * s[:, j] * (np.sqrt(0.5) if i == j else 1.0))
        return np.array(columns).T

    def value(self, s: Floats) -> float:
        """Return the mean at `s` [d] less that at 0."""
        return float((self.features(np.stack([s, 0 * s])) @ self.mean) @ [1.0, -1.0])


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("n, d", [(4, 3), (30, 3), (5, 8)])
def test_the_mean_is_that_of_a_regression_on_explicit_features(n: int, d: int, index: GridIndex) -> None:
    steps, losses = rows(n, d)
    quadric, dense = at(steps, losses, index).mean(), Dense(steps, losses, index)
    scale = float(np.abs(dense.mean).max())
    for s in rng(1).uniform(-1, 1, (5, d)):
        value, slope = quadric.slope(s)
        assert abs(value - dense.value(s)) < 1e-5 * scale
        ahead = [(dense.value(s + e) - dense.value(s - e)) / 2e-3 for e in 1e-3 * np.eye(d)]  # exact for a quadratic
        np.testing.assert_allclose(slope, ahead, atol=1e-5 * scale)


@pytest.mark.parametrize("n, d", [(4, 3), (30, 3)])
def test_the_evidence_is_the_likelihood_of_the_rows_at_the_scale_that_suits_them_best(n: int, d: int) -> None:
    steps, losses = rows(n, d)
    offsets = []
    for index in INDICES:
        dense = Dense(steps, losses, index)
        likelihood = stats.multivariate_normal(np.zeros(n), dense.square * dense.covariance).logpdf(losses)
        offsets.append(at(steps, losses, index)._fit.evidence - likelihood)
    assert np.ptp(offsets) < 1e-5  # a constant apart


def test_the_evidence_of_some_rows_is_their_likelihood_given_the_others_at_one_scale() -> None:
    steps, losses = rows(14, 3)
    for index in INDICES:
        model, dense = at(steps, losses, index), Dense(steps, losses, index)
        rest = Dense(steps[5:], losses[5:], index)
        whole = -7 * np.log(dense.square) - 0.5 * np.linalg.slogdet(dense.covariance)[1]
        others = -4.5 * np.log(rest.square) - 0.5 * np.linalg.slogdet(rest.covariance)[1]
        np.testing.assert_allclose(model.evidence_of(5), whole - others, rtol=1e-6)


@pytest.mark.parametrize("kind", ["the same polynomial", "another"])
def test_far_rows_tell_the_near_ones_better_where_they_follow_the_same_polynomial(kind: str) -> None:
    draw = rng(1)
    near, far = draw.uniform(-1.0, 1.0, (12, 4)), draw.uniform(-4.0, 4.0, (40, 4))
    near[0] = 0.0
    slope, bend = np.arange(1.0, 5.0), np.diag([1.0, 2.0, 3.0, 4.0])
    value = lambda s: s @ slope + 0.5 * np.einsum("ij,jk,ik->i", s, bend, s)  # noqa: E731
    strange = 100.0 * np.abs(draw.standard_normal(40))
    losses = np.concatenate([value(near), value(far) if kind == "the same polynomial" else strange])
    whole, alone = (
        QuadraticPosterior(np.vstack([near, far]), losses, None, rng()),
        QuadraticPosterior(near, losses[:12], None, rng()),
    )
    assert (whole.evidence_of(12) > alone.evidence) == (kind == "the same polynomial")


def test_the_hyper_parameters_climb_to_a_place_that_no_step_along_an_axis_improves() -> None:
    steps, losses = rows(30, 3)
    model = QuadraticPosterior(steps, losses, None, rng())
    best = model._fitted(model.index).evidence
    for axis, change in itertools.product(range(len(GRID)), (-1, 1)):
        near = list(model.index)
        near[axis] += change
        if 0 <= near[axis] < len(GRID[axis]):
            assert model._fitted(tuple(near)).evidence <= best


def test_from_a_place_it_goes_one_step_at_most_and_never_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamcts.models.quadratic_posterior.RANDOM_TRIES", 0)
    steps, losses = rows(30, 3)
    for seed, start in enumerate(INDICES):
        model = QuadraticPosterior(steps, losses, start, rng(seed))
        assert np.abs(np.subtract(model.index, start)).sum() <= 1
        assert model._fit.evidence >= model._fitted(start).evidence


def test_leaps_lead_out_of_a_place_that_no_step_improves() -> None:
    steps, losses = rows(30, 3)
    highest = max(QuadraticPosterior(steps, losses, None, rng())._fitted(index).evidence for index in EVERYWHERE)
    index, left = (0, 0, 0, len(GRID[3]) - 1), []
    draw = rng(1)
    for _ in range(60):
        model = QuadraticPosterior(steps, losses, index, draw)
        left.append(highest - model._fit.evidence)
        index = model.index
    assert (np.diff(left) <= 0).all()  # never down
    assert left[-1] < 0.05 * left[0]


def test_the_evidence_tells_ripples_from_a_smooth_polynomial() -> None:
    steps = rng().uniform(-1, 1, (60, 3))
    smooth = steps @ [1.0, -2.0, 0.5] + (steps**2).sum(1)
    noise = GRID[3]
    quiet = QuadraticPosterior(steps, smooth, None, rng())
    loud = QuadraticPosterior(steps, smooth + 0.5 * np.cos(40 * steps).sum(1), None, rng())
    assert noise[quiet.index[3]] == 0.0
    assert noise[loud.index[3]] > 0.1


def test_enough_rows_of_a_quadratic_give_it_back() -> None:
    d = 4
    draw = rng()
    half = draw.standard_normal((d, d))
    bend, slope = half @ half.T, draw.standard_normal(d)
    steps = draw.uniform(-1, 1, (40, d))
    losses = 3.0 + steps @ slope + np.einsum("ni,ij,nj->n", steps, bend, steps) / 2
    quadric = QuadraticPosterior(steps, losses, None, rng()).mean()
    np.testing.assert_allclose(quadric.gradient, slope, atol=2e-3)
    found = np.array([quadric.slope(e)[1] - quadric.gradient for e in np.eye(d)])
    np.testing.assert_allclose(found, bend, atol=1e-2)


def test_few_rows_leave_the_slope_along_unseen_directions_to_the_draws() -> None:
    steps = np.zeros((4, 50))
    steps[1:, :3] = np.eye(3)
    model = at(steps, np.array([0.0, 1.0, -1.0, 2.0]), (1, 1, 1, 1))
    assert np.all(model.mean().gradient[3:] == 0)
    drawn = np.array([model.draw(rng(seed)).gradient for seed in range(200)])
    size = np.sqrt(model._fit.square)
    np.testing.assert_allclose(drawn[:, 3:].std(), size, rtol=0.05)  # the prior's deviation
    assert drawn[:, :3].std(0).max() < 0.5 * size


@pytest.mark.parametrize("index", INDICES)
def test_slopes_are_drawn_with_the_deviations_of_slope_and_errors(index: GridIndex) -> None:
    d = 3
    steps, losses = rows(12, d)
    model, dense = at(steps, losses, index), Dense(steps, losses, index)
    drawn = np.array([model.draw(rng(seed)).gradient for seed in range(4000)])
    gain = dense.gain[1 : d + 1]  # [d, n], of the slope
    left = np.eye(d) - gain @ steps
    expected = dense.square * (left @ left.T + gain @ dense.errors @ gain.T)
    np.testing.assert_allclose(drawn.mean(0), dense.mean[1 : d + 1], atol=5 * np.sqrt(expected.max() / 4000))
    root = np.linalg.inv(np.linalg.cholesky(expected))
    np.testing.assert_allclose(root @ np.cov(drawn.T) @ root.T, np.eye(d), atol=0.12)  # 5 deviations, of 4000 draws
    posterior = dense.square * dense.posterior[1 : d + 1, 1 : d + 1]
    assert np.linalg.eigvalsh(posterior - expected).min() > -1e-8 * posterior.max()  # it would add those of the rest


def test_where_slope_and_errors_are_all_there_is_draws_scatter_as_the_posterior_does() -> None:
    """Rows at one distance in opposite pairs tell the slope from bowl, curvature and level by themselves."""
    d = 3
    steps = 0.8 * np.vstack([np.eye(d), -np.eye(d)])
    losses = steps @ [1.0, -2.0, 0.5] + 0.3 * rng().standard_normal(2 * d)
    model, dense = at(steps, losses, (1, 1, 2, 3)), Dense(steps, losses, (1, 1, 2, 3))
    drawn = np.array([model.draw(rng(seed)).gradient for seed in range(4000)])
    root = np.linalg.inv(np.linalg.cholesky(dense.square * dense.posterior[1 : d + 1, 1 : d + 1]))
    np.testing.assert_allclose(root @ np.cov(drawn.T) @ root.T, np.eye(d), atol=0.12)


def test_the_lowest_step_of_a_bowl_is_where_its_slope_vanishes() -> None:
    draw = rng()
    axes = np.linalg.qr(draw.standard_normal((5, 5)))[0]
    quadric = Quadric(0.1 * draw.standard_normal(5), axes, np.array([0.2, 1.0, 3.0, 10.0, 30.0]), 0.5)
    bend = axes.T @ np.diag(quadric.weights) @ axes + 0.5 * np.eye(5)
    expected = np.linalg.solve(bend, -quadric.gradient)
    assert np.abs(expected).max() < 1
    np.testing.assert_allclose(quadric.lowest(-np.ones(5), np.ones(5)), expected, atol=1e-4)


def test_the_lowest_step_stays_within_its_bounds() -> None:
    gradient = np.array([-3.0, -0.2, 0.5, -2.0, 1.0])
    low, high = np.array([-1.0, -1.0, 0.0, 0.0, -0.3]), np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    quadric = Quadric(gradient, np.eye(5), np.array([1.0, 1.0, 1.0, 1.0, -2.0]), 0.0)
    step = quadric.lowest(low, high)
    assert np.all((low <= step) & (step <= high))
    np.testing.assert_allclose(step, [1.0, 0.2, 0.0, 0.0, -0.3], atol=1e-6)


def test_a_flat_model_still_has_a_lowest_step_inside() -> None:
    quadric = Quadric(np.zeros(3), np.ones((2, 3)), np.zeros(2), 0.0)
    assert np.array_equal(quadric.lowest(-np.ones(3), np.ones(3)), np.zeros(3))
    assert np.array_equal(quadric.lowest(np.zeros(3), np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize(
    "steps, losses",
    [
        (np.zeros((1, 3)), np.zeros(1)),
        (np.full((1, 3), 0.5), np.ones(1)),
        (np.zeros((5, 3)), np.zeros(5)),
        (np.repeat(np.eye(3), 7, axis=0), np.repeat([1.0, 2.0, 3.0], 7)),
        (np.repeat(np.eye(3), 2, axis=0), np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])),
        (rows(30, 3)[0], np.full(30, 0.0)),
        (np.array([[0.0, 0.0], [2e6, 0.0], [1e-9, 0.0]]), np.array([0.0, 1.0, 1e-12])),
        (rows(40, 500)[0], rows(40, 500)[1]),
        (1e-12 * rows(20, 3)[0], rows(20, 3)[1]),
    ],
    ids=["the point", "one row", "all at the point", "repeated", "contradicting", "equal", "far", "wide", "narrow"],
)
@pytest.mark.parametrize("index", [None, *INDICES])
def test_poor_rows_make_a_poor_model_but_never_an_error(steps: Floats, losses: Floats, index: GridIndex | None) -> None:
    model = QuadraticPosterior(steps, losses, index, rng())
    d = steps.shape[1]
    for quadric in (model.mean(), model.draw(rng())):
        step = quadric.lowest(-np.ones(d), np.ones(d))
        assert np.all(np.abs(step) <= 1)
        assert np.isfinite(quadric.slope(step)[0])


@pytest.mark.parametrize("seed", range(3))
def test_another_unit_of_the_losses_changes_the_size_of_the_model_alone(seed: int) -> None:
    steps, losses = rows(12, 3, seed)
    one, other = (
        QuadraticPosterior(steps, losses, None, rng()),
        QuadraticPosterior(steps, 2.0**-30 * losses, None, rng()),
    )
    assert one.index == other.index
    assert np.array_equal(one.mean().gradient * 2.0**-30, other.mean().gradient)


def valley(d: int, condition: float) -> Floats:
    """Return the second derivatives [d, d] of a turned bowl, from 1 to `condition`."""
    turn = stats.ortho_group.rvs(d, random_state=3)
    return np.asarray((turn * np.geomspace(1.0, condition, d)) @ turn.T)


def steep(bend: Floats, lowest: Floats) -> Quadric:
    """Return the bowl of these second derivatives [d, d] round `lowest` [d]."""
    return Quadric(-bend @ lowest, np.linalg.cholesky(bend).T, np.ones(len(lowest)), 0.0, exact=True)


def test_the_floor_of_a_steep_valley_is_found_to_its_end() -> None:
    bend, lowest = valley(10, 1e6), rng().uniform(-0.3, 0.3, 10)
    quadric = steep(bend, lowest)
    found = quadric.lowest(np.full(10, -1.0), np.full(10, 1.0))
    np.testing.assert_allclose(found, lowest, atol=1e-8)


def test_at_the_end_of_a_steep_valley_no_step_within_the_bounds_is_lower() -> None:
    bend, lowest = valley(10, 1e6), rng(4).uniform(-0.3, 0.3, 10)
    quadric = steep(bend, lowest)
    low, high = np.full(10, -0.1), np.full(10, 0.1)
    found = quadric.lowest(low, high)
    slope = quadric.slope(found)[1]
    free = (found > low) & (found < high)
    assert 0 < free.sum() < 10
    assert np.abs(slope[free]).max() < 1e-12 * np.abs(bend).max()
    assert (slope[found <= low] >= 0).all() and (slope[found >= high] <= 0).all()


def test_rows_of_a_steep_valley_place_its_lowest_point() -> None:
    bend, lowest = valley(6, 1e6), np.full(6, 0.4)
    steps = rng().uniform(-2, 2, (60, 6))
    steps[0] = 0
    losses = np.einsum("ni,ij,nj->n", steps - lowest, bend, steps - lowest)
    model = QuadraticPosterior(steps, (losses - losses[0]) / np.ptp(losses), None, rng(), whole=True)
    assert model.exact
    found = model.mean().lowest(np.full(6, -1.0), np.full(6, 1.0)) - lowest
    assert found @ bend @ found < 1e-12 * losses[0]


@pytest.mark.parametrize(("n", "whole"), [(10, True), (11, True), (11, False)])
def test_only_more_rows_than_coefficients_are_tried_for_a_polynomial_without_remainder(n: int, whole: bool) -> None:
    steps = rng().uniform(-1, 1, (n, 3))  # 10 coefficients
    steps[0] = 0
    losses = steps @ [1.0, -2.0, 0.5] + (steps**2).sum(1)
    model = QuadraticPosterior(steps, losses, None, rng(), whole)
    for seed in range(20):
        model = QuadraticPosterior(steps, losses, model.index, rng(seed), whole)
    assert model.exact == (n > 10 and whole)
