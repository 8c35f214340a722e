"""Moves of discrete searches: one parameter at a time, always to another valid value."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from lamcts.spaces import Bool, Box, Canonical, Choice, Finite, Float, Int, Space
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.parameters import Parameters
from tests.spaces.test_every_space import SPACES, drawn
from tests.spaces.test_space_parameters import MIXED, SWITCHED, TABLE

LARGE = Finite(np.random.default_rng(0).integers(0, 4, (300, 4)) + np.arange(300)[:, None] * [0, 0, 0, 1e-3])


def moved_units(parameters: Parameters, z: Any, others: Any) -> Any:
    """Return how many parameters of each row differ [n]; all columns of a table, say, count as one."""
    differs = others != z
    for part, _ in parameters.joint:
        differs[:, part.start] = differs[:, part].any(1)
        differs[:, part.start + 1 : part.stop] = False
    return differs.sum(1)


def valid(parameters: Parameters, z: Any) -> bool:
    return bool(np.array_equal(parameters.codes(parameters.rows(z)), z))


@given(SPACES)
@drawn
def test_exchanges_are_valid_distinct_and_differ_in_one_parameter(space: Any) -> None:
    parameters, rng = Parameters(space), np.random.default_rng(0)
    z = parameters.draw(1, rng)[0]
    near = exchanges(parameters, z, rng)
    assert (moved_units(parameters, z, near) == 1).all()
    assert valid(parameters, near)
    assert len(np.unique(near, axis=0)) == len(near)


@given(SPACES)
@drawn
def test_mutations_are_valid_and_move_exactly_as_many_parameters_as_they_say(space: Any) -> None:
    parameters, rng = Parameters(space), np.random.default_rng(0)
    z = parameters.draw(30, rng)
    children = mutations(parameters, z, rng)
    assert (moved_units(parameters, z, children) == int(parameters.move_units.any())).all()
    assert valid(parameters, children)


@pytest.mark.parametrize("moves", [1.0, 2.0, 3.5])
def test_mutations_move_as_many_parameters_as_asked_for_on_average(moves: float) -> None:
    parameters, rng = Parameters(Space([Choice(list("abc"))] * 10)), np.random.default_rng(0)
    z = parameters.draw(4000, rng)
    count = moved_units(parameters, z, mutations(parameters, z, rng, moves))
    assert count.min() >= 1
    assert abs(count.mean() - moves) < 0.1


def test_more_moves_than_parameters_move_all() -> None:
    parameters, rng = Parameters(Space([Choice(list("abc"))] * 3)), np.random.default_rng(0)
    z = parameters.draw(10, rng)
    assert (mutations(parameters, z, rng, 16.0) != z).all()


def test_all_exchanges_of_categories_and_small_numbers_are_listed() -> None:
    parameters = Parameters(Space([Choice(list("abcd")), Int(0, 5), Bool(), Int(2, 2)]))
    near = exchanges(parameters, parameters.draw(1, np.random.default_rng(1))[0], np.random.default_rng(0))
    assert len(near) == 3 + 5 + 1


def test_a_number_with_many_levels_steps_near_and_far() -> None:
    space = Int(0, 1000)
    parameters = Parameters(space)
    near = exchanges(parameters, parameters.codes(space.encode(500)[None])[0], np.random.default_rng(0))
    steps = sorted(space.decode(row) - 500 for row in parameters.rows(near))
    assert steps == sorted([-(2**k) for k in range(9)] + [2**k for k in range(9)])


@pytest.mark.parametrize("space", [Int(1, 10**9), Int(1, 10**9, log=True), Int(-(2**60), 2**60), Int(1, 25_000)])
def test_a_number_with_too_many_levels_to_list_always_leaves_its_own(space: Int) -> None:
    parameters, rng = Parameters(space), np.random.default_rng(0)
    ends = np.array([[0.0], [1.0]])
    z = np.vstack([np.repeat(ends, 100, axis=0), parameters.draw(200, rng)])
    children = mutations(parameters, z, rng)
    assert (children != z).all()
    assert valid(parameters, children)


def test_a_real_number_at_its_end_always_moves() -> None:
    parameters, rng = Parameters(Box(0.0, 1.0, dim=1)), np.random.default_rng(0)
    z = np.repeat([[0.0], [1.0]], 100, axis=0)
    children = mutations(parameters, z, rng)
    assert (children != z).all()
    assert ((children >= 0.0) & (children <= 1.0)).all()
    assert all((exchanges(parameters, end, rng) != end).all() for end in z[[0, -1]])


def test_mutations_reach_every_value_evenly() -> None:
    parameters, rng = Parameters(Choice(list("abcde"))), np.random.default_rng(0)
    children = mutations(parameters, np.full((4000, 1), 2.0), rng)[:, 0]
    counts = np.bincount(children.astype(int), minlength=5)
    assert counts[2] == 0
    assert (np.abs(counts[[0, 1, 3, 4]] - 1000) < 120).all()


def test_only_active_parameters_are_moved() -> None:
    parameters, rng = Parameters(Canonical(SWITCHED, str, "text")), np.random.default_rng(0)
    off = np.tile([0.0, 0.5, 1.0], (200, 1))
    assert (mutations(parameters, off, rng, 3.0)[:, 1] == 0.5).all()
    assert (exchanges(parameters, off[0], rng)[:, 1] == 0.5).all()
    on = np.tile([1.0, 0.5, 1.0], (200, 1))
    assert (mutations(parameters, on, rng)[:, 1] != 0.5).any()
    assert (exchanges(parameters, on[0], rng)[:, 1] != 0.5).any()


def test_nothing_moves_where_all_is_constant() -> None:
    parameters, rng = Parameters(Space([Int(1, 1), Choice(["a"])])), np.random.default_rng(0)
    z = np.zeros((3, 2))
    assert np.array_equal(mutations(parameters, z, rng), z)
    assert exchanges(parameters, z[0], rng).shape == (0, 2)


def test_the_neighbours_in_a_table_are_those_of_one_column_and_then_the_nearest() -> None:
    parameters, rng = Parameters(LARGE), np.random.default_rng(0)
    z = LARGE.x[7]
    near = exchanges(parameters, z, rng)
    one = LARGE.x[(LARGE.x != z).sum(1) == 1]
    assert np.array_equal(near[: len(one)], one)
    gaps = np.sort(np.square(LARGE.x[(LARGE.x != z).sum(1) > 1] - z).sum(1))
    assert np.allclose(np.square(near[len(one) :] - z).sum(1), gaps[: 32 - len(one)])
    assert len(near) == 32


def test_a_small_table_has_all_its_other_rows_as_neighbours() -> None:
    parameters = Parameters(TABLE)
    near = exchanges(parameters, TABLE.x[1], np.random.default_rng(0))
    assert sorted(near.tolist()) == sorted(TABLE.x[[0, 2, 3]].tolist())


def test_a_table_inside_another_space_moves_from_row_to_row() -> None:
    parameters, rng = Parameters(MIXED), np.random.default_rng(0)
    z = parameters.draw(300, rng)
    children = mutations(parameters, z, rng)
    part = parameters.joint[0].part
    rows = {tuple(row) for row in TABLE.x.tolist()}
    assert {tuple(row) for row in children[:, part].tolist()} <= rows
    assert (children[:, part] != z[:, part]).any()


def test_moves_of_discrete_parameters_draw_nothing_from_the_generator_for_exchanges() -> None:
    rng = np.random.default_rng(0)
    exchanges(Parameters(Space([Choice(list("abc")), Int(0, 9)])), np.array([0.0, 0.0]), rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_a_log_number_moves_like_any_other() -> None:
    parameters, rng = Parameters(Float(1e-6, 1.0, log=True)), np.random.default_rng(0)
    assert len(exchanges(parameters, np.array([0.5]), rng)) == 4
