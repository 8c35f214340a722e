"""`lamcts show RUN --follow`: new evaluations as they come."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli.evaluations import rows_in
from lamcts.cli.screen import evaluation_of, number, say
from lamcts.study.export import LAST
from lamcts.study.load import journal_in
from lamcts.study.prior_observations import PRUNED

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

SECONDS = 1.0  # between two looks (by eye)
MOST_SHOWN = 8  # parameters of a point in a line (by eye)


def follow(path: str, wait: Callable[[float], None] = time.sleep) -> int:
    """Write a line an evaluation until nobody writes the journal any more, or Ctrl-C; return the exit code."""
    from lamcts.journal import Journal

    journal, shown, before = journal_in(path), 0, None
    try:
        while True:
            written = Path(f"{os.path.realpath(journal)}-lock").exists()  # asked first: the last evaluation is shown
            now = _state(journal)
            if now != before:
                record, before = Journal.read(journal), now
                shown = _show(record, shown)
            if not written:
                return 0
            wait(SECONDS)
    except KeyboardInterrupt:
        return 0


def _state(journal: Path) -> list[tuple[int, int]]:
    """Return what changes when a journal is written."""
    files = [Path(f"{journal}{end}") for end in ("", "-wal")]
    stats = [file.stat() for file in files if file.exists()]
    return [(stat.st_mtime_ns, stat.st_size) for stat in stats]


def _show(record: "Recorded", shown: int) -> int:
    """Write the evaluations after the first `shown`, and return how many there are by now."""
    budget: Any = record.about.get("budget", "?")
    rows = rows_in(record)
    for i, row in enumerate(rows[shown:], shown):
        count = evaluation_of(record.trial, i)
        say(f"{'known' if count is None else f'{count}/{budget}'}  {_line(record, row)}")
    return len(rows)


def _line(record: "Recorded", row: dict[str, Any]) -> str:
    """Return a row as text: values, or what went wrong, and the point."""
    goals = record.goals
    own = [*goals.names, *map(str, goals.constraints)]
    said = [_said(row["message"])] if row["message"] else [f"{name} {number(row[name])}" for name in own]
    point = [f"{name}={_brief(value)}" for name, value in row.items() if name not in {"trial", *own, *LAST}]
    return "  ".join([*said, *point[:MOST_SHOWN], *(["..."] if len(point) > MOST_SHOWN else [])])


def _said(message: str) -> str:
    """Return why an evaluation has no value: it failed, or was stopped."""
    return message if PRUNED.fullmatch(message) else f"failed: {message}"


def _brief(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
