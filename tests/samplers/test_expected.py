"""What a point is expected to add to a front: as others compute it, and as its slope says."""

import numpy as np
import pytest
from scipy.stats import norm

from lamcts.models.acquisition import expected_hypervolume
from lamcts.models.gp import GaussianProcess, Hyper
from lamcts.models.multi_output import MultiOutput
from lamcts.outcomes.dominance import non_dominated
from lamcts.samplers.parts.scalarisation import Hypervolume
from lamcts.samplers.turbo.acquisition import ExpectedVolume

X = np.random.default_rng(0).random((30, 3))
AT = np.random.default_rng(1).random((6, 3))
HYPERS = [Hyper(np.array([0.5, 0.9, 0.6]), 1e-2), Hyper(np.full(3, 0.7), 1e-3), Hyper(np.full(3, 0.4), 1e-3)]


def processes(m: int, c: int) -> tuple[MultiOutput, Hypervolume]:
    ends = np.linspace(0.2, 0.8, m)
    z = np.column_stack([*(np.linalg.norm(X - end, axis=1) for end in ends), *(X[:, j] - 0.6 for j in range(c))])
    front = z[:, :m][non_dominated(z[:, :m])][::2]  # of some rows, so that much is left to gain
    return MultiOutput(X, z, m, HYPERS), Hypervolume(front, 0.1)


def test_means_and_variances_are_those_of_each_process_alone() -> None:
    groups, _ = processes(2, 1)
    mean, variance, *_ = groups.slopes(AT)
    for j, hyper in enumerate(HYPERS):
        alone = GaussianProcess(X, groups.z[:, [j]], hyper).moments(AT)
        np.testing.assert_allclose(mean[:, [j]], alone[0], atol=1e-9)
        np.testing.assert_allclose(variance[:, [j]], alone[1], atol=1e-9)


@pytest.mark.parametrize("m", [2, 3])
def test_the_worth_is_the_expected_gain_times_the_chance_that_constraints_are_kept(m: int) -> None:
    groups, volume = processes(m, 2)
    mean, variance, *_ = groups.slopes(AT)
    sd = np.sqrt(variance)
    gain = expected_hypervolume(mean[:, :m], sd[:, :m], volume.cells)
    chance = norm.cdf(-mean[:, m:] / sd[:, m:]).prod(1)
    np.testing.assert_allclose(np.exp(-ExpectedVolume(groups, volume).slope(AT)[0]), gain * chance, rtol=1e-6)


@pytest.mark.parametrize(("m", "c"), [(2, 0), (2, 2), (3, 1)])
def test_the_worth_rises_as_its_slope_says(m: int, c: int) -> None:
    worth = ExpectedVolume(*processes(m, c))
    _, slope = worth.slope(AT)
    for j, step in enumerate(1e-5 * np.eye(3)):
        change = (worth.slope(AT + step)[0] - worth.slope(AT - step)[0]) / 2e-5
        np.testing.assert_allclose(slope[:, j], change, rtol=1e-4, atol=1e-6)


def test_a_point_that_can_add_nothing_is_worth_nothing_and_has_no_slope() -> None:
    groups, volume = processes(2, 0)
    value, slope = ExpectedVolume(groups, Hypervolume(volume.front - 1e3, 0.1)).slope(AT)
    assert np.isinf(value).all() and (value > 0).all() and not slope.any()
