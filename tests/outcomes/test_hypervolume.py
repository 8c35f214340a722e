"""Hypervolumes against a count of unit cells, which is exact, and against moocore."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lamcts.errors import MissingExtra
from lamcts.outcomes import hypervolume as module
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import (
    cells_of,
    contributions,
    default_reference,
    hypervolume,
    hypervolume_so_far,
    improvement,
)

TOP = 5  # the reference of whole-numbered rows, in every column
WHOLE = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan, np.inf, -np.inf])
COLUMNS = [1, 2, 3, 4]


def counted(f):
    """Return how many unit cells from 0 to TOP whole-numbered rows [n, m] dominate."""
    corners = np.stack(np.meshgrid(*[np.arange(TOP)] * f.shape[1], indexing="ij"), axis=-1).reshape(-1, f.shape[1])
    used = f[np.isfinite(f).all(1)]
    return int((used[:, None] <= corners).all(2).any(0).sum())


def sets(m, largest=9):
    return st.integers(0, largest).flatmap(lambda n: arrays(float, (n, m), elements=WHOLE))


def sphere(n, m, seed=0):
    """Return n rows none of which dominates another."""
    f = np.random.default_rng(seed).random((n, m))
    return f / np.linalg.norm(f, axis=1)[:, None]


@pytest.fixture
def without_moocore(monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)


def test_a_staircase_by_hand():
    f = np.array([[1, 3], [2, 1], [2, 3], [5, 0]], float)  # the third is dominated, the fourth on the reference's edge
    assert hypervolume(f, [5, 4]) == 10.0
    assert contributions(f, [5, 4]).tolist() == [1, 6, 0, 0]
    assert improvement([[0, 0], [3, 0], [4, 4], [1, 2]], f, [5, 4]).tolist() == [10, 2, 0, 1]


@pytest.mark.parametrize("m", COLUMNS)
def test_the_cells_that_are_dominated_are_counted(m, without_moocore):
    @given(sets(m))
    def check(f):
        assert hypervolume(f, np.full(m, TOP)) == counted(f)

    check()


@pytest.mark.parametrize("m", [3, 4, 5])
def test_moocore_and_the_own_cells_give_the_same(m):
    moocore = pytest.importorskip("moocore", reason="moocore is not installed: pip install '.[pareto]'")
    for seed in range(20):
        f = sphere(30, m, seed)
        own = module._dominated(f, np.full(m, 1.1))
        assert own == pytest.approx(moocore.hypervolume(f, ref=1.1), rel=1e-12)
        assert hypervolume(f, np.full(m, 1.1)) == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("m", COLUMNS)
def test_the_course_of_the_hypervolume_is_that_of_the_first_rows(m):
    @given(sets(m))
    def check(f):
        course = hypervolume_so_far(f, np.full(m, TOP))
        assert course.tolist() == [counted(f[: i + 1]) for i in range(len(f))]

    check()


@pytest.mark.parametrize("m", COLUMNS)
def test_a_contribution_is_what_goes_when_a_row_of_the_front_goes(m):
    @given(sets(m, 7))
    def check(f):
        known = np.where(np.isfinite(f), f, np.nan)
        reference, front = np.full(m, TOP), np.where(non_dominated(known)[:, None], known, np.nan)
        gone = [np.where(np.arange(len(f))[:, None] == i, np.nan, front) for i in range(len(f))]
        assert contributions(f, reference).tolist() == [counted(front) - counted(rest) for rest in gone]

    check()


@pytest.mark.parametrize("m", COLUMNS)
def test_an_improvement_is_what_comes_when_a_candidate_comes(m):
    @given(sets(m, 7), sets(m, 4))
    def check(f, candidates):
        expected = [counted(np.concatenate([f, row[None]])) - counted(f) for row in candidates]
        assert improvement(candidates, f, np.full(m, TOP)).tolist() == expected

    check()


@given(sets(3), st.permutations(range(3)), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_of_columns_matters(f, columns, random):
    order = random.sample(range(len(f)), len(f))
    moved = f[order][:, columns]
    reference = np.array([4.0, 5.0, 6.0])
    assert hypervolume(moved, reference[columns]) == hypervolume(f, reference)
    assert contributions(moved, reference[columns]).tolist() == contributions(f, reference)[order].tolist()
    ours = improvement(moved, f[:2][:, columns], reference[columns])
    assert ours.tolist() == improvement(f, f[:2], reference)[order].tolist()


@pytest.mark.parametrize("m", COLUMNS)
def test_a_column_that_is_shifted_and_scaled_scales_all_volumes(m):
    f, candidates, reference = sphere(20, m), np.random.default_rng(1).random((10, m)), np.full(m, 1.25)
    scale, shift = 2.0 ** np.arange(-2, m - 2), np.arange(m) - 1.0
    moved = [scale * rows + shift for rows in (f, candidates, reference)]
    factor = scale.prod()
    assert hypervolume(moved[0], moved[2]) == pytest.approx(factor * hypervolume(f, reference))
    assert contributions(moved[0], moved[2]) == pytest.approx(factor * contributions(f, reference))
    assert improvement(moved[1], moved[0], moved[2]) == pytest.approx(factor * improvement(candidates, f, reference))


@pytest.mark.parametrize("m", COLUMNS)
def test_the_cells_are_disjoint_and_cover_what_is_not_dominated(m):
    rng = np.random.default_rng(0)
    f = rng.integers(0, 5, (12, m)) + 0.0
    lower, upper = cells_of(f, np.full(m, 5.0))
    points = rng.uniform(-1, 5, (500, m))
    held = ((points[:, None] >= lower) & (points[:, None] < upper)).all(2).sum(1)
    free = ~(f[:, None] <= points).all(2).any(0)
    assert 0 < free.sum() < 500
    assert held.tolist() == free.astype(int).tolist()


def test_candidates_in_small_blocks_gain_as_in_one(monkeypatch):
    f, candidates = sphere(20, 3), np.random.default_rng(1).random((50, 3))
    whole = improvement(candidates, f, np.ones(3))
    assert whole.max() > 0
    monkeypatch.setattr(module, "MAX_PAIRS", 100)
    assert improvement(candidates, f, np.ones(3)).tolist() == whole.tolist()


def test_what_a_search_compares_by_does_not_depend_on_what_is_installed(monkeypatch):
    f, candidates = sphere(20, 3), np.random.default_rng(1).random((50, 3))
    both = [*contributions(f, np.ones(3)), *improvement(candidates, f, np.ones(3))]
    monkeypatch.setitem(sys.modules, "moocore", None)
    assert [*contributions(f, np.ones(3)), *improvement(candidates, f, np.ones(3))] == both


def test_many_columns_need_moocore_and_say_so(without_moocore):
    assert hypervolume(sphere(10, 4), np.ones(4)) > 0
    with pytest.raises(MissingExtra, match=r"'moocore'.*\.\[pareto\]"):
        hypervolume(sphere(10, 5), np.ones(5))
    assert hypervolume(np.full((1, 5), 2.0), np.ones(5)) == 0  # nothing counts: nothing is needed


def test_a_volume_beyond_all_floats_is_infinite():
    huge = np.full((1, 2), -1e200)
    assert hypervolume(huge, np.full(2, 1e200)) == np.inf
    assert improvement(huge, np.ones((1, 2)), np.full(2, 1e200)).tolist() == [np.inf]


def test_no_rows_have_no_volume():
    none = np.empty((0, 2))
    assert hypervolume(none, [1, 1]) == 0
    assert contributions(none, [1, 1]).shape == (0,)
    assert improvement(np.zeros((1, 2)), none, [2, 3]).tolist() == [6]


def test_a_reference_has_a_finite_number_for_each_column():
    with pytest.raises(ValueError, match=r"reference \[m\], got the shapes \(1, 2\) and \(3,\)"):
        hypervolume(np.ones((1, 2)), np.ones(3))
    with pytest.raises(ValueError, match="expected finite numbers, got"):
        improvement(np.ones((1, 2)), np.ones((1, 2)), [1, np.nan])


def test_the_default_reference_is_a_tenth_of_the_range_behind_the_front():
    f = np.array([[0, 10], [2, 5], [1, 7], [9, 99], [np.nan, -5]], float)
    assert default_reference(f).tolist() == pytest.approx([2.2, 10.5])
    assert contributions(f, default_reference(f))[:3].min() > 0


@pytest.mark.parametrize("row", [[0.0, -2.0], [5.0, 1e-9]])
def test_the_default_reference_gives_a_lone_point_a_volume(row):
    assert hypervolume(np.array([row]), default_reference(np.array([row]))) > 0


def test_there_is_no_default_reference_for_nothing():
    with pytest.raises(ValueError, match="give a reference"):
        default_reference(np.full((2, 2), np.nan))


@pytest.mark.parametrize("m", [2, 3])
def test_volumes_near_the_largest_float_are_infinite_or_nothing_and_no_warning(m: int) -> None:
    largest = np.finfo(float).max
    f = np.full((3, m), 1.0)
    f[0, 0], f[0, 1], f[1, 0], f[1, 1] = -largest, largest / 2, largest / 2, -largest
    reference = default_reference(f)
    assert np.isfinite(reference).all() and (reference >= f.max(0)).all()
    assert hypervolume(f, np.full(m, largest)) == np.inf  # any warning is an error
    assert not np.isnan(contributions(f, np.full(m, largest))).any()
    gained = improvement(np.vstack([f, np.full((1, m), -largest)]), f, np.full(m, largest))
    assert gained[:3].tolist() == [0.0, 0.0, 0.0] and gained[3] == np.inf
