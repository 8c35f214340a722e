"""Real numbers that come in steps."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.cli.parameters import member_of
from lamcts.spaces import Fidelity, Float, Int, Space
from lamcts.spaces.fixed import fixed
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.serialization import from_json, from_signature, to_json


def test_steps_are_the_decimals_that_a_user_expects() -> None:
    space = Float(0, 1, step=0.1)
    values = space.decode_many(space.rows())
    assert values == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] and space.size == 11
    assert Float(-0.3, 0.3, step=0.15).decode_many(Float(-0.3, 0.3, step=0.15).rows()) == [-0.3, -0.15, 0.0, 0.15, 0.3]
    assert not space.continuous.any() and np.array_equal(space.encode(0.1 + 0.2), space.encode(0.3))


def test_an_end_between_two_steps_is_dropped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"got 1.0; the last value is 0.9: change high") as warned:
        space = Float(0, 1, step=0.3)
    assert warned[0].filename == __file__ and space.high == 0.9 and space.decode(np.ones(1)) == 0.9
    assert space == Float(0, 0.9, step=0.3) != Float(0, 0.9)
    assert repr(space) == "Float(low=0.0, high=0.9, log=False, step=0.3)"
    with pytest.warns(UserWarning, match="got 20; the last value is 17"):
        assert Int(3, 20, step=7).high == 17


@pytest.mark.parametrize(
    ("low", "high", "step", "count"),
    [
        (-math.pi / 3, 5 * math.pi / 3, math.pi / 3, 7),
        (0, 2, 2 / 7, 8),
        (1, 2, 0.33333, 4),
        (np.float32(0.2), np.float32(1.4), np.float32(0.2), 7),
        (0, np.float32(500), np.float32(0.1), 5001),
        (-math.e, 2 * math.e, math.e / 3, 10),
    ],
)
def test_an_end_is_not_lost_by_the_rounding_of_a_step(low: float, high: float, step: float, count: int) -> None:
    space = Float(low, high, step=step)
    values = space.decode_many(space.rows())
    assert space.size == count == len(set(values)) and values[-1] == space.high == float(high)
    assert from_signature(space.signature()) == space and Float(space.low, space.high, step=space.step) == space
    for written in (np.float32(values), np.round(values, 5)):
        assert np.array_equal(space.encode_many(written), space.rows())


def test_whole_numbers_come_in_steps() -> None:
    space = Int(16, 96, step=16)
    values = space.decode_many(space.rows())
    assert values == [16, 32, 48, 64, 80, 96] and {*map(type, values)} == {int} and space.size == 6
    assert {*space.decode_many(space.sample(200, np.random.default_rng(0)))} == {*values}
    assert np.array_equal(space.encode_many(values), space.rows()) and space.encode(48.0) == [0.4]
    assert space.decode([0.43]) == 48 and space.snap(np.array([[0.43]])) == [[0.4]]
    assert from_signature(space.signature()) == space == from_json(to_json(space)) != Int(16, 96)
    assert repr(space) == "Int(low=16, high=96, log=False, step=16)"
    assert Int(0, 9, step=1) == Int(0, 9) and "step" not in Int(0, 9).signature() and Int(5, 5, step=2).size == 1
    huge = Int(-7, 7 * 10**30, step=7)
    assert huge.decode([1.0]) == 7 * 10**30 and all(value % 7 == 0 for value in huge.decode_many([[0.1], [0.77]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step: expected a number above 0, got 0"),
        ({"step": 2.5}, "step: expected a whole number, got 2.5"),
        ({"step": 65}, "step: expected at most high - low = 64, got 65; make it smaller"),
        ({"step": 8, "log": True}, "no step where log=True"),
    ],
)
def test_steps_that_do_not_fit_whole_numbers_are_errors(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Int(1, 65, **settings)


def test_whole_numbers_between_steps_are_errors_and_fidelities_have_no_steps() -> None:
    for value, message in ((9, "one of 8, 12, ..., 24, got 9; the nearest is 8"), (28, "in .8, 24., got 28")):
        with pytest.raises(ValueError, match=message):
            Int(8, 24, step=4).encode(value)
    with pytest.raises(ValueError, match="Fidelity: expected no step, got 2"):
        Fidelity(1, 9, log=False, step=2)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(-9999, 9999), st.integers(1, 999), st.integers(1, 10**6), st.integers(-6, 3), st.floats(0, 1))
def test_every_step_comes_back_exactly(low: int, step: int, count: int, power: int, share: float) -> None:
    def number(digits: int) -> float:
        return float(f"{digits}e{power}")

    space = Float(number(low), number(low + count * step), step=number(step))
    k = int(share * count)
    x = space.encode(number(low + k * step))
    assert space.size == count + 1 and space.decode(x) == number(low + k * step)
    assert np.array_equal(space.snap(x[None])[0], x) and math.isclose(x[0], k / count, abs_tol=1e-12)


def test_a_space_of_steps_is_known_again_and_can_be_fixed() -> None:
    space = Space({"a": Float(0, 1, step=0.25), "b": Float(0, 1, step=0.1, when={"a": [0.25, 0.5]})})
    assert from_signature(space.signature()) == space == from_json(to_json(space))
    assert space.size == 3 + 2 * 11 == len(space.rows())
    assert "step" not in Float(0, 1).signature() and space.members[0].signature()["step"] == 0.25
    assert fixed(space, {"a": 0.5}).free == ["b"]
    assert Parameters(space).levels[0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert member_of("0:1:step=0.25") == space.members[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step: expected a number above 0, got 0"),
        ({"step": -0.1}, "above 0"),
        ({"step": 2}, "got 2.0; make it smaller"),
        ({"step": 1e-300}, "leave it out"),
        ({"step": "0.1"}, "step: expected a number"),
        ({"step": math.inf}, "step: expected a finite number"),
        ({"step": 0.1, "log": True, "low": 0.5}, "no step where log=True"),
    ],
)
def test_steps_that_make_no_sense_are_errors(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Float(**{"low": 0, "high": 1} | settings)


@pytest.mark.parametrize("value", [0.05, -0.1, 1.1, math.nan, "0.1"])
def test_values_between_steps_are_errors(value: Any) -> None:
    with pytest.raises(ValueError, match=r"expected (one of 0.0, 0.1, ..., 1.0, got|a (finite )?number)"):
        Float(0, 1, step=0.1).encode(value)
