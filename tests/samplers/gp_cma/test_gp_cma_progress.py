import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from lamcts.samplers.gp_cma.progress import below, kendall, lower, lowest


@pytest.mark.parametrize("seed", range(4))
def test_tau_of_pairs_with_ties_is_that_of_scipy(seed: int) -> None:
    pairs = np.random.default_rng(seed).integers(0, 6, (20, 2)).astype(float)
    assert kendall(pairs) == pytest.approx(kendalltau(*pairs.T).statistic)


def test_tau_is_one_for_the_same_order_and_nothing_where_one_side_is_constant() -> None:
    a = np.arange(5.0)
    assert kendall(np.column_stack([a, a**3])) == 1.0
    assert kendall(np.column_stack([a, -a])) == -1.0
    assert kendall(np.column_stack([a, np.ones(5)])) == 0.0


def test_tau_bears_losses_whose_difference_is_no_float() -> None:
    assert kendall(np.array([[0.0, -1.7e308], [1.0, 1.7e308], [2.0, 1.75e308]])) == 1.0


def test_least_values_pass_over_what_is_missing() -> None:
    assert lowest(np.array([math.nan, 2.0, 1.0])) == 1.0
    assert lowest(np.array([math.nan])) is None
    assert (lower(None, None), lower(None, 2.0), lower(1.0, 2.0)) == (None, 2.0, 1.0)


@pytest.mark.parametrize(
    "value, known, least, expected",
    [
        (None, 1.0, 0.0, False),
        (1.0, None, 0.0, True),
        (1.0, 1.0, 0.0, False),
        (0.9, 1.0, 0.0, True),
        (0.9, 1.0, 0.2, False),
    ],
)
def test_progress_is_to_be_lower_by_more_than_the_least(
    value: float | None, known: float | None, least: float, expected: bool
) -> None:
    assert below(value, known, least) == expected
