"""`lamcts show A B`: several runs side by side, a column for each."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from lamcts.cli.compare import labels
from lamcts.cli.console import MOST_SHOWN, table
from lamcts.outcomes.front import parts_of
from lamcts.report.html import number
from lamcts.report.runs import LabelledRun
from lamcts.report.tables import UNKNOWN, overview
from lamcts.text import shortened

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded


def show_side_by_side(paths: Sequence[str], records: Sequence["Recorded"]) -> int:
    """Print settings, outcomes and best points of runs as a table, and return the exit code."""
    found = overview([LabelledRun(label, record) for label, record in zip(labels(paths), records, strict=True)])
    points = [_point(record) for record in records]
    names = dict.fromkeys(name for point in points for name in point)
    rows = [found.head, *found.rows, *([name, *(point.get(name, UNKNOWN) for point in points)] for name in names)]
    table([[shortened(number(cell)) for cell in row] for row in rows])
    return 0


def _point(record: "Recorded") -> dict[str, object]:
    """Return the first parameters of the best point, or of the knee, by name."""
    point = dict(record.leaders).get(-1 if record.lead is None else record.lead)
    parts = [] if point is None else parts_of(point)
    return {f"best point: {name}": value for name, value in islice(parts, MOST_SHOWN)}
