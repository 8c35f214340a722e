"""One CSV of a script: a row a run, found again by the columns of its key, so that no run is made twice.

Lines are added whole, under a lock, and never changed; a line that a killed process left torn is cut off by the next.
While a run is under way its claim is locked, so that two runners share work; the lock goes with the process.
"""

import csv
import fcntl
import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.task import Curve, Key, Row

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Sheet:
    """The rows of `path`; `columns` begin with those of `key`, and a task's fields are named like the key's columns."""

    path: Path
    key: tuple[str, ...]
    columns: tuple[str, ...]

    def rows(self) -> list[dict[str, str]]:
        return read(self.path)

    def keys(self) -> set[Key]:
        """Return the keys of the rows that are there."""
        return {tuple(row[name] for name in self.key) for row in self.rows()}

    def missing(self, keys: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
        """Return those of `keys` that have no row."""
        done = self.keys()
        return [key for key in keys if tuple(map(str, key)) not in done]

    def append(self, row: Row) -> None:
        """Add one row; cells that it lacks stay empty. ValueError for a cell without a column."""
        if unknown := row.keys() - set(self.columns):
            raise ValueError(f"expected cells out of {', '.join(self.columns)}, got {', '.join(sorted(unknown))}")
        add_line(self.path, cells(row.get(name, "") for name in self.columns), cells(self.columns))

    def record(self, row: Row) -> None:
        """Add one row and print it."""
        self.append(row)
        self.show(row)

    def show(self, row: Row) -> None:
        """Print a row without its versions and empty cells."""
        print({name: row[name] for name in self.columns if row.get(name, "") != "" and name != "versions"}, flush=True)

    # What a pool asks of a store.

    def wants(self, task: Any) -> bool:
        """Return whether a task has no row yet."""
        return bool(self.missing([self._key_of(task)]))

    def claim(self, task: Any) -> AbstractContextManager[bool]:
        return claim(self.path, self._key_of(task))

    def add(self, row: Row, curve: Curve | None) -> None:
        """Add a finished run; one that failed has no row, so that it is tried again."""
        if row.get("status", "ok") == "ok":
            self.append(row)

    def _key_of(self, task: Any) -> Key:
        return tuple(str(getattr(task, name)) for name in self.key)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@contextmanager
def claim(path: Path, key: Key) -> Iterator[bool]:
    """Hold the claim on a run while entered; False where another process holds it."""
    place = Path(tempfile.gettempdir()) / f"lamcts-claims-{os.getuid()}"
    place.mkdir(exist_ok=True)
    name = hashlib.sha256(repr((str(path.resolve()), key)).encode()).hexdigest()[:24]
    with (place / name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def cells(values: Iterable[Any]) -> str:
    """Return one line of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([str(value).replace("\n", " ") for value in values])
    return text.getvalue()


def add_line(path: Path, line: str, header: str = "") -> None:
    """Add a line to a file under its lock; `header` goes before the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        held = file.read()
        whole = held.rfind(b"\n") + 1
        if whole < len(held):
            file.truncate(whole)
        file.write(((header if not whole else "") + line).encode())
        file.flush()
        os.fsync(file.fileno())
