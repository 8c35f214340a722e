"""Journals with other values in them, under right checksums; pages and files that are cut, swapped, doubled.

`benchmarks.robustness.soak` flips bytes, which checksums find. Here somebody has written what he likes: foreign JSON,
nan, numbers as large as there are, lists in lists, rows that are missing, doubled or in another order. Every reader
works or says what is wrong in our words; a journal that is refused stays as it was, one that is gone on with keeps its
rows.
"""

import json
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lamcts
from benchmarks.robustness.attacks.verdict import check_own, expect
from benchmarks.robustness.fuzzing.called import TRACE, called
from benchmarks.robustness.fuzzing.texts import json_values
from lamcts.errors import LamctsError
from lamcts.journal import Journal
from lamcts.journal.recorded import Recorded
from lamcts.journal.table import checksum
from lamcts.journal.tables import TABLES

HEADER = 100  # bytes in which SQLite notes that a file was opened for writing
PAGE = 4096
NAMES = tuple(table.name for table in TABLES)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"))
WHOLE = (0, 1, -1, 2, 7, 1000, 2**31, 2**63 - 1, -(2**63))
MIXED = {"lr": lamcts.Float(1e-4, 1.0, log=True), "layers": lamcts.Int(1, 8), "act": lamcts.Choice(["relu", "gelu"])}


def mixed(point: dict[str, Any]) -> float | None:
    return None if point["layers"] == 3 else point["lr"] + point["layers"]


def beam(point: Any) -> dict[str, float]:
    return {"cost": float(point[0] + point[1]), "sag": float(1 - point[0]), "stress": float(point[1])}


def sphere(point: Any) -> float:
    return float(((point - 0.3) ** 2).sum())


# function, space, options: what a run that goes on is called with
RUNS: tuple[tuple[Callable[[Any], Any], Any, dict[str, Any]], ...] = (
    (sphere, lamcts.Box(-1, 1, dim=3), {"budget": 24, "n_init": 6}),
    (mixed, lamcts.Space(MIXED), {"budget": 20, "batch": 3, "noisy": True}),
    (beam, lamcts.Box(0, 1, dim=2), {"budget": 14, "objectives": ["cost", "sag"], "constraints": ["stress <= 0.5"]}),
    (sphere, lamcts.Box(-1, 1, dim=2), {"budget": 14, "sampler": "turbo", "maximize": True}),
)


def run(which: int, journal: Path, more: int = 0) -> Any:
    f, space, options = RUNS[which]
    sense = lamcts.maximize if options.get("maximize") else lamcts.minimize
    kept = {name: value for name, value in options.items() if name not in ("maximize", "budget")}
    return sense(f, space, budget=options["budget"] + more, seed=3, journal=journal, progress=False, **kept)


@cache
def whole(which: int) -> bytes:
    """Return the journal of a run that ended, with two trials still out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        run(which, path)
        return path.read_bytes()


# What is done to a journal -------------------------------------------------------------------------------------------

values = st.one_of(
    st.sampled_from(WHOLE), st.sampled_from(FLOATS), st.none(), st.text(max_size=5), st.binary(max_size=9),
    json_values.map(json.dumps), st.sampled_from(("[" * 2000 + "]" * 2000, '{"a":' * 2000 + "1" + "}" * 2000)),
)  # fmt: skip
places = st.integers(0, 10**6)
edits = st.tuples(
    st.sampled_from(("cell", "cell", "leaf", "leaf", "leaf", "numbers", "drop", "double", "swap")),
    st.sampled_from(NAMES), places, places, values, json_values, st.sampled_from(FLOATS),
)  # fmt: skip
pages = st.tuples(st.sampled_from(("cut", "double", "swap", "append", "front")), places, places)
inputs = st.tuples(
    st.integers(0, len(RUNS) - 1),
    st.one_of(st.lists(edits, min_size=1, max_size=3), st.lists(edits, min_size=1, max_size=1), pages),
)


def spoilt(data: bytes, path: Path, what: Any) -> None:
    """Write a journal in which something is not as it was."""
    if isinstance(what, tuple):
        path.write_bytes(_pages(data, *what))
        return
    path.write_bytes(data)
    db = sqlite3.connect(path, isolation_level=None)
    try:
        for edit in what:
            _edit(db, *edit)
    finally:
        db.close()


def _pages(data: bytes, kind: str, i: int, j: int) -> bytes:
    n = len(data) // PAGE
    parts = [data[k * PAGE : (k + 1) * PAGE] for k in range(n)]
    a, b = 1 + i % (n - 1), 1 + j % (n - 1)  # the first page says what the file is
    if kind == "swap":
        parts[a], parts[b] = parts[b], parts[a]
    elif kind == "double":
        parts.insert(b, parts[a])
    elif kind == "append":
        parts += parts[:a]
    elif kind == "front":
        parts = parts[a:]
    return b"".join(parts[:a] if kind == "cut" else parts)


def _edit(db: sqlite3.Connection, kind: str, table: str, i: int, j: int, value: Any, leaf: Any, number: float) -> None:
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    if not rows:
        return
    row, other = list(rows[i % len(rows)][:-1]), list(rows[j % len(rows)][:-1])
    column = j % len(row)
    keys = [name for _, name, *_, key in db.execute(f"PRAGMA table_info({table})").fetchall() if key]
    if kind in ("drop", "cell", "double"):
        found = rows[i % len(rows)][: len(keys)]
        if kind != "double":
            db.execute(f"DELETE FROM {table} WHERE {' AND '.join(f'{key} IS ?' for key in keys)}", found)
    if kind == "drop":
        return
    if kind == "cell":
        row[column] = value
    elif kind == "leaf":
        row = [_with_leaf(cell, i, leaf) if isinstance(cell, str) else cell for cell in row]
    elif kind == "numbers":
        row = [_with_number(cell, j, number) if isinstance(cell, bytes) else cell for cell in row]
    elif kind == "double":
        row[0] = row[0] + 1000 if isinstance(row[0], int) else f"{row[0]}2"
    else:
        _put(db, table, [*row[: len(keys)], *other[len(keys) :]])
        row = [*other[: len(keys)], *row[len(keys) :]]
    _put(db, table, row)


def _put(db: sqlite3.Connection, table: str, row: list[Any]) -> None:
    """Write a row under a right checksum, unless SQLite itself refuses it."""
    try:
        sealed = (*row, checksum(*row))
        db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(sealed))})", sealed)
    except sqlite3.Error:
        return


def _with_number(blob: bytes, i: int, number: float) -> bytes:
    n = len(blob) // 8
    numbers = list(struct.unpack(f"<{n}d", blob))
    if n:
        numbers[i % n] = number
    return struct.pack(f"<{n}d", *numbers)


def _with_leaf(text: str, i: int, leaf: Any) -> str:
    """Return a JSON text with something else in one place, however deep; a text that is no JSON as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    places = list(_places(value))
    if not places:
        return json.dumps(leaf)
    holder, key = places[i % len(places)]
    if i % 7 == 0:
        del holder[key]
    else:
        holder[key] = leaf
    return json.dumps(value)


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


# What must hold ------------------------------------------------------------------------------------------------------


def check(drawn: tuple[int, Any], folder: Path) -> bool:
    """Return whether a journal could be read; Broken where a reader fails in other words, or it is changed."""
    which, what = drawn
    path = folder / "run.db"
    spoilt(whole(which), path, what)
    before = path.read_bytes()
    rows = _rows(path)
    for look in (["show"], ["show", "--csv"], ["show", "--front"], ["show", "--follow"]):
        called([*look, str(path), *([TRACE] if "--csv" in look else [])], folder)
    own(lambda: lamcts.load(path), "lamcts.load")
    expect(path.read_bytes() == before, "a journal that was only read as it was")
    if own(lambda: run(which, path, 2), "a run that goes on"):
        after = _rows(path)
        expect(rows is None or (after is not None and after[: len(rows)] == rows), "the rows that were there", after)
    elif rows is None:  # refused at the door
        expect(path.read_bytes()[HEADER:] == before[HEADER:], "a refused journal left as it was")
    else:
        after = _rows(path)
        expect(after is not None and after[: len(rows)] == rows, "a refused journal with its rows", after)
    return rows is not None


def own(call: Callable[[], Any], what: str) -> bool:
    """Return whether a call works; Broken where it fails in words that are not ours."""
    try:
        call()
    except Exception as error:
        check_own(error, what, (ValueError, LamctsError))
        return False
    return True


def _rows(path: Path) -> list[bytes] | None:
    """Return the evaluations of a journal, None where it is refused."""
    try:
        record = Journal.read(path)
    except LamctsError as error:
        check_own(error, "Journal.read", (lamcts.JournalError,))
        return None
    c = record.columns
    table = np.column_stack([c.f, c.g, c.seconds, c.x, c.kind, c.trial, c.source])
    return [row.tobytes() for row in table]


def copied(which: int, path: Path) -> Path:
    """Write a whole journal to a path, and return it."""
    path.write_bytes(whole(which))
    return path


@cache
def record(which: int) -> Recorded:
    """Return what a whole journal holds."""
    with tempfile.TemporaryDirectory() as folder:
        return Journal.read(copied(which, Path(folder) / "run.db"))
