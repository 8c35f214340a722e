"""Progress of runs in Plotly: best value, hypervolume, fronts, violations, proposers, intermediate values, time."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lamcts.journal.intermediate_values import curve_number
from lamcts.outcomes.constrained_rank import OK, PRUNED
from lamcts.outcomes.observations import CONFIRMING
from lamcts.plot.canvas import FAINT
from lamcts.plot.curves import EVALUATIONS, axis_label
from lamcts.plot.evaluations import Violations, common_reference, quartiles, thinned
from lamcts.plot.limits import AxisLimits, value_limits
from lamcts.report.html import HEIGHT, PALETTE, VALUES, PlotlyFigure, Section, axis, dots, layout, line, named
from lamcts.report.runs import LabelledRun, by_search
from lamcts.types import Floats, Json, Mask, Rows

MOST_DOTS = 2500  # evaluations that a figure shows one by one (by eye, and for phones)
MOST_NAMES = 6  # proposers in a legend
MOST_PAIRS = 6  # of objectives
MOST_LINES = 150  # trials of each kind whose intermediate values are shown (by eye)
MOST_STEPS = 200  # of a trial (by eye)
UNSOLICITED = "known before the run, or unsolicited"
NO_SEARCH = {CONFIRMING: "confirmation", -1: "initial design"}  # by the source of rows
HOLLOW: Json = {"size": 6, "symbol": "circle-open", "color": FAINT}  # an infeasible evaluation


def proposers(run: LabelledRun) -> list[tuple[str, Rows]]:
    """Return the rows of each proposer, the most active first: a search, or a part of one that has parts."""
    found: dict[str, list[int]] = {}
    parts, several = run.record.proposers, len(np.unique(run.record.source[run.record.source >= 0])) > 1
    for row, (source, trial) in enumerate(zip(run.record.source.tolist(), run.record.trial.tolist(), strict=True)):
        search = f"search {source + 1}" if several or row not in parts else ""
        name = UNSOLICITED if trial < 0 else NO_SEARCH.get(source, search)
        found.setdefault(", ".join(filter(None, (name, parts.get(row)))), []).append(row)
    rows = [(name, np.array(mine, np.int64)) for name, mine in found.items()]
    return sorted(rows, key=lambda each: -len(each[1]))


def best(runs: Sequence[LabelledRun]) -> PlotlyFigure:
    """Draw the best value so far of runs with one objective; of one run also each evaluation."""
    traces, shown = _alone(runs[0]) if len(runs) == 1 else _compared(runs), [run.shown for run in runs]
    limits = value_limits(shown) or AxisLimits(0.0, 1.0)
    ends = [limits.low, limits.high]
    kind = {"type": "log", "range": np.log10(ends).tolist()} if limits.log else {"type": "linear", "range": ends}
    look = layout(axis(EVALUATIONS), axis(axis_label(shown[0]), **kind))
    look["yaxis2"] = {"overlaying": "y", "visible": False, "range": [0, 1], "fixedrange": True}  # of failures
    if all((run.values[run.known, 0] > 0).all() for run in shown):
        look["updatemenus"] = [_scales(limits.log)]
        look["margin"] = {**look["margin"], "t": 44}
    return PlotlyFigure(traces, look, HEIGHT + 60)


def _alone(run: LabelledRun) -> list[Json]:
    shown, values = run.shown, run.shown.values[:, 0]
    every, traces = np.zeros(run.n, bool), []
    every[thinned(run.n, MOST_DOTS)] = True
    for i, (name, rows) in enumerate(_few(proposers(run))):
        kept = rows[every[rows] & shown.feasible[rows]]
        marker = {"size": 5, "opacity": 0.55, "color": (*PALETTE[1:], FAINT)[i % len(PALETTE)]}
        traces.append(dots(shown.numbers[kept], values[kept], name, marker) | named(shown.called, kept))
    for i, (name, gone) in enumerate(shown.without_value.items()):
        broken, lost = _some(gone & shown.known), _some(gone & ~shown.known)
        if len(broken):
            traces.append(dots(shown.numbers[broken], values[broken], name, HOLLOW))
        if len(lost):
            marker = {"size": 9, "symbol": "line-ns-open", "color": PALETTE[1 + i % (len(PALETTE) - 1)]}
            trace = dots(shown.numbers[lost], np.full(len(lost), 0.02), f"{name}, no value", marker)
            traces.append({**trace, "yaxis": "y2", "hoverinfo": "x+name"})
    return [*traces, _steps(shown.best, "best so far", PALETTE[0], shown.numbers)]


def _some(mask: Mask) -> Rows:
    """Return the rows of a mask [n], thinned."""
    rows = np.flatnonzero(mask)
    return rows[thinned(len(rows), MOST_DOTS)]


def _few(found: list[tuple[str, Rows]]) -> list[tuple[str, Rows]]:
    if len(found) <= MOST_NAMES:
        return found
    rest = np.sort(np.concatenate([rows for _, rows in found[MOST_NAMES - 1 :]]))
    return [*found[: MOST_NAMES - 1], (f"{len(found) - MOST_NAMES + 1} others", rest)]


def _steps(values: Floats, name: str, colour: str, x: Rows) -> Json:
    """Return a line that has every step of `values` [n] at the numbers x [n], and no point between steps."""
    n = len(values)
    steps = np.flatnonzero(np.r_[True, values[1:] != values[:-1]] & np.isfinite(values)) if n else np.arange(0)
    at = np.unique(np.r_[steps, n - 1]) if len(steps) else steps
    return line(x[at], values[at], name, colour, 2.5, shape="hv")


def _compared(runs: Sequence[LabelledRun]) -> list[Json]:
    """Return a line for each run, and for searches with several seeds their median and quartiles."""
    traces: list[Json] = []
    for i, (name, group) in enumerate(by_search(runs).items()):
        colour = PALETTE[i % len(PALETTE)]
        if len(group) == 1:
            traces.append(_steps(group[0].shown.best, name, colour, group[0].shown.numbers))
            continue
        found = quartiles([run.shown.best[run.shown.own] for run in group])
        at = thinned(len(found.after), MOST_DOTS)
        x, low, middle, high = (column[at] for column in found)
        more = {"hoverinfo": "skip", "showlegend": False, "legendgroup": name}
        traces.append(line(x, low, name, colour, 0, shape="hv") | more)
        traces.append(
            line(x, high, name, colour, 0, shape="hv") | more | {"fill": "tonexty", "fillcolor": _faded(colour)}
        )
        label = f"{name}: median and quartiles of {len(group)} seeds"
        traces.append(line(x, middle, label, colour, 2.5, shape="hv") | {"legendgroup": name})
    return traces


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _scales(log: bool) -> Json:
    """Return two buttons that change the scale of the y axis."""
    kinds = ["log", "linear"] if log else ["linear", "log"]
    buttons = [
        {"label": kind, "method": "relayout", "args": [{"yaxis.type": kind, "yaxis.autorange": True}]} for kind in kinds
    ]
    place = {"x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "pad": {"t": 0, "b": 0}}
    return {"type": "buttons", "direction": "right", "buttons": buttons, "showactive": True, **place}


def hypervolumes(runs: Sequence[LabelledRun]) -> PlotlyFigure | None:
    """Draw the hypervolume of several objectives, from one reference point for all; None with nothing feasible."""
    reference = common_reference([run.shown for run in runs])
    if reference is None:
        return None
    traces = [
        _steps(run.shown.hypervolumes(reference), run.label, PALETTE[i % len(PALETTE)], run.shown.numbers)
        for i, run in enumerate(runs)
    ]
    names = runs[0].shown.goals.names
    title = "reference point: " + ", ".join(f"{name} {value:.4g}" for name, value in zip(names, reference, strict=True))
    y = axis("hypervolume (higher is better)", rangemode="tozero")
    return PlotlyFigure(traces, layout(axis(EVALUATIONS), y, title, showlegend=True))


def fronts(run: LabelledRun) -> list[PlotlyFigure]:
    """Draw each pair of objectives: evaluations, infeasible ones hollow, and the front by when it was found."""
    shown, values, figures = run.shown, run.shown.values, []
    rest, broken = _some(shown.feasible & ~shown.front), _some(shown.known & ~shown.feasible)
    rows, knee = np.flatnonzero(shown.front), np.array([] if shown.knee is None else [shown.knee], np.int64)
    bar = {"title": {"text": "evaluations until then", "side": "right"}, "thickness": 10}
    marker = {"size": 9, "color": shown.numbers[rows], "colorscale": VALUES, "showscale": True, "colorbar": bar}
    hover = named(shown.called, rows)
    groups: list[tuple[str, Rows, Json]] = [
        ("dominated", rest, {"size": 5, "opacity": 0.5, "color": FAINT}),
        *([("infeasible", broken, HOLLOW)] if len(broken) else []),
        ("front", rows, marker),
        ("knee (a compromise)", knee, {"size": 16, "symbol": "circle-open", "color": "#D7191C", "line": {"width": 2}}),
    ]
    for pair in list(combinations(range(values.shape[1]), 2))[:MOST_PAIRS]:
        traces = [
            dots(values[some, pair[0]], values[some, pair[1]], name, look) | (hover if name == "front" else {})
            for name, some, look in groups
        ]
        x, y = (axis(axis_label(shown, k)) for k in pair)
        figures.append(PlotlyFigure(traces, layout(x, y), HEIGHT + 20))
    return figures


def violation(runs: Sequence[LabelledRun]) -> PlotlyFigure:
    """Draw the least violation so far of each run, and each infeasible evaluation of a single one."""
    traces: list[Json] = []
    for i, run in enumerate(runs):
        found = Violations.of(run.shown.violation)
        if len(runs) == 1:
            broken = _some(found.infeasible)
            marker = {"size": 5, "opacity": 0.6, "color": FAINT}
            traces.append(dots(run.shown.numbers[broken], found.amount[broken], "infeasible evaluation", marker))
        name = "least violation so far" if len(runs) == 1 else run.label
        traces.append(_steps(found.least, name, PALETTE[i % len(PALETTE)], run.shown.numbers))
    y = axis("sum of constraint violations (0: all satisfied)", rangemode="tozero")
    return PlotlyFigure(traces, layout(axis(EVALUATIONS), y, showlegend=True))


@np.errstate(over="ignore")  # of times without end
def clock(run: LabelledRun) -> PlotlyFigure | None:
    """Draw the time in evaluations and that on the clock; None where the journal has neither."""
    seconds, times = run.record.seconds, run.record.times
    at = thinned(run.n, MOST_DOTS)
    x, traces = run.shown.numbers[at], []
    if np.isfinite(seconds).any():
        spent = np.cumsum(np.where(np.isfinite(seconds), seconds, 0.0))
        traces.append(line(x, spent[at], "in the objective (sum)", PALETTE[0], 2))
    if np.isfinite(times).all() and run.n > 1:
        traces.append(line(x, times[at] - times[0], "since the first result", PALETTE[1], 2))
    return PlotlyFigure(traces, layout(axis(EVALUATIONS), axis("seconds"), showlegend=True)) if traces else None


def intermediate_values(run: LabelledRun) -> list[Section]:
    """Return the section of a run whose trials reported intermediate values; none for other runs."""
    curves, names = run.record.reports, run.record.goals.names
    if not curves:
        return []
    kind = run.record.columns.kind
    rows = np.array([row for row in range(run.n) if _number(run, row) in curves], np.int64)
    pruned, whole = rows[kind[rows] == PRUNED], rows[kind[rows] == OK]
    figures = [_intermediate_figure(run, pruned, whole, k) for k in range(len(names))]
    return [Section("Intermediate values", [_counted(run, pruned, rows), *figures])]


def _intermediate_figure(run: LabelledRun, pruned: Rows, whole: Rows, k: int) -> PlotlyFigure:
    """Draw the curves of one objective of pruned and finished rows; with one objective, the best stands out."""
    traces = [_reported(run, pruned, "pruned", FAINT, 1.0, k), _reported(run, whole, "finished", PALETTE[0], 1.0, k)]
    best, alone = run.record.best, len(run.record.goals.names) == 1
    if alone and best is not None and best[2] in (*pruned, *whole):
        traces.append(_reported(run, np.array([best[2]]), "the best", PALETTE[1], 3.0, k))
    y = axis(f"{axis_label(run.shown, k).partition(' (')[0]}, as reported")
    return PlotlyFigure(traces, layout(axis("step of the evaluation"), y))


def _number(run: LabelledRun, row: int) -> int:
    return curve_number(int(run.record.trial[row]), int(row))


def _counted(run: LabelledRun, pruned: Rows, rows: Rows) -> str:
    """Return the number of reported steps in words, in all and by the pruned trials."""
    steps, early = ([len(run.record.reports[_number(run, row)]) for row in which] for which in (rows, pruned))
    said = f"{len(steps)} evaluations reported {sum(steps)} steps; "
    if not early:
        return said + "none was pruned."
    return said + f"{len(early)} were pruned, half of them before report {np.median(early):.0f}."


def _reported(run: LabelledRun, rows: Rows, name: str, colour: str, width: float, k: int) -> Json:
    """Return one trace with the curves of some rows in objective k, with gaps between them."""
    sign, x, y = float(run.record.goals.signs[k]), list[float | None](), list[float | None]()
    for row in rows[thinned(len(rows), MOST_LINES)]:
        curve = list(run.record.curves[k][_number(run, row)].items())
        for i in thinned(len(curve), MOST_STEPS):
            step, loss = curve[i]
            x.append(step)
            y.append(sign * loss if np.isfinite(loss) else None)
        x.append(None)
        y.append(None)
    mode = "lines" if len(rows) != 1 else "lines+markers"
    return line(x, y, name, colour, width) | {"mode": mode, "opacity": 0.6 if width < 2 else 1.0}
