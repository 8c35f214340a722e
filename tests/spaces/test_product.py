"""Products: points by name and by position, products in products, and errors that name the parameter."""

import math
from typing import Any

import numpy as np
import pytest

from lamcts.spaces import Bool, Box, Choice, Float, Int, Space
from lamcts.spaces.base import SearchSpace

NET = Space(
    {"lr": Float(1e-4, 1, log=True), "layers": Int(1, 8), "act": Choice(["relu", "gelu", "tanh"]), "bias": Bool()}
)


def test_named_points_are_dicts_of_plain_values() -> None:
    point = {"lr": 1e-2, "layers": 8, "act": "gelu", "bias": True}
    x = NET.encode(point)
    assert np.allclose(x, [0.5, 1, 0, math.sqrt(0.5), 0, 1])
    back = NET.decode(x)
    assert back == {**point, "lr": pytest.approx(1e-2)}
    assert list(back) == list(point) and [type(v) for v in back.values()] == [float, int, str, bool]
    assert np.array_equal(NET.encode(dict(reversed(point.items()))), x)


def test_positional_points_are_tuples() -> None:
    space = Space([Float(0, 2), Choice(["a", "b"])])
    assert space.decode(space.encode((1.0, "b"))) == (1.0, "b")
    assert np.array_equal(space.encode([1, "b"]), space.encode((1.0, "b")))
    assert Space([Float(0, 2), Choice(["a", "b"])]) == space


def test_products_nest_and_their_blocks_and_parts_add_up() -> None:
    space = Space({"start": Box(-1, 1, dim=2), "net": NET, "pair": Space([Bool(), Int(0, 1)])})
    assert space.dim == 2 + 6 + 2
    assert [(b.start, b.stop) for b in space.blocks] == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 7),
        (7, 8),
        (8, 9),
        (9, 10),
    ]
    assert [(p.start, p.stop) for p in space.parts] == [(0, 2), (2, 8), (8, 10)]
    assert space.continuous.tolist() == [True] * 3 + [False] * 7
    point = {"start": np.array([0.5, -0.5]), "net": NET.decode(np.zeros(6)), "pair": (True, 1)}
    back = space.decode(space.encode(point))
    assert np.array_equal(back["start"], point["start"]) and back["net"] == point["net"] and back["pair"] == (True, 1)


def test_sizes_multiply() -> None:
    assert Space([Int(1, 3), Bool(), Choice(["x", "y"])]).size == 12
    assert NET.size == math.inf
    assert Space([*[Int(0, 2**60)] * 60]).size == math.inf  # beyond what a float can count


def test_any_space_that_keeps_the_protocol_can_be_a_member() -> None:
    class Angle:
        dim, size, blocks, continuous = 1, math.inf, (slice(0, 1),), np.ones(1, bool)

        def encode(self, point: float) -> Any:
            return np.array([point / 360])

        def decode(self, x: Any) -> float:
            return float(x[0] * 360)

        def snap(self, x: Any) -> Any:
            return np.clip(x, 0, 1)

        def spread(self, u: Any) -> Any:
            return u

        def sample(self, n: int, rng: np.random.Generator) -> Any:
            return rng.random((n, 1))

        def signature(self) -> dict[str, Any]:
            return {"kind": "angle"}

    assert isinstance(Angle(), SearchSpace)
    space = Space([Angle(), Bool()])
    assert space.decode(space.encode((90.0, True))) == (90.0, True)


def test_names_and_their_order_belong_to_the_signature() -> None:
    a, b = Float(0, 1), Int(0, 1)
    spaces = [Space({"a": a, "b": b}), Space({"b": b, "a": a}), Space({"a": a, "c": b}), Space([a, b]), Space([b, a])]
    assert len(set(spaces)) == 5
    assert eval(repr(spaces[0]), {"Space": Space, "Float": Float, "Int": Int}) == spaces[0]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "at least one parameter"),
        ([], "at least one parameter"),
        ({"a": (0, 1)}, r"parameter 'a': expected a space, got \(0, 1\); pass lamcts.Int\(0, 1\)"),
        ({"a": (1e-4, 2, "log-uniform")}, r"pass lamcts.Float\(0.0001, 2, log=True\)"),
        ({"a": [0, 1]}, r"pass Float\(low, high\), for example"),
        ([Float(0, 1), 3], "member 1: expected a space, got 3"),
        ({"a": Bool}, "parameter 'a': expected a space"),
        ({"": Bool()}, "non-empty text"),
        ({1: Bool()}, "non-empty text, got 1"),
        ("ab", "a dict or a list of spaces"),
        (Float(0, 1), "a dict or a list of spaces"),
        (None, "a dict or a list of spaces"),
    ],
)
def test_space_refuses_what_is_no_collection_of_spaces(members: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Space(members)


GOOD = {"lr": 1e-2, "layers": 8, "act": "gelu", "bias": True}


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({**GOOD, "layers": 9}, r"parameter 'layers': expected a whole number in \[1, 8\], got 9"),
        ({**GOOD, "act": "selu"}, "parameter 'act': expected one of .*, got 'selu'"),
        ({"lr": 1e-2}, r"without \['layers', 'act', 'bias'\]"),
        ({**GOOD, "width": 3}, r"unknown \['width'\]"),
        ((1e-2, 8, "gelu", True), "expected a dict with the names"),
        (None, "expected a dict"),
    ],
)
def test_named_points_that_do_not_fit_are_refused_by_name(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NET.encode(point)


def test_an_error_deep_inside_says_the_whole_way() -> None:
    space = Space({"net": Space([Int(1, 2), Box(0, 1, dim=2)])})
    with pytest.raises(ValueError, match=r"point 1: parameter 'net': member 1: coordinate 0: .* got 7"):
        space.encode_many([{"net": (1, [0, 0])}, {"net": (1, [7, 0])}])


@pytest.mark.parametrize("point", [(1,), (1, 2, 3), "ab", 5, {"a": 1, "b": 2}, None])
def test_positional_points_of_another_length_or_kind_are_refused(point: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a tuple of 2 values|expected 2 values"):
        Space([Int(0, 3), Int(0, 3)]).encode(point)
