"""Whole numbers, truth values and options: huge ranges, look-alike options, and wrong arguments."""

import math
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lamcts.spaces import Bool, Choice, Int

drawn = settings(max_examples=200, deadline=None, derandomize=True)


@drawn
@given(st.integers(-(2**70), 2**70), st.integers(0, 2**50), st.floats(0, 1))
def test_integers_come_back_exactly_in_ranges_up_to_two_to_the_fifty(low: int, width: int, share: float) -> None:
    space = Int(low, low + width)
    for value in (low, low + width, low + int(share * width)):
        x = space.encode(value)
        assert space.decode(x) == value and np.array_equal(space.snap(x[None])[0], x)


@drawn
@given(st.integers(1, 2**39), st.integers(0, 2**39), st.floats(0, 1))
@example(1, 2**40 - 1, 0.999)
def test_log_integers_come_back_exactly_up_to_two_to_the_forty(low: int, width: int, share: float) -> None:
    space = Int(low, low + width, log=True)
    for value in (low, low + width, low + int(share * width), max(low + width - 1, low)):
        x = space.encode(value)
        assert space.decode(x) == value and np.array_equal(space.snap(x[None])[0], x)


@drawn
@given(st.integers(1, 2**39), st.integers(2**40, 2**63), st.floats(0, 1))
@example(3, 2**63, 0.5)
@example(22, 618790653798088366, 0.5)  # a value of 40 bits lies closer to the end than a coordinate can say
@example(2**39, 2**45 + 2**4, 0.9)  # the end is half-way between two values of 40 bits
@example(1, 2**40 + 1, 1.0)
@example(2, 11463315470540802, 0.0)  # exp(log(high)) falls short of the way half between two values, and high does not
@example(1, 11463315470540800, 1.0)
def test_huge_log_integers_come_back_to_forty_bits_and_snap_is_stable(low: int, high: int, share: float) -> None:
    space = Int(low, high, log=True)
    assert space.decode(space.encode(low)) == low
    assert space.decode(space.encode(high)) == pytest.approx(high, rel=2**-53)
    value = min(low + int(share * (high - low)), high)  # the product is rounded, perhaps upward
    assert space.decode(space.encode(value)) == pytest.approx(value, rel=2**-39)
    x = space.snap(np.array([[share], [0.5], [0.999], [1 - 2**-50], [1 - 2**-53], [1.0]]))
    assert np.array_equal(space.snap(x), x)
    assert np.array_equal(space.encode_many(space.decode_many(x)), x)


def test_a_range_of_two_to_the_sixty_is_searched_on_even_steps_with_both_ends() -> None:
    space = Int(-3, 2**60)
    assert space.decode(np.zeros(1)) == -3 and space.decode(np.ones(1)) == 2**60
    x = space.sample(1000, np.random.default_rng(0))
    values = space.decode_many(x)
    assert len(set(values)) == 1000 and np.array_equal(space.encode_many(values), x)
    assert abs(space.decode(space.encode(12345678901234567)) - 12345678901234567) <= 2**10


def test_integers_read_whole_numbers_of_any_type_and_give_python_ints() -> None:
    space = Int(1, 64, log=True)
    for value in (32, 32.0, np.int64(32), np.float32(32), np.array(32)):
        assert space.decode(space.encode(value)) == 32
    assert all(type(Int(1, 64, log=log).decode(np.array([0.3]))) is int for log in (True, False))


@pytest.mark.parametrize(
    ("low", "high", "log", "message"),
    [
        (3, 2, False, "expected low <= high, got low=3, high=2; swap"),
        (0, 2, True, "expected 1 <= low"),
        (1, 2**64, True, r"high <= 2\*\*63"),
        (2**39 + 1, 2**60, True, r"low <= 2\*\*39"),
        (0, 2**2000, False, "search for the logarithm"),
        (0.5, 2, False, "low: expected a whole number, got 0.5"),
        (0, math.inf, False, "high: expected a whole number"),
        (math.nan, 2, False, "low: expected a whole number"),
        ("1", 2, False, "low: expected a whole number"),
        (None, 2, False, "low: expected a whole number"),
        (False, 2, False, "low: expected a whole number"),
    ],
)
def test_int_refuses_bounds_that_make_no_range(low: Any, high: Any, log: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Int(low, high, log=log)


@pytest.mark.parametrize("value", [0, 9, 2.5, math.nan, math.inf, "3", None, True, [3]])
def test_int_refuses_values_that_are_not_in_its_range(value: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number"):
        Int(1, 8).encode(value)


def test_bool_takes_truth_values_only() -> None:
    assert [Bool().decode(Bool().encode(value)) for value in (True, False, np.True_)] == [True, False, True]
    assert type(Bool().decode(np.array([1.0]))) is bool
    for value in (1, 0.0, "True", None):
        with pytest.raises(ValueError, match="expected True or False"):
            Bool().encode(value)


def test_one_hot_takes_a_coordinate_for_each_option_and_ordered_one_for_all() -> None:
    options = ["a", "b", "c"]
    assert np.allclose(Choice(options).encode("b"), [0, math.sqrt(0.5), 0])
    assert np.array_equal(Choice(options, ordered=True).encode("b"), [0.5])
    assert Choice(options).blocks == (slice(0, 3),)


def test_a_single_option_or_integer_is_a_constant_at_zero() -> None:
    for space, value in [(Choice(["a"]), "a"), (Choice(["a"], ordered=True), "a"), (Int(3, 3), 3)]:
        assert space.dim == 1 and space.size == 1
        assert space.encode(value) == [0.0] and space.decode(np.array([1.0])) == value
        assert np.array_equal(space.snap(np.array([[0.0], [0.7], [1.0]])), np.zeros((3, 1)))


def test_options_are_found_by_equality_and_true_is_not_one() -> None:
    class Colour(Enum):
        RED = 1

    options = [True, 1, 0, False, None, "1", 2.5, [64, 64], {"a": [1]}, Colour.RED, len, math.nan]
    space = Choice(options)
    for i, option in enumerate(options):
        found = space.decode(space.encode(option))
        assert found == options[i] if isinstance(option, (list, dict)) else found is options[i]
        assert space.encode(option).argmax() == i
    for alias, i in [
        (1.0, 1),
        (np.int32(1), 1),
        (np.False_, 3),
        (np.str_("1"), 5),
        ((64, 64), 7),
        (np.array([64, 64]), 7),
    ]:
        assert space.encode(alias).argmax() == i
    for stranger in (2, "True", [64], {"a": [True]}, object()):
        with pytest.raises(ValueError, match="expected one of"):
            space.encode(stranger)


def test_options_that_can_only_be_compared_are_found_too() -> None:
    class Layer:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self, width: int) -> None:
            self.width = width

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Layer) and self.width == other.width

    space = Choice([Layer(1), Layer(2), "none"])
    assert space.decode(space.encode(Layer(2))).width == 2
    with pytest.raises(ValueError, match="expected one of"):
        space.encode(Layer(3))
    with pytest.raises(ValueError, match="distinct"):
        Choice([Layer(1), Layer(1)])


def test_options_from_numpy_are_plain_python_values() -> None:
    for options in (np.array([16, 32]), [np.int64(16), np.int64(32)]):
        assert [type(option) for option in Choice(options).options] == [int, int]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "at least one option"),
        (["a", "b", "a"], "distinct values, got 'a' at 0 and 'a' at 2"),
        ([1, 1.0], "distinct"),
        ([[1, 2], (1, 2)], "distinct"),
        ("abc", "list of options"),
        ({"a", "b"}, "list of options"),
        ({"a": 1}, "list of options"),
        (None, "list of options"),
        (3, "list of options"),
        (np.array(3), "list of options"),
    ],
)
def test_choice_refuses_what_is_no_list_of_distinct_options(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(options)


def test_choices_differ_by_options_order_and_kind() -> None:
    assert Choice([1, 2]) == Choice((1, 2)) == Choice(range(1, 3))
    assert (
        len({Choice([1, 2]), Choice([2, 1]), Choice([1, 2], ordered=True), Choice(["1", "2"]), Choice([True, 2])}) == 5
    )
    assert Choice([len, object()]).signature() == Choice([len, object()]).signature()
    assert repr(Choice(["a", "b"])) == "Choice(options=('a', 'b'), ordered=False)"
