"""The file behind a journal: its schema, how it is made, opened and checked. No reader of it runs code.

Durability: WAL with synchronous=NORMAL. A transaction that has ended is in the hands of the operating system, so
`kill -9` loses none; a power cut may lose the last few, never the middle, and the run goes on from there identically.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lamcts.errors import JournalError
from lamcts.journal.table import damaged
from lamcts.journal.tables import TABLES, put_meta
from lamcts.types import Json
from lamcts.utils.files import JOURNAL, unchanged_database

FORMAT = 7  # raised with every change of the tables, or of what stands in them; 4: no reports of several objectives
OLDEST = 3  # that is read: it has the same tables, and no metrics nor standard errors in the notes of rows
# to 6, re-evaluations had a table of their own, which is empty since then
BUSY_SECONDS = 5.0  # for which a statement waits for another process's lock: SQLite's own default in Python


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
    return _code(error) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's extended code of an error, whose lowest byte is the kind; 0 for an error of Python's module."""
    return getattr(error, "sqlite_errorcode", 0)


def in_use(path: str) -> JournalError:
    return JournalError(f"the journal {path} is in use by another run; wait for it to end, or give another path")


def create(path: str, write: Callable[[sqlite3.Connection], None]) -> None:
    """Make a journal: complete next to `path` first, then moved there, so that no half-made one is ever seen."""
    draft = Path(path + "-new")  # the lock is ours, so is the draft
    draft.unlink(missing_ok=True)
    try:
        with explained(path), closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            write(connection)
            connection.execute("PRAGMA journal_mode = DELETE")  # a single file, also a copy of one with a log
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def fill(connection: sqlite3.Connection, meta: Json) -> None:
    """Write the tables and what never changes into an empty database."""
    connection.execute(f"PRAGMA application_id = {JOURNAL}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("BEGIN")
    for table in TABLES:
        connection.execute(table.statement)
    put_meta(connection, meta)
    connection.execute("COMMIT")


def connect(path: str, readonly: bool) -> sqlite3.Connection:
    """Open a journal that exists, and check that it is whole and has the tables that it should have."""
    with explained(path):
        try:
            return _checked(path, readonly)
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            with closing(_opened(path, readonly=False)) as connection:  # its writer was killed while it closed the file
                connection.execute("SELECT * FROM sqlite_master").fetchone()  # rolls the open transaction back
            return _checked(path, readonly)


@contextmanager
def folded(path: str) -> Iterator[sqlite3.Connection]:
    """Open a journal, and at the end leave a single file; JournalError where others have it open."""
    with closing(connect(path, readonly=False)) as connection:
        yield connection
        with explained(path):
            connection.execute("PRAGMA journal_mode = DELETE")


def begin_writing(connection: sqlite3.Connection, path: str) -> None:
    """Prepare a journal for writes, which changes its first bytes; why these settings: see the top of this file.

    An older format is raised to the present one.
    """
    older = connection.execute("PRAGMA user_version").fetchone() != (FORMAT,)
    if older and connection.execute("SELECT COUNT(*) FROM checks").fetchone() != (0,):
        raise JournalError(
            f"the journal {path} has re-evaluations of an earlier version of lamcts, and cannot be gone on with; "
            f"pass known={path!r} to a new run for its evaluations"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if older:
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _checked(path: str, readonly: bool) -> sqlite3.Connection:
    _check_log(path)
    connection = _opened(path, readonly)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_log(path: str) -> None:
    """Raise JournalError where changes lie in a log that the file's header denies: SQLite would read them too late."""
    log = Path(path + "-wal")
    if not log.exists() or not log.stat().st_size:
        return
    with closing(unchanged_database(path)) as connection:
        if not hasattr(connection, "serialize"):  # Python was built with an SQLite before 3.36
            return
        denied = connection.serialize()[18:20] != b"\2\2"  # the versions for writing and reading: 2 stands for a log
        if denied and log.exists():  # another connection may have closed the journal meanwhile
            raise damaged(path, f"its header does not know of the changes in {log.name}")


def _opened(path: str, readonly: bool) -> sqlite3.Connection:
    uri = Path(path).absolute().as_uri() + ("?mode=ro" if readonly else "?mode=rw")
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
    connection.execute("PRAGMA trusted_schema = OFF")  # a stranger's schema may call no function
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _check(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > FORMAT:
        raise JournalError(f"the journal {path} has format {version}, this lamcts reads up to {FORMAT}; update lamcts")
    if version < OLDEST:
        raise JournalError(
            f"the journal {path} has format {version}, from before the first release; this lamcts reads formats "
            f"{OLDEST} to {FORMAT}: give another path for a new run"
        )
    # every row counts: a trigger may bear the name of a table
    found = Counter(connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall())
    expected = Counter(("table", table.name, table.statement) for table in TABLES)
    if found != expected:
        names = sorted({str(name) for _, name, _ in (found - expected) + (expected - found)})
        raise damaged(path, f"expected the tables of format {version}, these differ: {', '.join(names)}")
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise damaged(path, str(verdict).replace("\n", " "))
