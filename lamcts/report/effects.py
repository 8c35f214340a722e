"""What the parameters do: which of them matter, slices, contours, and all at once on parallel axes."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lamcts.models.forest import rank_of
from lamcts.report.runs import Run
from lamcts.report.sheet import PALETTE, VALUES, Figure, axis, layout, thinned
from lamcts.types import Floats, Rows

MOST_BARS = 30  # parameters whose importance is drawn
MOST_SLICES, FEW_SLICES = 12, 6  # parameters that have a slice; the second where several runs are shown
MOST_GOALS = 3  # objectives that have slices
MOST_DOTS = 600  # in a slice: there are many of them, and phones draw them too
MOST_CONTOURS = 3  # parameters of which each pair has contours
MOST_LINES = 1000  # on parallel axes
MOST_AXES = 10  # parameters on parallel axes (by eye)
GRID = 24  # points to an axis of a contour, and of a slice's line
SIZE = 300  # pixels of a small figure
RANK = "share of evaluations that are no better"  # what the forest learns, in words


def importance(runs: Sequence[Run]) -> Figure:
    """Draw how much each parameter matters, of several runs side by side."""
    names = [runs[0].space.names[i] for i in runs[0].order[:MOST_BARS]]
    traces = []
    for i, run in enumerate(runs):
        amounts = dict(zip(run.space.names, run.forest.importance.tolist(), strict=True))
        bar = {"type": "bar", "orientation": "h", "x": [amounts.get(name) for name in names], "y": names}
        traces.append({**bar, "name": run.label, "marker": {"color": PALETTE[i % len(PALETTE)]}})
    y = axis("", autorange="reversed", type="category")
    look = layout(axis("loss of R² when its values are exchanged", rangemode="tozero"), y)
    return Figure(traces, look, 120 + (14 + 10 * len(runs)) * len(names))


def slices(run: Run, most: int = MOST_SLICES, k: int = 0) -> list[Figure]:
    """Draw the values of objective `k` against each of the parameters that matter most."""
    goal, values = run.record.goals.objectives[k], run.values[:, k]
    rows = np.flatnonzero(np.isfinite(values))
    rows = rows[thinned(len(rows), MOST_DOTS)]
    columns = run.space.values(run.record.x[rows])
    ends = np.quantile(values[rows], [0.05, 1] if goal.maximize else [0, 0.95])
    margin = 0.05 * float(np.ptp(ends)) or 0.05 * abs(float(ends[0])) or 1.0
    y = axis(goal.name, range=[ends[0] - margin, ends[1] + margin])
    marker = {"size": 5, "opacity": 0.7, "color": rows + 1, "colorscale": VALUES, "cmin": 1, "cmax": max(2, run.n)}
    dots: dict[str, Any] = {"type": "scatter", "mode": "markers", "y": values[rows], "marker": marker}
    dots |= {"customdata": rows + 1, "hovertemplate": "evaluation %{customdata}: %{x}, %{y}<extra></extra>"}
    return [
        Figure([{**dots, "x": columns[i]}], layout(_axis_of(run, i), y, run.space.names[i]), SIZE)
        for i in run.order[:most]
    ]


def _axis_of(run: Run, i: int, title: str = "") -> dict[str, Any]:
    parameter = run.space.parameters[i]
    if parameter.options is not None:
        return axis(title, type="category", categoryorder="array", categoryarray=parameter.options)
    return axis(title, type="log" if parameter.log else "linear")


def contours(run: Run) -> list[Figure]:
    """Draw what the forest expects over each pair of the numbers that matter most, and the evaluations."""
    numbers = [i for i in run.order if run.space.parameters[i].options is None][:MOST_CONTOURS]
    rows = thinned(run.n, MOST_DOTS)
    columns = run.space.values(run.record.x[rows])
    return [_contour(run, pair, columns) for pair in combinations(numbers, 2)]


def _contour(run: Run, pair: tuple[int, int], columns: list[list[Any]]) -> Figure:
    i, j = pair
    steps = (np.arange(GRID) + 0.5) / GRID
    across, up = np.meshgrid(steps, steps)
    expected = run.forest.expected(i, across.reshape(-1, 1), j, up.reshape(-1, 1)).reshape(GRID, GRID)
    bar = {"thickness": 10}
    field = {"type": "contour", "z": expected, "colorscale": VALUES, "colorbar": bar, "line": {"width": 0}}
    field |= {"x": _native(run, i, steps), "y": _native(run, j, steps), "hovertemplate": "%{z:.2f}<extra></extra>"}
    dots: dict[str, Any] = {"type": "scatter", "mode": "markers", "x": columns[i], "y": columns[j]}
    dots |= {"marker": {"size": 4, "color": "white", "line": {"width": 0.6, "color": "black"}}, "hoverinfo": "x+y"}
    x, y = (_axis_of(run, k, run.space.names[k]) for k in pair)
    return Figure([field, dots], layout(x, y), SIZE + 60)


def _native(run: Run, i: int, steps: Floats) -> list[Any]:
    """Return the values of a parameter at coordinates `steps` [g]."""
    part = run.space.parameters[i].part
    return run.space.along(i, np.repeat(steps[:, None], part.stop - part.start, axis=1))


def parallel(run: Run) -> Figure:
    """Draw evaluations as lines over the parameters that matter most and what came of them; axes can be brushed."""
    known = np.flatnonzero(np.isfinite(run.values).all(1))
    rows = _best_and_some(run, known)
    columns = run.space.values(run.record.x[rows])
    axes = [_dimension(run, i, columns[i]) for i in run.order[:MOST_AXES]]
    for goal, values in zip(run.record.goals.objectives, run.values[rows].T, strict=True):
        axes.append({"label": goal.name, "values": values})
    if run.record.goals.constraints:
        axes.append({"label": "violation", "values": run.record.violation[rows]})
    rank = rank_of(run.record.y)[rows]
    bar = {"thickness": 10, "title": {"text": RANK, "side": "right"}}
    line = {"color": rank, "colorscale": VALUES, "showscale": True, "colorbar": bar}
    trace = {"type": "parcoords", "dimensions": axes, "line": line, "labelangle": -18, "labelside": "top"}
    look = {"margin": {"l": 60, "r": 20, "t": 90, "b": 30}}
    return Figure([trace], look, 460, 96 * len(axes) + 120)


def _best_and_some(run: Run, known: Rows) -> Rows:
    """Return the rows of the better half of the lines, and of the others evenly many, worst first."""
    y = run.record.y[known]
    order = known[np.argsort(np.where(np.isnan(y), np.inf, y), kind="stable")]
    half = MOST_LINES // 2
    rest = order[half:]
    return np.asarray(np.r_[order[:half], rest[thinned(len(rest), half)]][::-1])


def _dimension(run: Run, i: int, column: list[Any]) -> dict[str, Any]:
    parameter = run.space.parameters[i]
    if parameter.options is not None:
        places = {option: place for place, option in enumerate(parameter.options)}
        if any(value not in places for value in column):
            places["none"] = -1
        ticks = {"tickvals": list(places.values()), "ticktext": list(places)}
        return {"label": parameter.name, "values": [places.get(value, -1) for value in column], **ticks}
    values = np.array([np.nan if value is None else value for value in column], float)
    if not parameter.log:
        return {"label": parameter.name, "values": values}
    decades = np.unique(np.floor(np.log10(values[np.isfinite(values)])))
    ticks = {"tickvals": decades.tolist(), "ticktext": [f"{10.0**decade:g}" for decade in decades]}
    return {"label": parameter.name, "values": np.log10(values), **ticks}
