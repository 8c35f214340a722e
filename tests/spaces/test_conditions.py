"""Parameters that are there only where others have certain values."""

import json
import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lamcts
from lamcts.spaces import Bool, Box, Canonical, Choice, Finite, Float, Int, Space, Valid
from lamcts.spaces.base import distance
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.fixed import fixed
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.serialization import from_json, from_signature, to_json
from lamcts.testing import check_space

drawn = settings(max_examples=60, deadline=None, derandomize=True)
DISCRETE = ["int", "bool", "choice", "ordered"]


def _member(draw: Any, kind: str, when: Any) -> Any:
    if kind == "int":
        return Int(1, draw(st.integers(1, 4)), when=when)
    if kind == "bool":
        return Bool(when=when)
    if kind in ("choice", "ordered"):
        return Choice(tuple("abcd"[: draw(st.integers(1, 4))]), ordered=kind == "ordered", when=when)
    if kind == "finite":
        return Finite([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]], when=when)
    if kind == "space":
        return draw(_spaces(2, DISCRETE, when))
    return Float(0.5, 2.0, when=when) if kind == "float" else Box(-1, 1, dim=2, when=when)


@st.composite
def _spaces(draw: Any, most: int = 6, kinds: Any = (*DISCRETE, "float", "box", "finite", "space"), when: Any = None):
    members: dict[str, Any] = {}
    for name in "uvwxyz"[: draw(st.integers(1, most))]:
        parents = [own for own, member in members.items() if isinstance(member, (Int, Bool, Choice))]
        asked = {}
        for parent in draw(st.lists(st.sampled_from(parents), max_size=2, unique=True)) if parents else []:
            values = members[parent].decode_many(members[parent].rows())
            asked[parent] = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
        members[name] = _member(draw, draw(st.sampled_from(list(kinds))), asked or None)
    order = draw(st.permutations(list(members)))  # children may come first
    try:
        return Space({name: members[name] for name in order}, when=when)
    except ValueError as error:
        assert "never do" in str(error)
        assume(False)


@drawn
@given(_spaces(), st.integers(0, 2**32))
def test_points_of_conditional_spaces_come_back_and_snap_is_stable(space: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    discrete = ~space.continuous
    for x in (space.sample(20, rng), space.snap(rng.uniform(-0.5, 1.5, (20, space.dim)))):
        assert np.array_equal(space.snap(x), x)
        points = space.decode_many(x)
        again = space.encode_many(points)
        assert np.array_equal(again[:, discrete], x[:, discrete]) and np.abs(again - x).max() <= 1e-12
        assert np.array_equal(space.snap(again), again)
        inner = space.snap(x[:1])
        assert np.array_equal(inner[0], x[0])  # alone as among others
        codes = Parameters(space)
        assert np.array_equal(codes.rows(codes.codes(x)), x)  # one row, one code
    assert recalled_equal(space) and pickle.loads(pickle.dumps(space)) == space


def recalled_equal(space: Any) -> bool:
    if "Finite" in repr(space):  # tables of tuples are not described, and signatures have their checksum alone
        return True
    return bool(from_signature(space.signature()) == from_json(json.loads(json.dumps(to_json(space)))) == space)


@drawn
@given(_spaces(5, DISCRETE))
def test_sizes_and_rows_are_those_of_all_combinations_each_counted_once(space: Any) -> None:
    kinds = space.members
    flat = [member.decode_many(member.rows()) for member in kinds]
    assume(math.prod(map(len, flat)) <= 300)
    points = [dict(zip(space.names, values, strict=True)) for values in product(*flat)]

    def there(name: str, point: dict[str, Any]) -> bool:
        member = kinds[space.names.index(name)]
        return all(point[own] in values and there(own, point) for own, values in (member.when or {}).items())

    wanted = {repr({name: value for name, value in point.items() if there(name, point)}) for point in points}
    rows = space.rows()
    assert len(rows) == space.size == len(wanted) == len(np.unique(rows, axis=0))
    assert {repr(point) for point in space.decode_many(rows)} == wanted
    assert np.array_equal(space.snap(rows), rows)


def tuned(**more: Any) -> Space:
    return Space(
        {
            "solver": Choice(["sgd", "adam", "lbfgs"]),
            "momentum": Float(0.0, 0.99, when={"solver": "sgd"}),
            "nesterov": Bool(when={"solver": "sgd"}),
            "steps": Int(1, 9, when={"nesterov": True}),
            "kind": Choice(["x", "y", "z"], when={"solver": ["sgd", "adam"]}),
            **more,
        }
    )


def test_what_is_inactive_is_absent_from_points_and_neutral_in_codes() -> None:
    space = tuned()
    point = {"solver": "lbfgs"}
    x = space.encode(point)
    assert space.decode(x) == point
    assert x[3:6].tolist() == [0.5, 0.5, 0.5] and x[6] == x[7] == x[8]
    momentum = [{"solver": "sgd", "momentum": m, "nesterov": False, "kind": "x"} for m in (0.0, 0.99)]
    gaps = distance(x[None], space.encode_many(momentum))[0]
    assert gaps[0] == gaps[1]  # both ends are as far from a point without it
    child = {"solver": "sgd", "momentum": 0.1, "nesterov": True, "steps": 3, "kind": "z"}
    assert space.decode(space.encode(child))["steps"] == 3


def test_each_branch_is_drawn_evenly() -> None:
    points = tuned().decode_many(tuned().sample(3000, np.random.default_rng(0)))
    solvers = [point["solver"] for point in points]
    assert all(abs(solvers.count(name) - 1000) < 130 for name in ("sgd", "adam", "lbfgs"))
    steps = [point["steps"] for point in points if "steps" in point]
    assert 400 < len(steps) < 600 and set(steps) == set(range(1, 10))
    momentum = sorted(point["momentum"] for point in points if "momentum" in point)
    assert np.abs(np.array(momentum) / 0.99 - np.linspace(0, 1, len(momentum))).max() < 0.07


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (
            {"solver": "sgd", "nesterov": False, "kind": "x"},
            "value for 'momentum' where 'solver' is 'sgd', got a point",
        ),
        ({"solver": "lbfgs", "kind": "x"}, "'kind': expected a value only where 'solver' is 'sgd' or 'adam', got 'x'"),
        ({"solver": "adam", "kind": None}, "parameter 'kind': expected one of"),
        ({"solver": "adam", "kind": "x", "steps": 3}, "'steps': expected a value only where 'nesterov' is True"),
        ({"kind": "x"}, "expected a value for 'solver', got a point without it"),
        ({"solver": "lbfgs", "speed": 3}, "unknown"),
    ],
)
def test_points_with_too_much_or_too_little_are_errors(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tuned().encode(point)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space({"a": Bool(when={"b": True})}), r"'a': when: expected names out of \['a'\], got 'b'"),
        (lambda: tuned(more=Bool(when={"solver": "rmsprop"})), "'more': when: expected values that 'solver' takes"),
        (lambda: tuned(more=Bool(when={"momentum": 0.5})), "expected a parameter with single values, got 'momentum'"),
        (lambda: tuned(more=Bool(when={"solver": "adam", "nesterov": True})), "'more': when: .* that never do"),
        (lambda: Space({"a": Bool(when={"b": True}), "b": Bool(when={"a": True})}), "a circle, got 'a' -> 'b' -> 'a'"),
        (lambda: Space({"a": Bool(when={"a": True})}), "without a circle"),
        (lambda: Space([Bool(), Bool(when={"a": True})]), "member 1: when: expected parameters with names"),
        (lambda: Bool(when="solver"), "when: expected values by name"),
        (lambda: Bool(when={}), "when: expected values by name"),
        (lambda: Bool(when={"a": []}), "at least one value of 'a'"),
        (
            lambda: fixed(tuned(), {"solver": "adam", "momentum": 0.5}),
            "fix: parameter 'momentum': expected one that can",
        ),
        (lambda: fixed(Space({"a": Bool(), "b": Bool(when={"a": True})}), {"a": False}), "at least one parameter"),
    ],
)
def test_conditions_that_make_no_sense_are_errors_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_spaces_without_conditions_say_nothing_of_them() -> None:
    for space in (
        Float(0, 1),
        Int(0, 1),
        Bool(),
        Choice(["a", "b"]),
        Box(0, 1, dim=1),
        Finite([1, 2]),
        Space([Bool()]),
    ):
        assert "when" not in space.signature() and "when" not in repr(space)
        again = eval(repr(space), vars(lamcts)) if "points" not in repr(space) else space
        assert again == space
    assert eval(repr(tuned()), vars(lamcts)) == tuned() != tuned(more=Bool())


@pytest.mark.parametrize(
    "space",
    [
        tuned(),
        Space({"a": Int(0, 3), "b": Box(0, 1, dim=2, when={"a": [1, 2]}), "c": Finite([1, 4, 5], when={"a": 3})}),
        Space({"a": Bool(), "in": Space({"b": Int(0, 2), "c": Bool(when={"b": 1})}, when={"a": True})}),
        Space([Float(0, 1), tuned()]),
        Canonical(tuned(), repr, "text"),
        fixed(tuned(), {"kind": "x"}),
    ],
    ids=lambda space: type(space).__name__,
)
def test_conditional_spaces_hold_the_contract(space: Any) -> None:
    check_space(space)


def test_a_mask_says_which_parameters_are_active() -> None:
    space = Space([Bool(), tuned()])
    parameters = Parameters(space)
    x = space.encode_many([(True, {"solver": "lbfgs"}), (False, {"solver": "adam", "kind": "y"})])
    assert parameters.may_be_inactive and parameters.conditional
    assert parameters.active(parameters.codes(x)).astype(int).tolist() == [[1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1]]
    assert Parameters(Space({"a": Bool()})).conditional is False


def test_moves_into_another_branch_give_what_is_new_there_a_value() -> None:
    space, rng = tuned(), np.random.default_rng(0)
    parameters = Parameters(space)
    z = parameters.codes(space.encode({"solver": "lbfgs"})[None])
    near = [exchanges(parameters, z[0], rng), mutations(parameters, np.repeat(z, 200, axis=0), rng)]
    for codes in near:
        x = parameters.rows(codes)
        assert np.array_equal(parameters.codes(x), codes) and np.array_equal(space.snap(x), x)
        points = space.decode_many(x)
        assert len({point["momentum"] for point in points if point["solver"] == "sgd"}) > 3
        assert {point["solver"] for point in points} == {"sgd", "adam"}


def test_fixed_parents_open_or_shut_what_depends_on_them() -> None:
    space = fixed(tuned(), {"solver": "sgd", "momentum": 0.5})
    assert space.free == ["nesterov", "steps", "kind"]
    points = space.decode_many(space.sample(50, np.random.default_rng(0)))
    assert all(("steps" in point) == point["nesterov"] and point["momentum"] == 0.5 for point in points)
    assert np.array_equal(space.encode_many(points), space.encode_many(points))
    assert fixed(tuned(), {"solver": "adam"}).free == ["kind"]
    half = fixed(tuned(), {"nesterov": True})  # its own condition goes on to its children
    points = half.decode_many(half.sample(60, np.random.default_rng(0)))
    assert all(("steps" in point) == ("nesterov" in point) == (point["solver"] == "sgd") for point in points)
    assert from_signature(half.signature()) == half


def test_rules_and_keys_see_points_without_what_is_absent() -> None:
    rule = Valid(tuned(), lambda point: point.get("steps", 9) > 5, "late")
    points = rule.decode_many(rule.sample(60, np.random.default_rng(0)))
    assert any("steps" in point for point in points) and all(point.get("steps", 9) > 5 for point in points)
    member = Canonical(Int(0, 9), lambda k: k // 2 if k != 5 else None, "halves")
    assert Space({"a": Bool(), "k": member}).identity is not None
    inside = Canonical(Int(0, 9, when={"a": True}), lambda k: None if k < 9 else k, "nine")
    space = Space({"a": Bool(), "k": inside})
    assert space.identity(space.encode({"a": False})) is not None


def test_values_of_a_point_without_a_parameter_are_empty() -> None:
    space = tuned()
    named = NamedParameters(space.signature(), space.dim)
    values = named.values(space.encode({"solver": "lbfgs"})[None])
    assert [column[0] for column in values] == ["lbfgs", None, None, None, None]
    assert named.along(1, np.array([[0.0], [1.0]])) == [0.0, 0.99]
    assert named.along(4, np.eye(3)) == ["x", "y", "z"]


def loss(point: dict[str, Any]) -> float:
    if point["solver"] == "lbfgs":
        return 0.4
    if point["solver"] == "adam":
        return 0.3 + (point["kind"] != "y")
    return abs(point["momentum"] - 0.7) + (point["kind"] != "z") * 0.3 + (point.get("steps", 9) - 4) ** 2 * 0.01


def test_a_search_over_conditions_finds_the_branch_and_hands_out_no_point_twice() -> None:
    result = lamcts.minimize(loss, tuned(), budget=60, seed=3)
    assert result.fun < 0.1 and result.x["steps"] in (3, 4, 5)
    points = [json.dumps(point, sort_keys=True) for point in result.history.points]
    assert len(set(points)) == 60 and points.count('{"solver": "lbfgs"}') == 1
    table = result.history.rows()
    assert all(("momentum" in row) == (row["solver"] == "sgd") for row in table)


@pytest.mark.dear
def test_conditions_save_evaluations_over_a_space_that_does_not_know_of_them() -> None:
    found = []
    for known in (True, False):
        whens: list[Any] = [{"when": {"kind": kind}} if known else {} for kind in "abc"]
        pairs = {f"{kind}{i}": Float(-1, 1, **when) for kind, when in zip("abc", whens, strict=True) for i in (1, 2)}
        space = Space({"kind": Choice(["a", "b", "c"]), "x": Float(-1, 1), **pairs})
        runs = [lamcts.minimize(_three_ways, space, budget=50, seed=seed) for seed in range(3)]
        found.append(np.mean([run.fun for run in runs]))
    assert found[0] < 0.5 * found[1]


def _three_ways(point: dict[str, Any]) -> float:
    kind = point["kind"]
    first, second = point[f"{kind}1"], point[f"{kind}2"]
    return float(0.2 * "abc".index(kind) + (point["x"] - 0.3) ** 2 + (first - 0.5) ** 2 + 2 * (second - first) ** 2)


def test_known_rows_leave_out_what_is_absent(tmp_path: Any) -> None:
    file = tmp_path / "known.csv"
    file.write_text("solver,kind,value\nlbfgs,,0.4\nadam,y,0.3\n")
    result = lamcts.minimize(loss, tuned(), budget=1, seed=0, known=file)
    assert result.fun <= 0.3
