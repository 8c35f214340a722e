"""`lamcts show --csv`: all evaluations of a run as rows, those that `--known` takes."""

from typing import TYPE_CHECKING

from lamcts.cli.console import SCREEN, complain
from lamcts.spaces import Box
from lamcts.study.export import names_of, write_csv
from lamcts.study.load import result_of, space_of
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

NO_SPACE = "the journal does not say what its points are (a table, or options that are no text and no number): "
NO_SPACE += "u1, u2, ... are their coordinates in the unit cube; lamcts.load(path, space=...) has the points"


def write_evaluations(record: "Recorded") -> int:
    """Write a line of names and a line an evaluation to stdout, and return the exit code."""
    rows = rows_in(record)
    write_csv(rows, names_of(rows) or ["trial", *record.goals.names], SCREEN)
    return 0


def rows_in(record: "Recorded") -> list[Json]:
    """Return the evaluations of a run as rows; their coordinates where the journal does not hold the space."""
    try:
        space = space_of(record)
    except ValueError:
        complain("lamcts show", NO_SPACE)
        return _coordinates(record)
    return result_of(record, space).rows()


def _coordinates(record: "Recorded") -> list[Json]:
    dim = max(record.x.shape[1], 1)
    rows = result_of(record, Box(0, 1, dim=dim)).rows()
    coordinates = {f"x{i + 1}": f"u{i + 1}" for i in range(dim)}
    return [{coordinates.get(name, name): value for name, value in row.items()} for row in rows]
