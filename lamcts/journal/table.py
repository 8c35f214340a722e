"""A table of a journal: its statement, and rows that carry a checksum over all their other columns."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.errors import JournalError
from lamcts.types import Floats, JsonValue

NUMBER = np.dtype("<f8")  # in the file; numpy turns it into the machine's own order
KINDS = {"TEXT": str, "BLOB": bytes}  # what a column must hold, by its declared type
Row = tuple[Any, ...]


@dataclass(frozen=True)
class JournalTable:
    """columns: as SQL writes them, but for the last, `crc`; key: what follows it; by: the order of reading."""

    name: str
    columns: str
    by: str
    key: str = ")"

    @property
    def statement(self) -> str:
        """The statement that makes it; compared word for word at opening."""
        return f"CREATE TABLE {self.name} ({self.columns}, crc INTEGER NOT NULL{self.key}"

    def put(self, db: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Write rows, which replace those of the same key."""
        sealed = [(*row, checksum(*row)) for row in rows]
        if sealed:
            db.executemany(f"INSERT OR REPLACE INTO {self.name} VALUES ({', '.join('?' * len(sealed[0]))})", sealed)

    def append(self, db: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Write rows that have no number of their own; they go on where the table ends."""
        (start,) = db.execute(f"SELECT COALESCE(MAX(n) + 1, 0) FROM {self.name}").fetchone()
        self.put(db, ((n, *row) for n, row in enumerate(rows, start)))

    def drop(self, db: sqlite3.Connection, key: str, values: Iterable[int]) -> None:
        """Remove the rows whose `key` is one of some values."""
        db.executemany(f"DELETE FROM {self.name} WHERE {key} = ?", [(value,) for value in values])

    def read(self, db: sqlite3.Connection, path: str) -> list[Row]:
        """Return all rows without their checksums, which are right."""
        found = db.execute(f"SELECT * FROM {self.name} ORDER BY {self.by}").fetchall()
        kinds = [KINDS.get(column.split()[1], object) for column in self.columns.split(",")]
        for row in found:
            # equal bytes have equal checksums, and a flipped bit turns text into bytes
            mistyped = any(not isinstance(v, kind) for v, kind in zip(row, kinds, strict=False) if v is not None)
            if mistyped or checksum(*row[:-1]) != row[-1]:
                raise damaged(path, f"{self.name}: number {row[0]} fails its checksum")
        return [row[:-1] for row in found]


def checksum(*fields: str | bytes | float | None) -> int:
    """Return the CRC-32 of the fields of a row."""
    crc = 0
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode("utf-8", "surrogatepass")
        crc = zlib.crc32(data, zlib.crc32(b"\0", crc))
    return crc


def damaged(path: str, detail: str) -> JournalError:
    return JournalError(
        f"the journal {path} is damaged: {detail}; go back to a copy of it, or start a new one elsewhere"
    )


def pack(value: JsonValue, what: str) -> str:
    """Return `value` as JSON text."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"{what}: expected JSON values (numbers, text, lists, dicts), got another kind: {error}"
        ) from None


def unpack(text: str, path: str, what: str) -> JsonValue:
    """Return the value of a JSON text."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise damaged(path, f"{what} is not JSON: {error}") from None


def pack_numbers(values: Iterable[float]) -> bytes:
    """Return numbers as little-endian float64."""
    return np.array(values, NUMBER).tobytes()


def unpack_numbers(blob: object) -> list[float]:
    """Return the numbers that `pack_numbers` packed; none of anything else."""
    if not isinstance(blob, bytes) or len(blob) % NUMBER.itemsize:
        return []
    return [float(number) for number in np.frombuffer(blob, NUMBER)]


# What a column must be ----------------------------------------------------------------------------------------------


def in_sequence(path: str, what: str, numbers: Sequence[object]) -> None:
    if numbers != list(range(len(numbers))):
        raise damaged(path, f"{what} are missing: expected 0 to {len(numbers) - 1}, the last is {numbers[-1]!r}")


def check_row(path: str, what: str, row: object, n: int) -> None:
    if not (isinstance(row, int) and 0 <= row < n):
        raise damaged(path, f"{what} name row {row!r}, there are {n}")


def integers(path: str, what: str, values: Sequence[object]) -> NDArray[np.int64]:
    """Return whole numbers, or tuples of them, as an array."""
    if not all(isinstance(v, int) for value in values for v in (value if isinstance(value, tuple) else (value,))):
        raise damaged(path, f"{what}: expected whole numbers")
    return np.array(values, np.int64)


def matrix(path: str, what: str, blobs: Sequence[bytes], least: int) -> Floats:
    """Return blobs of equally many float64, at least `least`, as the rows of a matrix."""
    widths = {len(blob) if isinstance(blob, bytes) else -1 for blob in blobs} or {8 * least}
    (width, *others) = widths
    if others or width < 8 * least or width % 8:
        raise damaged(path, f"{what}: expected equally many numbers in each")
    return np.frombuffer(b"".join(blobs), NUMBER).reshape(len(blobs), width // 8).astype(np.float64)


def in_cube(path: str, what: str, x: Floats) -> None:
    if not ((x >= 0) & (x <= 1)).all():
        raise damaged(path, f"{what}: expected coordinates within [0, 1]")
