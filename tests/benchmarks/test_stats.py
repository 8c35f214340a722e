"""The statistics of the tables, by hand."""

import math

import pytest

from benchmarks.tables import stats


def test_a_constant_difference_has_no_spread():
    gap = stats.difference([1.0, 2.0, 3.0, 4.0], [1.5, 2.5, 3.5, 4.5])
    assert gap == (-0.5, -0.5, -0.5, 4)


def test_limits_are_the_quantiles_of_all_resampled_medians():
    # Three pairs, gaps 0, 0, 9: the median is 9 when at least two of three draws hit the third pair: 7 of 27 draws.
    gap = stats.difference([0.0, 0.0, 9.0], [0.0, 0.0, 0.0])
    assert (gap.median, gap.lower, gap.upper) == (0.0, 0.0, 9.0)
    # Gaps 0 and 9 seven to one of eight: at least five of eight hits have probability 0.3 %, four (median 4.5) 1 %.
    assert stats.difference([0.0] * 7 + [9.0], [0.0] * 8).upper == 0.0


def test_equal_infinities_differ_by_nothing():
    assert stats.difference([math.inf, 1.0, 1.0], [math.inf, 1.0, 1.0]) == (0.0, 0.0, 0.0, 3)


def test_pairs_must_match():
    with pytest.raises(ValueError, match="expected pairs"):
        stats.difference([1.0], [1.0, 2.0])


def test_support_counts_draws_in_which_the_median_is_best():
    sure = stats.support({"a": [0.0, 0.1, 0.2], "b": [1.0, 1.1, 1.2]})
    assert sure == {"a": 1.0, "b": 0.0}
    even = stats.support({"a": [1.0, 1.0], "b": [1.0, 1.0]})
    assert even == {"a": 0.5, "b": 0.5}
    # b beats a only when both draws hit seed 1 (1 of 4); one hit each gives medians 0.5 and 1.25.
    mixed = stats.support({"a": [0.0, 1.0], "b": [2.0, 0.5]})
    assert mixed["b"] == pytest.approx(0.25, abs=0.02)


def test_first_needs_support():
    assert stats.leading({"a": [0.0, 1.0], "b": [2.0, 0.5]})[:2] == ("a", "tied")
    assert stats.leading({"a": [3.0, 3.0], "b": [2.0, 0.5]}) == ("b", "first", 1.0)


def test_ranks_share_places():
    assert stats.ranks({"a": [1.0, 5.0], "b": [1.0, 4.0], "c": [3.0, 6.0]}) == {"a": 1.75, "b": 1.25, "c": 3.0}


def test_quartiles_bear_infinities():
    assert stats.quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert stats.quartiles([1.0, math.inf]) == (math.inf, math.inf, math.inf)
    assert stats.quartiles([1.0, 2.0, math.inf]) == (1.5, 2.0, math.inf)
