"""What a journal holds, read back and checked: values of the wrong kind or size are errors, never taken over."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.journal.file import checksum, damaged, unpack
from lamcts.observations import Floats, Rows
from lamcts.spaces.base import Space

NUMBER = np.dtype("<f8")  # in the file; numpy turns it into the machine's own order


class Check(NamedTuple):
    """One re-evaluation of a row: the `repeat`-th, its loss (nan: failed, `message` says how) and what it took."""

    row: int
    repeat: int
    loss: float
    seconds: float
    message: str | None


@dataclass(frozen=True, eq=False)
class Recorded:
    """A run as its journal has it. Rows are finished evaluations in order of arrival; losses: lower is better."""

    path: str
    fingerprint: dict[str, Any]  # space, maximise, sampler, tree, seed, ...
    about: dict[str, Any]  # what the run said of itself
    version: str  # of lamcts
    created: str  # ISO 8601
    core: dict[str, Any] | None  # None: nothing was recorded yet
    x: Floats  # [n, d], in the unit cube
    y: Floats  # [n], losses, nan for failures
    seconds: Floats  # [n]
    trial: Rows  # [n]
    source: Rows  # [n]
    failures: dict[int, str]
    pending: list[dict[str, Any]]
    sessions: dict[str, dict[str, Any]]
    leaders: list[tuple[int, Any]]  # row and point (as JSON values) of each improvement
    checks: list[Check]
    times: Floats  # [n], seconds since 1970 at which a row was written
    asks: int  # how often new points were asked for
    memory: Any = None  # what evaluations have learned, where the objective learns (JSON values)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def maximise(self) -> bool:
        return bool(self.fingerprint.get("maximise", False))

    @property
    def values(self) -> Floats:
        """The values in the user's sign, [n], nan for failures."""
        return -self.y if self.maximise else self.y

    @property
    def best(self) -> tuple[Any, float, int] | None:
        """The best point (JSON values in the user's units), its value in the user's sign, and its row."""
        if not self.leaders:
            return None
        row, point = self.leaders[-1]
        return point, float(self.values[row]), row

    def points(self, space: Space) -> list[Any]:
        """Return the points in the user's units; `space` is the run's."""
        return [space.decode(x) for x in self.x]

    def state(self) -> dict[str, Any]:
        """Return what `Optimizer.load_state_dict` takes."""
        return {
            "format": self.fingerprint.get("format", 1),
            "fingerprint": self.fingerprint,
            "core": self.core,
            "sessions": self.sessions,
            "columns": {name: getattr(self, name).copy() for name in ("x", "y", "seconds", "trial", "source")},
            "failures": {str(row): message for row, message in self.failures.items()},
            "pending": self.pending,
        }


def numbers_of(values: Iterable[float]) -> bytes:
    return np.array(values, NUMBER).tobytes()


def load(db: sqlite3.Connection, path: str) -> Recorded:
    """Read a whole journal; JournalError where anything is not as it was written."""
    entries = db.execute("SELECT key, value, crc FROM meta")
    meta = {key: unpack(text, crc, path, f"the entry {key}", key) for key, text, crc in entries}
    for key, kind in {"fingerprint": dict, "about": dict, "version": str, "created": str}.items():
        if not isinstance(meta.get(key), kind):
            raise damaged(path, f"expected an entry {key}, got {type(meta.get(key)).__name__}")
    core = meta.get("core")
    if core is not None and not isinstance(core, dict):
        raise damaged(path, "the entry core is not a dict")
    rows = db.execute("SELECT row, trial, source, numbers, message, crc FROM rows ORDER BY row").fetchall()
    _in_sequence(path, "rows", [row[0] for row in rows])
    _sealed(path, "rows", rows)
    numbers = _matrix(path, "rows", [row[3] for row in rows])  # [n, 2 + d]
    _in_cube(path, "rows", numbers[:, 2:])
    if np.isinf(numbers[:, 0]).any():
        raise damaged(path, "rows hold an infinite loss")
    times, asks = _events(db, path, len(rows))
    if core is None and (len(rows) or asks):
        raise damaged(path, "expected an entry core, got none beside rows and events")
    return Recorded(
        path=path,
        fingerprint=meta["fingerprint"],
        about=meta["about"],
        version=meta["version"],
        created=meta["created"],
        core=core,
        x=numbers[:, 2:],
        y=numbers[:, 0],
        seconds=numbers[:, 1],
        trial=_integers(path, "trial", [row[1] for row in rows]),
        source=_integers(path, "source", [row[2] for row in rows]),
        failures={row[0]: str(row[4]) for row in rows if row[4] is not None},
        pending=_pending(db, path),
        sessions=_sessions(db, path),
        leaders=[
            (row, unpack(text, crc, path, "a leader", row))
            for row, text, crc in db.execute("SELECT row, point, crc FROM leaders ORDER BY row")
            if _within(path, "leaders", row, len(rows))
        ],
        checks=_checks(db, path, len(rows)),
        times=times,
        asks=asks,
        memory=meta.get("memory"),
    )


def _pending(db: sqlite3.Connection, path: str) -> list[dict[str, Any]]:
    found = db.execute("SELECT id, session, tag, x, crc FROM pending ORDER BY id").fetchall()
    _sealed(path, "pending trials", found)
    x = _matrix(path, "pending trials", [entry[3] for entry in found], least=0)
    _in_cube(path, "pending trials", x)
    numbers = _integers(path, "pending trials", [entry[:3] for entry in found]).reshape(-1, 3).tolist()
    return [{"id": i, "x": point, "session": s, "tag": t} for (i, s, t), point in zip(numbers, x, strict=True)]


def _sessions(db: sqlite3.Connection, path: str) -> dict[str, dict[str, Any]]:
    sessions: dict[str, dict[str, Any]] = {}
    for number, text, crc in db.execute("SELECT number, state, crc FROM sessions ORDER BY number"):
        sessions[str(number)] = {"state": unpack(text, crc, path, f"session {number}", number), "log": []}
    entries = db.execute("SELECT session, n, entry, crc FROM log ORDER BY session, n").fetchall()
    _sealed(path, "logs", entries)
    for number, n, text, _ in entries:
        session = sessions.get(str(number))
        if session is None or n != len(session["log"]):
            raise damaged(path, f"the log of session {number} is not complete")
        session["log"].append(unpack(text, checksum(text), path, f"the log of session {number}"))
    return sessions


def _checks(db: sqlite3.Connection, path: str, n: int) -> list[Check]:
    found = db.execute("SELECT n, row, repeat, numbers, message, crc FROM checks ORDER BY n").fetchall()
    _in_sequence(path, "checks", [entry[0] for entry in found])
    _sealed(path, "checks", found)
    numbers = _matrix(path, "checks", [entry[3] for entry in found])
    _integers(path, "checks", [entry[1:3] for entry in found])
    return [
        Check(row, repeat, float(loss), float(seconds), None if message is None else str(message))
        for (_, row, repeat, _, message, _), (loss, seconds) in zip(found, numbers, strict=True)
        if _within(path, "checks", row, n)
    ]


def _events(db: sqlite3.Connection, path: str, n: int) -> tuple[Floats, int]:
    """Return when each of `n` rows was written, and how often there was an ask."""
    found = db.execute("SELECT n, kind, first, count, time, crc FROM events ORDER BY n").fetchall()
    _in_sequence(path, "events", [event[0] for event in found])
    _sealed(path, "events", found)
    _integers(path, "events", [event[2:4] for event in found])
    if not all(isinstance(event[4], float) for event in found):
        raise damaged(path, "events: expected a time in seconds")
    times = np.full(n, np.nan)
    for _, kind, first, count, at, _ in found:
        if kind == "tell" and all(_within(path, "events", row, n) for row in (first, first + count - 1)):
            times[first : first + count] = at
    return times, sum(kind == "ask" for _, kind, *_ in found)


# What a column must be ----------------------------------------------------------------------------------------------


def _sealed(path: str, what: str, rows: list[tuple[Any, ...]]) -> None:
    """Check that the last field of each row is the checksum of the others."""
    for row in rows:
        if checksum(*row[:-1]) != row[-1]:
            raise damaged(path, f"{what}: number {row[0]} fails its checksum")


def _in_sequence(path: str, what: str, numbers: list[Any]) -> None:
    if numbers != list(range(len(numbers))):
        raise damaged(path, f"{what} are missing: expected 0 to {len(numbers) - 1}, the last is {numbers[-1]!r}")


def _within(path: str, what: str, row: Any, n: int) -> bool:
    if not (isinstance(row, int) and 0 <= row < n):
        raise damaged(path, f"{what} name row {row!r}, there are {n}")
    return True


def _integers(path: str, what: str, values: list[Any]) -> NDArray[np.int64]:
    flat = [v for value in values for v in (value if isinstance(value, tuple) else (value,))]
    if not all(isinstance(v, int) for v in flat):
        raise damaged(path, f"{what}: expected whole numbers")
    return np.array(flat, np.int64)


def _matrix(path: str, what: str, blobs: list[Any], least: int = 2) -> Floats:
    """Return blobs of equally many float64, at least `least`, as the rows of a matrix."""
    widths = {len(blob) if isinstance(blob, bytes) else -1 for blob in blobs} or {8 * least}
    (width, *others) = widths
    if others or width < 8 * least or width % 8:
        raise damaged(path, f"{what}: expected equally many numbers in each")
    return np.frombuffer(b"".join(blobs), NUMBER).reshape(len(blobs), width // 8).astype(np.float64)


def _in_cube(path: str, what: str, x: Floats) -> None:
    if not ((x >= 0) & (x <= 1)).all():
        raise damaged(path, f"{what}: expected coordinates within [0, 1]")
