"""What a benchmark run records: the best so far and the optimiser's own CPU seconds, one CSV row a run.

Own seconds are CPU seconds of the process (`time.process_time`) outside the objective. Imports are paid before
the clock starts. A row that exists is never run again, so a script that was stopped goes on where it was.
"""

import csv
import importlib.metadata
import math
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MARKS = (100, 200, 300, 500, 1000)  # numbers of evaluations at which the best and the seconds are kept
KEY = ("method", "problem", "dim", "batch", "seed", "budget")
COLUMNS = (*KEY, "best", *(f"best_{m}" for m in MARKS), "own_s", *(f"own_s_{m}" for m in MARKS), "own_ms", "versions")


Row = dict[str, Any]


class Enough(Exception):
    """Raised by a watched objective that is asked beyond its budget: the way to stop a solver that owns its loop."""


class Watched:
    """An objective (lower is better) that notes its values and how much CPU time passed between its calls."""

    def __init__(self, f: Callable[[Any], float], budget: int) -> None:
        self.f, self.budget = f, budget
        self.values: list[float] = []
        self.own: list[float] = []  # own seconds spent until evaluation k was asked for
        self._seconds = 0.0
        self._since = time.process_time()

    def __call__(self, point: Any) -> float:
        if len(self.values) == self.budget:
            raise Enough
        self.own.append(self.finish())
        self.values.append(float(self.f(point)))
        self._since = time.process_time()
        return self.values[-1]

    def finish(self) -> float:
        """Return the own seconds up to now."""
        now = time.process_time()
        self._seconds, self._since = self._seconds + now - self._since, now
        return self._seconds

    def skip(self) -> None:
        """Do not count the seconds since the last `finish`: the caller spent them on something else."""
        self._since = time.process_time()

    def row(self, method: str, problem: str, dim: int, batch: int, seed: int, packages: Iterable[str]) -> Row:
        """Return the finished run as a row of the CSV."""
        total = self.finish()
        best = np.minimum.accumulate(np.where(np.isfinite(self.values), self.values, math.inf))  # [evaluations]
        own = [*self.own[1:], total]  # own[k]: seconds until the value of evaluation k was digested
        at = [m for m in MARKS if m <= len(best)]
        row = dict(zip(KEY, (method, problem, dim, batch, seed, self.budget), strict=True))
        row |= {"best": f"{best[-1]:.6g}", "own_s": f"{total:.4g}", "own_ms": f"{1e3 * total / len(best):.4g}"}
        row |= {f"best_{m}": f"{best[m - 1]:.6g}" for m in at} | {f"own_s_{m}": f"{own[m - 1]:.4g}" for m in at}
        return row | {"versions": versions(packages)}


def versions(packages: Iterable[str]) -> str:
    return " ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def recorded(path: Path, key: tuple[str, ...] = KEY) -> set[tuple[str, ...]]:
    """Return the keys of the rows in `path`, as text."""
    return {tuple(row[name] for name in key) for row in read(path)}


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: Row, columns: tuple[str, ...] = COLUMNS) -> None:
    """Add one row; the file is made with its header at the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def inner_environment() -> dict[str, str]:
    """Return the environment in which `python -m benchmarks.NAME` works from any folder."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
