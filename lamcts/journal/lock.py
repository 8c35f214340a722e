"""Where a journal lies: its path, whether one is there, and who may write it."""

import os
import sqlite3
import stat
from contextlib import suppress

from lamcts.errors import JournalError
from lamcts.journal.file import APPLICATION, in_use, is_busy
from lamcts.journal.table import damaged

MAGIC = b"SQLite format 3\0"
MEMORY = ":memory:"
TRIES = 100  # each is lost only to a run that began or ended in that very moment (untuned)
HEADER = 100  # bytes, with which every SQLite file begins
KINDS = {  # what may stand at a path beside files
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def named(path: str | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return a path as text; ValueError where it names nothing."""
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise ValueError(f"journal: expected the path of a file, got {text!r}")
    return text


def resolved(path: str) -> str:
    """Return the path of the file itself: a link to a journal is that journal, under the same lock."""
    return os.path.realpath(path) if os.path.islink(path) else path


def inspect_header(path: str) -> bool:
    """Return whether a journal exists at `path` (an empty file counts as none); a foreign file raises JournalError."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # not even opened: that of a pipe waits for a writer
            kind = KINDS.get(stat.S_IFMT(mode), "no ordinary file")
            raise JournalError(f"the journal {path} cannot be opened: it is {kind}; give the path of a file")
        with open(path, "rb") as file:
            header = file.read(HEADER)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}; give the path of a file") from None
    return bool(header) and _ours(path, header)


def _ours(path: str, header: bytes) -> bool:
    """Return True where the first bytes of a file are those of a journal; JournalError says what else they are."""
    if not header.startswith(MAGIC):
        raise JournalError(f"{path} is not a lamcts journal but another file; give another path, it was left as it is")
    if len(header) < HEADER:
        raise damaged(path, f"it ends after {len(header)} bytes")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise JournalError(f"{path} is an SQLite file of another program; give another path, it was left as it is")
    return True


class Lock:
    """The right to write a journal, held by one process at a time; the system takes it back when the process dies.

    Held in a file of its own, so that readers (`lamcts show`) are not locked out while a run goes on. That file goes
    away with the lock: who opened it just before locks a file that nobody else will find, so it looks once more.
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
            connection = sqlite3.connect(self._path, isolation_level=None, timeout=0.0, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise JournalError(
                f"the journal {path} cannot be made: {error}; does its folder exist, has it room, may you write there?"
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
