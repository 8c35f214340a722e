"""Fronts of several objectives: among all evaluations, of several runs over one another, and on parallel axes."""

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lamcts.plot import canvas
from lamcts.plot.evaluations import Evaluations, Source, evaluations_of
from lamcts.plot.limits import TAIL, AxisLimits
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

MOST = 4  # objectives whose pairs are drawn: six panels
SHAPES = ("o", "s", "^", "D", "v", "P", "X")  # told apart without colours


def front(
    run: Source,
    senses: Mapping[str, str] | None = None,
    *,
    feasible: ArrayLike | None = None,
    title: str = "Front of the run",
) -> "Figure":
    """Draw all evaluations of 2 to 4 objectives and the front, a panel for each pair.

    Points of the front are coloured by the number of the evaluation that found them, others are grey, infeasible
    evaluations hollow.

    Parameters
    ----------
    run : run or array_like
        A Result, the path of a journal, a Journal, an Optimizer, or values of shape (n, m) in the user's units and in
        order of arrival, nan where an evaluation failed.
    senses : dict, default None
        "min" or "max" for each objective by name, in the order of the columns; needed for values only.
    feasible : array_like of bool, default None
        Which evaluations satisfy all constraints, shape (n,); used with values only. By default all.

    Examples
    --------
    >>> from lamcts import plot
    >>> figure = plot.front([[1, 3], [2, 1], [3, 3]], {"cost": "min", "weight": "min"})
    >>> figure.axes[0].get_xlabel()
    '← better  cost'
    """
    shown = evaluations_of(run, senses, feasible=feasible)
    m = len(shown.goals.objectives)
    if not 2 <= m <= MOST:
        other = "best_so_far" if m < 2 else "parallel"
        raise ValueError(f"front: expected 2 to {MOST} objectives to draw, got {m}: draw `{other}` instead")
    pairs = list(combinations(range(m), 2))
    figure, axes = canvas.panels(len(pairs), 3.9, 3.4, (7.2, 5.0))
    dots = [_panel(one, shown, pair) for one, pair in zip(axes, pairs, strict=True)]
    if shown.front.any():
        canvas.colour_bar(figure, dots[0], axes, "evaluations until then")
    _finish(figure, axes, title, 4)
    return figure


def fronts(
    runs: Mapping[str, Source],
    senses: Mapping[str, str] | None = None,
    *,
    feasible: Mapping[str, ArrayLike] | None = None,
    title: str = "Fronts",
) -> "Figure":
    """Draw the fronts of several runs of 2 to 4 objectives over one another.

    Parameters
    ----------
    runs, senses, feasible
        As in `front`, runs and feasibility in dicts by label.
    """
    shown = {
        str(label): evaluations_of(run, senses, feasible=None if feasible is None else feasible[label])
        for label, run in runs.items()
    }
    goals = {run.goals.objectives for run in shown.values()}
    if len(goals) != 1:
        raise ValueError(f"fronts: expected runs of the same objectives, at least one, got {len(goals)} kinds")
    m = len(goals.pop())
    if not 2 <= m <= MOST:
        raise ValueError(f"fronts: expected 2 to {MOST} objectives, got {m}: draw `hypervolume` instead")
    pairs = list(combinations(range(m), 2))
    figure, axes = canvas.panels(len(pairs), 3.9, 3.4, (7.2, 5.2))
    for one, pair in zip(axes, pairs, strict=True):
        _overlaid(one, shown, pair)
    _finish(figure, axes, title, 2)
    return figure


def parallel(
    run: Source,
    senses: Mapping[str, str] | None = None,
    *,
    feasible: ArrayLike | None = None,
    title: str = "Front of the run",
) -> "Figure":
    """Draw each point of the front as a line across one axis per objective; up is better on all axes.

    Parameters
    ----------
    run, senses, feasible
        As in `front`, with any number of objectives.
    title : str
        The title; the number of points is added.
    """
    shown = evaluations_of(run, senses, feasible=feasible)
    goals, losses = shown.goals.objectives, shown.losses[shown.front]  # [k, m]
    figure, axes = canvas.sheet(max(5.4, 1.5 * len(goals) + 1.5), 4.4)
    low, high = (losses.min(0), losses.max(0)) if len(losses) else np.full((2, len(goals)), np.nan)
    height = np.where(high > low, (high - losses) / np.where(high > low, high - low, 1.0), 0.5)  # [k, m], 1 the best
    ends = [(f"{worst:.4g}", f"{best:.4g}") for worst, best in zip(*shown.goals.signs * [high, low], strict=True)]
    names = [f"{goal.name} ({'max' if goal.maximize else 'min'})" for goal in goals]
    canvas.parallel_axes(axes, height, height[:, 0], names, ends if len(losses) else [])
    if shown.knee is not None:
        row = int(np.count_nonzero(shown.front[: shown.knee]))
        axes.plot(range(len(goals)), height[row], color=canvas.BEST, linewidth=2.6, label="knee (a compromise)")
        figure.legend(loc="outside lower center", frameon=False, fontsize=canvas.NOTE)
    canvas.titled(axes, f"{title}: {len(losses)} points", "", "better →")
    return figure


def _panel(axes: "Axes", shown: Evaluations, pair: tuple[int, int]) -> "PathCollection":
    """Draw two columns; return the dots of the front."""
    (x, y), n = shown.values[:, pair].T, len(shown)
    rest, broken = shown.feasible & ~shown.front, shown.known & ~shown.feasible
    canvas.scattered(axes, x[rest], y[rest], n, label="dominated")
    if broken.any():
        look: canvas.Look = {"facecolors": "none", "edgecolors": canvas.FAINT, "alpha": 0.6, "linewidths": 0.8}
        axes.scatter(x[broken], y[broken], s=canvas.dot(n), label="infeasible", **look)
    _staircase(axes, shown)
    on, look = shown.front, {"cmap": canvas.VALUES, "vmin": 1, "vmax": max(1, n), "zorder": 3, "label": "front"}
    look |= {"s": 2 * canvas.DOT, "edgecolors": "white", "linewidths": 0.6}
    dots = axes.scatter(x[on], y[on], c=shown.numbers[on].astype(float), **look)
    if shown.knee is not None:
        look = {"facecolors": "none", "edgecolors": canvas.BEST, "linewidths": 1.8, "zorder": 4}
        axes.scatter(x[[shown.knee]], y[[shown.knee]], s=6 * canvas.DOT, label="knee (a compromise)", **look)
    _frame(axes, shown, pair, shown.values[shown.known], shown.values[on])
    return dots


def _overlaid(axes: "Axes", shown: Mapping[str, Evaluations], pair: tuple[int, int]) -> None:
    """Draw two columns of the fronts of all runs."""
    for i, (label, run) in enumerate(shown.items()):
        colour = canvas.COLOURS[i % len(canvas.COLOURS)]
        _staircase(axes, run, colour)
        x, y = run.values[run.front][:, pair].T
        look: canvas.Look = {"s": 1.5 * canvas.DOT, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        name = f"{canvas.literal(label)}: {int(run.front.sum())} points"
        axes.scatter(x, y, color=colour, marker=SHAPES[i % len(SHAPES)], label=name, **look)
    every = np.vstack([run.values[run.front] for run in shown.values()])
    _frame(axes, next(iter(shown.values())), pair, every, every)


def _staircase(axes: "Axes", shown: Evaluations, colour: str = canvas.SELECTED) -> None:
    """Join a front of two objectives by the edge of what it dominates, up to the worse ends of the figure."""
    if shown.values.shape[1] != 2 or not shown.front.any():
        return
    signs = shown.goals.signs
    f = np.unique(shown.losses[shown.front], axis=0)  # the first column rises, the second falls
    seen = (signs * shown.values)[shown.known]
    far = seen.max(0) + np.ptp(seen, axis=0)
    across = np.r_[f[:, 0], far[0]]
    x, y = np.r_[f[0, 0], np.repeat(across, 2)[1:-1], far[0]], np.r_[far[1], np.repeat(f[:, 1], 2)]
    axes.plot(signs[0] * x[: len(y)], signs[1] * y, color=colour, linewidth=1.4, zorder=2)


def _frame(axes: "Axes", shown: Evaluations, pair: tuple[int, int], values: Floats, front: Floats) -> None:
    """Show the front and all but the far tails of the values, and name the axes, with arrows to the better ends."""
    for i, name in zip(pair, ("x", "y"), strict=True):
        if len(values):
            limits = AxisLimits.around(np.concatenate([front[:, i], np.quantile(values[:, i], [TAIL, 1 - TAIL])]))
            axes.set(**{f"{name}lim": (limits.low, limits.high)})
        goal = shown.goals.objectives[i]
        text = f"{goal.name}  better →" if goal.maximize else f"← better  {goal.name}"
        (axes.xaxis if name == "x" else axes.yaxis).set_label_text(canvas.literal(text), fontsize=canvas.LABEL)


def _finish(figure: "Figure", axes: "list[Axes]", title: str, columns: int) -> None:
    canvas.headed(figure, title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=canvas.NOTE)
