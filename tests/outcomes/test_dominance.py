"""Dominance numbers and fronts against their definition, on sets with ties, duplicates, infinities and nan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lamcts.outcomes import dominance
from lamcts.outcomes.dominance import UNKNOWN_NUMBER, DominanceNumbers, dominance_numbers, non_dominated

FEW = [0.0, -0.0, 1.0, 2.0, 3.0, np.inf, -np.inf, np.nan]  # so few values that ties and equal rows are frequent
SETS = st.tuples(st.integers(0, 12), st.integers(1, 4)).flatmap(
    lambda s: arrays(float, s, elements=st.sampled_from(FEW))
)


def counted(f):
    """Return the dominance numbers by their definition."""
    worse = (f <= f[:, None]).all(2) & (f < f[:, None]).any(2)  # [i, j]: row j dominates row i
    return np.where(np.isnan(f).any(1), UNKNOWN_NUMBER, worse.sum(1)).tolist()


def drawn(seed, n=None, m=None):
    """Return a set of rows with ties, duplicates and, in every other one, some nan."""
    rng = np.random.default_rng(seed)
    f = rng.integers(0, rng.integers(2, 9), (n or rng.integers(1, 15), m or rng.integers(1, 5))).astype(float)
    return np.where(rng.random(f.shape) < 0.1 * (seed % 2), np.nan, f)


def test_two_points_of_a_front_a_copy_and_what_they_dominate():
    f = np.array([[1, 3], [3, 1], [1, 3], [2, 3], [4, 4], [np.nan, 0]], float)
    assert dominance_numbers(f).tolist() == [0, 0, 0, 2, 4, UNKNOWN_NUMBER]
    assert non_dominated(f).tolist() == [True, True, True, False, False, False]


@pytest.mark.dear
def test_ten_thousand_sets_are_as_the_definition_says():
    for seed in range(10_000):
        f = drawn(seed)
        expected = counted(f)
        assert dominance_numbers(f).tolist() == expected, f
        assert non_dominated(f).tolist() == [number == 0 for number in expected], f


@given(SETS)
def test_infinities_and_both_zeros_are_as_the_definition_says(f):
    assert dominance_numbers(f).tolist() == counted(f)
    assert non_dominated(f).tolist() == [number == 0 for number in counted(f)]


@given(SETS, st.data())
def test_batches_of_any_size_are_as_one_by_one(f, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(f)), max_size=4)))
    table = DominanceNumbers(f.shape[1])
    for batch in np.split(f, cuts):
        table.append(batch)
    alone = DominanceNumbers(f.shape[1])
    for row in f:
        alone.append(row[None])
    assert table.numbers.tolist() == alone.numbers.tolist() == counted(f)
    assert len(table) == len(f)


@given(SETS, st.randoms(use_true_random=False))
def test_rows_in_another_order_have_the_same_numbers_in_that_order(f, random):
    order = random.sample(range(len(f)), len(f))
    assert dominance_numbers(f[order]).tolist() == dominance_numbers(f)[order].tolist()
    assert non_dominated(f[order]).tolist() == non_dominated(f)[order].tolist()


@given(SETS, st.randoms(use_true_random=False))
def test_neither_the_order_of_the_columns_nor_an_increasing_map_of_one_changes_a_number(f, random):
    columns = random.sample(range(f.shape[1]), f.shape[1])
    mapped = np.where(np.isfinite(f), 8 * f**3 - 5, f)[:, columns]
    assert dominance_numbers(mapped).tolist() == dominance_numbers(f).tolist()
    assert non_dominated(mapped).tolist() == non_dominated(f).tolist()


@given(SETS)
def test_an_objective_given_twice_changes_nothing(f):
    twice = np.concatenate([f, f[:, :1]], axis=1)
    assert dominance_numbers(twice).tolist() == dominance_numbers(f).tolist()


@pytest.mark.parametrize("pairs", [1, 7, 50])
def test_small_blocks_count_as_one_large_one(monkeypatch, pairs):
    sets = [drawn(seed, 40, m) for seed in range(20) for m in (1, 2, 3, 4)]
    whole = [(dominance_numbers(f).tolist(), non_dominated(f).tolist()) for f in sets]
    monkeypatch.setattr(dominance, "MAX_PAIRS", pairs)
    assert [(dominance_numbers(f).tolist(), non_dominated(f).tolist()) for f in sets] == whole


def test_no_more_pairs_are_compared_at_once_than_it_says(monkeypatch):
    sizes = []
    compared = dominance._compared
    monkeypatch.setattr(dominance, "_compared", lambda a, b: sizes.append(a.shape[1] * b.shape[1]) or compared(a, b))
    f = np.random.default_rng(0).random((3000, 3))
    dominance_numbers(f), non_dominated(f)
    assert len(sizes) > 4 and max(sizes) <= dominance.MAX_PAIRS


def test_a_new_row_is_compared_with_all_others_once(monkeypatch):
    sizes = []
    compared = dominance._compared
    table = DominanceNumbers(2)
    table.append(drawn(0, 100, 2))
    monkeypatch.setattr(dominance, "_compared", lambda a, b: sizes.append((a.shape, b.shape)) or compared(a, b))
    table.append(np.zeros((1, 2)))
    assert sizes == [((2, 1), (2, 101))]


def test_numbers_that_were_handed_out_cannot_be_written_to():
    table = DominanceNumbers(1)
    table.append(np.ones((2, 1)))
    with pytest.raises(ValueError, match="read-only"):
        table.numbers[0] = 5
    own = dominance_numbers(np.ones((2, 1)))
    own[0] = 5


def test_rows_of_another_width_are_refused():
    table = DominanceNumbers(2)
    for wrong in (np.ones((3, 1)), np.ones(2)):
        with pytest.raises(ValueError, match=r"expected rows of 2 numbers, got the shape"):
            table.append(wrong)
    assert len(table) == 0
