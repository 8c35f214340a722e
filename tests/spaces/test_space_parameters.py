"""A space as parameters: codes and rows say the same, and levels are what each parameter can take."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from lamcts.spaces import Bool, Box, Canonical, Choice, Finite, Float, Int, Space
from lamcts.spaces.parameters import Parameters
from tests.spaces.test_every_space import SPACES, drawn

TABLE = Finite([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [5.0, 1.0]])
MIXED = Space(
    {"rate": Float(1e-4, 1.0, log=True), "n": Int(1, 6), "kind": Choice(list("abc")), "on": Bool(), "row": TABLE}
)


class Switched(Space):
    """The second parameter has a say where the first is on."""

    def active(self, z: Any) -> Any:
        active = np.ones(z.shape, bool)
        active[:, 1] = z[:, 0] == 1.0
        return active


SWITCHED = Switched([Bool(), Int(0, 4), Choice(list("abc"))])


@given(SPACES)
@drawn
def test_rows_come_back_from_their_codes_bit_for_bit(space: Any) -> None:
    parameters = Parameters(space)
    x = space.sample(20, np.random.default_rng(0))
    z = parameters.codes(x)
    assert z.shape == (20, parameters.count)
    assert z.dtype == np.float64
    assert np.array_equal(parameters.rows(z), x)
    assert np.array_equal(parameters.codes(parameters.rows(z)), z)


@given(SPACES)
@drawn
def test_codes_are_levels_wherever_levels_are_listed(space: Any) -> None:
    parameters = Parameters(space)
    z = parameters.draw(20, np.random.default_rng(0))
    for i, levels in enumerate(parameters.levels):
        if levels is not None:
            assert np.isin(z[:, i], levels).all()
            assert (np.diff(levels) > 0).all()
            assert parameters.non_constant[i] == (len(levels) > 1)


def test_each_parameter_is_described_by_what_it_is() -> None:
    parameters = Parameters(MIXED)
    assert [None if levels is None else len(levels) for levels in parameters.levels] == [None, 6, 3, 2, 4, 3]
    assert parameters.continuous.tolist() == [True, False, False, False, False, False]
    assert parameters.categorical.tolist() == [False, False, True, True, False, False]


def test_constants_do_not_move() -> None:
    parameters = Parameters(Space([Int(3, 3), Choice(["only"]), Bool(), Choice([1], ordered=True)]))
    assert parameters.non_constant.tolist() == parameters.move_units.tolist() == [False, False, True, False]


@pytest.mark.parametrize("log", [False, True])
def test_all_levels_of_a_whole_number_are_the_codes_of_its_values(log: bool) -> None:
    space = Int(3, 1200, log=log)
    (levels,) = Parameters(space).levels
    assert levels is not None
    assert np.array_equal(levels, np.array([space.encode(value)[0] for value in range(3, 1201)]))


def test_a_whole_number_with_too_many_levels_has_no_list_and_still_valid_codes() -> None:
    parameters = Parameters(Int(1, 10**6))
    assert parameters.levels == (None,)
    assert not parameters.continuous.any()
    valid = parameters.valid(0, np.array([0.1234567891, 0.5]))
    assert np.array_equal(parameters.space.snap(valid[:, None])[:, 0], valid)


def test_the_columns_of_a_table_are_parameters_that_move_together() -> None:
    for space, first in ((TABLE, 0), (Canonical(TABLE, str, "text"), 0), (MIXED, 4)):
        parameters = Parameters(space)
        ((part, table),) = parameters.joint
        assert part == slice(first, first + 2)
        assert table is TABLE
        assert parameters.move_units[first:].tolist() == [True, False]


def test_the_parameters_of_a_box_are_its_coordinates() -> None:
    parameters = Parameters(Box(-1.0, 1.0, dim=3))
    assert parameters.count == 3
    assert parameters.continuous.all()
    x = np.random.default_rng(0).random((4, 3))
    assert np.array_equal(parameters.codes(x), x)


def test_a_space_with_a_key_has_the_parameters_of_the_space_inside() -> None:
    inside, keyed = Parameters(SWITCHED), Parameters(Canonical(SWITCHED, str, "text"))
    z = inside.draw(30, np.random.default_rng(0))
    assert [None if v is None else v.tolist() for v in keyed.levels] == [
        v.tolist() for v in inside.levels if v is not None
    ]
    assert keyed.may_be_inactive
    assert np.array_equal(keyed.active(z), inside.active(z))
    assert not keyed.active(z).all()


@pytest.mark.parametrize("inner", [SWITCHED, Canonical(SWITCHED, str, "text")], ids=["bare", "keyed"])
def test_a_conditional_space_inside_another_still_says_which_of_its_parameters_are_active(inner: Any) -> None:
    parameters = Parameters(Space({"rate": Float(0, 1), "first": inner, "deep": Space([Bool(), SWITCHED])}))
    z = parameters.draw(40, np.random.default_rng(0))
    expected = np.ones(z.shape, bool)
    expected[:, 2], expected[:, 6] = z[:, 1] == 1.0, z[:, 5] == 1.0
    assert parameters.may_be_inactive and np.array_equal(parameters.active(z), expected)
    assert not expected[:, 2].all() and not expected[:, 6].all()


def test_a_parameter_is_active_where_the_spaces_around_it_say_so_and_its_own_does() -> None:
    parameters = Parameters(Switched([Bool(), Int(0, 4), SWITCHED]))
    z = parameters.draw(40, np.random.default_rng(0))
    expected = np.ones(z.shape, bool)
    expected[:, 1], expected[:, 3] = z[:, 0] == 1.0, z[:, 2] == 1.0
    assert np.array_equal(parameters.active(z), expected)


def test_all_parameters_have_a_say_where_the_space_says_nothing() -> None:
    parameters = Parameters(MIXED)
    assert not parameters.may_be_inactive
    assert parameters.active(parameters.draw(5, np.random.default_rng(0))).all()


def test_what_conditions_make_of_codes_costs_no_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A category of thousands of options has as many coordinates, and a search asks this of thousands of rows."""
    inner = Space({"on": Bool(), "depth": Int(1, 5, when={"on": True})}, when={"name": "word 3"})
    names = Choice([f"word {i}" for i in range(200)])
    space = Space({"name": names, "rate": Float(0, 1, when={"name": ["word 3", "word 8"]}), "inner": inner})
    parameters, rng = Parameters(space), np.random.default_rng(0)
    z = parameters.draw(400, rng)
    other = z.copy()
    other[:, 0] = rng.choice([3.0, 8.0, 9.0], len(z))
    before = parameters.active(z)
    made: list[int] = []
    real = Choice.snap
    monkeypatch.setattr(Choice, "snap", lambda self, x: made.append(len(x)) or real(self, x))
    entered = parameters.entered(other, before, rng)
    assert made == []
    assert np.array_equal(entered, parameters.codes(parameters.rows(entered)))  # which are valid, and settled
    assert (entered[other[:, 0] == 9.0, 1:] == parameters.codes(space.middle[None])[0, 1:]).all()
    assert np.array_equal(parameters.active(entered)[:, 1], other[:, 0] != 9.0)
