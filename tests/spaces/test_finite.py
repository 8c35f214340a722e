"""Tables of points: nearest rows, points of any kind, and tables that cannot be told apart."""

from typing import Any

import numpy as np
import pytest

from lamcts.spaces import Finite, Float, Space


def test_points_are_numbers_rows_or_anything_with_features() -> None:
    rows = np.array([[0.0, 10.0], [1.0, 30.0], [4.0, 20.0]])
    for points in (rows, rows.tolist()):
        space = Finite(points)
        assert np.array_equal(space.x, [[0, 0], [0.25, 1], [1, 0.5]]) and space.dim == 2
        assert np.array_equal(space.encode([4, 20]), [1, 0.5]) and np.array_equal(space.encode(rows[2]), [1, 0.5])
        assert list(space.decode(np.array([0.9, 0.6]))) == [4.0, 20.0]
    assert Finite([1, 2, 5]).decode(np.array([0.3])) == 2
    assert type(Finite(np.array([1, 2, 5])).decode(np.array([0.3]))) is int
    named = Finite([{"op": "conv"}, {"op": "pool"}, "skip"], features=[[0, 0], [1, 0], [1, 1]])
    assert named.decode(named.encode({"op": "pool"})) == {"op": "pool"}
    assert named.decode(np.array([0.8, 0.9])) == "skip"


def test_the_table_is_the_spaces_own() -> None:
    rows = np.array([[0.0], [1.0]])
    space = Finite(rows)
    rows[0] = 0.5
    space.decode(np.zeros(1))[0] = 9
    assert space.decode(np.zeros(1)) == [0.0]


@pytest.mark.parametrize("k", [2, 40])
def test_valid_rows_and_their_neighbours_snap_home(k: int) -> None:
    rng = np.random.default_rng(0)
    space = Finite(rng.normal(size=(5000, k)))
    x = space.sample(3000, rng)
    assert np.array_equal(space.snap(x), x)
    near = x + 1e-6 * rng.normal(size=x.shape)
    assert np.array_equal(space.snap(near), x)


def test_constant_columns_stay_at_zero_and_one_point_is_enough() -> None:
    space = Finite([[3.0, 1.0], [3.0, 2.0]])
    assert np.array_equal(space.x, [[0, 0], [0, 1]])
    assert Finite(["only"], [[7.0]]).decode(np.ones(1)) == "only"


def test_a_table_is_a_member_like_any_other() -> None:
    space = Space([Finite(["a", "b"], [[0, 1], [2, 0]]), Float(0, 1)])
    assert space.decode(space.encode(("b", 0.5))) == ("b", 0.5)
    assert space.blocks == (slice(0, 2), slice(2, 3)) and space.continuous.tolist() == [False, False, True]


def test_tables_are_equal_if_points_and_features_are() -> None:
    a = Finite(["a", "b"], [[0], [1]])
    assert a == Finite(["a", "b"], [[0.0], [1.0]])
    assert a != Finite(["a", "c"], [[0], [1]]) and a != Finite(["a", "b"], [[1], [0]])
    assert Finite([[1, 2], [3, 4]]) == Finite(np.array([[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("points", "features", "message"),
    [
        ([], None, "at least one point"),
        (None, None, "list of points"),
        ("ab", None, "list of points"),
        ({1, 2}, None, "list of points"),
        (np.array(3), None, "list of points"),
        (["a", "b"], None, "pass features="),
        ([[1, 2], [3]], None, "pass features="),
        ([1, 2, 1], None, "distinct values, got 1 at 0 and 1 at 2"),
        (["a", "b", "a"], [[1], [2], [3]], "distinct"),
        (["a", "b", "c"], [[1], [2], [1]], "differ in their features: .* at 0 and .* at 2"),
        (["a", "b"], [[1], [2], [3]], r"features of shape \(2, k\), got shape \(3, 1\)"),
        (["a", "b"], [[], []], "features of shape"),
        (["a", "b"], [[1], [float("nan")]], "finite features"),
        (["a", "b"], [["x"], ["y"]], "features that are rows of numbers"),
        ([-1.5e308, 1.5e308], None, "scale it down"),
    ],
)
def test_finite_refuses_tables_that_tell_no_points_apart(points: Any, features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Finite(points, features)


@pytest.mark.parametrize("point", [[1.0, 2.0], "a", None, [1.0], {"a": 1}])
def test_points_outside_the_table_are_refused(point: Any) -> None:
    for table in (np.array([[0.0, 1.0], [2.0, 3.0]]), [[0.0, 1.0], [2.0, 3.0]]):
        with pytest.raises(ValueError, match="expected one of the 2 points"):
            Finite(table).encode(point)


def test_a_complex_number_is_no_point_even_where_its_real_part_is() -> None:
    space = Finite(np.array([[0.5, 1.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="expected one of the 2 points"):
        space.encode([0.5 + 1j, 1.0])
