"""The tables, each with what is written into it and how it is read back, side by side.

The intermediate values of trials are in intermediate_values.py.
"""

import sqlite3
import warnings

import numpy as np

from lamcts.journal.events import EVENTS
from lamcts.journal.intermediate_values import REPORTS, RowNotes, note_of, read_notes
from lamcts.journal.state import Delta, SearchState, Waiting
from lamcts.journal.table import (
    JournalTable,
    Row,
    check_row,
    damaged,
    in_cube,
    in_sequence,
    integers,
    matrix,
    pack,
    pack_numbers,
    unpack,
)
from lamcts.outcomes.constrained_rank import FAILED, KINDS, OK, WITH_LOSSES
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import CONFIRMING, Columns
from lamcts.spaces.values import brief
from lamcts.types import Floats, Json, JsonValue

WIDTHS = {"losses": 1, "constraints": 0}  # numbers of a row before its seconds, where a run says nothing else


def widths_of(fingerprint: Json) -> dict[str, int]:
    """Return how many losses and columns of constraints the rows of a run have."""
    if "objectives" not in fingerprint:
        return WIDTHS
    return {"losses": len(fingerprint["objectives"]), "constraints": Goals.from_signature(fingerprint).columns}


# What there is one of: fingerprint, core, about, version, created, widths, perhaps memory; JSON values ----------------
META = JournalTable("meta", "key TEXT PRIMARY KEY, value TEXT NOT NULL", "key", ") WITHOUT ROWID")
ENTRIES = {"fingerprint": dict, "about": dict, "version": str, "created": str, "widths": dict}


def put_meta(db: sqlite3.Connection, values: Json) -> None:
    META.put(db, [(key, pack(value, key)) for key, value in values.items()])


def read_meta(db: sqlite3.Connection, path: str) -> Json:
    """Return the entries; those that every journal has are of the right kind."""
    meta = {key: unpack(text, path, f"the entry {key}") for key, text in META.read(db, path)}
    for key, kind in ENTRIES.items():
        if not isinstance(meta.get(key), kind):
            raise damaged(path, f"expected an entry {key}, got {type(meta.get(key)).__name__}")
    return meta


# Finished evaluations in order of arrival; numbers: losses, constraints, seconds, x as float64 ----------------------
ROWS = JournalTable(
    "rows",
    "row INTEGER PRIMARY KEY, trial INTEGER NOT NULL, source INTEGER NOT NULL, kind TEXT NOT NULL, "
    "numbers BLOB NOT NULL, message TEXT, note TEXT",
    "row",
)


def put_rows(db: sqlite3.Connection, delta: Delta) -> None:
    c, first = delta.columns, delta.since.rows
    ROWS.put(
        db,
        (
            (row, int(trial), int(source), KINDS[kind], numbers, delta.failures.get(row), note_of(delta, row))
            for row, trial, source, kind, numbers in zip(
                range(first, first + len(c.x)), c.trial, c.source, c.kind, map(pack_numbers, _numbers(c)), strict=True
            )
        ),
    )


def _numbers(columns: Columns) -> Floats:
    return np.column_stack([columns.f, columns.g, columns.seconds, columns.x])  # [n, m + c + 1 + d]


def read_rows(db: sqlite3.Connection, path: str, meta: Json) -> tuple[Columns, dict[int, str], RowNotes]:
    """Return the rows, the messages of failed ones, and the notes of rows.

    `meta` has the run's fingerprint and widths.
    """
    widths = widths_of(meta["fingerprint"])
    if meta["widths"] != widths:
        raise damaged(path, f"expected rows of {widths['losses']} losses and {widths['constraints']} constraints")
    found = ROWS.read(db, path)
    in_sequence(path, "rows", [row[0] for row in found])
    if not all(row[3] in KINDS for row in found):
        raise damaged(path, f"rows: expected kinds of {', '.join(KINDS)}")
    columns = _columns(path, found, **widths)
    failures = {row[0]: str(row[5]) for row in found if row[5] is not None}
    return columns, failures, read_notes(path, [(row[0], row[3], row[6]) for row in found], widths["losses"])


def _columns(path: str, rows: list[Row], losses: int, constraints: int) -> Columns:
    at = losses + constraints
    numbers = matrix(path, "rows", [row[4] for row in rows], least=at + 1)  # [n, m + c + 1 + d]
    in_cube(path, "rows", numbers[:, at + 1 :])
    if np.isinf(numbers[:, :at]).any():
        raise damaged(path, "rows hold an infinite loss")
    trial, source = (integers(path, name, [row[i] for row in rows]) for i, name in ((1, "trial"), (2, "source")))
    f = numbers[:, :losses]
    kind = np.array([KINDS.index(row[3]) for row in rows], np.int64)
    if (np.isfinite(f).all(1) != np.isin(kind, WITH_LOSSES)).any():
        raise damaged(path, "rows: expected finite losses of those that succeeded, and of no others")
    return Columns(numbers[:, at + 1 :], f, numbers[:, at], trial, source, numbers[:, losses:at], kind)


# Trials that are out; x: float64 [d]; note: what the search that asked wants back ------------------------------------
PENDING = JournalTable(
    "pending", "id INTEGER PRIMARY KEY, session INTEGER NOT NULL, note TEXT NOT NULL, x BLOB NOT NULL", "id"
)


def put_pending(db: sqlite3.Connection, delta: Delta, sampler: str) -> None:
    what = f"a note of {sampler} to a point"
    PENDING.put(db, ((t.id, t.session, pack(t.note, what), pack_numbers(t.x)) for t in delta.issued))
    PENDING.drop(db, "id", delta.closed)


def read_pending(db: sqlite3.Connection, path: str) -> list[Waiting]:
    """Return the trials that are out; RuntimeWarning where some have no point, as older versions wrote them."""
    found = PENDING.read(db, path)
    x = matrix(path, "pending trials", [row[3] for row in found], least=0)
    integers(path, "pending trials", [row[:2] for row in found])
    notes = [unpack(row[2], path, "a note") for row in found]
    trials = [Waiting(row[0], point, row[1], note) for row, point, note in zip(found, x, notes, strict=True)]
    lost = [trial.id for trial in trials if not trial.possible]
    if lost:
        text = f"the journal {path} has pending trials without a point ({brief(lost)}): expected coordinates within "
        warnings.warn(f"{text}[0, 1]; they are left out, and a run that goes on forgets them", RuntimeWarning, 2)
    return trials


# Live searches, and their logs, an entry a row ----------------------------------------------------------------------
SESSIONS = JournalTable("sessions", "number INTEGER PRIMARY KEY, state TEXT NOT NULL", "number")
LOG = JournalTable(
    "log", "session INTEGER, n INTEGER, entry TEXT NOT NULL", "session, n", ", PRIMARY KEY (session, n)) WITHOUT ROWID"
)


def put_searches(db: sqlite3.Connection, delta: Delta, sampler: str) -> None:
    """Write the searches that changed, all of them from nothing where the journal's mark does not know them."""
    if delta.since.searches is None:
        db.execute("DELETE FROM sessions")
        db.execute("DELETE FROM log")
    SESSIONS.drop(db, "number", delta.ended)
    LOG.drop(db, "session", delta.ended)
    for number, search in delta.searches.items():
        state = pack({"session": search.session}, f"the state of {sampler}")
        SESSIONS.put(db, [(number, state)])
        entries = [pack(entry, f"the log of {sampler}") for entry in search.log]
        LOG.put(db, ((number, n, entry) for n, entry in enumerate(entries, search.logged)))


def read_searches(db: sqlite3.Connection, path: str) -> dict[int, SearchState]:
    searches: dict[int, SearchState] = {}
    for number, text in SESSIONS.read(db, path):
        state = unpack(text, path, f"session {number}")
        if not isinstance(state, dict) or state.keys() - {"first"} != {"session"}:  # a point in formats up to 5
            raise damaged(path, f"session {number}: expected its state")
        searches[number] = SearchState(state["session"], 0, [])
    for number, n, text in LOG.read(db, path):
        search = searches.get(number)
        if search is None or n != len(search.log):
            raise damaged(path, f"the log of session {number} is not complete")
        search.log.append(unpack(text, path, f"the log of session {number}"))
    return searches


# Each improvement, its point as JSON in the user's units, for readers that lack the space ----------------------------
LEADERS = JournalTable("leaders", "row INTEGER PRIMARY KEY, point TEXT NOT NULL", "row")


def read_leaders(db: sqlite3.Connection, path: str, n: int) -> list[tuple[int, JsonValue]]:
    found = LEADERS.read(db, path)
    for row, _ in found:
        check_row(path, "leaders", row, n)
    return [(row, unpack(text, path, "a leader")) for row, text in found]


# Re-evaluations of rows up to format 6, where they are no rows; numbers: loss, seconds --------------------------------
CHECKS = JournalTable(
    "checks",
    "n INTEGER PRIMARY KEY, row INTEGER NOT NULL, repeat INTEGER NOT NULL, numbers BLOB NOT NULL, message TEXT",
    "n",
)


def read_checks(db: sqlite3.Connection, path: str, columns: Columns, trials: int) -> tuple[Columns, dict[int, str]]:
    """Return rows with the re-evaluations after them, as trials numbered from `trials` on, and how those failed."""
    found, n = CHECKS.read(db, path), len(columns.x)
    in_sequence(path, "checks", [check[0] for check in found])
    numbers = matrix(path, "checks", [check[3] for check in found], least=2).reshape(-1, 2)
    rows = integers(path, "checks", [check[1] for check in found])
    for row in rows.tolist():
        check_row(path, "checks", row, n)
    k, f = len(found), np.repeat(numbers[:, :1], columns.f.shape[1], axis=1)
    kind = np.where(np.isfinite(f[:, 0]), OK, FAILED)
    trial, source = trials + np.arange(k), np.full(k, CONFIRMING)
    again = Columns(columns.x[rows], f, numbers[:, 1], trial, source, columns.g[rows], kind)
    failures = {n + i: str(check[4]) for i, check in enumerate(found) if check[4] is not None}
    return Columns(*(np.concatenate(pair) for pair in zip(columns, again, strict=True))), failures


TABLES = (META, ROWS, PENDING, LEADERS, CHECKS, SESSIONS, LOG, REPORTS, EVENTS)
