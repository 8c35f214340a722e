"""Files that users name: ordinary files of a bounded size, recognised by their content before anything is parsed."""

import codecs
import os
import re
import sqlite3
import stat
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

JOURNAL = 0x6C414D43  # "lAMC": bytes 68 to 71 tell a journal from any other SQLite file
SQLITE = b"SQLite format 3\0"
ZIP = b"PK\3\4"
HEAD = 2**18  # bytes by which a file is recognised: Optuna 5.0 describes its tables in the first 2**17
LARGEST = 2**28  # bytes of a file that is read whole: a table of 1e6 rows of 20 numbers, in memory ten times as large
PLACES = {  # what may be at a path except files
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileKind(StrEnum):
    """The content of a file, as messages name it."""

    EMPTY = "an empty file"
    TEXT = "a text"
    JOURNAL = "a journal of lamcts"
    STATE = "a file that Optimizer.save wrote before the release of lamcts 0.1.0"
    OPTUNA = "an SQLite storage of Optuna"
    OPTUNA_LOG = "a journal of Optuna's JournalStorage"
    SQLITE = "an SQLite file of another program"
    JSON = "a JSON file"
    SPREADSHEET = "a spreadsheet"
    PARQUET = "a Parquet file"
    COMPRESSED = "a compressed file"
    ZIP = "a zip archive"
    BINARY = "a binary file of another program"


OLD_STATE = "that version writes its evaluations, `lamcts show {} --csv > old.csv`, which known='old.csv' takes"
SIGNATURES = (  # first bytes, bytes further on, kind; the first match counts
    (SQLITE, b"CREATE TABLE study_directions", FileKind.OPTUNA),
    (SQLITE, b"", FileKind.SQLITE),
    (ZIP, b"column x.npy", FileKind.STATE),
    (ZIP, b"xl/", FileKind.SPREADSHEET),
    (ZIP, b"opendocument.spreadsheet", FileKind.SPREADSHEET),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", FileKind.SPREADSHEET),  # .xls
    (ZIP, b"", FileKind.ZIP),
    (b"\x1f\x8b", b"", FileKind.COMPRESSED),  # gzip
    (b"BZh", b"", FileKind.COMPRESSED),
    (b"\xfd7zXZ", b"", FileKind.COMPRESSED),
    (b"\x28\xb5\x2f\xfd", b"", FileKind.COMPRESSED),  # Zstandard
    (b"PAR1", b"", FileKind.PARQUET),
)
BEGINS_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\[{"\]])')  # no line of names begins so


def opened(path: str | os.PathLike[str], what: str, most: int | None = LARGEST) -> BinaryIO:
    """Open an ordinary file of at most `most` bytes (None: any); ValueError calls it `what` and says what it is."""
    _check_ordinary(path, what, most)
    return open(path, "rb")


def _check_ordinary(path: str | os.PathLike[str], what: str, most: int | None) -> None:
    found = os.stat(path)
    if stat.S_ISREG(found.st_mode) and (most is None or found.st_size <= most):
        return
    trouble = f"it is {PLACES.get(stat.S_IFMT(found.st_mode), 'no ordinary file')}; give the path of a file"
    if stat.S_ISREG(found.st_mode):
        trouble = f"it has {found.st_size} bytes, and at most {most} are read; give a smaller file"
    raise ValueError(f"{what} {os.fsdecode(path)} cannot be opened: {trouble}")


def text_of(path: str | os.PathLike[str], what: str) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with its mark; ValueError for anything else."""
    with opened(path, what) as file:
        content = file.read(LARGEST)  # a file of the system has more bytes than its size tells
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{what} {os.fsdecode(path)} cannot be read: expected text in UTF-8: {error}; save it as UTF-8"
        ) from None


def kind_at(path: str | os.PathLike[str], what: str, most: int | None = LARGEST) -> FileKind:
    """Return the kind of a file; ValueError for what is none."""
    _check_ordinary(path, what, most)
    return database_kind(path) or kind_of(head_of(path, what))


def head_of(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the first `HEAD` bytes of an ordinary file that is no database (see `database_kind`)."""
    with opened(path, what, most=None) as file:
        return file.read(HEAD)


def database_kind(path: str | os.PathLike[str]) -> FileKind | None:
    """Return the kind of an SQLite database, read by SQLite itself; None for any other file.

    POSIX drops all locks of a process on a file as soon as the process closes any descriptor of that file: opened
    and closed here, a database that this process is writing would lose the locks of SQLite (sqlite.org, "How to
    corrupt an SQLite database file", 2.2). SQLite keeps such descriptors open as long as it needs the locks.
    """
    try:
        if not os.path.getsize(path):
            return None
        with closing(unchanged_database(path)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application == JOURNAL:
                return FileKind.JOURNAL
            optuna = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'study_directions'").fetchone()
    except (OSError, sqlite3.Error, UnicodeDecodeError):  # no database, or a damaged one
        return None
    return FileKind.OPTUNA if optuna else FileKind.SQLITE


def unchanged_database(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Open an SQLite file as it is on disk, without its log and without locks."""
    uri = Path(os.fsdecode(path)).absolute().as_uri()
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None)


def kind_of(head: bytes) -> FileKind:
    """Return the kind of a file from its first `HEAD` bytes."""
    if head.startswith(SQLITE) and int.from_bytes(head[68:72], "big") == JOURNAL:
        return FileKind.JOURNAL
    for start, part, kind in SIGNATURES:
        if head.startswith(start) and part in head:
            return kind
    if BEGINS_JSON.match(head):
        return FileKind.OPTUNA_LOG if b'"op_code"' in head.partition(b"\n")[0] else FileKind.JSON
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in head and not wide and (b"\0" in head.partition(b"\n")[0] or not _utf8(head)):
        return FileKind.BINARY  # an option of a table may hold a NUL, the line of names does not
    return FileKind.TEXT if head.strip() else FileKind.EMPTY


def _utf8(head: bytes) -> bool:
    """Return whether the first bytes of a file are UTF-8, whose last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
