"""Curves against the number of evaluations: best value, reward, hypervolume, constraint violation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lamcts.outcomes.goals import Goals
from lamcts.plot import canvas
from lamcts.plot.evaluations import (
    Evaluations,
    Source,
    Violations,
    common_reference,
    evaluations_of,
    quartiles,
)
from lamcts.plot.limits import AxisLimits, reads_by_decades, value_limits
from lamcts.study.result import Result
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EVALUATIONS = "evaluations"  # what the axes count
# Colours of evaluations without a feasible value, the same in each figure; green would praise them
MARKS = {"failed": 1, "infeasible": 4, "pruned": 3, "below full fidelity": 5, "only constraints checked": 6}
Groups = dict[str, list[Evaluations]]


def best_so_far(
    runs: Source,
    *,
    maximize: bool = False,
    title: str = "Best objective value so far",
    y: str | None = None,
    target: float | None = None,
    target_name: str = "target",
    episodes: int | None = None,
) -> "Figure":
    """Draw the best objective value found after each evaluation.

    Parameters
    ----------
    runs : run or dict
        A run (a Result, the path of a journal, a Journal, an Optimizer, or a sequence of objective values), or a dict
        from labels to runs or lists of runs. A list is drawn as its median with a band between the quartiles.
    maximize : bool, default False
        Whether higher is better; used for sequences of values only.
    y : str, default None
        The label of the vertical axis; by default the name of the objective.
    target : float, default None
        A value that is drawn as a dashed line.
    target_name : str, default "target"
        The name of the dashed line.
    episodes : int, default None
        Simulated episodes per evaluation; the horizontal axis counts episodes then.

    Notes
    -----
    Known results are drawn at 0, before the first evaluation of the run. Marks at the bottom are evaluations without a
    feasible value: failed, pruned, infeasible or below full fidelity.

    Examples
    --------
    >>> from lamcts import plot
    >>> figure = plot.best_so_far({"ours": [[4, 2, 1], [3, 3, 2]], "random": [5, 4, 4]})
    >>> figure.axes[0].get_xlabel()
    'evaluations'
    """
    groups, scale = _groups(runs, maximize), episodes or 1
    everything = [run for group in groups.values() for run in group]
    figure, axes = canvas.sheet()
    for i, (label, group) in enumerate(groups.items()):
        colour = canvas.COLOURS[i % len(canvas.COLOURS)]
        if len(group) > 1:
            _band(axes, group, colour, label, scale)
            continue
        if len(groups) == 1:
            _each(axes, group[0], scale)
        _steps(axes, group[0].numbers * scale, group[0].best, colour, canvas.literal(label) or "best so far")
    if target is not None:
        axes.axhline(target, color=canvas.FAINT, linestyle="--", linewidth=1, label=f"{target_name} {target:g}")
    _limit(axes, value_limits(everything, target))
    _frame(axes, scale * max(_last(run) for run in everything))
    x = EVALUATIONS if episodes is None else f"simulated episodes ({episodes} per evaluation)"
    canvas.titled(axes, title, x, y or axis_label(everything[0]))
    canvas.keyed(axes)
    return figure


def axis_label(run: Evaluations, k: int = 0) -> str:
    """Return the name of an objective, and which values are better."""
    goal = run.goals.objectives[k]
    name = "objective value" if goal.name == "value" else goal.name
    return f"{name} ({'higher' if goal.maximize else 'lower'} is better)"


def reward(
    run: Source, *, episodes: int, threshold: float | None = None, name: str = "policy", quantity: str = "return"
) -> "Figure":
    """Draw the best reward of a policy search against simulated episodes.

    Parameters
    ----------
    run : run or dict
        As in `best_so_far`; higher values are better.
    episodes : int
        Simulated episodes per evaluation.
    threshold : float, default None
        The reward at which the task counts as solved, drawn as a dashed line.
    name : str, default "policy"
        The name of the task, for the title.
    quantity : str, default "return"
        What was maximised.
    """
    unit = f"mean {quantity} over {episodes} episodes" if episodes > 1 else f"{quantity} of one episode"
    how: canvas.Look = {"maximize": True, "target": threshold, "target_name": "threshold", "episodes": episodes}
    return best_so_far(run, title=f"{name}: {quantity} against episodes", y=f"{unit} (higher is better)", **how)


def hypervolume(
    run: Source,
    senses: Mapping[str, str] | None = None,
    *,
    feasible: ArrayLike | None = None,
    reference: Mapping[str, float] | Sequence[float] | None = None,
    title: str = "Hypervolume of the front so far",
) -> "Figure":
    """Draw the hypervolume that the evaluations so far dominate.

    Parameters
    ----------
    run, senses, feasible
        As in `front`, with any number of objectives.
    reference : dict or sequence, default None
        The reference point, a number for each objective by name or in order. By default that of the run, else 10 % of
        the range of the final front behind its worst values.
    """
    shown = evaluations_of(run, senses, feasible=feasible)
    names = shown.goals.names
    if reference is not None:
        senses = {goal.name: "max" if goal.maximize else "min" for goal in shown.goals.objectives}
        point: Floats | None = np.array(Goals.of(False, senses, None, reference).reference)
    else:
        point = common_reference([shown])
    figure, axes = canvas.sheet()
    if point is not None:
        _steps(axes, shown.numbers, shown.hypervolumes(point), canvas.COLOURS[0], "hypervolume")
        found = ", ".join(f"{name} {number:.4g}" for name, number in zip(names, point, strict=True))
        look: canvas.Look = {"ha": "right", "fontsize": canvas.NOTE, "color": canvas.INK}
        axes.text(0.99, 0.03, f"reference point: {found}", transform=axes.transAxes, **look)
    _frame(axes, _last(shown))
    axes.set_ylim(bottom=0)
    canvas.titled(axes, title, EVALUATIONS, "hypervolume (higher is better)")
    return figure


def violation(
    run: Source,
    values: ArrayLike | None = None,
    *,
    maximize: bool = False,
    y: str | None = None,
    title: str = "Constraint violation",
) -> "Figure":
    """Draw the least constraint violation so far, and below it the best feasible value.

    Parameters
    ----------
    run : run or array_like
        A Result, the path of a journal, a Journal, an Optimizer, or violations of shape (n,): at most 0 where all
        constraints are satisfied, nan where the violation is unknown.
    values : array_like, default None
        With violations: the values of one objective, shape (n,), nan for failures. Without them the figure has one
        panel.
    maximize : bool, default False
        With values: whether higher is better.
    y : str, default None
        The name of the objective; by default that of the run.
    """
    amount, numbers, below, names = _violations(run, values, maximize)
    found, n = Violations.of(amount), len(amount)
    figure = canvas.page(7.2, 3.6 if below is None else 5.6)
    above = canvas.styled(figure.add_subplot(1 if below is None else 2, 1, 1))
    x, end = numbers, n if found.first is None else found.first
    first = None if found.first is None else (int(x[found.first]), f"first feasible: {names[found.first]}")
    canvas.scattered(above, x[found.infeasible], amount[found.infeasible], n, label="infeasible evaluation")
    if np.isfinite(found.least[:end]).any():
        _steps(above, x[:end], found.least[:end], canvas.COLOURS[1], "least violation so far")
    broken = amount[found.infeasible]
    if len(broken) and reads_by_decades(broken):
        _limit(above, AxisLimits.around(broken, log=True))
    else:
        above.set_ylim(bottom=0)
    canvas.titled(above, title, EVALUATIONS if below is None else "", "sum of constraint violations")
    _feasible_from(above, first, x)
    if below is not None:
        axes = canvas.styled(figure.add_subplot(2, 1, 2, sharex=above))
        canvas.scattered(axes, x[below.feasible], below.values[below.feasible, 0], n, label="feasible evaluation")
        _steps(axes, x, below.best, canvas.COLOURS[0], "best feasible value so far")
        _limit(axes, value_limits([below]))
        canvas.titled(axes, "", EVALUATIONS, y or axis_label(below).partition(" (")[0])
        _feasible_from(axes, first, x)
    return figure


def _groups(runs: Source, maximize: bool) -> Groups:
    if not isinstance(runs, Mapping) or isinstance(runs, Result) or "values" in runs:
        return {"": [evaluations_of(runs, maximize=maximize)]}
    lists = {
        str(label): [evaluations_of(run, maximize=maximize) for run in (given if _is_list_of_runs(given) else [given])]
        for label, given in runs.items()
    }
    if not lists or not all(lists.values()):
        raise ValueError("expected at least one run under every label, got none")
    return lists


def _is_list_of_runs(given: object) -> bool:
    return isinstance(given, (list, tuple)) and not all(
        value is None or isinstance(value, (int, float, np.number)) for value in given
    )


def _steps(axes: "Axes", x: Rows, values: Floats, colour: str, label: str) -> None:
    axes.step(x, values, where="post", color=colour, linewidth=2, label=label)


def _each(axes: "Axes", run: Evaluations, scale: int) -> None:
    """Draw each evaluation of a run, and marks at the bottom for those without a feasible value."""
    canvas.scattered(axes, run.numbers * scale, run.column, len(run), label="each evaluation")
    for name, gone in run.without_value.items():
        x, colour = (run.numbers * scale)[gone], canvas.COLOURS[MARKS[name]]
        marks: canvas.Look = {"marker": "|", "color": colour, "linestyle": "none", "clip_on": False}
        axes.plot(x, np.zeros(len(x)), transform=axes.get_xaxis_transform(), label=name, **marks)


def _last(run: Evaluations) -> int:
    """Return the number of the last evaluation."""
    return int(run.own.sum())


def _band(axes: "Axes", runs: Sequence[Evaluations], colour: str, label: str, scale: int) -> None:
    found = quartiles([run.best[run.own] for run in runs])
    x = found.after * scale
    axes.fill_between(x, found.low, found.high, step="post", color=colour, alpha=0.18, linewidth=0)
    _steps(axes, x, found.middle, colour, f"{canvas.literal(label)}: median and quartiles of {len(runs)} runs")


def _limit(axes: "Axes", limits: AxisLimits | None) -> None:
    if limits is not None:
        axes.set_ylim(limits.low, limits.high)  # first, or the log axis looks for limits, and may overflow
        if limits.log:
            axes.set_yscale("log")


def _violations(
    run: Source, values: ArrayLike | None, maximize: bool
) -> tuple[Floats, Rows, Evaluations | None, list[str]]:
    """Return violations [n], numbers [n], the evaluations of one objective whose values are known, and names [n]."""
    try:
        amount = np.asarray(run, float)
    except (TypeError, ValueError):
        shown = evaluations_of(run)
        return shown.violation, shown.numbers, shown if len(shown.goals.objectives) == 1 else None, shown.called
    column = np.where(amount <= 0, np.nan if values is None else np.asarray(values, float), np.nan)
    below = evaluations_of(column, maximize=maximize)
    return amount, below.numbers, None if values is None else below, below.called


def _feasible_from(axes: "Axes", first: tuple[int, str] | None, x: Rows) -> None:
    if first is not None:
        axes.axvline(first[0], color=canvas.BEST, linestyle="--", linewidth=1, label=first[1])
    _frame(axes, int(x.max(initial=0)))
    canvas.keyed(axes)


def _frame(axes: "Axes", end: int) -> None:
    axes.set_xlim(0, end + 1)
    axes.grid(axis="y", color=canvas.FAINT, alpha=0.2, linewidth=0.7)
