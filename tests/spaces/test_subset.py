"""Subsets of a size: what is a point, its coordinates, the exchanges of items, and searches over them."""

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamcts
from lamcts.cli.parameters import member_of
from lamcts.spaces import Bool, Choice, Float, Space, Subset
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.joint import MOST_NEIGHBOURS
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.serialization import from_json, from_signature, to_json


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.integers(), st.text(max_size=2), st.none()), min_size=1, max_size=30, unique=True), st.data()
)
def test_subsets_come_back_in_the_order_of_the_items(items: list[Any], data: Any) -> None:
    k = data.draw(st.integers(1, len(items)))
    space, chosen = Subset(items, k), data.draw(st.permutations(items))[:k]
    x = space.encode(chosen)
    assert space.decode(x) == tuple(item for item in items if item in chosen) and np.array_equal(
        space.snap(x[None])[0], x
    )
    assert space.size == math.comb(len(items), k)
    assert from_json(json.loads(json.dumps(to_json(space)))) == space == from_signature(space.signature())


def test_all_subsets_are_listed_once() -> None:
    rows = Subset(7, 3).rows()
    assert rows is not None and {*Subset(7, 3).decode_many(rows)} == {*combinations(range(7), 3)}
    assert Subset(60, 20).rows() is None and Subset(5000, 2500).size == math.inf


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ((0,), "a list of 2 items, got"),
        ("01", "a list of 2 items"),
        ((1, 1), "2 distinct items of .*; look at 1"),
        ((0, 4), "look at 4"),
        ((0, True), "look at True"),
        (None, "a list of 2 items"),
    ],
)
def test_what_is_no_subset_is_an_error(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Subset(4, 2).encode(point)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 1), "one item"),
        (([1, 1], 1), "distinct"),
        (("ab", 1), r"pass Subset\("),
        ((3, 4), "k: expected 1 to 3"),
        ((3, 0), "k: expected 1 to 3"),
        ((3, 1.5), "k: expected a whole number"),
    ],
)
def test_arguments_that_make_no_subset_are_errors(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Subset(*arguments)


def test_a_move_exchanges_one_item() -> None:
    space, rng = Subset(6, 2), np.random.default_rng(0)
    here = space.encode((1, 4))
    near = space.decode_many(space.neighbours(here, rng))
    assert {*near} == {(1, 0), (0, 4)} - {(1, 0)} | {
        tuple(sorted(p)) for p in [(1, 0), (1, 2), (1, 3), (1, 5), (4, 2), (4, 3), (4, 5)]
    }
    assert {*space.decode_many(space.random_neighbours(np.repeat(here[None], 400, axis=0), rng))} == {*near}
    assert len(Subset(100, 30).neighbours(Subset(100, 30).encode(range(30)), rng)) == MOST_NEIGHBOURS
    assert len(Subset(3, 3).neighbours(np.ones(3), rng)) == 0
    assert np.array_equal(Subset(3, 3).random_neighbours(np.ones((2, 3)), rng), np.ones((2, 3)))


def test_subsets_stand_beside_other_parameters_and_under_conditions() -> None:
    space = Space({"on": Bool(), "pick": Subset(["a", "b", "c", "d"], 2, when={"on": True}), "x": Float(0, 1)})
    assert space.decode(space.encode({"on": False, "x": 0.5})) == {"on": False, "x": 0.5}
    parameters, rng = Parameters(space), np.random.default_rng(0)
    z = parameters.codes(space.sample(40, rng))
    for codes in (exchanges(parameters, z[0], rng), mutations(parameters, z, rng, 2.0)):
        rows = parameters.rows(codes)
        assert np.array_equal(parameters.codes(rows), codes)
    named = NamedParameters(space.signature(), space.dim)
    x = space.encode_many([{"on": True, "pick": ["d", "b"], "x": 0.5}, {"on": False, "x": 0.5}])
    assert named.names == ["on", "pick", "x"] and named.values(x)[1] == ["['b', 'd']", None]


def test_the_command_line_can_say_a_subset() -> None:
    assert member_of("12:subset=3") == Subset(12, 3) and member_of("a,b, c:subset=2") == Subset(list("abc"), 2)
    for text, message in (
        ("5:subset", "settings of subset: items, k, got .* without k"),
        ("5:permutation=2", "settings of permutation: items, got"),
        ("5:subset=6", "k: "),
    ):
        with pytest.raises(ValueError, match=message):
            member_of(text)


def worth(chosen: Any) -> float:
    """A loss with pairs that help each other: the best of 12 items are 2, 5 and 9."""
    return float(-sum({2: 1.0, 5: 0.5, 9: 0.5, 7: 0.8}.get(item, 0.0) for item in chosen) - 2 * ({5, 9} <= {*chosen}))


def test_the_default_finds_the_best_subset_and_repeats_none() -> None:
    result = lamcts.minimize(worth, Subset(12, 3), budget=60, seed=0)
    assert result.x == (2, 5, 9) and len(set(result.history.points)) == 60
    everything = lamcts.minimize(worth, Subset(5, 2), budget=40, seed=0)
    assert len(everything.history.points) == 10


@pytest.mark.parametrize("sampler", ["uniform", "turbo", "hillclimb", "mutate", "bo"])
def test_other_samplers_search_subsets_too(sampler: str) -> None:
    result = lamcts.minimize(worth, Subset(8, 3), budget=40, seed=0, sampler=f"la_mcts:{sampler}")
    assert result.fun <= -2.0 and len(set(result.history.points)) == 40


def test_constraints_several_objectives_and_choices_go_with_subsets() -> None:
    space = Space({"pick": Subset(6, 2), "way": Choice(["a", "b"])})

    def both(point: Any) -> dict[str, float]:
        low, high = point["pick"]
        return {"cost": float(low + high), "gap": float(high - low), "late": float(low)}

    result = lamcts.minimize(both, space, budget=25, seed=0, objectives=["cost"], constraints=["late >= 2"])
    assert result.feasible and result.x["pick"] == (2, 3)
    front = lamcts.minimize(both, space, budget=25, seed=0, objectives={"cost": "min", "gap": "max"}).front
    assert len(front)
