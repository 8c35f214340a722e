"""Where a journal lies: its path, whether one is there, and who may write it."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from lamcts.errors import JournalError
from lamcts.journal.file import in_use, is_busy
from lamcts.journal.table import damaged
from lamcts.utils.files import HEAD, SQLITE, FileKind, kind_of, opened

MEMORY = ":memory:"
TRIES = 100  # each is lost only to a run that began or ended in that very moment (untuned)
HEADER = 100  # bytes, with which every SQLite file begins
LOOK_SECONDS = 0.1  # for which a lock is waited for: `is_written` holds one for less than a millisecond


def named(path: str | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return a path as text; ValueError where it names nothing."""
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise ValueError(f"journal: expected the path of a file, got {text!r}")
    return text


def resolved(path: str) -> str:
    """Return the one path of a journal, its lock and its messages, absolute and without links.

    JournalError where its folder is missing: SQLite and the system would each find another file.
    """
    found = os.path.realpath(path)
    for folder in (os.path.dirname(path) or ".", os.path.dirname(found)):
        if not os.path.isdir(folder):
            cure = "give a path, and no address" if "://" in path else "make it first"
            raise JournalError(f"the journal {path} cannot be made: there is no folder {folder}; {cure}")
    return found


def inspect_header(path: str) -> bool:
    """Return whether a journal exists at `path` (an empty file counts as none); a foreign file raises JournalError."""
    try:
        with opened(path, "the journal", most=None) as file:  # it grows with its run
            head = file.read(HEAD)
    except FileNotFoundError:
        return False
    except ValueError as error:
        raise JournalError(str(error)) from None
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}; give the path of a file") from None
    if head.startswith(SQLITE) and len(head) < HEADER:
        raise damaged(path, f"it ends after {len(head)} bytes")
    if head and (kind := kind_of(head)) is not FileKind.JOURNAL:
        raise JournalError(f"{path} is not a lamcts journal but {kind}; give another path, it was left as it is")
    return bool(head)


def is_written(path: str | os.PathLike[str]) -> bool:
    """Return whether a run writes a journal now; the file of its lock outlives a run that was killed."""
    lock = Path(os.path.realpath(path) + "-lock").as_uri()
    try:
        with closing(sqlite3.connect(f"{lock}?mode=ro", uri=True, timeout=0.0)) as connection:
            connection.execute("SELECT * FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        return is_busy(error)  # another error is that of no lock
    return False


class Lock:
    """The right to write a journal, held by one process at a time; the system takes it back when the process dies.

    Held in a file of its own, so that readers (`lamcts show`) are not locked out while a run goes on. That file goes
    away with the lock: a process that opened it just before locks a file that is gone, so it looks once more.
    """

    def __init__(self, path: str) -> None:
        self._path = path + "-lock"
        for _ in range(TRIES):
            before = self._identity()
            connection = self._taken(path)
            if before is not None and before == self._identity():  # at no time between has the path named another
                self._connection = connection
                return
            connection.close()
        raise in_use(path)

    def release(self) -> None:
        with suppress(OSError):  # Windows keeps files that are open
            os.unlink(self._path)  # before the lock goes: the path is then free for a new file, with its own lock
        self._connection.close()

    def _identity(self) -> tuple[int, int, int] | None:
        """Return what tells the file now at the path from earlier ones; None where there is none."""
        try:
            found = os.stat(self._path)
        except OSError:  # connecting says what is wrong
            return None
        return found.st_dev, found.st_ino, found.st_ctime_ns  # numbers of files are given again, times are not

    def _taken(self, path: str) -> sqlite3.Connection:
        """Open the file, make it if need be, and lock it."""
        try:
            connection = sqlite3.connect(
                self._path, isolation_level=None, timeout=LOOK_SECONDS, check_same_thread=False
            )
        except sqlite3.OperationalError as error:
            raise JournalError(
                f"the journal {path} cannot be made: {error}; has its folder room, may you write there?"
            ) from None
        try:
            connection.execute("PRAGMA journal_mode = MEMORY")  # no second file beside it, which others would meet
            connection.execute("BEGIN EXCLUSIVE")  # a lock that SQLite knows to take on every system
        except sqlite3.DatabaseError as error:
            connection.close()
            if is_busy(error):
                raise in_use(path) from None
            raise JournalError(
                f"the journal {path} cannot be locked: {self._path}: {error}; has the disk room, may you write there?"
            ) from None
        return connection
