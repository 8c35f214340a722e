"""Curves over the course of a run: the best value so far, and the reward of a policy against episodes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.plot.canvas import COLOURS, FAINT, dot, keyed, literal, sheet, titled
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOG_FROM = 30  # quotient of the first and the last best value from which a log axis reads better (by eye)


class Run(NamedTuple):
    """The values of one run in order of arrival, [n], in the user's sign; nan for a failure."""

    values: Floats
    maximize: bool

    @property
    def best(self) -> Floats:
        """The best value so far after each evaluation [n], nan before the first success."""
        pick = np.fmax if self.maximize else np.fmin
        result: Floats = pick.accumulate(self.values)
        return result


def run_of(source: Any, maximize: bool | None = None) -> Run:
    """Return the values of an Optimizer, a study's result, its history, or a plain sequence of values."""
    if hasattr(source, "seen"):
        signs, kept = source.goals.signs, source.seen.feasible
        return Run(_kept(signs * source.seen.f, kept), bool(signs[0] < 0))
    history = getattr(source, "history", source)
    if hasattr(history, "feasible"):
        values = history.values if history.values.ndim > 1 else history.values[:, None]  # [n, m]
        return Run(_kept(values, history.feasible), bool(history.maximize))
    sense = bool(getattr(history, "maximize", False) if maximize is None else maximize)
    values = history["values"] if isinstance(history, Mapping) else getattr(history, "values", history)
    try:
        column = np.asarray(values, float)
    except (TypeError, ValueError):
        column = np.empty((0, 0))
    if column.ndim != 1:
        raise ValueError(f"expected an Optimizer, a result, or a sequence of values, got {type(source).__name__}")
    return Run(np.where(np.isfinite(column), column, np.nan), sense)


def _kept(values: Floats, feasible: Any) -> Floats:
    """Return the values [n] of one objective, nan where they are not feasible; ValueError for several [n, m]."""
    if values.shape[1] > 1:
        raise ValueError("expected one objective, got several: draw `front` or `hypervolume` instead")
    return np.where(feasible, values[:, 0], np.nan)


def best_so_far(
    runs: Any,
    *,
    maximize: bool | None = None,
    title: str = "Best value so far",
    y: str = "value",
    target: float | None = None,
    target_name: str = "target",
    episodes: int | None = None,
    lost: str = "failed",
) -> "Figure":
    """Draw the best value after each evaluation.

    runs: one run (an Optimizer, a result, a sequence of values in the user's sign), or a mapping of labels
    to runs or to lists of runs: a list is drawn as its median with a band between the quartiles.
    maximize: needed for plain values only. target: drawn as a dashed line, called `target_name`.
    episodes: how many simulated episodes an evaluation takes; the axis counts them then. lost: what nan is called.
    """
    groups = _groups(runs, maximize)
    figure, axes = sheet()
    for colour, (label, group) in zip(_cycle(len(groups)), groups.items(), strict=True):
        if len(group) == 1:
            _one(axes, group[0], colour, label, episodes or 1, lost if len(groups) == 1 else None)
        else:
            _many(axes, group, colour, label, episodes or 1)
    if target is not None:
        axes.axhline(target, color=FAINT, linestyle="--", linewidth=1, label=f"{target_name} {target:g}")
    everything = [run for group in groups.values() for run in group]
    if _wants_log(everything):
        axes.set_yscale("log")
    else:
        _fit_height(axes, everything, target)
    axes.set_xlim(0, (episodes or 1) * max(len(run.values) for run in everything) + 1)
    axes.grid(axis="y", color=FAINT, alpha=0.2, linewidth=0.7)
    titled(axes, title, "evaluations" if episodes is None else f"simulated episodes ({episodes} an evaluation)", y)
    keyed(axes)
    return figure


def reward(run: Any, *, episodes: int, threshold: float | None = None, name: str = "policy") -> "Figure":
    """Draw the reward of a policy search against simulated episodes, `episodes` to an evaluation."""
    title = f"{name}: reward against episodes"
    unit = f"mean return of {episodes} episodes" if episodes > 1 else "return of an episode"
    return best_so_far(
        run, maximize=True, title=title, y=unit, target=threshold, target_name="threshold", episodes=episodes
    )


def _groups(runs: Any, maximize: bool | None) -> dict[str, list[Run]]:
    if not isinstance(runs, Mapping) or "values" in runs or hasattr(runs, "history"):
        return {"": [run_of(runs, maximize)]}
    lists = {
        str(label): [run_of(run, maximize) for run in (given if _is_list_of_runs(given) else [given])]
        for label, given in runs.items()
    }
    if not lists or not all(lists.values()):
        raise ValueError("expected at least one run under every label, got none")
    return lists


def _is_list_of_runs(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and not all(value is None or np.isscalar(value) for value in given)


def _one(axes: "Axes", run: Run, colour: str, label: str, scale: int, lost: str | None) -> None:
    """Draw a run; `lost`: what its nan are called, None to draw the line alone."""
    x = scale * np.arange(1, len(run.values) + 1)
    if lost is not None:
        axes.scatter(x, run.values, s=dot(len(x)), color=FAINT, alpha=0.5, linewidths=0, label="each evaluation")
        gone = np.isnan(run.values)
        if gone.any():
            marks: dict[str, Any] = {"marker": "|", "color": COLOURS[1], "linestyle": "none", "clip_on": False}
            axes.plot(x[gone], np.zeros(gone.sum()), transform=axes.get_xaxis_transform(), label=lost, **marks)
    axes.step(x, run.best, where="post", color=colour, linewidth=2, label=literal(label) or "best so far")


def _many(axes: "Axes", runs: Sequence[Run], colour: str, label: str, scale: int) -> None:
    length = min(len(run.values) for run in runs)
    best = np.array([run.best[:length] for run in runs])  # [runs, n]
    known = ~np.isnan(best).any(axis=0)
    x = scale * np.arange(1, length + 1)[known]
    low, middle, high = np.quantile(best[:, known], [0.25, 0.5, 0.75], axis=0)
    axes.fill_between(x, low, high, step="post", color=colour, alpha=0.18, linewidth=0)
    axes.step(x, middle, where="post", color=colour, linewidth=2, label=f"{literal(label)} (median of {len(runs)})")


def _wants_log(runs: Sequence[Run]) -> bool:
    """Whether all values are positive, lower is better, and the best falls by a large factor."""
    seen = [run.values[~np.isnan(run.values)] for run in runs]
    if any(run.maximize for run in runs) or not all(len(values) and values.min() > 0 for values in seen):
        return False
    return bool(max(values[0] for values in seen) / min(values.min() for values in seen) > LOG_FROM)


def _fit_height(axes: "Axes", runs: Sequence[Run], target: float | None) -> None:
    """Cut off the far tail of bad evaluations, so that the curve keeps most of the sheet."""
    values = np.concatenate([run.values[~np.isnan(run.values)] for run in runs])
    if not len(values):
        return
    better = [run.best[~np.isnan(run.best)] for run in runs]
    shown = np.concatenate([*better, np.quantile(values, [0.05, 0.95]), [] if target is None else [target]])
    low, high = float(shown.min()), float(shown.max())
    if low < high:
        margin = 0.06 * (high - low)
        axes.set_ylim(low - margin, high + margin)


def _cycle(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]
