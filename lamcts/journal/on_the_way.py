"""What trials reported on their way, and after which loss those rank that were stopped there."""

import math
import sqlite3
from collections.abc import Iterable
from typing import Any

from lamcts.journal.table import Table, damaged, pack, unpack

# Losses by trial and step, inf for a reported nan ---------------------------------------------------------------------
REPORTS = Table(
    "reports",
    "trial INTEGER, step INTEGER, value REAL NOT NULL",
    "trial, step",
    ", PRIMARY KEY (trial, step)) WITHOUT ROWID",
)
Report = tuple[int, int, float]


def put_reports(db: sqlite3.Connection, reports: Iterable[Report]) -> None:
    REPORTS.put(db, ((trial, step, value + 0.0) for trial, step, value in reports))  # a real column has no -0.0


def read_reports(db: sqlite3.Connection, path: str) -> dict[int, dict[int, float]]:
    """Return the losses by trial and step."""
    found: dict[int, dict[int, float]] = {}
    for trial, step, loss in REPORTS.read(db, path):
        if not (isinstance(trial, int) and isinstance(step, int) and isinstance(loss, float) and loss > -math.inf):
            raise damaged(path, f"reports: expected a loss at a step of a trial, got {loss!r}")
        found.setdefault(trial, {})[step] = loss
    return found


def note_of(floors: dict[int, float], row: int) -> str | None:
    """Return what else there is to say of a row: of a pruned one the loss after which it ranks."""
    return pack({"floor": floors[row]}, "a note") if row in floors else None


def floors_in(path: str, notes: Iterable[tuple[int, str, str | None]]) -> dict[int, float]:
    """Return the losses after which rows rank, of (row, kind, note) of each."""
    found: dict[int, float] = {}
    for row, kind, note in notes:
        if note is None:
            continue
        said: Any = unpack(note, path, "a note")
        floor = said.get("floor") if isinstance(said, dict) else None
        if kind != "pruned" or not isinstance(floor, (int, float)) or not math.isfinite(floor):
            raise damaged(path, f"rows: number {row} has a note that is none of a pruned row")
        found[row] = float(floor)
    return found
