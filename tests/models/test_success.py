"""What is learnt of where evaluations fail: order in space, and nothing from chance."""

import numpy as np
import pytest

from lamcts.models.coding import Inputs
from lamcts.models.success import Success, failed_rows, success_near, unless_chance
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats

MIDDLE = np.full(3, 0.5)


def told(x: Floats, good: Floats) -> Observations:
    """Return rows x [n, d] of which those that are `good` [n] succeeded."""
    seen = Observations(x.shape[1])
    none = np.full(len(x), -1)
    seen.append(x, np.where(good, 1.0, np.nan), np.full(len(x), np.nan), none, none)
    return seen


def beyond_a_plane(n: int) -> Success | None:
    x = np.random.default_rng(0).random((n, 3))
    return success_near(told(x, x.sum(1) < 1.5), MIDDLE)


def test_a_border_is_found_and_points_that_were_not_seen_are_told_apart() -> None:
    success = unless_chance(beyond_a_plane(80))
    assert success is not None
    x = np.random.default_rng(1).random((400, 3))
    clear = np.abs(x.sum(1) - 1.5) > 0.2
    assert np.mean((success.chance(Inputs.of(x)) > 0.5)[clear] == (x.sum(1) < 1.5)[clear]) > 0.95
    assert success.chance(Inputs.of(x)).min() >= 0 and success.chance(Inputs.of(x)).max() <= 1


def test_the_slope_is_that_of_the_shortfall_and_flat_where_success_is_likely() -> None:
    success = beyond_a_plane(80)
    assert success is not None
    x = np.random.default_rng(2).random((30, 3))
    short, slope = success.slope(x)
    assert (short > 0).any() and (short == 0).any()
    assert not slope[short == 0].any()
    some = x[short > 0.05]
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        by_differences = (success.shortfall(some + step) - success.shortfall(some - step)) / 2e-6
        assert by_differences == pytest.approx(slope[short > 0.05][:, j], rel=1e-4, abs=1e-6)


def test_failures_that_are_chance_teach_nothing() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = success_near(told(rng.random((100, 3)), rng.random(100) > 0.1), MIDDLE)
        assert found is not None and unless_chance(found) is None


def test_without_failures_or_without_a_success_there_is_nothing_to_learn() -> None:
    x = np.random.default_rng(0).random((30, 3))
    assert success_near(told(x, np.ones(30, bool)), MIDDLE) is None
    assert success_near(told(x, np.zeros(30, bool)), MIDDLE) is None


def test_rows_that_are_one_point_are_no_order() -> None:
    assert unless_chance(success_near(told(np.full((20, 3), 0.3), np.arange(20) % 2 == 0), MIDDLE)) is None


def test_a_trial_that_was_told_a_value_after_all_did_not_fail() -> None:
    seen = Observations(1)
    trial = np.array([4, 5, 4])
    seen.append(np.array([[0.1], [0.2], [0.1]]), np.array([np.nan, np.nan, 1.0]), np.full(3, np.nan), trial, trial)
    assert failed_rows(seen).tolist() == [1]
