"""Effects of the parameters of a run: importance, slices, contours, parallel coordinates."""

from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.predictor import MIN_VALUES
from lamcts.plot import canvas
from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import (
    IMPORTANCE,
    RANK,
    Evaluations,
    Importance,
    Source,
    best_and_some,
    evaluations_of,
    fit_of,
    has_model,
    importance_of,
    numbers_of,
)
from lamcts.plot.limits import tail_cut
from lamcts.plot.surfaces import CORNERS, GRID, Plane, line_of, planes_of
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Floats, Json, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

MOST_BARS = 20  # parameters whose importance is drawn (by eye)
MOST_SLICES = 9  # panels of a figure (by eye)
MOST_CONTOURS = 3  # parameters of which each pair has a panel
MOST_AXES = 8  # parameters on parallel axes (by eye)
MOST_LINES = 500  # on parallel axes


def importance(run: Source, *, title: str = "Importance of parameters") -> "Figure":
    """Draw how much each parameter matters to the model of the run, the Gaussian process of `Result.predict`.

    Parameters
    ----------
    run : run
        A Result, the path of a journal, a Journal or an Optimizer, with one objective or several.
    title : str
        The title. The line below it has the leave-one-out quality of the model, and a warning where that is too low.

    Notes
    -----
    The bars are total Sobol indices of the posterior mean over the whole space, by Jansen's estimator: half the mean
    squared change of the predicted value when the values of one parameter are permuted among uniform points, as a share
    of the variance of the predictions. A conditional parameter is permuted among the points in which it is active.

    The evaluations of a search are dense near the best points, so the leave-one-out R^2 says little about the rest of
    the space. The R^2 that the model expects over the space is the variance of the posterior mean as a share of that
    variance plus the mean posterior variance.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Float(0, 1)})
    >>> result = lamcts.minimize(lambda point: point["a"], space, budget=40, seed=0, sampler="uniform")
    >>> figure = lamcts.plot.importance(result)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    shown = _ready(run)
    found, k = Importance.of(shown, MOST_BARS), len(shown.goals.objectives)
    figure, axes = canvas.sheet(7.2, 1.9 + (0.28 + 0.1 * (k - 1)) * len(found.names))
    for j, (goal, effects) in enumerate(zip(shown.goals.objectives, found.effects, strict=True)):
        places = np.arange(len(found.names)) + (j - (k - 1) / 2) * 0.8 / k
        colour = canvas.COLOURS[j % len(canvas.COLOURS)] if shown.effects.trusted else canvas.FAINT
        axes.barh(places, effects, 0.8 / k, color=colour, label=canvas.literal(goal.name) if k > 1 else None)
    axes.set_yticks(range(len(found.names)), [*map(canvas.literal, found.names)])
    axes.invert_yaxis()
    canvas.keyed(axes)
    canvas.titled(axes, title, IMPORTANCE, "")
    _say_fit(figure, shown, importance_of(shown))
    return figure


def slices(run: Source, *, objective: int = 0, title: str = "Predicted value along each parameter") -> "Figure":
    """Draw what the model expects along the parameters that matter most, and all evaluations.

    Parameters
    ----------
    run : run
        As in `importance`.
    objective : int, default 0
        Number of the objective that is drawn.

    Notes
    -----
    The line is the posterior mean with the other parameters as at the best point (for the amounts of a mixture, in
    the same ratios), and the band is one standard deviation. With fewer than 5 values the dots are drawn alone.
    """
    shown = _with_objective(_valued(run), objective)
    order = shown.order[:MOST_SLICES]
    figure, axes = canvas.panels(len(order), 3.4, 2.8)
    columns, y = shown.space.values(shown.x), shown.values[:, objective]
    limits = tail_cut(y[shown.known], shown.goals.objectives[objective].maximize)
    for one, i in zip(axes, order, strict=True):
        parameter = shown.space.parameters[i]
        x = numbers_of(columns[i], parameter)
        dots = one.scatter(x, y, s=canvas.dot(len(x)), c=shown.numbers, cmap=canvas.VALUES)
        if has_model(shown) and parameter.options != ():
            line = line_of(shown, i)
            at, mean, std = numbers_of(line.values, parameter), *(each[:, objective] for each in line.predicted[:2])
            if parameter.options is None:
                one.plot(at, mean, color=canvas.SELECTED, linewidth=1.6)
                one.fill_between(at, mean - std, mean + std, color=canvas.SELECTED, alpha=0.2, linewidth=0)
            else:
                one.errorbar(at, mean, std, fmt="_", color=canvas.SELECTED, markersize=14)
            one.axvline(numbers_of([line.best], parameter)[0], color=canvas.BEST, linewidth=1, linestyle=":")
        _scale(one, "x", parameter)
        canvas.titled(one, "", parameter.name, axis_label(shown, objective).partition(" (")[0])
        one.set_ylim(limits.low, limits.high)
    canvas.headed(figure, title)
    canvas.colour_bar(figure, dots, axes, "evaluations until then")
    if has_model(shown):
        _say_fit(figure, shown, f"Line and band: mean and standard deviation; dotted: the best point. {fit_of(shown)}")
    return figure


def contours(run: Source, *, objective: int = 0, title: str = "Predicted value over two parameters") -> "Figure":
    """Draw the mean and the standard deviation of the model over pairs of the numbers that matter most.

    Parameters
    ----------
    run : run
        As in `importance`.
    objective : int, default 0
        Number of the objective that is drawn.

    Notes
    -----
    The other parameters are as at the best point, the star. Dashed lines are where a constraint is expected to be met.
    The three ingredients of a mixture that matter most have ternary axes.
    """
    shown = _with_objective(_ready(run), objective)
    found = planes_of(shown, MOST_CONTOURS)
    if not found:
        raise ValueError("expected two parameters that are numbers, got fewer: draw `slices` instead")
    figure, axes = canvas.panels(2 * len(found), 4.4, 3.3, columns=2)
    name = shown.goals.objectives[objective].name
    for k, plane in enumerate(found):
        for one, values, label in zip(
            axes[2 * k : 2 * k + 2], plane.predicted[:2], (name, f"{name}: standard deviation"), strict=True
        ):
            _draw_plane(figure, one, plane, values[:, objective], label)
            for j, excess in zip(shown.effects.model.limiting, plane.predicted.excess.T, strict=True):
                _draw_boundary(one, plane, excess, str(shown.goals.constraints[j]))
            x, y = plane.best
            one.scatter(x, y, marker="*", s=160, color=canvas.BEST, edgecolors="white", zorder=5)
    canvas.headed(figure, title)
    _say_fit(figure, shown, f"Star: the best point, through which the planes go; dots: evaluations. {fit_of(shown)}")
    return figure


def _draw_plane(figure: "Figure", axes: "Axes", plane: Plane, values: Floats, label: str) -> None:
    """Draw values [g] over a plane as colours, and the evaluations."""
    field: ScalarMappable
    if plane.corners:
        field = axes.tricontourf(plane.x, plane.y, values, 12, cmap=canvas.VALUES)
        axes.set_axis_off()
        axes.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.12, 1.0))
        for (x, y), corner, side in zip(CORNERS, plane.corners, ("top", "top", "bottom"), strict=True):
            text = canvas.fitting(corner, 2.0, canvas.NOTE)
            axes.text(x, y + (0.02 if side == "bottom" else -0.02), text, ha="center", va=side, fontsize=canvas.NOTE)
    else:
        square = (GRID, GRID)
        field = axes.contourf(*(each.reshape(square) for each in (plane.x, plane.y, values)), 12, cmap=canvas.VALUES)
        for side, named in zip("xy", plane.axes, strict=True):
            _scale(axes, side, named)
        canvas.titled(axes, "", plane.axes[0].name, plane.axes[1].name)
    canvas.colour_bar(figure, field, axes, canvas.literal(label))
    look: Json = {"s": canvas.dot(len(plane.dots)) / 2, "color": "white", "edgecolors": "black", "linewidths": 0.4}
    axes.scatter(plane.dots[:, 0], plane.dots[:, 1], **look)


def _draw_boundary(axes: "Axes", plane: Plane, excess: Floats, label: str) -> None:
    """Draw the line on which a constraint is expected to be met, if it runs through the plane."""
    if not excess.min() < 0 < excess.max():
        return
    look: Json = {"colors": canvas.SELECTED, "linestyles": "dashed"}
    lines: ContourSet
    if plane.corners:
        lines = axes.tricontour(plane.x, plane.y, excess, [0.0], **look)
    else:
        square = (GRID, GRID)
        lines = axes.contour(*(each.reshape(square) for each in (plane.x, plane.y, excess)), [0.0], **look)
    axes.clabel(lines, fmt={0.0: canvas.literal(label)}, fontsize=canvas.NOTE)


def _say_fit(figure: "Figure", run: Evaluations, text: str) -> None:
    """Write a text on the model below a figure, in another colour where the model predicts badly."""
    colour = canvas.INK if run.effects.trusted else canvas.COLOURS[1]
    text = canvas.fitting(text, figure.get_figwidth(), canvas.NOTE)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=canvas.NOTE, color=colour)


def parameters(run: Source, *, title: str = "Parameters of the evaluations") -> "Figure":
    """Draw evaluations as lines across the parameters that matter most; the brighter, the better.

    Parameters
    ----------
    run : run
        As in `importance`. Of more than 500 evaluations, the best 250 are drawn, and 250 of the others.

    Notes
    -----
    With fewer than 5 values the parameters are in their own order, as no model is fitted.
    """
    from matplotlib import cm

    shown = _valued(run)
    order = shown.order[:MOST_AXES]
    rows, rank = best_and_some(shown, MOST_LINES)
    figure, axes = canvas.sheet(max(6.0, 1.3 * len(order) + 1.5), 4.4)
    columns = shown.space.values(shown.x[rows])
    heights, ends = zip(*(_height(columns[i], shown.space.parameters[i]) for i in order), strict=True)
    canvas.parallel_axes(axes, np.column_stack(heights), rank, [shown.space.names[i] for i in order], ends)
    canvas.titled(axes, title, "", "")
    canvas.colour_bar(figure, cm.ScalarMappable(cmap=canvas.VALUES), axes, RANK)
    return figure


def _valued(run: Source) -> Evaluations:
    """Return the evaluations of a run; ValueError where none has a value."""
    shown = evaluations_of(run)
    if not np.isfinite(shown.loss).any():
        raise ValueError(f"expected an evaluation with a value, got none among {len(shown)}: evaluate more points")
    return shown


def _ready(run: Source) -> Evaluations:
    """Return the evaluations of a run; ValueError where they are too few for a model."""
    shown = evaluations_of(run)
    if not has_model(shown):
        values = shown.values[shown.known]
        got = f"{len(values)} with {len(np.unique(values, axis=0))} different values"
        cure = "evaluate more points, or draw `slices` or `parameters`"
        raise ValueError(f"expected {MIN_VALUES} evaluations or more, with values that differ, got {got}: {cure}")
    return shown


def _with_objective(run: Evaluations, objective: int) -> Evaluations:
    """Return the evaluations of a run; ValueError where it has no objective of that number."""
    count = len(run.goals.objectives)
    if not (isinstance(objective, int) and 0 <= objective < count):
        raise ValueError(f"objective: expected a number from 0 to {count - 1}, got {objective!r}")
    return run


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
