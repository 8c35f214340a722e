"""Where a journal lies: its path, whether one is there, and who may write it."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from lamcts.errors import JournalError
from lamcts.journal.file import in_use, is_busy
from lamcts.journal.table import damaged
from lamcts.utils.files import OLD_STATE, SQLITE, FileKind, database_kind, head_of, kind_of

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
    if database_kind(path) is FileKind.JOURNAL:
        return True
    try:
        head = head_of(path, "the journal")
    except FileNotFoundError:
        return False
    except ValueError as error:
        raise JournalError(str(error)) from None
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}; give the path of a file") from None
    if head.startswith(SQLITE) and len(head) < HEADER:
        raise damaged(path, f"it ends after {len(head)} bytes")
    if head and (kind := kind_of(head)) is not FileKind.JOURNAL:
        cure = OLD_STATE.format(path) if kind is FileKind.STATE else "give another path, it was left as it is"
        raise JournalError(f"{path} is not a lamcts journal but {kind}; {cure}")
    return bool(head)


def identities(path: str) -> list[tuple[int, int] | None]:
    """Return what tells the files of a journal and of its log from others, None where there is none."""
    found: list[tuple[int, int] | None] = []
    for file in (path, f"{path}-wal"):
        try:
            there = os.stat(file)
        except OSError:
            found.append(None)
        else:
            found.append((there.st_dev, there.st_ino))
    return found


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
    What was opened is kept here at once, so that `release` gives it back at whatever line an exception came.
    """

    def __init__(self, path: str) -> None:
        self._journal, self._path = path, path + "-lock"
        self._connection: sqlite3.Connection | None = None
        self._own: tuple[int, int, int] | None = None  # what tells the file that was locked from others

    def take(self) -> None:
        """Take the lock; JournalError where another run holds it."""
        for _ in range(TRIES):
            before = self._identity()
            self._taken(self._journal)
            if before is not None and before == self._identity():  # at no time between has the path named another
                self._own = before
                return
            self.release()
        raise in_use(self._journal)

    def release(self) -> None:
        """Give the lock back; nothing happens where it is not held."""
        if self._connection is None:
            return
        if self._own is not None and self._own == self._identity():
            with suppress(OSError):  # Windows keeps files that are open
                os.unlink(self._path)  # before the lock goes: the path is then free for a new file, with its own lock
        self._own = None
        self._connection.close()
        self._connection = None

    def _identity(self) -> tuple[int, int, int] | None:
        """Return what tells the file now at the path from earlier ones; None where there is none."""
        try:
            found = os.stat(self._path)
        except OSError:  # connecting says what is wrong
            return None
        return found.st_dev, found.st_ino, found.st_ctime_ns  # numbers of files are given again, times are not

    def _taken(self, path: str) -> sqlite3.Connection:
        """Open the file, make it if need be, and lock it."""
        self.release()
        try:
            self._connection = connection = sqlite3.connect(
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
            self.release()
            if is_busy(error):
                raise in_use(path) from None
            raise JournalError(
                f"the journal {path} cannot be locked: {self._path}: {error}; has the disk room, may you write there?"
            ) from None
        return connection
