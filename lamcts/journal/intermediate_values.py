"""Intermediate values of trials, and the notes of rows: a prediction, a point as told, metrics, errors."""

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from lamcts.journal.fingerprint import plain
from lamcts.journal.state import Delta
from lamcts.journal.table import JournalTable, damaged, pack, pack_numbers, unpack, unpack_numbers
from lamcts.outcomes.measured import Predicted, Sems, predicted_of, predicted_to_json, sems_of, sems_to_json
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.types import Json, JsonValue

# Losses by trial and step, inf for a reported nan; those of several objectives as a blob of float64 -------------------
REPORTS = JournalTable(
    "reports",
    "trial INTEGER, step INTEGER, value REAL NOT NULL",
    "trial, step",
    ", PRIMARY KEY (trial, step)) WITHOUT ROWID",
)
Report = tuple[int, int, tuple[float, ...]]  # trial, step, the loss of each objective
Reported = Mapping[int, Mapping[int, float]]  # of one objective: losses by trial and step
Entry = TypeVar("Entry")


def put_reports(db: sqlite3.Connection, reports: Iterable[Report]) -> None:
    REPORTS.put(db, ((trial, step, _packed(losses)) for trial, step, losses in reports))


def _packed(losses: tuple[float, ...]) -> float | bytes:
    return pack_numbers(losses) if len(losses) > 1 else losses[0]  # never -0.0, which a real column does not keep


def read_reports(db: sqlite3.Connection, path: str, objectives: int) -> tuple[dict[int, dict[int, float]], ...]:
    """Return the losses of each objective by trial and step."""
    found: tuple[dict[int, dict[int, float]], ...] = tuple({} for _ in range(objectives))
    for trial, step, value in REPORTS.read(db, path):
        losses = [value] if isinstance(value, float) else unpack_numbers(value)
        whole = isinstance(trial, int) and isinstance(step, int) and len(losses) == objectives
        if not (whole and all(loss > -math.inf for loss in losses)):
            raise damaged(path, f"reports: expected {objectives} losses at a step of a trial, got {value!r:.60}")
        for own, loss in zip(found, losses, strict=True):
            own.setdefault(trial, {})[step] = loss
    return found


def curve_number(trial: int, row: int) -> int:
    """Return the number of the intermediate values of a row: its trial's, or a negative one for a known row."""
    return trial if trial >= 0 else -1 - row


def reports_of(curves: Sequence[Reported], trial: int) -> list[Report]:
    """Return the reports of one trial, from the curves of each objective."""
    own = [each.get(trial, {}) for each in curves]
    return [(trial, step, tuple(each[step] for each in own)) for step in own[0]]


NOTES = {"predicted", "point", "metrics", "sem", "floor"}  # floor: a bound in journals of versions before predictions


class RowNotes(NamedTuple):
    """By row: its predicted final losses if it was pruned, its point as told if decoding rounds it, metrics.

    sems: the standard errors of its losses.
    """

    predicted: dict[int, Predicted]
    points: dict[int, JsonValue]
    metrics: dict[int, Metrics]
    sems: dict[int, Sems]


def note_of(delta: Delta, row: int) -> str | None:
    """Return the note of a row (see `RowNotes`) as JSON text, None where there is none."""
    note: Json = {"predicted": predicted_to_json(delta.predicted[row])} if row in delta.predicted else {}
    if row in delta.points:
        note["point"] = plain(delta.points[row])
    if row in delta.metrics:
        note["metrics"] = delta.metrics[row]
    if row in delta.sems:
        note["sem"] = sems_to_json(delta.sems[row])
    return pack(note, "a note") if note else None


def read_notes(path: str, notes: Iterable[tuple[int, str, str | None]], losses: int) -> RowNotes:
    """Return the notes of rows of some losses, of (row, kind, note) of each."""
    found = RowNotes({}, {}, {}, {})
    for row, kind, text in notes:
        if text is None:
            continue
        note = unpack(text, path, "a note")
        if not isinstance(note, dict) or not {*note} <= NOTES:
            raise damaged(path, f"rows: number {row} has a note of unknown entries")
        if "predicted" in note:
            if kind != "pruned":
                raise damaged(path, f"rows: number {row} has a note that is none of a pruned row")
            found.predicted[row] = _read(path, row, partial(predicted_of, losses=losses), note["predicted"])
        if "point" in note:
            found.points[row] = note["point"]
        if "metrics" in note:
            found.metrics[row] = _read(path, row, metrics_of, note["metrics"])
        if "sem" in note:
            found.sems[row] = _read(path, row, partial(sems_of, losses=losses), note["sem"])
    return found


def _read(path: str, row: int, read: Callable[[JsonValue], Entry], entry: JsonValue) -> Entry:
    """Return what `read` makes of an entry; its ValueError means that a row is damaged."""
    try:
        return read(entry)
    except ValueError as error:
        raise damaged(path, f"rows: number {row}: {error}") from None
