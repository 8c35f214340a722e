"""Real numbers: exact ends, exact scaling, and what may not be a bound or a point."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.spaces import Box, Float

MODEST = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)
SHARES = st.floats(0, 1).filter(lambda share: share == 0 or share > 1e-200)  # less would underflow


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(MODEST, min_size=2, max_size=2, unique=True), SHARES, st.integers(-60, 60))
def test_sides_scaled_by_a_power_of_two_scale_points_exactly(bounds: list[float], share: float, k: int) -> None:
    low, high = sorted(bounds)
    factor = 2.0**k
    x = np.array([share])
    for log in [False] + [True] * (low > 0):
        plain, scaled = Float(low, high, log=log), Float(low * factor, high * factor, log=log)
        point = plain.decode(x)
        assert scaled.decode(x) == point * factor
        assert np.array_equal(scaled.encode(point * factor), plain.encode(point))
    box, scaled_box = Box([low], [high]), Box([low * factor], [high * factor])
    assert np.array_equal(scaled_box.decode(x), box.decode(x) * factor)
    assert np.array_equal(scaled_box.encode(box.decode(x) * factor), box.encode(box.decode(x)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(-8e307, 8e307), min_size=2, max_size=2, unique=True), st.floats(0, 1))
def test_decoded_values_stay_between_the_bounds_and_hit_both_ends(bounds: list[float], share: float) -> None:
    low, high = sorted(bounds)
    space, box = Float(low, high), Box([low], [high])
    assert low <= space.decode(np.array([share])) <= high
    assert (space.decode(np.zeros(1)), space.decode(np.ones(1))) == (low, high)
    assert (space.encode(low)[0], space.encode(high)[0]) == (0.0, 1.0)
    for x in (np.zeros(1), np.ones(1), np.array([share])):
        assert box.decode(x)[0] == space.decode(x)


def test_log_floats_go_by_factors() -> None:
    space = Float(1e-4, 1.0, log=True)
    assert space.decode(np.array([0.5])) == pytest.approx(1e-2, rel=1e-14)
    assert space.encode(1e-3)[0] == pytest.approx(0.25, abs=1e-15)


def test_box_takes_numbers_arrays_or_one_of_each() -> None:
    assert Box(-5, 10, dim=3) == Box([-5, -5, -5], [10.0, 10.0, 10.0]) == Box(-5, np.full(3, 10))
    assert Box(-5, 10, dim=2) != Box(-5, 10, dim=3)
    assert repr(Box(-5, 10, dim=20)) == "Box(-5.0, 10.0, dim=20)"
    assert eval(repr(Box([0, 1], [2, 3.5])), {"Box": Box}) == Box([0, 1], [2, 3.5])
    assert len(repr(Box(np.arange(99.0), 100))) < 80


def test_box_keeps_its_own_read_only_bounds() -> None:
    low = np.zeros(2)
    space = Box(low, 1)
    low[0] = 0.5
    assert space.low[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        space.low[0] = 7


def test_box_codes_many_points_as_one_array() -> None:
    space = Box([0, -1], [2, 1])
    points = [[1, 0], (2, 1), np.array([0, -1])]
    x = space.encode_many(points)
    assert np.array_equal(x, [[0.5, 0.5], [1, 1], [0, 0]])
    assert np.array_equal(space.decode_many(x), points)


def test_negative_zero_encodes_as_zero() -> None:
    for x in (Box(0, 1, dim=1).encode([-0.0]), Float(0, 1).encode(-0.0)):
        assert math.copysign(1, x[0]) == 1


@pytest.mark.parametrize(
    ("low", "high", "dim", "message"),
    [
        (0, 1, None, r"dim=\.\.\."),
        ([0, 0], [1, 1, 1], None, "one length"),
        ([0, 0], [1, 1], 3, "one length"),
        ([], [], None, "at least one coordinate"),
        (0, 1, 0, "at least one coordinate"),
        (1, 0, 2, "coordinate 0: expected low < high.*swap"),
        ([0, 2], [1, 2], None, "coordinate 1: expected low < high, got 2.0 for both"),
        (0, math.inf, 2, "expected finite bounds, got high=inf"),
        ([0, math.nan], 1, None, "expected finite bounds, got low"),
        (-1e308, 1e308, 1, "smaller units"),
        ("0", 1, 1, "plain numbers"),
        (None, 1, 1, "plain numbers"),
        (True, 2, 1, "plain numbers"),
        ([[0, 0]], 1, None, "flatten"),
        ([0, [1]], 1, None, "plain numbers"),
    ],
)
def test_box_refuses_bounds_that_make_no_box(low: Any, high: Any, dim: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Box(low, high, dim)


@pytest.mark.parametrize(
    ("low", "high", "log", "message"),
    [
        (1, 0, False, "swap the bounds"),
        (1, 1, False, r"Choice\(\[1.0\]\)"),
        (0, 1, True, "expected 0 < low"),
        (-1, 1, True, "expected 0 < low"),
        (1e-300, 1e300, True, "closer together"),
        (-1e308, 1e308, False, "smaller units"),
        (0, math.inf, False, "high: expected a finite number"),
        (math.nan, 1, False, "low: expected a finite number"),
        (0, 10**400, False, "high: expected a finite number"),
        ("0", 1, False, "low: expected a number"),
        (False, 1, False, "low: expected a number"),
    ],
)
def test_float_refuses_bounds_that_make_no_range(low: Any, high: Any, log: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Float(low, high, log=log)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([0.5, 2.5], r"coordinate 1: expected a number in \[0.0, 1.0\], got 2.5"),
        ([math.nan, 0.5], "coordinate 0.*got nan"),
        ([0.5], r"shape \(2,\), got shape \(1,\)"),
        (0.5, "got shape"),
        ([[0.5, 0.5]], "got shape"),
        (["0.5", "0.5"], "plain numbers"),
        ([None, 0.5], "plain numbers"),
        ({"a": 1}, "plain numbers"),
    ],
)
def test_box_refuses_points_that_are_not_inside(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Box(0, 1, dim=2).encode(point)


@pytest.mark.parametrize(
    ("space", "value", "end"),
    [
        (Float(-2.5, 0.7), 0.7000000000000002, 0.7),
        (Float(0, 0.3), np.float32(0.3), 0.3),
        (Float(-1.41421356, 1.41421356), -1.4143, -1.41421356),
        (Float(3e-5, 0.3, log=True), np.float32(0.3), 0.3),
        (Float(3e-5, 0.3, log=True), 2.9999999e-5, 3e-5),
        (Float(-2e9, -1.7e9), -2e9 - 3, -2e9),
    ],
    ids=str,
)
def test_a_number_beyond_an_end_by_rounding_is_the_end(space: Float, value: float, end: float) -> None:
    assert repr(space.decode(space.encode(value))) == repr(end)
    if not space.log:
        box = Box(space.low, space.high, dim=2)
        assert box.decode_many(box.encode_many([[value, value], [end, end]])).tolist() == [[end, end]] * 2


@pytest.mark.parametrize(
    ("space", "value"),
    [(Float(0, 1), 1.0002), (Float(1, 1e6, log=True), 0.99), (Float(1, 9, log=True), -1e-9)],
    ids=str,
)
def test_a_number_farther_beyond_an_end_is_refused(space: Float, value: float) -> None:
    with pytest.raises(ValueError, match="move it inside, or widen the bounds"):
        space.encode(value)


def test_box_names_the_point_of_many_that_is_outside() -> None:
    with pytest.raises(ValueError, match="point 1: coordinate 0"):
        Box(0, 1, dim=2).encode_many([[0, 0], [3, 0]])
    with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
        Box(0, 1, dim=2).encode_many([0.5, 0.5])


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, "1", None, True, [0.5], 10**400])
def test_float_refuses_values_that_are_not_in_its_range(value: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a (finite )?number"):
        Float(0, 1).encode(value)


def test_float_reads_numpy_numbers_and_gives_python_floats() -> None:
    space = Float(0, 2)
    for value in (1, 1.0, np.float32(1), np.int8(1), np.array(1.0)):
        assert space.encode(value)[0] == 0.5
    assert type(space.decode(space.sample(1, np.random.default_rng(0))[0])) is float
