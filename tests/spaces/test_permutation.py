"""Orders of items: what is a point, its code, the moves from one to others, and a search over them."""

import json
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamcts
from lamcts.cli.parameters import member_of
from lamcts.models.permutation_features import features, widths
from lamcts.spaces import Bool, Canonical, Choice, Float, Int, Permutation, Space
from lamcts.spaces.base import distance
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.fixed import fixed
from lamcts.spaces.joint import MOST_NEIGHBOURS
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.permutation import places_of
from lamcts.spaces.serialization import from_json, from_signature, to_json


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.integers(), st.text(max_size=2), st.none()), min_size=1, max_size=30, unique=True), st.data()
)
def test_orders_come_back_exactly_and_snap_is_stable(items: list[Any], data: Any) -> None:
    space = Permutation(items)
    order = data.draw(st.permutations(items))
    x = space.encode(order)
    assert space.decode(x) == tuple(order) and np.array_equal(space.snap(x[None])[0], x)
    wild = np.random.default_rng(len(items)).uniform(-0.5, 1.5, (20, space.dim))
    snapped = space.snap(wild)
    assert np.array_equal(space.snap(snapped), snapped)
    assert np.array_equal(space.encode_many(space.decode_many(snapped)), snapped)
    assert from_json(json.loads(json.dumps(to_json(space)))) == space == from_signature(space.signature())


def test_snap_finds_the_nearest_order_and_all_of_them_are_listed_once() -> None:
    space, rng = Permutation(5), np.random.default_rng(0)
    rows = space.rows()
    assert len(rows) == space.size == 120 and set(space.decode_many(rows)) == set(permutations(range(5)))
    wild = rng.random((200, 5))
    gaps = np.sqrt(((wild - space.snap(wild)) ** 2).sum(1))
    assert np.allclose(gaps, distance(wild, rows).min(1), rtol=0, atol=1e-12)
    assert Permutation(12).rows() is None and Permutation(300).size > 1e300


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ((0, 1), "a list of 3 items, got"),
        ("012", "a list of 3 items"),
        ((0, 1, 1), "once, got .*; look at 1"),
        ((0, 1, 3), "look at 3"),
        ((0, 1, True), "look at True"),
        (None, "a list of 3 items"),
    ],
)
def test_what_is_no_order_of_the_items_is_an_error(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Permutation(3).encode(point)


@pytest.mark.parametrize(
    ("items", "message"), [([], "one item"), (0, "one item"), ([1, 1], "distinct"), ("ab", "a list")]
)
def test_items_that_make_no_order_are_errors(items: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Permutation(items)


def test_a_move_exchanges_two_items_puts_one_elsewhere_or_turns_a_stretch_round() -> None:
    rng = np.random.default_rng(0)
    here = Permutation(6).encode([3, 1, 0, 5, 2, 4])
    near = Permutation(6).decode_many(Permutation(6).neighbours(here, rng))
    assert len(set(near)) == len(near) and (3, 1, 0, 5, 2, 4) not in near
    for other in ([4, 1, 0, 5, 2, 3], [3, 0, 5, 2, 1, 4], [3, 2, 5, 0, 1, 4], [4, 3, 1, 0, 5, 2]):
        assert tuple(other) in near
    drawn = Permutation(6).random_neighbours(np.repeat(here[None], 500, axis=0), rng)
    assert {*Permutation(6).decode_many(drawn)} == {*near}
    assert len(Permutation(60).neighbours(places_of(np.arange(60)[None])[0], rng)) == MOST_NEIGHBOURS
    assert len(Permutation(1).neighbours(np.zeros(1), rng)) == 0


def test_features_are_what_two_orders_share() -> None:
    space = Permutation(5)
    x = space.encode_many([(0, 1, 2, 3, 4), (1, 2, 3, 4, 0), (4, 3, 2, 1, 0), (0, 2, 4, 1, 3)])
    hot, ends = features(x, np.ones(4, bool)), np.cumsum([0, *widths(5)])
    shared = [hot[:, a:b] @ hot[:, a:b].T for a, b in pairwise(ends)]
    assert np.allclose([own.diagonal() for own in shared], 1.0)
    beside, after, stands, before = (own[0, 1:] for own in shared)
    assert np.allclose(beside, [1, 1, 0])  # a circle, either way round; the last shares no pair of neighbours
    assert np.allclose(after, [1, 0, 0]) and np.allclose(stands, [0, 0.2, 0.2])
    assert np.allclose(before, [0.6, 0.0, 0.7])  # one less Kendall's distance: 4, 10 and 3 pairs of 10 the other way
    gone = features(x[:2], np.array([True, False]))
    assert np.allclose(gone[0] @ gone[1], 0.0) and np.allclose(gone[1] @ gone[1], 4.0)
    many = features(Permutation(60).sample(3, np.random.default_rng(0)), np.ones(3, bool))
    assert np.allclose(np.square(many).sum(1), 4.0)


def test_orders_stand_beside_other_parameters_and_under_conditions() -> None:
    space = Space(
        {"on": Bool(), "tour": Permutation(["a", "b", "c", "d"], when={"on": True}), "x": Float(0, 1), "n": Int(0, 3)}
    )
    assert space.decode(space.encode({"on": False, "x": 0.5, "n": 1})) == {"on": False, "x": 0.5, "n": 1}
    parameters, rng = Parameters(space), np.random.default_rng(0)
    z = parameters.codes(space.sample(40, rng))
    for codes in (exchanges(parameters, z[0], rng), mutations(parameters, z, rng, 2.0)):
        rows = parameters.rows(codes)
        assert np.array_equal(parameters.codes(rows), codes)
    named = NamedParameters(space.signature(), space.dim)
    x = space.encode_many([{"on": True, "tour": list("dbca"), "x": 0.5, "n": 1}, {"on": False, "x": 0.5, "n": 1}])
    assert named.names == ["on", "tour", "x", "n"]
    assert named.values(x)[1] == ["['d', 'b', 'c', 'a']", None]
    assert fixed(space, {"tour": tuple("abcd")}).free == ["on", "x", "n"]
    assert NamedParameters(Permutation(3).signature(), 3).values(Permutation(3).encode([2, 0, 1])[None]) == [
        ["[2, 0, 1]"]
    ]


def test_a_file_can_say_an_order() -> None:
    assert member_of("4:permutation") == Permutation(4) and member_of("a, b,c:permutation") == Permutation(list("abc"))
    assert member_of("10,20:permutation") == Permutation([10, 20])
    with pytest.raises(ValueError, match="expected a number, or options A,B,C"):
        member_of("x:permutation")


def ring(point: Any) -> float:
    """How far neighbours are apart, of items on a circle: the best order goes round it."""
    gaps = np.abs(np.diff([*point, point[0]]))
    return float(np.minimum(gaps, len(point) - gaps).sum())


def test_the_default_goes_round_a_circle_of_items_soon() -> None:
    result = lamcts.minimize(ring, Permutation(7), budget=50, seed=0)
    assert result.fun == 7.0 and len(set(result.history.points)) == 50


@pytest.mark.parametrize("sampler", ["uniform", "turbo", "hillclimb", "mutate"])
def test_other_samplers_search_orders_too(sampler: str) -> None:
    result = lamcts.minimize(ring, Permutation(6), budget=40, seed=0, sampler=f"la_mcts:{sampler}")
    assert result.fun <= 10.0 and len(set(result.history.points)) == 40


def tour(point: Any) -> Any:
    """What all orders of one round trip share."""
    start = point.index(0)
    turned = point[start:] + point[:start]
    return min(turned, (0, *turned[:0:-1]))


def test_a_round_trip_is_seldom_taken_again_from_another_item_on() -> None:
    points = lamcts.minimize(ring, Permutation(9), budget=45, seed=1).history.points
    assert len({tour(point) for point in points}) >= 28  # 19 where that does not count


def test_constraints_and_several_objectives_take_orders() -> None:
    def both(point: Any) -> dict[str, float]:
        return {"trip": ring(point), "first": float(point[0]), "late": float(point.index(3))}

    result = lamcts.minimize(both, Permutation(6), budget=30, seed=0, objectives=["trip"], constraints=["late >= 2"])
    assert result.feasible and result.fun <= 8.0 and result.x.index(3) >= 2
    front = lamcts.minimize(both, Permutation(6), budget=30, seed=0, objectives={"trip": "min", "first": "max"}).front
    assert len(front)


def test_a_key_says_which_orders_are_the_same_tour() -> None:
    result = lamcts.minimize(ring, Canonical(Permutation(5), tour), budget=100, seed=0)
    assert len(result.history.points) == 12 and result.fun == 5.0  # 4! / 2 tours


def test_an_assignment_is_found_beside_a_choice() -> None:
    cost = np.random.default_rng(1).random((6, 6))
    space = Space({"to": Permutation(6), "way": Choice(["a", "b", "c"])})

    def total(point: Any) -> float:
        return float(cost[np.arange(6), list(point["to"])].sum() + "bca".index(point["way"]))

    least = min(cost[np.arange(6), list(order)].sum() for order in permutations(range(6)))
    assert lamcts.minimize(total, space, budget=70, seed=0).fun <= least + 0.1
