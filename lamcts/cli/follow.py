"""`lamcts show RUN --follow`: print new evaluations as they arrive."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamcts.cli.console import complain, number, say
from lamcts.cli.evaluations import rows_in
from lamcts.journal.lock import inspect_header, is_written
from lamcts.optimizer.columns import LAST, Names
from lamcts.spaces.box import Box
from lamcts.study.known.rows import PRUNED
from lamcts.study.load import journal_in
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

SECONDS = 1.0  # between two checks (by eye)
MOST_SHOWN = 8  # parameters of a point in a line (by eye)


def follow(path: str, wait: Callable[[float], None] = time.sleep) -> int:
    """Print a line for each evaluation until the run ends or Ctrl-C; wait for the journal; return the exit code."""
    from lamcts.journal import Journal

    shown, before = 0, None
    try:
        journal = journal_in(path)
        if not inspect_header(str(journal)):
            complain("lamcts show", f"waiting for {journal} (Ctrl-C ends)")
        while not inspect_header(str(journal)):
            wait(SECONDS)
            journal = journal_in(path)
        while True:
            written = is_written(journal)  # checked first, so that the last evaluation is shown
            now = file_state(journal)
            if now != before:
                record, before = Journal.read(journal), now
                budget = record.about.get("budget", "?")
                rows = rows_in(record)
                for i, row in enumerate(rows[shown:], shown):
                    count = f"{np.count_nonzero(record.trial[: i + 1] >= 0)}/{budget}  trial {row['trial']}"
                    say(f"{count if row['trial'] >= 0 else 'known'}  {_line(record, row)}")
                shown = len(rows)
            if not written:
                return 0
            wait(SECONDS)
    except KeyboardInterrupt:
        return 0


def file_state(journal: Path) -> list[tuple[int, int]]:
    """Return times and sizes of the files of a journal, which change with it."""
    files = [Path(f"{journal}{end}") for end in ("", "-wal")]
    stats = [file.stat() for file in files if file.exists()]
    return [(stat.st_mtime_ns, stat.st_size) for stat in stats]


def _line(record: "Recorded", row: Json) -> str:
    """Return a row as text: values or the failure, and the point."""
    names = Names.of(Box(0, 1, dim=1), record.goals)
    own = {**names.goals, **names.quantities}
    said = [f"{name} {number(row[column])}" for name, column in own.items()]
    said = [_reason(row["message"])] if row["message"] else said
    point = [f"{name}={_brief(value)}" for name, value in row.items() if name not in {"trial", *own.values(), *LAST}]
    return "  ".join([*said, *point[:MOST_SHOWN], *(["..."] if len(point) > MOST_SHOWN else [])])


def _reason(message: str) -> str:
    """Return why an evaluation has no value."""
    return message if PRUNED.fullmatch(message) else f"failed: {message}"


def _brief(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
