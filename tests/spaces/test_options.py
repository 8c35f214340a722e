"""Options of any kind: in signatures, in files, and found again by what a file keeps of them."""

import datetime
import json
import math
from decimal import Decimal
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

from lamcts.journal.settings import difference
from lamcts.spaces import Choice, Finite, Float, Permutation, Space, Subset
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.serialization import from_json, from_signature, to_json


class Word(StrEnum):
    """Options that are texts, and more."""

    FIRST, SECOND = "a", "b"


def through_json(space: Any) -> Any:
    return from_signature(json.loads(json.dumps(space.signature())))


HELD: list[list[Any]] = [
    [(32,), (32, 16), ()],
    [[32], [32, [16, (8,)]]],
    [None, ("a", None), {"rate": 0.1, "sizes": (1, 2)}],
    [{"list": [1]}, {"name": "x"}, {"dict": {"float": "inf"}}],
    [math.inf, -math.inf, math.nan, (1, math.nan)],
    ["\ud83d", "text", 10**40, True, 1.5],
]


@pytest.mark.parametrize("options", HELD, ids=repr)
def test_options_that_json_can_hold_come_back_of_their_kinds(options: list[Any]) -> None:
    for space in (Choice(options), Choice(options, ordered=True), Permutation(options), Subset(options, 1)):
        for again in (through_json(space), from_json(json.loads(json.dumps(to_json(space))))):
            assert again == space and repr(again) == repr(space)


def one() -> int:
    return 1


LABELLED: list[tuple[list[Any], list[Any]]] = [
    ([math.sin, one], ["math.sin", f"{__name__}.one"]),
    ([int, Decimal], ["builtins.int", "decimal.Decimal"]),
    ([datetime.date(2024, 5, 1), b"a"], ["datetime.date(2024, 5, 1)", "b'a'"]),
    ([PurePosixPath("a/b"), Decimal("0.10")], ["PurePosixPath('a/b')", "Decimal('0.10')"]),
    ([Word.FIRST, "b"], ["<Word.FIRST: 'a'>", "b"]),
    ([(one, 3), (math.sin, [3])], [(f"{__name__}.one", 3), ("math.sin", [3])]),
    ([np.array([1.0, 2.0]), np.array([1.0, 3.0])], [(1.0, 2.0), (1.0, 3.0)]),
    ([object(), object(), "c"], ["<object object> (option 1)", "<object object> (option 2)", "c"]),
    (["math.sin", math.sin], ["math.sin", "math.sin (option 2)"]),
]


@pytest.mark.parametrize(("options", "labels"), LABELLED)
def test_other_options_are_labels_in_files_and_are_found_by_them(options: list[Any], labels: list[Any]) -> None:
    space = Choice(options)
    found = through_json(space)
    assert [*found.options] == labels and to_json(space) is None
    assert [space.place(label) for label in json.loads(json.dumps(labels))] == [*range(len(options))]


def test_labels_in_conditions_and_orders_are_read() -> None:
    space = Space({"f": Choice([math.sin, one, 3]), "x": Float(0, 1, when={"f": [one, 3]}), "o": Permutation([one, 1])})
    again = through_json(space)
    for x in space.sample(20, np.random.default_rng(0)):
        assert again.decode(x).keys() == space.decode(x).keys()
        assert np.array_equal(space.encode(again.decode(x)), space.encode(space.decode(x)))
    twice = Space({"f": Choice([lambda: 1, lambda: 2]), "x": Float(0, 1)})
    f = twice.members[0].options[1]
    assert through_json(Space({"f": twice.members[0], "x": Float(0, 1, when={"f": [f]})})) is None


def test_texts_of_options_are_the_same_in_a_run_and_in_its_journal() -> None:
    options = [(64,), None, math.sin, 0.5, "x"]
    space = Space({"a": Choice(options), "b": Choice([{"k": 1}, [2]], ordered=True)})
    named = NamedParameters(json.loads(json.dumps(space.signature())), space.dim)
    assert named.parameters[0].options == space.members[0].labels == ("(64,)", "None", "math.sin", "0.5", "x")
    x = np.array([space.encode({"a": option, "b": [2]}) for option in options])
    assert named.values(x) == [[*space.members[0].labels], ["[2]"] * 5]


def test_journals_from_before_lists_were_told_from_tuples_are_those_of_the_same_run() -> None:
    new = Choice([[64], {"name": "x"}]).signature()
    old = {"kind": "choice", "options": [[64], {"name": "x"}], "ordered": False}
    assert difference(old, new) is None and difference(new, Choice([[65], {"name": "x"}]).signature()) is not None
    again = from_signature({"kind": "choice", "options": [[64], [64, 32], {"k": [1]}], "ordered": False})
    assert again is not None and again.options == ((64,), (64, 32), {"k": (1,)})


@pytest.mark.parametrize(
    ("space", "told", "point"),
    [
        (Choice([0.1, 0.7]), np.float32(0.7), 0.7),
        (Choice([0.1, 0.7], ordered=True), 0.1 + 2e-17, 0.1),
        (Choice([(0.1, 2), (0.1, 3)]), [np.float32(0.1), 3], (0.1, 3)),
        (Permutation([0.1, 0.7]), np.float32([0.7, 0.1]), (0.7, 0.1)),
        (Subset([0.1, 0.7, 1 / 3], 1), [np.float32(1 / 3)], (1 / 3,)),
        (Finite([[0.1, 0.2], [0.3, 0.4]]), np.float32([0.3, 0.4]), [0.3, 0.4]),
    ],
    ids=str,
)
def test_numbers_that_went_through_float32_are_found(space: Any, told: Any, point: Any) -> None:
    assert repr(space.decode(space.encode(told))) == repr(point)


@pytest.mark.parametrize(
    ("options", "value"), [([0.1, 0.7], "0.7"), ([0.1, 0.7], 0.7001), ([1.0000001, 1.0000002], 1.00000015), ([1], "1")]
)
def test_what_is_near_no_option_or_near_two_is_refused(options: list[Any], value: Any) -> None:
    with pytest.raises(ValueError, match="expected one of"):
        Choice(options).encode(value)


def test_a_choice_of_absurdly_many_options_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="expected at most 100000 items, got 900000000; use Int or ordered=True"):
        Choice(range(900_000_000))
