"""Effects of the parameters in Plotly: importance, slices, contours, parallel coordinates."""

from collections.abc import Sequence

import numpy as np

from lamcts.plot.canvas import BEST, SELECTED
from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import IMPORTANCE, RANK, Importance, best_and_some, numbers_of, thinned
from lamcts.plot.limits import tail_cut
from lamcts.plot.surfaces import CORNERS, GRID, Plane, line_of, planes_of
from lamcts.report.html import PALETTE, VALUES, PlotlyFigure, axis, dots, layout, line, named
from lamcts.report.runs import LabelledRun
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Floats, Json

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
    """Draw how much each parameter matters: of several runs or of several objectives side by side."""
    names, traces = Importance.of(runs[0].shown, MOST_BARS).names, list[Json]()
    for run in runs:
        found = Importance.of(run.shown, len(run.shown.space.names))
        for goal, effects in zip(run.record.goals.objectives, found.effects, strict=True):
            amounts = dict(zip(found.names, effects.tolist(), strict=True))
            words = [run.label] * (len(runs) > 1) + [goal.name] * run.several
            label = f"{' '.join(words)}{'' if run.shown.effects.trusted else ' (too low to trust)'}"
            bar = {"type": "bar", "orientation": "h", "x": [amounts.get(name) for name in names], "y": names}
            traces.append({**bar, "name": label, "marker": {"color": PALETTE[len(traces) % len(PALETTE)]}})
    above = {"orientation": "h", "y": 1.0, "yanchor": "bottom"}
    look = layout(axis(IMPORTANCE, rangemode="tozero"), axis("", autorange="reversed", type="category"), legend=above)
    return PlotlyFigure(traces, look, 120 + (14 + 10 * len(traces)) * len(names))


def slices(run: LabelledRun, most: int = MOST_SLICES, k: int = 0) -> list[PlotlyFigure]:
    """Draw objective `k` along each of the parameters that matter most: evaluations, and what the model expects."""
    shown, values = run.shown, run.shown.values[:, k]
    rows = np.flatnonzero(np.isfinite(values))
    limits = tail_cut(values[rows], shown.goals.objectives[k].maximize)
    rows = rows[thinned(len(rows), MOST_DOTS)]
    columns = shown.space.values(shown.x[rows])
    y = axis(axis_label(shown, k).partition(" (")[0], range=[limits.low, limits.high])
    numbers = shown.numbers[rows]
    marker = {"size": 5, "opacity": 0.7, "color": numbers, "colorscale": VALUES, "cmin": 1, "cmax": max(2, run.n)}
    more = named(shown.called, rows)
    return [
        PlotlyFigure(
            [*_line(run, i, k), dots(columns[i], values[rows], "", marker) | more],
            layout(_axis_of(shown.space.parameters[i]), y, shown.space.names[i], showlegend=False),
            SIZE,
        )
        for i in shown.order[:most]
    ]


def _line(run: LabelledRun, i: int, k: int) -> list[Json]:
    """Return the mean along a parameter and a band of one standard deviation, of a category a bar for each option."""
    parameter = run.shown.space.parameters[i]
    if not run.modelled or parameter.options == ():
        return []
    found = line_of(run.shown, i)
    mean, std = found.predicted.mean[:, k], found.predicted.std[:, k]
    skip = {"hoverinfo": "skip", "showlegend": False}
    if parameter.options is not None:
        marker = {"symbol": "line-ew-open", "size": 18, "color": SELECTED}
        errors: Json = {"error_y": {"array": std, "color": SELECTED}}
        return [dots(found.values, mean, "", marker) | errors | skip]
    band: Json = {"type": "scatter", "mode": "lines", "x": [*found.values, *found.values[::-1]], "fill": "toself"}
    band |= {"y": np.r_[mean - std, (mean + std)[::-1]], "line": {"width": 0}, "fillcolor": "rgba(213,94,0,0.2)"}
    return [band | skip, line(found.values, mean, "", SELECTED, 1.6) | skip]


def _axis_of(parameter: NamedParameter, title: str = "") -> Json:
    if parameter.options is not None:
        return axis(title, type="category", categoryorder="array", categoryarray=parameter.options)
    return axis(title, type="log" if parameter.log else "linear")


def contours(run: LabelledRun) -> list[PlotlyFigure]:
    """Draw mean and standard deviation of each objective over planes through the best point, and constraints."""
    figures, goals = [], run.record.goals.objectives[:MOST_GOALS]
    for plane in planes_of(run.shown, MOST_CONTOURS):
        for k, goal in enumerate(goals):
            figures.append(_surface(run, plane, plane.predicted.mean[:, k], goal.name))
            figures.append(_surface(run, plane, plane.predicted.std[:, k], f"{goal.name}: standard deviation"))
    return figures


def _surface(run: LabelledRun, plane: Plane, values: Floats, title: str) -> PlotlyFigure:
    rows = thinned(run.n, MOST_DOTS)
    field = _field(plane, values) | {"colorscale": VALUES, "line": {"width": 0}, "colorbar": {"thickness": 10}}
    field |= {"hovertemplate": "%{x:.4g}, %{y:.4g}: %{z:.4g}<extra></extra>"}
    traces = [field]
    for excess in plane.predicted.excess.T:
        if excess.min() < 0 < excess.max():
            level = {"start": 0, "end": 0, "size": 1, "coloring": "lines", "showlabels": False}
            look = {"contours": level, "line": {"width": 2, "dash": "dash"}, "showscale": False, "hoverinfo": "skip"}
            traces.append(_field(plane, excess) | look | {"colorscale": [[0, SELECTED], [1, SELECTED]]})
    marker: Json = {"size": 4, "color": "white", "line": {"width": 0.6, "color": "black"}}
    traces.append(dots(plane.dots[rows, 0], plane.dots[rows, 1], "", marker) | {"hoverinfo": "x+y"})
    star = {"size": 13, "symbol": "star", "color": BEST, "line": {"width": 1, "color": "white"}}
    traces.append(dots(plane.best[:1], plane.best[1:], "", star) | {"hoverinfo": "skip"})
    if not plane.corners:
        x, y = (_axis_of(named, named.name) for named in plane.axes)
        return PlotlyFigure(traces, layout(x, y, title, showlegend=False), SIZE + 60)
    places = zip(CORNERS.tolist(), plane.corners, (-14, -14, 14), strict=True)
    notes = [{"x": x, "y": y, "text": text, "showarrow": False, "yshift": shift} for (x, y), text, shift in places]
    x, y = (axis("", visible=False, range=ends) for ends in ([-0.15, 1.15], [-0.12, 1.0]))
    look = layout(x, y | {"scaleanchor": "x"}, title, showlegend=False, annotations=notes)
    return PlotlyFigure(traces, look, SIZE + 60)


def _field(plane: Plane, values: Floats) -> Json:
    """Return values over a plane as a trace; those of a mixture are interpolated to a square."""
    if plane.corners:
        from scipy.interpolate import griddata

        x, y = np.linspace(0, 1, 2 * GRID), np.linspace(0, CORNERS[2, 1], 2 * GRID)
        z = griddata((plane.x, plane.y), values, tuple(np.meshgrid(x, y)))
        return {"type": "contour", "x": x, "y": y, "z": z}
    return {"type": "contour", "x": plane.x[:GRID], "y": plane.y[::GRID], "z": values.reshape(GRID, GRID)}


def parallel(run: LabelledRun) -> PlotlyFigure:
    """Draw evaluations as lines over the parameters that matter most and their outcomes; axes can be brushed."""
    shown = run.shown
    rows, rank = best_and_some(shown, MOST_LINES)
    columns = shown.space.values(shown.x[rows])
    axes = [_dimension(shown.space.parameters[i], columns[i]) for i in shown.order[:MOST_AXES]]
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
