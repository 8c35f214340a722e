"""A space with fixed parameters: the rest is searched, points are whole."""

import json
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.spaces.fixed import Fixed, fixed
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.serialization import from_signature
from lamcts.testing import check_space

PARTS: dict[str, Any] = {"lr": lamcts.Float(1e-5, 1e-1, log=True), "n": lamcts.Int(1, 8)}
SPACE = lamcts.Space({**PARTS, "act": lamcts.Choice(["relu", "gelu", "tanh"])})
BOX = lamcts.Box([0.0, -1.0, 5.0], [1.0, 1.0, 9.0])
PAIR = lamcts.Space([lamcts.Int(1, 3), lamcts.Choice([2.5, "a"])])


@pytest.mark.parametrize(
    "space",
    [Fixed(SPACE, {"lr": 0.1}), Fixed(SPACE, {"act": "gelu", "n": 3}), Fixed(BOX, {1: 0.3}), Fixed(PAIR, {1: 2.5})],
    ids=str,
)
def test_it_is_a_space_like_any_other_and_comes_back_from_its_signature(space: Any) -> None:
    check_space(space)
    assert Parameters(space).count == len(space.free)
    again = from_signature(json.loads(json.dumps(space.signature())))
    assert again == space and repr(again.decode(space.sample(1, np.random.default_rng(0))[0])) != ""


def test_points_are_whole_in_their_order_and_have_the_value_as_it_was_given() -> None:
    space = Fixed(SPACE, {"n": 3.0, "lr": 0.1})
    point = space.decode(space.sample(1, np.random.default_rng(0))[0])
    assert list(point) == ["lr", "n", "act"] and (point["lr"], point["n"]) == (0.1, 3) and type(point["n"]) is int
    assert Fixed(BOX, {2: 7}).decode(np.array([0.5, 0.5])).tolist() == [0.5, 0.0, 7.0]
    assert Fixed(PAIR, {0: 2}).decode(np.array([0.0, 1.0])) == (2, "a")


def test_rounded_values_are_those_that_are_fixed_and_those_of_an_end_are_the_end() -> None:
    codes = Fixed(SPACE, {"lr": 0.1}).encode_many({"lr": lr, "n": 1, "act": "relu"} for lr in (0.1, np.float32(0.1)))
    assert np.array_equal(*codes)
    box = lamcts.Box(0, 0.3, dim=2)
    assert Fixed(box, {1: np.float32(0.3)}).decode(np.zeros(1)).tolist() == [0.0, 0.3]


def test_another_value_of_a_fixed_parameter_is_no_point_of_it() -> None:
    space = Fixed(SPACE, {"lr": 0.1})
    with pytest.raises(ValueError, match=r"parameter 'lr': expected 0.1, which is fixed, got 0.05"):
        space.encode({"lr": 0.05, "n": 1, "act": "relu"})
    with pytest.raises(ValueError, match=r"without \['lr'\]"):
        space.encode({"n": 1, "act": "relu"})


def test_rules_and_keys_see_whole_points() -> None:
    ruled = lamcts.Valid(SPACE, lambda point: point["lr"] * point["n"] > 0.35)
    space = fixed(lamcts.Canonical(ruled, lambda point: point["n"], name="n"), {"lr": 0.1})
    points = [space.decode(x) for x in space.sample(40, np.random.default_rng(0))]
    assert {point["n"] for point in points} == {4, 5, 6, 7, 8} and ruled.dim == SPACE.dim
    assert space.identity(space.encode(points[0])) == (points[0]["n"],)


@pytest.mark.parametrize(
    ("space", "values", "message"),
    [
        (SPACE, {}, "fix: expected values by name"),
        (SPACE, 0.1, "fix: expected values by name"),
        (SPACE, {"rate": 0.1}, r"fix: expected names out of \['lr', 'n', 'act'\], got 'rate'"),
        (SPACE, {"lr": 5}, "fix: parameter 'lr': .*got 5"),
        (SPACE, {"lr": 0.1, "n": 1, "act": "relu"}, "at least one parameter that is left"),
        (BOX, {3: 0.1}, r"fix: expected names out of \[0, 1, 2\], got 3"),
        (BOX, {1: 7}, "fix: parameter 1: .*"),
        (lamcts.Int(1, 3), {0: 1}, "fix: expected a Space or a Box, got Int"),
    ],
)
def test_what_cannot_be_fixed_is_refused(space: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fixed(space, values)


def test_a_second_study_searches_the_rest_and_knows_the_first() -> None:
    space = lamcts.Space({"a": lamcts.Choice([1, 2]), "b": lamcts.Float(0, 1)})
    seen: list[Any] = []

    def f(point: dict[str, Any]) -> float:
        seen.append(point)
        return float(point["a"] * point["b"])

    given: dict[str, Any] = {"seed": 0, "sampler": "uniform"}
    first = lamcts.minimize(f, space, budget=8, **given)
    known = [(p, v) for p, v in zip(first.history.points, first.history.values, strict=True) if p["a"] == 2]
    second = lamcts.minimize(f, space, budget=6, fix={"a": 2}, known=known, **given)
    assert all(point["a"] == 2 for point in seen[8:]) and second.x["a"] == 2
    assert len(second.history) == 6 + len(known) and second.history.x.shape[1] == 1
    with pytest.warns(RuntimeWarning, match="known"):  # the rows of another value are dropped
        third = lamcts.minimize(f, space, budget=6, fix={"a": 2}, known=first, **given)
    assert len(third.history) == 6 + len(known)
