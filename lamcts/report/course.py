"""How runs went: the best so far, hypervolumes and fronts, violations, who proposed what, time."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.plot.canvas import FAINT
from lamcts.plot.curves import LOG_FROM
from lamcts.report.runs import Run, by_search, common_reference
from lamcts.report.sheet import HEIGHT, PALETTE, VALUES, Figure, axis, layout, thinned
from lamcts.types import Floats, Rows

MOST_DOTS = 2500  # evaluations that a figure shows one by one (by eye, and for phones)
MOST_NAMES = 6  # of who proposed, in a legend
EVALUATIONS = "evaluations"  # what the axes count
MOST_PAIRS = 6  # of objectives
OTHERS = {-2: "known before, or told unasked", -1: "initial design"}  # who is no search, by its number


def proposers(run: Run) -> list[tuple[str, Rows]]:
    """Return who proposed which rows, who proposed most first: a search, or the parts of one that has parts."""
    found: dict[str, list[int]] = {}
    parts, several = run.record.proposers, len(np.unique(run.record.source[run.record.source >= 0])) > 1
    for row, (source, trial) in enumerate(zip(run.record.source.tolist(), run.record.trial.tolist(), strict=True)):
        who = -2 if trial < 0 else source
        name = OTHERS.get(who) or (f"search {who + 1}" if several or row not in parts else "")
        found.setdefault(", ".join(filter(None, (name, parts.get(row)))), []).append(row)
    rows = [(name, np.array(mine, np.int64)) for name, mine in found.items()]
    return sorted(rows, key=lambda each: -len(each[1]))


def best(runs: Sequence[Run]) -> Figure:
    """Draw the best value so far of runs with one objective; of one run also each evaluation."""
    traces = _alone(runs[0]) if len(runs) == 1 else _compared(runs)
    goal = runs[0].record.goals.objectives[0]
    range_, log = _height(runs)
    y = axis(f"{goal.name} ({'higher' if goal.maximize else 'lower'} is better)", type="log" if log else "linear")
    look = layout(axis(EVALUATIONS), y | {"range": range_} if range_ else y)
    look["yaxis2"] = {"overlaying": "y", "visible": False, "range": [0, 1], "fixedrange": True}  # of what has no value
    if log or _positive(runs):
        look["updatemenus"] = [_scales(log)]
        look["margin"] = {**look["margin"], "t": 44}
    return Figure(traces, look, HEIGHT + 60)


def _alone(run: Run) -> list[dict[str, Any]]:
    shown, values = set(thinned(run.n, MOST_DOTS).tolist()), run.values[:, 0]
    traces, good = [], run.feasible & np.isfinite(values)
    for i, (name, rows) in enumerate(_few(proposers(run))):
        kept = np.array([row for row in rows.tolist() if row in shown and good[row]], np.int64)
        marker = {"size": 5, "opacity": 0.55, "color": (*PALETTE[1:], FAINT)[i % len(PALETTE)]}
        traces.append(_dots(kept + 1, values[kept], name, marker))
    broken = np.flatnonzero(np.isfinite(values) & ~run.feasible)
    if len(broken):
        broken = broken[thinned(len(broken), MOST_DOTS)]
        marker = {"size": 6, "symbol": "circle-open", "color": FAINT}
        traces.append(_dots(broken + 1, values[broken], "infeasible", marker))
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        lost = lost[thinned(len(lost), MOST_DOTS)]
        marker = {"size": 9, "symbol": "line-ns-open", "color": PALETTE[1]}
        trace = {**_dots(lost + 1, np.full(len(lost), 0.02), "no value", marker), "yaxis": "y2", "hoverinfo": "x+name"}
        traces.append(trace)
    return [*traces, _staircase(run.best, "best so far", PALETTE[0])]


def _few(found: list[tuple[str, Rows]]) -> list[tuple[str, Rows]]:
    if len(found) <= MOST_NAMES:
        return found
    rest = np.sort(np.concatenate([rows for _, rows in found[MOST_NAMES - 1 :]]))
    return [*found[: MOST_NAMES - 1], (f"{len(found) - MOST_NAMES + 1} others", rest)]


def _dots(x: Any, y: Any, name: str, marker: dict[str, Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marker}


def _staircase(values: Floats, name: str, colour: str, width: float = 2.5) -> dict[str, Any]:
    """Return a line that keeps every step of `values` [n], and no point between steps."""
    n = len(values)
    steps = np.flatnonzero(np.r_[True, values[1:] != values[:-1]] & np.isfinite(values)) if n else np.arange(0)
    at = np.unique(np.r_[steps, n - 1]) if len(steps) else steps
    line = {"color": colour, "width": width, "shape": "hv"}
    return {"type": "scatter", "mode": "lines", "x": at + 1, "y": values[at], "name": name, "line": line}


def _compared(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return a line a run, and of searches with several seeds their median and quartiles."""
    traces: list[dict[str, Any]] = []
    for i, (name, group) in enumerate(by_search(runs).items()):
        colour = PALETTE[i % len(PALETTE)]
        if len(group) == 1:
            traces.append(_staircase(group[0].best, name, colour))
            continue
        n = min(run.n for run in group)
        table = np.array([run.best[:n] for run in group])
        at = thinned(n, MOST_DOTS)
        at = at[~np.isnan(table[:, at]).any(0)]
        low, middle, high = np.quantile(table[:, at], [0.25, 0.5, 0.75], axis=0) if len(at) else np.empty((3, 0))
        band: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": at + 1, "hoverinfo": "skip"}
        band |= {"line": {"width": 0, "shape": "hv"}, "showlegend": False, "legendgroup": name}
        traces += [{**band, "y": low}, {**band, "y": high, "fill": "tonexty", "fillcolor": _faded(colour)}]
        line = {"color": colour, "width": 2.5, "shape": "hv"}
        label = f"{name}: median and quartiles of {len(group)} seeds"
        traces.append({**band, "y": middle, "hoverinfo": "all", "line": line, "name": label, "showlegend": True})
    return traces


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _height(runs: Sequence[Run]) -> tuple[list[float] | None, bool]:
    """Return the range of the y axis, which cuts off the far tail of bad values, and whether it is logarithmic."""
    values = np.concatenate([run.values[np.isfinite(run.values[:, 0]), 0] for run in runs])
    better = np.concatenate([run.best[np.isfinite(run.best)] for run in runs])
    if not len(values) or not len(better):
        return None, False
    log = _positive(runs) and not runs[0].record.maximize and better.max() / better.min() > LOG_FROM
    shown = np.concatenate([better, np.quantile(values, [0.05, 0.95])])
    shown = np.log10(shown) if log else shown
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return [low - margin, high + margin], bool(log)


def _positive(runs: Sequence[Run]) -> bool:
    values = np.concatenate([run.values[np.isfinite(run.values[:, 0]), 0] for run in runs])
    return bool(len(values) and values.min() > 0)


def _scales(log: bool) -> dict[str, Any]:
    """Return two buttons that change the scale of the y axis."""
    kinds = ["log", "linear"] if log else ["linear", "log"]
    buttons = [
        {"label": kind, "method": "relayout", "args": [{"yaxis.type": kind, "yaxis.autorange": True}]} for kind in kinds
    ]
    place = {"x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "pad": {"t": 0, "b": 0}}
    return {"type": "buttons", "direction": "right", "buttons": buttons, "showactive": True, **place}


def hypervolumes(runs: Sequence[Run]) -> Figure | None:
    """Draw the hypervolume of several objectives, measured from one point for all runs; None where nothing counts."""
    reference = common_reference(runs)
    if reference is None:
        return None
    traces = []
    for i, run in enumerate(runs):
        at, amounts = run.hypervolumes(reference)
        line = {"color": PALETTE[i % len(PALETTE)], "width": 2.5, "shape": "hv"}
        traces.append({"type": "scatter", "mode": "lines", "x": at, "y": amounts, "name": run.label, "line": line})
    names = runs[0].record.goals.names
    title = "measured from " + ", ".join(f"{name} {value:.4g}" for name, value in zip(names, reference, strict=True))
    look = layout(axis(EVALUATIONS), axis("hypervolume of the front", rangemode="tozero"), title, showlegend=True)
    return Figure(traces, look)


def fronts(run: Run) -> list[Figure]:
    """Draw each pair of objectives: evaluations, infeasible ones hollow, and the front by when it was found."""
    goals, values = run.record.goals, run.values
    known = np.isfinite(values).all(1)
    on = non_dominated(np.where((known & run.feasible)[:, None], goals.signs * values, np.nan))
    rest, broken = np.flatnonzero(known & run.feasible & ~on), np.flatnonzero(known & ~run.feasible)
    figures = []
    for i, j in list(combinations(range(values.shape[1]), 2))[:MOST_PAIRS]:
        some = rest[thinned(len(rest), MOST_DOTS)]
        traces = [_dots(values[some, i], values[some, j], "dominated", {"size": 5, "opacity": 0.5, "color": FAINT})]
        if len(broken):
            some = broken[thinned(len(broken), MOST_DOTS)]
            marker = {"size": 6, "symbol": "circle-open", "color": FAINT}
            traces.append(_dots(values[some, i], values[some, j], "infeasible", marker))
        rows = np.flatnonzero(on)
        bar = {"title": {"text": "evaluation", "side": "right"}, "thickness": 10}
        marker = {"size": 9, "color": rows + 1, "colorscale": VALUES, "showscale": True, "colorbar": bar}
        text = {"customdata": rows + 1, "hovertemplate": "evaluation %{customdata}: %{x}, %{y}<extra></extra>"}
        traces.append({**_dots(values[rows, i], values[rows, j], "front", marker), **text})
        x, y = (f"{goals.objectives[k].name} ({'max' if goals.objectives[k].maximize else 'min'})" for k in (i, j))
        figures.append(Figure(traces, layout(axis(x), axis(y)), HEIGHT + 20))
    return figures


def violation(runs: Sequence[Run]) -> Figure:
    """Draw the least violation so far of each run, and each infeasible evaluation of a single one."""
    traces: list[dict[str, Any]] = []
    for i, run in enumerate(runs):
        amount = run.record.violation
        least = np.fmin.accumulate(amount) if run.n else amount
        if len(runs) == 1:
            broken = np.flatnonzero(amount > 0)
            broken = broken[thinned(len(broken), MOST_DOTS)]
            marker = {"size": 5, "opacity": 0.6, "color": FAINT}
            traces.append(_dots(broken + 1, amount[broken], "each infeasible evaluation", marker))
        traces.append(_staircase(least, "least so far" if len(runs) == 1 else run.label, PALETTE[i % len(PALETTE)]))
    look = layout(axis(EVALUATIONS), axis("violation (0: all constraints kept)", rangemode="tozero"), showlegend=True)
    return Figure(traces, look)


@np.errstate(over="ignore")  # of times without end
def clock(run: Run) -> Figure | None:
    """Draw the time in evaluations and that on the clock; None where the journal knows neither."""
    seconds, times = run.record.seconds, run.record.times
    at = thinned(run.n, MOST_DOTS)
    traces = []
    if np.isfinite(seconds).any():
        spent = np.cumsum(np.where(np.isfinite(seconds), seconds, 0.0))
        traces.append(_line(at, spent, "in the objective (sum)", PALETTE[0]))
    if np.isfinite(times).all() and run.n > 1:
        traces.append(_line(at, times - times[0], "on the clock, since the first result", PALETTE[1]))
    return Figure(traces, layout(axis(EVALUATIONS), axis("seconds"), showlegend=True)) if traces else None


def _line(at: Any, values: Floats, name: str, colour: str) -> dict[str, Any]:
    line = {"color": colour, "width": 2}
    return {"type": "scatter", "mode": "lines", "x": at + 1, "y": values[at], "name": name, "line": line}
