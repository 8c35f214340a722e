"""Effects of the parameters in Plotly: importance, slices, contours, parallel coordinates."""

from collections.abc import Sequence

import numpy as np

from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import (
    IMPORTANCE,
    RANK,
    Importance,
    best_and_some,
    contours_of,
    numbers_of,
    tail_cut,
    thinned,
)
from lamcts.report.html import PALETTE, VALUES, PlotlyFigure, axis, dots, layout
from lamcts.report.runs import LabelledRun
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Json

MOST_BARS = 30  # parameters whose importance is drawn
MOST_SLICES, FEW_SLICES = 12, 6  # parameters that have a slice; the second where several runs are shown
MOST_GOALS = 3  # objectives that have slices
MOST_DOTS = 600  # in a slice: there are many of them, and phones draw them too
MOST_CONTOURS = 3  # parameters of which each pair has contours
MOST_LINES = 1000  # on parallel axes
MOST_AXES = 10  # parameters on parallel axes (by eye)
SIZE = 300  # pixels of a small figure
LETTER = 8  # pixels that a letter is wide, with some room


def importance(runs: Sequence[LabelledRun]) -> PlotlyFigure:
    """Draw how much each parameter matters, of several runs side by side."""
    names = Importance.of(runs[0].shown, MOST_BARS).names
    traces = []
    for i, run in enumerate(runs):
        found = Importance.of(run.shown, len(run.shown.space.names))
        amounts = dict(zip(found.names, found.losses.tolist(), strict=True))
        bar = {"type": "bar", "orientation": "h", "x": [amounts.get(name) for name in names], "y": names}
        label = f"{run.label} (R² {found.score:.2f}{'' if found.trusted else ', too low'})"
        traces.append({**bar, "name": label, "marker": {"color": PALETTE[i % len(PALETTE)]}})
    above = {"orientation": "h", "y": 1.0, "yanchor": "bottom"}
    look = layout(axis(IMPORTANCE, rangemode="tozero"), axis("", autorange="reversed", type="category"), legend=above)
    return PlotlyFigure(traces, look, 120 + (14 + 10 * len(runs)) * len(names))


def slices(run: LabelledRun, most: int = MOST_SLICES, k: int = 0) -> list[PlotlyFigure]:
    """Draw the values of objective `k` against each of the parameters that matter most."""
    shown, values = run.shown, run.shown.values[:, k]
    rows = np.flatnonzero(np.isfinite(values))
    limits = tail_cut(values[rows], shown.goals.objectives[k].maximize)
    rows = rows[thinned(len(rows), MOST_DOTS)]
    columns = shown.space.values(shown.x[rows])
    y = axis(axis_label(shown, k).partition(" (")[0], range=[limits.low, limits.high])
    numbers = shown.numbers[rows]
    marker = {"size": 5, "opacity": 0.7, "color": numbers, "colorscale": VALUES, "cmin": 1, "cmax": max(2, run.n)}
    more = {"customdata": numbers, "hovertemplate": "evaluation %{customdata}: %{x}, %{y}<extra></extra>"}
    return [
        PlotlyFigure(
            [dots(columns[i], values[rows], "", marker) | more],
            layout(_axis_of(shown.space.parameters[i]), y, shown.space.names[i]),
            SIZE,
        )
        for i in shown.forest.order[:most]
    ]


def _axis_of(parameter: NamedParameter, title: str = "") -> Json:
    if parameter.options is not None:
        return axis(title, type="category", categoryorder="array", categoryarray=parameter.options)
    return axis(title, type="log" if parameter.log else "linear")


def contours(run: LabelledRun) -> list[PlotlyFigure]:
    """Draw the rank that the forest expects over each pair of the numbers that matter most, and the evaluations."""
    shown, rows, figures = run.shown, thinned(run.n, MOST_DOTS), []
    columns = dict(zip(shown.space.names, shown.space.values(shown.x[rows]), strict=True))
    marker = {"size": 4, "color": "white", "line": {"width": 0.6, "color": "black"}}
    for found in contours_of(shown, MOST_CONTOURS):
        field = {"type": "contour", "x": found.x, "y": found.y, "z": found.expected, "colorscale": VALUES}
        field |= {"colorbar": {"thickness": 10}, "line": {"width": 0}, "hovertemplate": "%{z:.2f}<extra></extra>"}
        points = dots(columns[found.across.name], columns[found.up.name], "", marker) | {"hoverinfo": "x+y"}
        x, y = (_axis_of(named, named.name) for named in (found.across, found.up))
        figures.append(PlotlyFigure([field, points], layout(x, y, showlegend=False), SIZE + 60))
    return figures


def parallel(run: LabelledRun) -> PlotlyFigure:
    """Draw evaluations as lines over the parameters that matter most and their outcomes; axes can be brushed."""
    shown = run.shown
    rows, rank = best_and_some(shown, MOST_LINES)
    columns = shown.space.values(shown.x[rows])
    axes = [_dimension(shown.space.parameters[i], columns[i]) for i in shown.forest.order[:MOST_AXES]]
    for k, values in enumerate(shown.values[rows].T):
        axes.append({"label": axis_label(shown, k).partition(" (")[0], "values": values})
    if shown.goals.constraints:
        axes.append({"label": "violation", "values": shown.violation[rows]})
    bar = {"thickness": 10, "title": {"text": RANK, "side": "right"}}
    line = {"color": rank, "colorscale": VALUES, "showscale": True, "colorbar": bar}
    trace = {"type": "parcoords", "dimensions": axes, "line": line, "labelangle": -18, "labelside": "top"}
    left = max(60, LETTER * len(axes[0]["label"]) // 2)
    look = {"margin": {"l": left, "r": 20, "t": 90, "b": 30}}
    return PlotlyFigure([trace], look, 460, 96 * len(axes) + 120)


def _dimension(parameter: NamedParameter, column: Sequence[object]) -> Json:
    values = numbers_of(column, parameter)
    if parameter.options is not None:
        places = dict(enumerate(parameter.options))
        if np.isnan(values).any():
            places[-1] = "inactive"
        ticks = {"tickvals": list(places), "ticktext": list(places.values())}
        return {"label": parameter.name, "values": np.where(np.isnan(values), -1.0, values), **ticks}
    if not parameter.log:
        return {"label": parameter.name, "values": values}
    decades = np.unique(np.floor(np.log10(values[np.isfinite(values)])))
    ticks = {"tickvals": decades.tolist(), "ticktext": [f"{10.0**decade:g}" for decade in decades]}
    return {"label": parameter.name, "values": np.log10(values), **ticks}
