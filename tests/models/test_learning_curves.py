"""The model of learning curves: its gradient, what it predicts, and how bad input counts."""

import math

import numpy as np
import pytest

from lamcts.models import learning_curves
from lamcts.models.learning_curves import CurveModel, Units, thinned
from lamcts.models.learning_curves_fit import CurveLoss, Reports

STEPS = 30


def curve(point, steps, rng=None):
    """Return a curve whose limit and speed depend on the point."""
    noise = np.zeros(steps) if rng is None else 0.005 * rng.normal(size=steps)
    return {t: float(point[0] ** 2 + 2 * (1 + t) ** (-0.5 - point[1]) + noise[t]) for t in range(steps)}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.random((30, 3))
    return CurveModel.fit(x, [curve(p, STEPS if i % 3 == 0 else 2 + i % 5, rng) for i, p in enumerate(x)])


def errors(model, steps):
    rng = np.random.default_rng(1)
    found = []
    for point in rng.random((20, 3)):
        mean, sd = model.predict(point[None], STEPS - 1, curve(point, steps, rng) if steps else None)
        found.append((mean[0] - curve(point, STEPS)[STEPS - 1], sd[0]))
    error, sd = np.array(found).T
    return float(np.sqrt(np.mean(error**2))), float(sd.mean())


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    reports = Reports(rng.random((4, 2)), np.array([0, 0, 1, 2, 2, 2, 3]), np.array([0.0, 1, 0, 0, 1, 4, 2]))
    loss = CurveLoss(reports, rng.normal(size=7), np.zeros(9), np.ones(9))
    theta = 0.3 * rng.normal(size=9)
    slope = [(loss(theta + 1e-5 * e)[0] - loss(theta - 1e-5 * e)[0]) / 2e-5 for e in np.eye(9)]
    np.testing.assert_allclose(loss(theta)[1], slope, rtol=1e-4, atol=1e-6)


def test_a_longer_curve_is_predicted_better_and_the_deviation_says_so(fitted):
    (blind, wide), (seen, narrow) = errors(fitted, 0), errors(fitted, 20)
    assert seen < blind / 2 and narrow < 0.6 * wide
    assert 0.3 < seen / narrow < 2 and 0.3 < blind / wide < 2


def test_a_reported_step_is_predicted_as_reported(fitted):
    point = np.full((1, 3), 0.5)
    mean, sd = fitted.predict(point, 3, curve(point[0], 5))
    assert abs(mean[0] - curve(point[0], 5)[3]) < 0.05 and sd[0] < 0.1


def test_chances_are_those_of_the_predicted_moments(fitted):
    point, own = np.full((1, 3), 0.5), curve([0.5, 0.5], 6)
    mean, _ = fitted.predict(point, STEPS - 1, own)
    assert fitted.chance(point, STEPS - 1, mean[0], own)[0] == pytest.approx(0.5, abs=1e-6)


def test_losses_that_are_not_finite_count_as_the_worst():
    x = np.linspace(0, 1, 8)[:, None]
    good = [curve([p, 0.5], 10) for p in x[:, 0]]
    broken = [*good[:-1], good[-1] | {9: math.inf}]
    worst = max(max(own.values()) for own in broken if math.isfinite(own[9]))
    cured = [*good[:-1], good[-1] | {9: max(worst, *(good[-1][t] for t in range(9)))}]
    first, second = (CurveModel.fit(x, own).predict(x, 9)[0] for own in (broken, cured))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="expected at least one finite loss"):
        CurveModel.fit(x[:1], [{0: math.inf}])


def test_one_report_is_enough_for_a_model():
    mean, sd = CurveModel.fit(np.array([[0.5]]), [{3: 1.5}]).predict(np.array([[0.5], [0.1]]), 7)
    np.testing.assert_allclose(mean, 1.5)
    assert (sd > 0).all()


def test_units_are_a_rising_map_and_its_inverse():
    y = np.array([-3.0, 0.0, 0.1, 0.5, 2.0, 30.0])
    units = Units.of(np.array([0.1, 0.2, 0.3, 5.0]))
    assert (np.diff(units.down(y)) > 0).all()
    np.testing.assert_allclose(units.up(units.down(y)), y)
    assert np.isfinite(units.down(np.array([1e308, -1e308]))).all()


def test_thinned_steps_are_few_end_with_the_last_and_lie_closer_at_the_beginning():
    steps = thinned(dict.fromkeys(range(1, 82), 0.0), 8)
    assert len(steps) <= 8 and (steps[0], steps[-1]) == (1, 81) and (np.diff(np.diff(steps)) >= 0).all()
    assert thinned({4: 0.0}, 8) == [4] and thinned({}, 8) == []


def test_the_model_of_many_trials_is_bounded(monkeypatch):
    monkeypatch.setattr(learning_curves, "MOST_TRIALS", 10)
    monkeypatch.setattr(learning_curves, "MOST_REPORTS", 30)
    rng = np.random.default_rng(0)
    x = rng.random((50, 2))
    model = CurveModel.fit(x, [curve(p, 9) for p in x])
    assert len(model._reports.x) == 10 and len(model._reports.step) <= 30
    best = np.argsort(x[:, 0] ** 2 + 2 * 9 ** (-0.5 - x[:, 1]))[:5]
    assert all((model._reports.x == x[i]).all(1).any() for i in best)
