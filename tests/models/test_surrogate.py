"""What a point is worth: the expected gain times the chance of being feasible, and its slopes."""

import numpy as np
import pytest
from scipy.stats import norm

from lamcts.models.acquisition import (
    DrawnImprovement,
    Gain,
    Improvement,
    VolumeImprovement,
    expected_hypervolume,
    log_expected_improvement,
    log_feasible,
)
from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper
from lamcts.models.multi_output import MultiOutput
from lamcts.models.posterior import Posterior
from lamcts.models.surrogate import MIN_VARIANCE, Surrogate
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.scalarisation import Chebyshev, reference_of
from lamcts.types import Floats

RNG = np.random.default_rng
X = RNG(0).random((30, 3))
AT = Inputs.of(RNG(1).random((6, 3)))
HYPERS = [Hyper(np.array([0.5, 0.9, 0.6]), 1e-2), Hyper(np.full(3, 0.7), 1e-3), Hyper(np.full(3, 0.4), 1e-3)]


def made(m: int, c: int, feasible: bool = True) -> Surrogate:
    """Return the acquisition of `m` losses and `c` constraints, over a front of some rows or before one."""
    ends = np.linspace(0.2, 0.8, m)
    z = np.column_stack([*(np.linalg.norm(X - end, axis=1) for end in ends), *(X[:, j] - 0.6 for j in range(c))])
    parts = [Posterior.of(Inputs.of(X), z[:, [j]], HYPERS[min(j, 2)]) for j in range(m + c)]
    front = z[:, :m][non_dominated(z[:, :m])][::2]  # of some rows, so that much is left to gain
    return Surrogate(MultiOutput(parts, m), front if feasible else front[:0], 0.3)


def moments(surrogate: Surrogate) -> tuple[Floats, Floats]:
    mean, variance = surrogate.model.moments(AT)
    return mean, np.sqrt(np.maximum(variance, MIN_VARIANCE))


def test_means_and_variances_are_those_of_each_process_alone() -> None:
    model = made(2, 1).model
    for j, (mean, own) in enumerate(zip(model.moments(AT)[0].T, model.parts, strict=True)):
        assert np.array_equal(mean, own.moments(AT)[0][:, 0])
        believed = model.fantasize(AT.at(np.arange(2))).moments(AT)
        alone = own.fantasize(AT.at(np.arange(2))).moments(AT)
        for both, single in zip(believed, alone, strict=True):
            assert np.array_equal(both[:, [j]], single)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_it_is_the_expected_gain_times_the_chance_that_constraints_are_kept(m: int) -> None:
    surrogate = made(m, 2)
    mean, sd = moments(surrogate)
    if m == 1:
        gain = np.exp(log_expected_improvement(mean[:, 0], sd[:, 0], float(surrogate.front.min())))
    else:
        gain = expected_hypervolume(mean[:, :m], sd[:, :m], cells_of(surrogate.front, reference_of(surrogate.front)))
    chance = norm.cdf(-mean[:, m:] / sd[:, m:]).prod(1)
    np.testing.assert_allclose(np.exp(surrogate.value(AT)), gain * chance, rtol=1e-6)


@pytest.mark.parametrize("feasible", [True, False])
@pytest.mark.parametrize(("m", "c"), [(1, 0), (1, 1), (2, 0), (2, 2), (3, 1), (6, 1)])
def test_its_slopes_are_those_of_its_differences(m: int, c: int, feasible: bool) -> None:
    surrogate = made(m, c, feasible)
    value, slope = surrogate.slopes(AT)
    np.testing.assert_allclose(value, surrogate.value(AT), rtol=1e-9, atol=1e-9)
    for j, step in enumerate(1e-5 * np.eye(3)):
        ahead, back = (surrogate.value(AT.with_numbers(AT.numbers + side * step)) for side in (1, -1))
        np.testing.assert_allclose(slope[:, j], (ahead - back) / 2e-5, rtol=1e-3, atol=1e-5)


FAR = cells_of(np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]), np.array([3.0, 3.0]))


@pytest.mark.parametrize(
    "gain",
    [
        Improvement(0.2),
        VolumeImprovement(FAR),
        DrawnImprovement(Chebyshev(np.zeros(2), np.ones(2)).slopes, 0.5, RNG(0).standard_normal((16, 2))),
    ],
    ids=lambda gain: type(gain).__name__,
)
@pytest.mark.parametrize("away", [0.0, 5.0, 30.0])
def test_the_slopes_of_every_gain_are_those_of_its_differences_near_and_far(gain: Gain, away: float) -> None:
    k = 1 if isinstance(gain, Improvement) else 2
    rng = RNG(2)
    mean, sd = rng.random((8, k)) + 0.3 + away, 0.2 + rng.random((8, k))
    value, by_mean, by_sd = gain.slopes(mean, sd)
    np.testing.assert_allclose(value, gain.value(mean, sd))
    for j, step in enumerate(1e-6 * np.eye(k)):
        for got, ends in (
            (by_mean, [gain.value(mean + side * step, sd) for side in (1, -1)]),
            (by_sd, [gain.value(mean, sd + side * step) for side in (1, -1)]),
        ):
            np.testing.assert_allclose(got[:, j], (ends[0] - ends[1]) / 2e-6, rtol=1e-3, atol=1e-5)


def test_the_chance_of_feasibility_has_finite_slopes_however_unlikely_it_is() -> None:
    found = log_feasible(np.array([[-1e3], [0.0], [1e3], [1e3]]), np.array([[1.0], [1.0], [1.0], [0.0]]))
    assert found.value[0] == 0.0 and found.value[1] == pytest.approx(np.log(0.5))
    assert all(np.isfinite(own).all() for own in found) and found.by_mean[2] == pytest.approx(-1e3, rel=1e-3)


def test_points_that_can_add_nothing_are_still_ordered_and_have_slopes() -> None:
    near = made(2, 0)
    surrogate = Surrogate(near.model, near.front - 1e3, np.inf)
    value, slope = surrogate.slopes(AT)
    assert np.isfinite(value).all() and len(np.unique(value)) == len(AT)
    assert np.isfinite(slope).all() and slope.any(1).all()


def test_before_anything_is_feasible_a_point_is_worth_what_it_violates_less() -> None:
    surrogate = made(2, 1, feasible=False)
    order = np.argsort(X[:, 0])
    least, most = surrogate.value(Inputs.of(X[order[[0, -1]]]))
    assert least > most and np.isfinite(most)


def test_what_surely_violates_a_constraint_is_worth_little_however_low_its_losses() -> None:
    both = made(2, 1)
    free = Surrogate(MultiOutput(both.model.parts[:2], 2), both.front, np.inf)
    worst = Inputs.of(X[[X[:, 0].argmax()]])
    assert both.value(worst)[0] < free.value(worst)[0] - 10


def test_of_many_losses_a_point_is_worth_more_the_lower_they_are() -> None:
    x = RNG(0).random((20, 2))
    z = np.column_stack([((x - at) ** 2).sum(1) for at in np.linspace(0, 1, 6)])
    parts = [Posterior.of(Inputs.of(x), z[:, [j]], Hyper(np.array([0.4, 0.4]), 1e-4)) for j in range(6)]
    value = Surrogate(MultiOutput(parts, 6), z, np.inf).value(Inputs.of(np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])))
    assert np.isfinite(value).all() and value.argmax() == 0


def test_a_point_that_is_out_joins_the_front_if_it_is_expected_to_be_feasible() -> None:
    surrogate = made(2, 1)
    feasible = surrogate.model.expect(AT)[:, 2] <= 0
    assert feasible.any() and not feasible.all()
    inside, outside = AT.at(np.flatnonzero(feasible)[:1]), AT.at(np.flatnonzero(~feasible)[:1])
    assert len(surrogate.fantasize(outside).front) == len(surrogate.front)
    expected = surrogate.model.expect(inside)[0, :2]
    after = surrogate.fantasize(inside).front
    assert (after <= expected + 1e-12).all(1).any()
    assert surrogate.fantasize(inside).value(inside)[0] < surrogate.value(inside)[0]
