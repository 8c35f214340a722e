"""Observations: columns that only grow, the best row, pending points, and what counts as fresh."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.outcomes.observations import Observations
from lamcts.types import Floats


def add(seen: Observations, x: Any, y: Any, trial: Any = None, source: Any = None) -> Any:
    y = np.asarray(y, float)
    unknown = np.full(len(y), -1)
    trial = unknown if trial is None else np.asarray(trial)
    source = unknown if source is None else np.asarray(source)
    return seen.append(np.asarray(x, float).reshape(len(y), seen.dim), y, np.full(len(y), np.nan), trial, source)


def test_rows_are_numbered_in_order_of_arrival_and_keep_their_columns() -> None:
    seen = Observations(2)
    rows = seen.append(
        np.array([[0.0, 1.0], [0.5, 0.5]]),
        np.array([3.0, 2.0]),
        np.array([0.1, np.nan]),
        np.array([7, -1]),
        np.array([4, -1]),
    )
    assert rows.tolist() == [0, 1] and rows.dtype == np.int64
    assert add(seen, [[0.2, 0.2]], [1.0]).tolist() == [2]
    assert len(seen) == 3
    assert seen.x.tolist() == [[0.0, 1.0], [0.5, 0.5], [0.2, 0.2]]
    assert seen.y.tolist() == [3.0, 2.0, 1.0]
    assert seen.seconds[0] == 0.1 and np.isnan(seen.seconds[1:]).all()
    assert seen.trial.tolist() == [7, -1, -1] and seen.source.tolist() == [4, -1, -1]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(), st.sampled_from([1.0, -2.0, math.nan, math.inf])), max_size=40), max_size=6
    )
)
def test_good_rows_and_the_best_are_as_a_plain_loop_says(batches: list[list[float]]) -> None:
    seen = Observations(1)
    values: list[float] = []
    for batch in batches:
        rows = add(seen, np.arange(len(batch)), batch)
        assert rows.tolist() == list(range(len(values), len(values) + len(batch)))
        values += batch
        good = [row for row, value in enumerate(values) if math.isfinite(value)]
        assert seen.good.tolist() == good
        assert seen.best == (min(good, key=lambda row: (values[row], row)) if good else None)
        assert np.isnan(seen.y[[row for row in range(len(values)) if row not in good]]).all()
        assert seen.y[good].tolist() == [values[row] for row in good]


def test_columns_are_read_only_views_that_growth_does_not_change() -> None:
    seen = Observations(3)
    add(seen, np.random.default_rng(0).random((10, 3)), np.arange(10.0))
    columns = seen.x, seen.y, seen.seconds, seen.trial, seen.source, seen.good
    before = [column.copy() for column in columns]
    for column in columns:
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    for i in range(100):
        add(seen, np.full((1, 3), i / 100), [-float(i)])
    for column, was in zip(columns, before, strict=True):
        assert np.array_equal(column, was, equal_nan=True)
    assert len(seen) == 110 and seen.best == 109


def test_the_callers_arrays_are_copied() -> None:
    seen = Observations(2)
    x, pending = np.zeros((1, 2)), np.ones(2)
    add(seen, x, [1.0])
    seen.expect(0, pending)
    x[:], pending[:] = 0.5, 0.5
    assert seen.x.tolist() == [[0.0, 0.0]] and seen.pending_x().tolist() == [[1.0, 1.0]]
    assert not seen.unseen(np.ones((1, 2)))[0]
    seen.close([0])
    assert seen.unseen(np.ones((1, 2)))[0]


def test_an_empty_batch_changes_nothing() -> None:
    seen = Observations(2)
    assert add(seen, np.empty((0, 2)), []).tolist() == []
    assert len(seen) == 0 and seen.best is None and seen.x.shape == (0, 2) and seen.pending_x().shape == (0, 2)
    assert seen.unseen(np.empty((0, 2))).tolist() == []


def test_fresh_points_equal_nothing_seen_pending_or_earlier_in_the_call() -> None:
    seen = Observations(1)
    add(seen, [[0.1], [0.2]], [1.0, math.nan])
    seen.expect(5, np.array([0.3]))
    x = np.array([[0.1], [0.2], [0.3], [0.4], [0.4], [0.5], [0.1]])
    assert seen.unseen(x).tolist() == [False, False, False, True, False, True, False]
    assert seen.unseen(x).tolist() == [False, False, False, True, False, True, False]  # looking changes nothing


def test_zero_and_negative_zero_are_one_point() -> None:
    seen = Observations(2)
    add(seen, [[0.0, 0.5]], [1.0])
    assert seen.unseen(np.array([[-0.0, 0.5]])).tolist() == [False]


def test_a_closed_trial_frees_its_point_unless_it_was_seen_or_is_still_out_elsewhere() -> None:
    seen = Observations(1)
    for trial, x in enumerate([0.1, 0.2, 0.2, 0.3]):
        seen.expect(trial, np.array([x]))
    assert list(seen.pending) == [0, 1, 2, 3]
    assert seen.pending_x().ravel().tolist() == [0.1, 0.2, 0.2, 0.3]
    add(seen, [[0.3]], [1.0], trial=[3])
    seen.close([0, 1, 3])
    assert list(seen.pending) == [2]
    assert seen.unseen(np.array([[0.1], [0.2], [0.3]])).tolist() == [True, False, False]
    seen.close([2])
    assert seen.unseen(np.array([[0.2]])).tolist() == [True]


def test_closing_an_unknown_trial_raises_and_closes_none() -> None:
    seen = Observations(1)
    seen.expect(1, np.array([0.1]))
    with pytest.raises(KeyError):
        seen.close([1, 2])
    assert list(seen.pending) == [1] and not seen.unseen(np.array([[0.1]]))[0]


def test_expecting_a_trial_twice_is_refused() -> None:
    seen = Observations(1)
    seen.expect(1, np.array([0.1]))
    with pytest.raises(ValueError, match="trial 1"):
        seen.expect(1, np.array([0.2]))
    seen.close([1])
    assert seen.unseen(np.array([[0.1], [0.2]])).all()


@pytest.mark.parametrize("y", [[1e300, -1e300], [1e-300, 0.0], [-0.0, 0.0]])
def test_extreme_values_are_values(y: list[float]) -> None:
    seen = Observations(1)
    add(seen, [[0.0], [1.0]], y)
    assert seen.good.tolist() == [0, 1] and seen.best == int(np.argmin(y))


def test_what_is_left_of_a_finite_space_follows_every_ask_tell_and_forget() -> None:
    every = np.array([[i / 4, j / 4] for i in range(5) for j in range(5)])
    seen, listed = Observations(2), []

    def rows() -> Floats:
        listed.append(True)
        return every

    def left() -> set[bytes]:
        found = seen.remaining(rows)
        assert found is not None and found.shape[1] == 2
        return {row.tobytes() for row in found}

    seen.append(every[:3], np.zeros(3), np.zeros(3), np.full(3, -1), np.full(3, -1))
    assert left() == {row.tobytes() for row in every[3:]}
    seen.expect(0, every[3])
    seen.append(every[4:5] * -0.0, np.zeros(1), np.zeros(1), np.full(1, -1), np.full(1, -1))  # known before: (0, 0)
    assert left() == {row.tobytes() for row in every[4:]}
    seen.close([0])
    assert left() == {row.tobytes() for row in every[3:]}
    assert len(listed) == 1
    assert Observations(2).remaining(lambda: None) is None


def parity(x: Floats) -> list[int | None]:
    """Points are the same where the number of sixteenths leaves the same rest by 4; those of rest 3 are none."""
    return [None if rest == 3 else rest for rest in (x[:, 0] * 16).astype(int) % 4]


GRID = np.arange(16)[:, None] / 16


def test_points_with_one_key_are_one_and_those_without_are_never_fresh() -> None:
    seen = Observations(1, keys=parity)
    assert seen.keyed and not Observations(1).keyed
    assert seen.unseen(GRID).tolist() == [True, True, True, False] + [False] * 12
    add(seen, [[4 / 16]], [1.0])
    seen.expect(0, np.array([9 / 16]))
    assert seen.unseen(GRID).tolist() == [False, False, True, False] + [False] * 12
    assert seen.distinct == 2
    seen.close([0])
    assert np.flatnonzero(seen.unseen(GRID)).tolist() == [1, 2]
    assert seen.distinct == 1


def test_a_key_is_known_until_the_last_of_its_points_is_closed() -> None:
    seen = Observations(1, keys=parity)
    seen.expect(0, np.array([1 / 16]))
    seen.expect(1, np.array([5 / 16]))
    seen.close([0])
    assert not seen.unseen(np.array([[1 / 16]]))[0]
    seen.close([1])
    assert seen.unseen(np.array([[1 / 16]]))[0]


def test_a_point_that_is_given_back_stands_where_it_stood_among_those_left() -> None:
    every = np.arange(4.0)[:, None] / 4
    seen = Observations(1)
    assert seen.remaining(lambda: every) is not None
    seen.expect(0, every[1])
    seen.close([0])
    found = seen.remaining(lambda: every)
    assert found is not None
    assert found.tolist() == every.tolist()  # as in one that was read from a file


def test_of_what_is_left_there_is_one_point_a_key() -> None:
    seen = Observations(1, keys=parity)

    def left() -> list[int]:
        found = seen.remaining(lambda: GRID)
        assert found is not None
        return sorted(int(x[0] * 16) % 4 for x in found)

    assert left() == [0, 1, 2]
    seen.expect(0, np.array([5 / 16]))
    add(seen, [[3 / 16], [2 / 16]], [1.0, 2.0])  # the first of them is no point
    assert left() == [0]
    seen.close([0])
    assert left() == [0, 1]


def test_points_without_a_key_are_kept_apart_and_do_no_harm() -> None:
    seen = Observations(1, keys=parity)
    add(seen, [[3 / 16], [7 / 16], [3 / 16]], [1.0, 0.5, math.nan])
    assert (len(seen), seen.best, seen.distinct) == (3, 1, 2)
    assert np.flatnonzero(seen.unseen(GRID)).tolist() == [0, 1, 2]


def test_with_repeats_only_points_without_a_key_are_refused() -> None:
    seen = Observations(1, repeat=True, keys=parity)
    add(seen, [[0.0]], [1.0])
    assert seen.unseen(GRID).tolist() == [True, True, True, False] * 4
