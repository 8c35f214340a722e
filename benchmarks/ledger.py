"""The finished runs on disk: one CSV row and one line of curve a run, in two files a problem.

results/runs/PROBLEM.csv holds the rows, results/runs/PROBLEM.jsonl the curves. Lines are added whole, under a lock, and
never changed; a line that a killed process left torn is cut off by the next. Where a run has several rows (it failed
and was tried again) the last one counts. While a run is under way its claim is locked, so that two runners share work;
the lock goes with the process that holds it.
"""

import csv
import fcntl
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.records import RESULTS

RUNS = RESULTS / "runs"
MARKS = (10, 20, 50, 100, 126, 200, 300, 500, 700, 1000, 2000, 5000, 10000)  # 126: the thesis's figure for Swimmer
KEY = ("method", "problem", "batch", "seed", "budget")
COLUMNS = (
    *KEY, "dim", "status", "evaluations", "optimum", "best", *(f"best_{m}" for m in MARKS), "rescored",
    "rescored_sd", "own_s", "own_ms", "objective_s", "wall_s", "message", "commit", "versions",
)  # fmt: skip


class Task(NamedTuple):
    """One run. Its fields are the key of its row."""

    method: str
    problem: str
    batch: int
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))

    def __str__(self) -> str:
        return f"{self.method}@{self.batch} on {self.problem}, seed {self.seed}, {self.budget} evaluations"


def rows(folder: Path = RUNS, problem: str = "*") -> dict[tuple[str, ...], dict[str, str]]:
    """Return every run's last row by its key; of one problem if it is given."""
    found = {}
    for path in sorted(folder.glob(f"{problem}.csv")):
        with path.open(newline="") as file:
            found |= {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}
    return found


def curves(folder: Path = RUNS) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return every run's curve by its key: `n`, where the best improved, and `best`.

    At the marks reached: `own_s` and, where incumbents are re-scored, `rescored` (None: nothing had succeeded).
    """
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            curve = json.loads(line)
            found[tuple(curve.pop("run"))] = curve
    return found


def append(row: dict[str, Any], curve: dict[str, Any] | None, folder: Path = RUNS) -> None:
    """Add a finished run; the curve goes first, for the row is what says that it is there."""
    if curve is not None:
        line = json.dumps({"run": [str(row[name]) for name in KEY], **curve}, separators=(",", ":"))
        _add(folder / f"{row['problem']}.jsonl", line + "\n")
    _add(folder / f"{row['problem']}.csv", _line([row.get(name, "") for name in COLUMNS]), _line(COLUMNS))


@contextmanager
def claim(task: Task, folder: Path = RUNS) -> Iterator[bool]:
    """Hold the claim on a run while entered; False where another process holds it."""
    place = Path(tempfile.gettempdir()) / f"lamcts-claims-{os.getuid()}"
    place.mkdir(exist_ok=True)
    name = hashlib.sha256(repr((str(folder.resolve()), task.key)).encode()).hexdigest()[:24]
    with (place / name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _add(path: Path, line: str, header: str = "") -> None:
    """Add a line to a file under its lock."""
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


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([str(cell).replace("\n", " ") for cell in cells])
    return text.getvalue()
