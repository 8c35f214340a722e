"""Events of a run, in order: their kind, a first number, and a count.

ask: first trial, how many. tell: first row, how many. forget: the trial. correct: rows that were written again, from 0.
check: the row, in formats up to 6. Next to a tell stands `by NAME`: the part of a search that proposed these rows.
"""

import sqlite3
import time
from collections.abc import Iterable

import numpy as np

from lamcts.journal.state import Delta
from lamcts.journal.table import JournalTable, check_row, damaged, in_sequence, integers
from lamcts.types import Floats

EVENTS = JournalTable(
    "events",
    "n INTEGER PRIMARY KEY, kind TEXT NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, time REAL NOT NULL",
    "n",
)
CORRECT = "correct"
BY = "by "  # how such an event begins


def put_events(db: sqlite3.Connection, events: Iterable[tuple[str, int, int]]) -> None:
    now = time.time()
    EVENTS.append(db, [(*event, now) for event in events])


def events_of(delta: Delta) -> list[tuple[str, int, int]]:
    """Return what happened between the two marks of a delta."""
    since, until = delta.since, delta.until
    forgotten = sorted({*delta.closed} - {*delta.columns.trial.tolist()})
    started = bool(delta.issued) or bool((delta.columns.trial >= since.trials).any())  # not all are forgotten already
    events = [("ask", since.trials, until.trials - since.trials)] if until.trials > since.trials and started else []
    events += [("tell", since.rows, until.rows - since.rows)] if until.rows > since.rows else []
    return events + _named(delta.proposers) + [("forget", number, 1) for number in forgotten]


def _named(proposers: dict[int, str]) -> list[tuple[str, int, int]]:
    """Return an event for each stretch of rows that one part of a search proposed."""
    events: list[tuple[str, int, int]] = []
    for row, name in sorted(proposers.items()):
        if events and events[-1][0] == BY + name and sum(events[-1][1:]) == row:
            events[-1] = (BY + name, events[-1][1], events[-1][2] + 1)
        else:
            events.append((BY + name, row, 1))
    return events


def read_events(db: sqlite3.Connection, path: str, n: int) -> tuple[Floats, int, dict[int, str]]:
    """Return when each of `n` rows was written, [n], how often there was an ask, and which part proposed which row."""
    found = EVENTS.read(db, path)
    in_sequence(path, "events", [event[0] for event in found])
    events = [event[1:] for event in found]
    integers(path, "events", [event[1:3] for event in events])
    if not all(isinstance(event[3], float) for event in events):
        raise damaged(path, "events: expected a time in seconds")
    times = np.full(n, np.nan)
    proposers: dict[int, str] = {}
    for kind, first, count, at in events:
        if kind == "tell" or kind.startswith(BY):
            check_row(path, "events", first, n)
            check_row(path, "events", first + count - 1, n)
        if kind == "tell":
            times[first : first + count] = at
        elif kind.startswith(BY):
            proposers |= dict.fromkeys(range(first, first + count), kind.removeprefix(BY))
    return times, sum(kind == "ask" for kind, *_ in events), proposers
