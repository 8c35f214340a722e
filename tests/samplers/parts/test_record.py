"""A record goes to JSON text and comes back the same, whatever its fields hold."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lamcts.samplers.parts.record import from_json, to_json
from lamcts.types import Floats, Rows


@dataclass
class Inner:
    length: float
    improved: bool = False


@dataclass
class Outer:
    rng: np.random.Generator
    incumbent: int | None
    gains: Floats
    groups: dict[int, Inner]
    places: list[tuple[int, ...] | None]
    chunks: list[list[int]]
    inner: Inner | None = None
    pair: tuple[int, Floats] = (0, np.zeros(1))
    rows: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    mask: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(2, bool))
    table: Floats = field(default_factory=lambda: np.empty((0, 4)))
    note: Any = None
    recent: list[int] = field(default_factory=list)


def through(record: Outer) -> Outer:
    return from_json(Outer, json.loads(json.dumps(to_json(record), allow_nan=False)))


def example() -> Outer:
    rng = np.random.default_rng(3)
    rng.random(5)
    groups = {7: Inner(0.1 + 0.2), 2: Inner(0.5, True)}
    return Outer(rng, None, np.array([0.1, 1e-300]), groups, [None, (1, 2)], [[3], []], Inner(1.0), note=[0, "a", None])


def test_every_field_comes_back_as_it_was() -> None:
    record, copy = example(), through(example())
    assert list(copy.groups.items()) == list(record.groups.items())  # in order
    assert (copy.places, copy.chunks, copy.inner, copy.note) == (
        record.places,
        record.chunks,
        record.inner,
        record.note,
    )
    assert copy.gains.tobytes() == record.gains.tobytes()
    assert copy.incumbent is None and copy.recent == []
    assert np.array_equal(copy.rng.random(9), record.rng.random(9))


def test_a_record_and_its_state_share_nothing() -> None:
    record = example()
    state = to_json(record)
    record.groups[7].length, record.chunks[0][0] = 9.0, 9
    assert (state["groups"][0][1]["length"], state["chunks"][0]) == (0.1 + 0.2, [3])


def test_a_state_without_a_field_is_refused() -> None:
    state = to_json(example())
    del state["gains"]
    with pytest.raises(KeyError, match="gains"):
        from_json(Outer, state)


def test_arrays_keep_their_kind_and_shape_and_numpys_numbers_become_pythons() -> None:
    record = example()
    record.rows, record.mask, record.table = np.array([3, 1]), np.array([True, False]), np.arange(6.0).reshape(2, 3)
    record.pair, record.incumbent = (np.int64(4), np.array([0.5])), np.int64(7)  # type: ignore[assignment]
    copy = through(record)
    assert [a.dtype for a in (copy.rows, copy.mask, copy.table)] == [np.int64, bool, np.float64]
    assert copy.mask.tolist() == [True, False] and np.array_equal(copy.table, record.table)
    assert copy.pair[0] == 4 and copy.pair[1].tolist() == [0.5] and type(copy.incumbent) is int
    record.table = np.empty((0, 4))
    assert through(record).table.shape == (0, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("chunks", [[3], [[]]]), ("chunks", [["a"]]), ("incumbent", 1.5), ("inner", {"length": "x", "improved": False})],
)
def test_what_stands_where_a_number_should_is_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"expected (int|float), got"):
        from_json(Outer, to_json(example()) | {name: value})
    with pytest.raises(TypeError, match="expected bool, got int"):
        from_json(Inner, {"length": 1, "improved": 1})
    assert from_json(Inner, {"length": 1, "improved": True}).length == 1
