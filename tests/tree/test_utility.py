import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.tree import select as utility

losses = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30).map(np.array)


def test_ranks_run_from_one_for_the_lowest_loss_to_zero_and_equals_share() -> None:
    assert utility.ranks(np.array([3.0, 1.0, 2.0])).tolist() == [0, 1, 0.5]
    assert utility.ranks(np.array([5.0, 1.0, 5.0, 9.0])).tolist() == [0.5, 1, 0.5, 0]
    assert utility.ranks(np.array([7.0])).tolist() == [0.5]
    assert utility.ranks(np.full(4, 7.0)).tolist() == [0.5] * 4
    assert utility.ranks(np.empty(0)).shape == (0,)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(losses)
def test_ranks_see_order_alone(y: np.ndarray) -> None:
    _, places = np.unique(y, return_inverse=True)
    assert utility.ranks(y).tolist() == utility.ranks(places.astype(float)).tolist()
    assert utility.ranks(y / 8).tolist() == utility.ranks(y).tolist() or np.any((y != 0) & (np.abs(y) < 1e-300))


def test_a_mean_of_huge_values_does_not_overflow() -> None:
    assert utility.mean(np.full(1000, 1.7e308)) == 1.7e308
    assert utility.mean(np.full(3, 1e-320)) == 1e-320
    assert utility.mean(np.zeros(3)) == 0
    assert np.isclose(utility.mean(np.array([1.0, 2.0, 6.0])), 3)


def test_raw_utility_is_the_value_that_is_maximised() -> None:
    assert utility.raw(np.array([3.0, -1.0])).tolist() == [-3, 1]
