"""`lamcts show A B --csv`: all evaluations of one or several runs as rows, those that `--known` takes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamcts.cli.console import SCREEN, complain
from lamcts.optimizer.columns import RUN_ID, columns_of
from lamcts.optimizer.export import SupportsWrite, names_of, write_csv
from lamcts.study.load import rows_of_run
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

RUN = "run"  # the column of the name of a run
NO_SPACE = "the journal does not say what its points are (a table, or a kind of your own): "
NO_SPACE += "u1, u2, ... are their coordinates in the unit cube; lamcts.load(path, space=...) has the points"


def write_evaluations(
    records: Sequence["Recorded"], labels: Sequence[str], only: str | None = None, file: SupportsWrite = SCREEN
) -> int:
    """Write a line of names and a line an evaluation, and return the exit code."""
    runs = []
    for record in records:
        found = rows_in(record)
        runs.append([found[row] | {RUN_ID: record.run_id} for row in record.rows_of_kind(only)])
    rows = [row for run in runs for row in run]
    names = names_of(rows) or ["trial", *records[0].goals.names, RUN_ID]
    if len(records) > 1:
        column = columns_of([RUN], names, "journal")[RUN]
        rows = [{column: label} | row for label, run in zip(labels, runs, strict=True) for row in run]
        names = [column, *names]
    write_csv(rows, names, file)
    return 0


def rows_in(record: "Recorded") -> list[Json]:
    """Return the evaluations of a run as rows; their coordinates where the journal does not hold the space."""
    rows, known = rows_of_run(record)
    if not known:
        complain("lamcts show", NO_SPACE)
    return rows
