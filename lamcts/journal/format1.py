"""Journals of format 1, from before the first release: read for `show`, `plot` and a warm start, never gone on with."""

import sqlite3
from typing import Any

from lamcts.journal.events import times_of
from lamcts.journal.recorded import Recorded
from lamcts.journal.table import check_row, checksum, damaged, in_sequence, unpack
from lamcts.journal.tables import ENTRIES, check_meta, checks_of, columns_of

SCHEMA = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    "rows": "CREATE TABLE rows (row INTEGER PRIMARY KEY, trial INTEGER NOT NULL, source INTEGER NOT NULL, "
    "numbers BLOB NOT NULL, message TEXT, crc INTEGER NOT NULL)",
    "pending": "CREATE TABLE pending (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, tag INTEGER NOT NULL, "
    "x BLOB NOT NULL, crc INTEGER NOT NULL)",
    "leaders": "CREATE TABLE leaders (row INTEGER PRIMARY KEY, point TEXT NOT NULL, crc INTEGER NOT NULL)",
    "checks": "CREATE TABLE checks (n INTEGER PRIMARY KEY, row INTEGER NOT NULL, repeat INTEGER NOT NULL, "
    "numbers BLOB NOT NULL, message TEXT, crc INTEGER NOT NULL)",
    "sessions": "CREATE TABLE sessions (number INTEGER PRIMARY KEY, state TEXT NOT NULL, crc INTEGER NOT NULL)",
    "log": "CREATE TABLE log (session INTEGER, n INTEGER, entry TEXT NOT NULL, crc INTEGER NOT NULL, "
    "PRIMARY KEY (session, n)) WITHOUT ROWID",
    "events": "CREATE TABLE events (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, first INTEGER NOT NULL, "
    "count INTEGER NOT NULL, time REAL NOT NULL)",
}


def load(db: sqlite3.Connection, path: str) -> Recorded:
    """Read what a format 1 journal holds of evaluations; its searches stay unread."""
    meta = {key: _text(db, path, f"the entry {key}", *sealed) for key, *sealed in db.execute("SELECT * FROM meta")}
    check_meta(path, meta, ENTRIES)
    rows = _sealed(db, path, "SELECT row, trial, source, numbers, message, crc FROM rows ORDER BY row")
    in_sequence(path, "rows", [row[0] for row in rows])
    columns = columns_of(path, [(trial, source, numbers) for _, trial, source, numbers, _ in rows])
    events = db.execute("SELECT kind, first, count, time FROM events ORDER BY n").fetchall()
    times, asks = times_of(path, events, len(rows))
    checks = _sealed(db, path, "SELECT row, repeat, numbers, message, crc FROM checks ORDER BY n")
    leaders = db.execute("SELECT row, point, crc FROM leaders ORDER BY row").fetchall()
    for row, *_ in leaders:
        check_row(path, "leaders", row, len(rows))
    return Recorded(
        path=path,
        format=1,
        fingerprint=meta["fingerprint"],
        about=meta["about"],
        version=meta["version"],
        created=meta["created"],
        core=None,
        columns=columns,
        failures={row[0]: str(row[4]) for row in rows if row[4] is not None},
        pending=[],
        searches={},
        leaders=[(row, _text(db, path, "a leader", text, crc)) for row, text, crc in leaders],
        checks=checks_of(path, checks, len(rows)),
        times=times,
        asks=asks,
        memory=meta.get("memory"),
    )


def _text(db: sqlite3.Connection, path: str, what: str, text: Any, crc: Any) -> Any:
    if not isinstance(text, str) or checksum(text) != crc:
        raise damaged(path, f"{what} fails its checksum")
    return unpack(text, path, what)


def _sealed(db: sqlite3.Connection, path: str, query: str) -> list[tuple[Any, ...]]:
    """Return rows without their last column, the checksum of the others."""
    found = db.execute(query).fetchall()
    for row in found:
        if checksum(*row[:-1]) != row[-1]:
            raise damaged(path, f"number {row[0]} fails its checksum")
    return [row[:-1] for row in found]
