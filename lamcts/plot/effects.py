"""Effects of the parameters of a run: importance, slices, contours, parallel coordinates."""

from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.forest import MIN_ROWS
from lamcts.plot import canvas
from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import (
    IMPORTANCE,
    RANK,
    Evaluations,
    Importance,
    Source,
    best_and_some,
    contours_of,
    evaluations_of,
    numbers_of,
    tail_cut,
)
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Floats, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 20  # parameters whose importance is drawn (by eye)
MOST_SLICES = 9  # panels of a figure (by eye)
MOST_CONTOURS = 3  # parameters of which each pair has a panel
MOST_AXES = 8  # parameters on parallel axes (by eye)
MOST_LINES = 500  # on parallel axes


def importance(run: Source, *, title: str = "Importance of parameters") -> "Figure":
    """Draw how much each parameter matters to a random forest that predicts the rank of evaluations.

    Parameters
    ----------
    run : run
        A Result, the path of a journal, a Journal or an Optimizer, with one objective or several.
    title : str
        The title. The line below it has the forest's cross-validated R², and a warning where that is too low.

    Notes
    -----
    The bars are the loss of cross-validated R² when the values of one parameter are permuted among evaluations held
    out. A conditional parameter is permuted, and its loss measured, among the evaluations in which it is active.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Float(0, 1)})
    >>> result = lamcts.minimize(lambda point: point["a"], space, budget=40, seed=0, sampler="uniform")
    >>> figure = lamcts.plot.importance(result)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    found = Importance.of(_ready(run), MOST_BARS)
    figure, axes = canvas.sheet(7.2, 1.7 + 0.28 * len(found.names))
    axes.barh(range(len(found.names)), found.losses, color=canvas.COLOURS[0] if found.trusted else canvas.FAINT)
    axes.set_yticks(range(len(found.names)), [*map(canvas.literal, found.names)])
    axes.invert_yaxis()
    canvas.titled(axes, title, IMPORTANCE, "")
    colour = canvas.INK if found.trusted else canvas.COLOURS[1]
    figure.supxlabel(found.caption, x=0.01, ha="left", fontsize=canvas.NOTE, color=colour)
    return figure


def slices(run: Source, *, title: str = "Objective value against each parameter") -> "Figure":
    """Draw the objective value of each evaluation against the parameters that matter most.

    Parameters
    ----------
    run : run
        As in `importance`, with one objective.

    Notes
    -----
    With fewer than 20 values the parameters are in their own order, as no forest is fitted.
    """
    shown = _valued(run)
    if len(shown.goals.objectives) > 1:
        raise ValueError("slices: expected one objective, got several: draw `front`, or write a report")
    order = shown.forest.order[:MOST_SLICES]
    figure, axes = canvas.panels(len(order), 3.4, 2.8)
    columns, limits = shown.space.values(shown.x), tail_cut(shown.values[shown.known, 0], shown.maximize)
    for one, i in zip(axes, order, strict=True):
        x, parameter = numbers_of(columns[i], shown.space.parameters[i]), shown.space.parameters[i]
        dots = one.scatter(x, shown.values[:, 0], s=canvas.dot(len(x)), c=shown.numbers, cmap=canvas.VALUES)
        _scale(one, "x", parameter)
        canvas.titled(one, "", parameter.name, axis_label(shown).partition(" (")[0])
        one.set_ylim(limits.low, limits.high)
    canvas.headed(figure, title)
    canvas.colour_bar(figure, dots, axes, "number of the evaluation")
    return figure


def contours(run: Source, *, title: str = "Expected rank over two parameters") -> "Figure":
    """Draw the rank that a random forest expects over pairs of the numeric parameters that matter most.

    Parameters
    ----------
    run : run
        As in `importance`.
    """
    shown = _ready(run)
    found = contours_of(shown, MOST_CONTOURS)
    if not found:
        raise ValueError("expected two parameters that are numbers, got fewer: draw `slices` instead")
    figure, axes = canvas.panels(len(found), 3.8, 2.9)
    columns = dict(zip(shown.space.names, shown.space.values(shown.x), strict=True))
    for one, contour in zip(axes, found, strict=True):
        x, y = (numbers_of(ends, named) for ends, named in ((contour.x, contour.across), (contour.y, contour.up)))
        field = one.contourf(x, y, contour.expected, 12, cmap=canvas.VALUES)
        figure.colorbar(field, ax=one, pad=0.02, shrink=0.9)
        x, y = (numbers_of(columns[named.name], named) for named in (contour.across, contour.up))
        one.scatter(x, y, s=canvas.dot(len(x)) / 2, color="white", edgecolors="black", linewidths=0.4)
        for side, named in (("x", contour.across), ("y", contour.up)):
            _scale(one, side, named)
        canvas.titled(one, "", contour.across.name, contour.up.name)
    canvas.headed(figure, title)
    figure.supxlabel(f"colour: {RANK}; dots: evaluations", fontsize=canvas.NOTE, color=canvas.INK)
    return figure


def parameters(run: Source, *, title: str = "Parameters of the evaluations") -> "Figure":
    """Draw evaluations as lines across the parameters that matter most; the brighter, the better.

    Parameters
    ----------
    run : run
        As in `importance`. Of more than 500 evaluations, the best 250 are drawn, and 250 of the others.

    Notes
    -----
    With fewer than 20 values the parameters are in their own order, as no forest is fitted.
    """
    from matplotlib.cm import ScalarMappable

    shown = _valued(run)
    order = shown.forest.order[:MOST_AXES]
    rows, rank = best_and_some(shown, MOST_LINES)
    figure, axes = canvas.sheet(max(6.0, 1.3 * len(order) + 1.5), 4.4)
    columns = shown.space.values(shown.x[rows])
    heights, ends = zip(*(_height(columns[i], shown.space.parameters[i]) for i in order), strict=True)
    canvas.parallel_axes(axes, np.column_stack(heights), rank, [shown.space.names[i] for i in order], ends)
    canvas.titled(axes, title, "", "")
    canvas.colour_bar(figure, ScalarMappable(cmap=canvas.VALUES), axes, RANK)
    return figure


def _valued(run: Source) -> Evaluations:
    """Return the evaluations of a run; ValueError where none has a value."""
    shown = evaluations_of(run)
    if not np.isfinite(shown.loss).any():
        raise ValueError(f"expected an evaluation with a value, got none among {len(shown)}: evaluate more points")
    return shown


def _ready(run: Source) -> Evaluations:
    """Return the evaluations of a run; ValueError where they are too few to fit a forest."""
    shown = evaluations_of(run)
    if not shown.forest.ready:
        values = shown.forest.loss[np.isfinite(shown.forest.loss)]
        got = f"{len(values)} with {len(np.unique(values))} different values"
        cure = "evaluate more points, or draw `slices` or `parameters`"
        raise ValueError(f"expected {MIN_ROWS} evaluations or more, with values that differ, got {got}: {cure}")
    return shown


def _scale(axes: "Axes", side: str, parameter: NamedParameter) -> None:
    if parameter.options is not None:
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_ticks(range(len(parameter.options)), [*map(canvas.literal, parameter.options)])
    elif parameter.log:
        axes.set(**{f"{side}scale": "log"})


def _height(column: list[Point], parameter: NamedParameter) -> tuple[Floats, tuple[str, str]]:
    """Return the heights of values [n] on a parallel axis, in [0, 1], and the words at its ends."""
    values = numbers_of(column, parameter)
    scaled = np.log(values) if parameter.log else values
    if np.isnan(values).all():  # inactive in all of these evaluations
        return values, ("", "")
    low, high = np.nanmin(scaled), np.nanmax(scaled)
    height: Floats = (scaled - low) / (high - low) if high > low else np.where(np.isnan(scaled), np.nan, 0.5)
    ends = [float(np.nanmin(values)), float(np.nanmax(values))]
    words = [f"{end:.4g}" if parameter.options is None else parameter.options[int(end)] for end in ends]
    return height, (words[0], words[1])
