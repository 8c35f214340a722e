"""The file behind a journal: its schema, how it is made, opened and checked. No reader of it runs code.

Durability: WAL with synchronous=NORMAL. A transaction that has ended is in the hands of the operating system, so
`kill -9` loses none; a power cut may lose the last few, never the middle, and the run goes on from there identically.
"""

import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lamcts.errors import JournalError

FORMAT = 2
APPLICATION = 0x6C414D43  # "lAMC": bytes 68 to 71 of the file tell a journal from any other SQLite file

# One statement a table, compared word for word at opening: a change of any needs a new FORMAT.
# `crc` guards what SQLite does not, flipped bits inside a value: it covers all other columns of its row.
SCHEMA = {
    # fingerprint, core, about, version, created, perhaps memory: one JSON value each
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    # finished evaluations in order of arrival; numbers: y, seconds, x as little-endian float64 [2 + dim]
    "rows": "CREATE TABLE rows (row INTEGER PRIMARY KEY, trial INTEGER NOT NULL, source INTEGER NOT NULL, "
    "numbers BLOB NOT NULL, message TEXT, crc INTEGER NOT NULL)",
    # trials that are out; x: little-endian float64 [dim]
    "pending": "CREATE TABLE pending (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, tag INTEGER NOT NULL, "
    "x BLOB NOT NULL, crc INTEGER NOT NULL)",
    # each improvement, its point as JSON in the user's units, for readers that lack the space
    "leaders": "CREATE TABLE leaders (row INTEGER PRIMARY KEY, point TEXT NOT NULL, crc INTEGER NOT NULL)",
    # re-evaluations of rows (noisy=True); numbers: loss, seconds
    "checks": "CREATE TABLE checks (n INTEGER PRIMARY KEY, row INTEGER NOT NULL, repeat INTEGER NOT NULL, "
    "numbers BLOB NOT NULL, message TEXT, crc INTEGER NOT NULL)",
    "sessions": "CREATE TABLE sessions (number INTEGER PRIMARY KEY, state TEXT NOT NULL, crc INTEGER NOT NULL)",
    "log": "CREATE TABLE log (session INTEGER, n INTEGER, entry TEXT NOT NULL, crc INTEGER NOT NULL, "
    "PRIMARY KEY (session, n)) WITHOUT ROWID",
    # what happened, in order: ask (first trial, how many), tell (first row), forget (trial), check (row)
    "events": "CREATE TABLE events (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, first INTEGER NOT NULL, "
    "count INTEGER NOT NULL, time REAL NOT NULL, crc INTEGER NOT NULL)",
}


def checksum(*fields: str | bytes | float | None) -> int:
    """Return the CRC-32 of the fields of a row."""
    crc = 0
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode("utf-8", "surrogatepass")
        crc = zlib.crc32(data, zlib.crc32(b"\0", crc))
    return crc


def pack(value: Any, what: str) -> str:
    """Return `value` as JSON text."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"{what}: expected JSON values (numbers, text, lists, dicts), got another kind: {error}"
        ) from None


def unpack(text: Any, crc: Any, path: str, what: str, *key: str | int) -> Any:
    """Return the value of a JSON text; `crc` is the checksum of the `key` of its row and the text."""
    if not isinstance(text, str) or checksum(*key, text) != crc:
        raise damaged(path, f"{what} fails its checksum")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{what} is not JSON: {error}") from None


def damaged(path: str, detail: str) -> JournalError:
    return JournalError(
        f"the journal {path} is damaged: {detail}; go back to a copy of it, or start a new one elsewhere"
    )


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what SQLite raises into a JournalError that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise in_use(path) from None
        if not isinstance(error, sqlite3.OperationalError) or "decode" in str(error):  # malformed pages, missing parts
            raise damaged(path, str(error)) from error
        raise JournalError(
            f"the journal {path} cannot be read or written: {error}; check the folder and the disk"
        ) from error
    except UnicodeDecodeError as error:  # SQLite quotes bad bytes of a schema in its message
        raise damaged(path, "its tables are not described in valid text") from error


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection stands in the way, and nothing else."""
    code = getattr(error, "sqlite_errorcode", None)  # extended: its lowest byte is the kind
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def in_use(path: str) -> JournalError:
    return JournalError(f"the journal {path} is in use by another run; wait for it to end, or give another path")


def create(path: str, meta: dict[str, Any]) -> None:
    """Make a new journal: complete beside `path` first, then moved there, so that no half-made one is ever seen."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise JournalError(f"the journal {path} cannot be made: the folder {folder} does not exist; make it first")
    draft = path + "-new"  # the lock is ours, so is the draft
    with suppress(FileNotFoundError):
        os.unlink(draft)
    with explained(path):
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            fill(connection, meta)
        finally:
            connection.close()
    os.replace(draft, path)


def fill(connection: sqlite3.Connection, meta: dict[str, Any]) -> None:
    """Write the tables and what never changes into an empty database."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("BEGIN")
    for statement in SCHEMA.values():
        connection.execute(statement)
    texts = [(key, pack(value, key)) for key, value in meta.items()]
    sealed = [(key, text, checksum(key, text)) for key, text in texts]
    connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", sealed)
    connection.execute("COMMIT")


def connect(path: str, readonly: bool) -> sqlite3.Connection:
    """Open a journal that exists, and check that it is whole and has the tables that it should have."""
    uri = Path(path).absolute().as_uri() + ("?mode=ro" if readonly else "?mode=rw")
    with explained(path):
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # a stranger's schema may call no function
            connection.execute("PRAGMA cell_size_check = ON")
            _check(connection, path)
            if not readonly:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")  # why: see the top of this file
        except BaseException:
            connection.close()
            raise
    return connection


def _check(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > FORMAT:
        raise JournalError(f"the journal {path} has format {version}, this lamcts reads up to {FORMAT}; update lamcts")
    if version < FORMAT:
        raise JournalError(
            f"the journal {path} has format {version}, this lamcts reads {FORMAT}; go on with the lamcts that wrote it"
        )
    # every row counts: a trigger may bear the name of a table
    found = Counter(connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall())
    expected = Counter(("table", name, sql) for name, sql in SCHEMA.items())
    if found != expected:
        names = sorted({str(name) for _, name, _ in (found - expected) + (expected - found)})
        raise damaged(path, f"expected the tables of format {FORMAT}, these differ: {', '.join(names)}")
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise damaged(path, str(verdict).replace("\n", " "))
