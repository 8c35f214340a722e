"""The file behind a journal: its schema, how it is made, opened, checked and locked. No reader of it runs code.

Durability: WAL with synchronous=NORMAL. A transaction that has ended is in the hands of the operating system, so
`kill -9` loses none; a power cut may lose the last few, never the middle, and the run goes on from there identically.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lamcts.errors import JournalError

FORMAT = 1
APPLICATION = 0x6C414D43  # "lAMC": bytes 68 to 71 of the file tell a journal from any other SQLite file
MAGIC = b"SQLite format 3\0"
MEMORY = ":memory:"

# One statement a table, compared word for word at opening: a change of any needs a new FORMAT.
# `crc` guards what SQLite does not: flipped bits inside a value.
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
    "count INTEGER NOT NULL, time REAL NOT NULL)",
}


def checksum(*fields: str | bytes | int | None) -> int:
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


def unpack(text: Any, crc: Any, path: str, what: str) -> Any:
    """Return the value of a JSON text whose checksum is `crc`."""
    if not isinstance(text, str) or checksum(text) != crc:
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
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise _in_use(path) from None
        raise JournalError(
            f"the journal {path} cannot be read or written: {error}; check the folder and the disk"
        ) from error
    except sqlite3.DatabaseError as error:  # malformed pages, missing parts
        raise damaged(path, str(error)) from error


def inspect_header(path: str) -> bool:
    """Return whether a journal exists at `path` (an empty file counts as none); a foreign file raises JournalError."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}; give the path of a file") from None
    if not header:
        return False
    if not header.startswith(MAGIC):
        raise JournalError(f"{path} is not a lamcts journal but another file; give another path, it was left as it is")
    if len(header) < 100:
        raise damaged(path, f"it ends after {len(header)} bytes")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise JournalError(f"{path} is an SQLite file of another program; give another path, it was left as it is")
    return True


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
    connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", [(key, text, checksum(text)) for key, text in texts])
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
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    if found != SCHEMA:
        names = sorted(name for name in {*found, *SCHEMA} if found.get(name) != SCHEMA.get(name))
        raise damaged(path, f"expected the tables of format {FORMAT}, these differ: {', '.join(names)}")
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise damaged(path, str(verdict).replace("\n", " "))


class Lock:
    """The right to write a journal, held by one process at a time; the system takes it back when the process dies.

    Held in a file of its own, so that readers (`lamcts show`) are not locked out while a run goes on.
    """

    def __init__(self, path: str) -> None:
        self._path = path + "-lock"
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None, timeout=0.0, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise JournalError(
                f"the journal {path} cannot be made: {error}; does its folder exist, may you write there?"
            ) from None
        try:
            self._connection.execute("BEGIN EXCLUSIVE")  # a lock that SQLite knows to take on every system
        except sqlite3.OperationalError:
            self._connection.close()
            raise _in_use(path) from None

    def release(self) -> None:
        with suppress(OSError):  # Windows keeps files that are open
            os.unlink(self._path)  # before the lock goes: nobody can hold the old file and a new one
        self._connection.close()


def _in_use(path: str) -> JournalError:
    return JournalError(f"the journal {path} is in use by another run; wait for it to end, or give another path")
