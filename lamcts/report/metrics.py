"""Metrics of a run in its report: a table, and the objective value against each metric that is a number."""

import math
from collections import Counter

import numpy as np

from lamcts.outcomes.metrics import Metric
from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import thinned
from lamcts.plot.limits import tail_cut
from lamcts.report.html import VALUES, Grid, HtmlTable, PlotlyFigure, Section, axis, dots, layout, named
from lamcts.report.runs import LabelledRun
from lamcts.text import shortened
from lamcts.types import Floats

HEAD = ("metric", "evaluations", "least", "median", "most", "at the best evaluation")
MOST = 12  # figures
MOST_ROWS = 60  # of the table
MOST_DOTS = 600  # in a figure, as in a slice
SIZE = 300  # pixels of a figure


def metrics(run: LabelledRun) -> list[Section]:
    """Return the section of a run whose evaluations have metrics; none for other runs."""
    names = run.record.metric_names
    if not names:
        return []
    words = f"Stored next to the value of {len(run.record.metrics)} of {run.n} evaluations; no search uses them."
    more = [f"The first {MOST_ROWS} of {len(names)} are shown."] if len(names) > MOST_ROWS else []
    table = HtmlTable(HEAD, [_row(run, name) for name in names[:MOST_ROWS]])
    figures = [figure for name in names if (figure := _figure(run, name)) is not None][:MOST]
    return [Section("Metrics", [words, *more, table, *([Grid(figures)] if figures else [])])]


def _row(run: LabelledRun, name: str) -> list[object]:
    """Return a row of the table: of numbers the range, of texts the most frequent one."""
    given = [each[name] for each in run.record.metrics.values() if name in each]
    best = run.record.metrics.get(-1 if run.record.lead is None else run.record.lead, {}).get(name, "-")
    numbers = np.array([number for value in given if not math.isnan(number := _number(value))], float)
    row: list[object] = [name, len(given)]
    if len(numbers):
        row += [float(numbers.min()), float(np.median(numbers)), float(numbers.max())]
    else:
        (value, times), *_ = Counter(map(str, given)).most_common(1)
        row += ["-", f"{shortened(value)} ({times} times)", "-"]
    return [*row, shortened(best) if isinstance(best, str) else best]


def _figure(run: LabelledRun, name: str) -> PlotlyFigure | None:
    """Return values of the first objective against a metric; None where fewer than two numbers differ."""
    values, column = run.shown.values[:, 0], _column(run, name)
    rows = np.flatnonzero(np.isfinite(values) & np.isfinite(column))
    if len(np.unique(column[rows])) < 2:
        return None
    limits = tail_cut(values[rows], run.shown.goals.objectives[0].maximize)
    rows = rows[thinned(len(rows), MOST_DOTS)]
    y = axis(axis_label(run.shown).partition(" (")[0], range=[limits.low, limits.high])
    numbers = run.shown.numbers[rows]
    marker = {"size": 5, "opacity": 0.7, "color": numbers, "colorscale": VALUES, "cmin": 1, "cmax": max(2, run.n)}
    more = named(run.shown.called, rows)
    return PlotlyFigure([dots(column[rows], values[rows], "", marker) | more], layout(axis(""), y, name), SIZE)


def _column(run: LabelledRun, name: str) -> Floats:
    """Return a metric as numbers [n], nan where an evaluation has none."""
    return np.array([_number(run.record.metrics.get(row, {}).get(name)) for row in range(run.n)], float)


def _number(value: Metric) -> float:
    """Return a finite number as a float, nan for anything else."""
    if isinstance(value, (bool, str)) or value is None or not math.isfinite(value):
        return math.nan
    return float(value)
