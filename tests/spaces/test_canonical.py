"""Spaces with a key: the same points as inside, another signature, and errors in words."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from lamcts.optimizer import Optimizer
from lamcts.spaces import Bool, Canonical, Choice, Float, Int, Space

INNER = Space({"a": Int(0, 2), "b": Choice(["x", "y", "z"])})


def first(point: Any) -> Any:
    return point["a"]


def second(point: Any) -> Any:
    return point["b"]


def test_it_has_the_points_of_the_space_inside() -> None:
    space, rng = Canonical(INNER, first), np.random.default_rng(0)
    x = space.sample(9, rng)
    assert np.array_equal(x, INNER.sample(9, np.random.default_rng(0)))
    assert [space.decode(row) for row in x] == [INNER.decode(row) for row in x]
    assert np.array_equal(space.encode({"a": 1, "b": "y"}), INNER.encode({"a": 1, "b": "y"}))
    assert (space.size, space.dim, space.blocks) == (INNER.size, INNER.dim, INNER.blocks)
    rows, own = space.rows(), INNER.rows()
    assert rows is not None
    assert own is not None
    assert np.array_equal(rows, own)
    assert Canonical(Float(0, 1), str).rows() is None


def test_spaces_are_equal_where_the_name_and_what_is_inside_are() -> None:
    assert Canonical(INNER, first) == Canonical(INNER, first)
    assert hash(Canonical(INNER, first)) == hash(Canonical(INNER, first))
    assert Canonical(INNER, first) != Canonical(INNER, second)
    assert Canonical(INNER, first, "cell") == Canonical(INNER, second, "cell")
    assert Canonical(INNER, first) != INNER
    assert Canonical(INNER, first, "a") != Canonical(Bool(), first, "a")


def test_the_signature_names_the_key() -> None:
    assert Canonical(INNER, first).signature() == {"kind": "canonical", "key": "first", "inner": INNER.signature()}
    assert Canonical(INNER, first, "cell").signature()["key"] == "cell"
    assert "cell" in repr(Canonical(INNER, first, "cell"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, first), "expected a space, got int"),
        ((Bool, first), "expected a space, got type"),
        ((INNER, "a"), "expected a function of a point, got str"),
        ((INNER, first, ""), "expected a name of at least one letter, got ''"),
        ((INNER, first, 3), "expected a name of at least one letter, got 3"),
        ((Canonical(INNER, first), second), "expected a space without a key, got Canonical"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Canonical(*arguments)


@pytest.mark.parametrize("key", [lambda point: point["a"], partial(first)])
def test_a_function_without_a_name_of_its_own_needs_one(key: Any) -> None:
    with pytest.raises(ValueError, match=r"Canonical: expected a function with a name, got .*; pass name=.cell"):
        Canonical(INNER, key)
    assert Canonical(INNER, key, "a alone").name == "a alone"


@pytest.mark.parametrize(
    "equal", [(frozenset([8, 0]), frozenset([0, 8])), (1, 1.0), (np.int64(3), 3)], ids=["sets", "numbers", "of numpy"]
)
def test_equal_keys_are_one_however_they_print(equal: tuple[Any, Any]) -> None:
    space = Canonical(Bool(), lambda point: equal[point], "one of two")
    assert repr(equal[0]) != repr(equal[1])
    assert space.identity(np.zeros(1)) == space.identity(np.ones(1))
    beside = Space([space, Bool()])
    assert beside.identity is not None
    assert beside.identity(np.array([0.0, 1.0])) == beside.identity(np.array([1.0, 1.0]))
    assert beside.identity(np.array([0.0, 1.0])) != beside.identity(np.array([1.0, 0.0]))


class Alike:
    """Things that print alike and are not equal."""

    def __repr__(self) -> str:
        return "Alike()"


def test_different_keys_are_two_however_they_print() -> None:
    things = Alike(), Alike()
    space = Canonical(Bool(), lambda point: things[point], "either")
    assert space.identity(np.zeros(1)) != space.identity(np.ones(1))
    assert space.identity(np.ones(1)) == space.identity(np.ones(1))


@pytest.mark.parametrize("key", [0, "", False, 0.0, ()])
def test_a_key_that_counts_as_false_is_a_key(key: Any) -> None:
    space = Canonical(Int(0, 9), lambda point: key if point < 5 else point, "small ones are one")
    opt = Optimizer(space, seed=0)
    opt.tell_point(3, 1.0)
    assert sorted(trial.point for trial in opt.ask(5)) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("key", [[1], {}, (1, [2])])
def test_a_key_that_cannot_be_hashed_is_refused_in_words(key: Any) -> None:
    with pytest.raises(
        ValueError, match=r"Canonical: expected a key that can be hashed, got \w+; return text or a tuple"
    ):
        Canonical(Bool(), lambda point: key, "wrong").identity(np.zeros(1))
