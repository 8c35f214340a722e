"""What trials reported on their way: a line a trial, and how far the pruned ones came."""

from typing import Any

import numpy as np

from lamcts.outcomes.constrained_rank import OK, PRUNED
from lamcts.plot.canvas import FAINT
from lamcts.report.runs import Run
from lamcts.report.sheet import PALETTE, Figure, Section, axis, layout, thinned

MOST_LINES = 150  # trials that the figure shows of each kind (by eye)
MOST_STEPS = 200  # of a trial (by eye)


def on_the_way(run: Run) -> list[Section]:
    """Return the section of a run whose trials reported; none of others."""
    curves = run.record.reports
    if not curves:
        return []
    trial, kind = run.record.trial, run.record.columns.kind
    rows = np.array([row for row in range(run.n) if int(trial[row]) in curves], np.int64)
    pruned, whole = rows[kind[rows] == PRUNED], rows[kind[rows] == OK]
    traces = [_lines(run, pruned, "pruned", FAINT, 1.0), _lines(run, whole, "finished", PALETTE[0], 1.0)]
    best = run.record.best
    if best is not None and best[2] in rows:
        traces.append(_lines(run, np.array([best[2]]), "the best", PALETTE[1], 3.0))
    y = axis(f"{run.record.goals.objectives[0].name} reported")
    return [Section("On the way", [_told(run, pruned, rows), Figure(traces, layout(axis("step"), y))])]


def _told(run: Run, pruned: Any, rows: Any) -> str:
    """Return how many steps were taken, in all and by the pruned trials."""
    steps = [len(run.record.reports[int(run.record.trial[row])]) for row in rows]
    early = [len(run.record.reports[int(run.record.trial[row])]) for row in pruned]
    if not early:
        return f"{len(steps)} evaluations reported {sum(steps)} steps; none was pruned."
    middle = f"half of them before their report number {np.median(early):.0f}"
    return f"{len(steps)} evaluations reported {sum(steps)} steps; {len(early)} were pruned, {middle}."


def _lines(run: Run, rows: Any, name: str, colour: str, width: float) -> dict[str, Any]:
    """Return one trace with the curves of some rows, with gaps between them."""
    sign = float(run.record.goals.signs[0])
    x: list[float | None] = []
    y: list[float | None] = []
    for row in rows[thinned(len(rows), MOST_LINES)]:
        curve = list(run.record.reports[int(run.record.trial[row])].items())
        for i in thinned(len(curve), MOST_STEPS):
            step, loss = curve[i]
            x.append(step)
            y.append(sign * loss if np.isfinite(loss) else None)
        x.append(None)
        y.append(None)
    mode = "lines" if len(rows) != 1 else "lines+markers"
    line = {"color": colour, "width": width}
    return {
        "type": "scatter",
        "mode": mode,
        "x": x,
        "y": y,
        "name": name,
        "line": line,
        "opacity": 0.6 if width < 2 else 1.0,
    }
