import json

import numpy as np
import pytest

from lamcts.samplers.parts.record import from_json, to_json
from lamcts.samplers.portfolio.bandit import (
    NEGLIGIBLE_GAIN,
    PRIOR_EVALUATIONS,
    SHARPNESS,
    AdaptiveAllocation,
    AllocationState,
)

ALL = [True, True, True]
FLOORS = [0.3, 0.1, 0.1]


def counted(shares: AdaptiveAllocation, asks: list[int], open: list[bool]) -> list[int]:
    """Return how many points each arm gets in all."""
    return [int(k) for k in np.sum([shares.split(n, open) for n in asks], axis=0)]


def test_what_is_left_above_the_floors_is_shared_evenly_before_anything_is_known() -> None:
    np.testing.assert_allclose(AdaptiveAllocation(FLOORS, 60).shares(ALL), np.array(FLOORS) + 0.5 / 3)


def test_gains_per_evaluation_share_what_is_left_above_the_floors() -> None:
    shares = AdaptiveAllocation(FLOORS, 1e9)
    shares.credit(np.array([1.0, 6.0, 0.0]), np.array([10.0, 20.0, 10.0]))
    common = 7 / 40
    n = np.array([10.0, 20.0, 10.0])
    rates = (
        (np.array([1.0, 6.0, 0.0]) + PRIOR_EVALUATIONS * common) / (n + PRIOR_EVALUATIONS) + NEGLIGIBLE_GAIN
    ) ** SHARPNESS
    np.testing.assert_allclose(shares.shares(ALL), FLOORS + 0.5 * rates / rates.sum())


def test_an_arm_that_gains_nothing_keeps_its_floor() -> None:
    shares = AdaptiveAllocation(FLOORS, 1e9)
    shares.credit(np.array([0.0, 1000.0, 0.0]), np.array([1e6, 1e3, 1e6]))
    np.testing.assert_allclose(shares.shares(ALL), [0.3, 0.6, 0.1], atol=1e-3)


def test_an_arm_that_was_not_seen_is_taken_as_average() -> None:
    shares = AdaptiveAllocation([0.0, 0.0, 0.0], 1e9)
    shares.credit(np.array([1.0, 3.0, 0.0]), np.array([10.0, 10.0, 0.0]))
    rates = shares.shares(ALL)
    assert rates[0] < rates[2] < rates[1]


def test_where_nobody_gains_all_are_equal_again() -> None:
    shares = AdaptiveAllocation([0.0, 0.0], 60)
    shares.credit(np.array([5.0, 0.0]), np.array([10.0, 10.0]))
    assert shares.shares([True, True])[0] > 0.6
    for _ in range(100):
        shares.credit(np.zeros(2), np.array([10.0, 10.0]))
    np.testing.assert_allclose(shares.shares([True, True]), [0.5, 0.5], atol=1e-3)


def test_what_is_as_good_as_nothing_can_be_said() -> None:
    shares = [AdaptiveAllocation([0.0, 0.0], 60, little=little) for little in (1e-5, 1e-9)]
    for own in shares:
        own.credit(np.array([1e-6, 0.0]), np.array([30.0, 30.0]))
    mild, sharp = (own.shares([True, True])[0] for own in shares)
    assert mild < 0.51 and sharp > 0.9


@pytest.mark.parametrize("asks", [[1] * 1000, [7] * 150, [1000]])
def test_over_time_each_arm_gets_its_share_whatever_the_size_of_the_asks(asks: list[int]) -> None:
    shares = AdaptiveAllocation(FLOORS, 1e9)
    shares.credit(np.array([1.0, 6.0, 0.0]), np.array([10.0, 20.0, 10.0]))
    got = counted(shares, asks, ALL)
    assert sum(got) == sum(asks)
    np.testing.assert_allclose(got, sum(asks) * shares.shares(ALL), atol=1.0)


def test_a_closed_arm_gets_nothing_and_is_owed_nothing_later() -> None:
    shares = AdaptiveAllocation(FLOORS, 60)
    assert shares.shares([True, False, True])[1] == 0
    assert shares.shares([True, False, True]).sum() == pytest.approx(1.0)
    assert counted(shares, [1] * 200, [True, False, True])[1] == 0
    assert shares.split(5, [False, True, False]) == [0, 5, 0]
    assert counted(shares, [1] * 100, ALL)[1] < 30  # of a share of 0.27


def test_the_past_fades_over_the_memory() -> None:
    shares = AdaptiveAllocation([0.0, 0.0], 50)
    shares.credit(np.array([2.0, 1.0]), np.array([4.0, 6.0]))
    shares.credit(np.array([0.0, 0.5]), np.array([20.0, 30.0]))
    np.testing.assert_allclose(shares.state.gains, [2 * np.exp(-1), np.exp(-1) + 0.5])
    np.testing.assert_allclose(shares.state.counts, [4 * np.exp(-1) + 20, 6 * np.exp(-1) + 30])


def test_no_result_fades_nothing() -> None:
    shares = AdaptiveAllocation([0.0, 0.0], 50)
    shares.credit(np.array([2.0, 1.0]), np.array([4.0, 6.0]))
    before = to_json(shares.state)
    shares.credit(np.zeros(2), np.zeros(2))
    assert to_json(shares.state) == before


def test_the_state_comes_back_through_json_and_goes_on_the_same() -> None:
    shares = AdaptiveAllocation(FLOORS, 60)
    shares.credit(np.array([0.1, 0.7, 0.0]), np.array([3.0, 4.0, 1.0]))
    counted(shares, [1, 2, 5], ALL)
    state = from_json(AllocationState, json.loads(json.dumps(to_json(shares.state))))
    copy = AdaptiveAllocation(FLOORS, 60, state)
    assert to_json(copy.state) == to_json(shares.state)
    assert [copy.split(3, ALL) for _ in range(20)] == [shares.split(3, ALL) for _ in range(20)]
