"""Spaces with a key: the same points as inside, another signature, and errors in words."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from lamcts.spaces import Bool, Choice, Float, Int, Keyed, Space

INNER = Space({"a": Int(0, 2), "b": Choice(["x", "y", "z"])})


def first(point: Any) -> Any:
    return point["a"]


def second(point: Any) -> Any:
    return point["b"]


def test_it_has_the_points_of_the_space_inside() -> None:
    space, rng = Keyed(INNER, first), np.random.default_rng(0)
    x = space.sample(9, rng)
    assert np.array_equal(x, INNER.sample(9, np.random.default_rng(0)))
    assert [space.decode(row) for row in x] == [INNER.decode(row) for row in x]
    assert np.array_equal(space.encode({"a": 1, "b": "y"}), INNER.encode({"a": 1, "b": "y"}))
    assert (space.size, space.dim, space.blocks) == (INNER.size, INNER.dim, INNER.blocks)
    rows, own = space.rows(), INNER.rows()
    assert rows is not None
    assert own is not None
    assert np.array_equal(rows, own)
    assert Keyed(Float(0, 1), str).rows() is None


def test_spaces_are_equal_where_the_name_and_what_is_inside_are() -> None:
    assert Keyed(INNER, first) == Keyed(INNER, first)
    assert hash(Keyed(INNER, first)) == hash(Keyed(INNER, first))
    assert Keyed(INNER, first) != Keyed(INNER, second)
    assert Keyed(INNER, first, "cell") == Keyed(INNER, second, "cell")
    assert Keyed(INNER, first) != INNER
    assert Keyed(INNER, first, "a") != Keyed(Bool(), first, "a")


def test_the_signature_names_the_key() -> None:
    assert Keyed(INNER, first).signature() == {"kind": "keyed", "key": "first", "inner": INNER.signature()}
    assert Keyed(INNER, first, "cell").signature()["key"] == "cell"
    assert "cell" in repr(Keyed(INNER, first, "cell"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, first), "expected a space, got int"),
        ((Bool, first), "expected a space, got type"),
        ((INNER, "a"), "expected a function of a point, got str"),
        ((INNER, first, ""), "expected a name of at least one letter, got ''"),
        ((INNER, first, 3), "expected a name of at least one letter, got 3"),
        ((Keyed(INNER, first), second), "expected a space without a key, got Keyed"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Keyed(*arguments)


@pytest.mark.parametrize("key", [lambda point: point["a"], partial(first)])
def test_a_function_without_a_name_of_its_own_needs_one(key: Any) -> None:
    with pytest.raises(ValueError, match=r"Keyed: expected a name for .*; pass name=.cell"):
        Keyed(INNER, key)
    assert Keyed(INNER, key, "a alone").name == "a alone"
