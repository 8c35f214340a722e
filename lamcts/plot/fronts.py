"""Pictures of several objectives: the front among all evaluations, and its points across parallel axes."""

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.front import knee, signs_of
from lamcts.plot.canvas import BEST, DOT, FAINT, LABEL, NOTE, SELECTED, TITLE, VALUES, dot, page, sheet, styled, titled
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mask = NDArray[np.bool_]
MOST = 4  # objectives whose pairs are drawn: six panels
TAIL = 0.05  # share of the evaluations at either end of an axis that may lie outside of the picture
COLUMNS = 3  # of panels


class Evaluations(NamedTuple):
    """Evaluations in order of arrival: values [n, m] in the user's units, what is better, and which are which, [n]."""

    values: Floats
    senses: dict[str, str]
    feasible: Mask
    front: Mask
    knee: int | None

    @classmethod
    def of(cls, values: Any, senses: Mapping[str, str], feasible: Any) -> "Evaluations":
        """Return evaluations; without `feasible` all are that have no nan. ValueError if the numbers do not fit."""
        table = np.asarray(values, float)
        if table.ndim != 2 or table.shape[1] != len(senses):
            raise ValueError(f"values: expected rows of {', '.join(senses)}, got the shape {table.shape}")
        good = np.isfinite(table).all(1) & (True if feasible is None else np.asarray(feasible, bool))
        losses = np.where(good[:, None], signs_of(senses) * table, np.nan)
        on = non_dominated(losses)
        return cls(table, dict(senses), good, on, knee(losses) if on.any() else None)

    @property
    def order(self) -> Floats:
        """The number of each evaluation, from 1, [n]."""
        return np.arange(1.0, len(self.values) + 1)


def front(values: Any, senses: Mapping[str, str], *, feasible: Any = None, title: str = "The front") -> "Figure":
    """Draw all evaluations in grey, infeasible ones hollow, and the front in colours that say when they were found.

    values: [n, m] in the user's units and in order of arrival, nan where an evaluation failed; 2 to 4 columns, of
    which each pair has a panel. senses: "min" or "max" by name, in the order of the columns.
    feasible: which evaluations keep all constraints, [n]; all, by default.
    """
    if not 2 <= len(senses) <= MOST:
        other = "best_so_far" if len(senses) < 2 else "parallel"
        raise ValueError(f"front: expected 2 to {MOST} objectives to draw, got {len(senses)}: draw `{other}` instead")
    shown = Evaluations.of(values, senses, feasible)
    pairs = list(combinations(range(len(senses)), 2))
    across = min(len(pairs), COLUMNS)
    down = -(-len(pairs) // across)
    figure = page(7.2, 5.0) if len(pairs) == 1 else page(3.9 * across, 3.4 * down + 0.9)
    panels = [styled(figure.add_subplot(down, across, i + 1)) for i in range(len(pairs))]
    dots = [_panel(axes, shown, pair) for axes, pair in zip(panels, pairs, strict=True)]
    if shown.front.any():
        bar = figure.colorbar(dots[0], ax=panels, pad=0.02, shrink=0.9)
        bar.set_label("evaluation that found it", fontsize=NOTE)
        bar.ax.tick_params(labelsize=NOTE, color=FAINT)
        bar.outline.set_visible(False)
    panels[0].set_title(title, loc="left", fontsize=TITLE, fontweight="bold", pad=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=NOTE)
    return figure


def parallel(values: Any, senses: Mapping[str, str], *, feasible: Any = None, title: str = "The front") -> "Figure":
    """Draw each point of the front as a line across one axis for each objective; up is better on all of them.

    values, senses, feasible: as in `front`, for any number of columns.
    """
    shown = Evaluations.of(values, senses, feasible)
    figure, axes = sheet(max(5.4, 1.5 * len(senses) + 1.5), 4.4)
    losses = (signs_of(senses) * shown.values)[shown.front]  # [k, m]
    if len(losses):
        _lines(axes, shown, losses)
    axes.set_xticks(range(len(senses)), [f"{name} ({sense})" for name, sense in senses.items()], fontsize=LABEL)
    axes.set_yticks([])
    axes.set_xlim(-0.35, len(senses) - 0.65)
    axes.set_ylim(-0.12, 1.12)
    axes.spines["left"].set_visible(False)
    titled(axes, f"{title}: {len(losses)} points", "", "better →")
    if len(losses):
        figure.legend(loc="outside lower center", frameon=False, fontsize=NOTE)
    return figure


def _panel(axes: "Axes", shown: Evaluations, pair: tuple[int, int]) -> Any:
    """Draw two columns; return the dots of the front."""
    x, y = shown.values[:, pair].T
    known = np.isfinite(shown.values).all(1)
    rest, broken = shown.feasible & ~shown.front, known & ~shown.feasible
    axes.scatter(x[rest], y[rest], s=dot(len(x)), color=FAINT, alpha=0.5, linewidths=0, label="dominated")
    if broken.any():
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": FAINT, "alpha": 0.6, "linewidths": 0.8}
        axes.scatter(x[broken], y[broken], s=dot(len(x)), label="infeasible", **look)
    if shown.values.shape[1] == 2 and shown.front.any():
        staircase(axes, shown)
    dots = axes.scatter(
        x[shown.front], y[shown.front], c=shown.order[shown.front], cmap=VALUES, vmin=1, vmax=max(1, len(x)), s=2 * DOT,
        edgecolors="white", linewidths=0.6, zorder=3, label="front",
    )  # fmt: skip
    if shown.knee is not None:
        look = {"facecolors": "none", "edgecolors": BEST, "linewidths": 1.8, "zorder": 4, "label": "knee"}
        axes.scatter(x[[shown.knee]], y[[shown.knee]], s=6 * DOT, **look)
    for i, name, column in zip(pair, ("x", "y"), (x, y), strict=True):
        fit(axes, name, column[known], column[shown.front])
        better(axes, name, *list(shown.senses.items())[i])
    return dots


def staircase(axes: "Axes", shown: Evaluations, colour: str = SELECTED) -> None:
    """Join the front by the edge of what it dominates, which goes on to the worse ends of the picture."""
    signs = signs_of(shown.senses)
    f = np.unique((signs * shown.values)[shown.front], axis=0)  # the first column rises, the second falls
    seen = (signs * shown.values)[np.isfinite(shown.values).all(1)]
    far = seen.max(0) + np.ptp(seen, axis=0)
    across = np.r_[f[:, 0], far[0]]
    x, y = np.r_[f[0, 0], np.repeat(across, 2)[1:-1], far[0]], np.r_[far[1], np.repeat(f[:, 1], 2)]
    axes.plot(signs[0] * x[: len(y)], signs[1] * y, color=colour, linewidth=1.4, zorder=2)


def fit(axes: "Axes", name: str, values: Floats, front: Floats) -> None:
    """Show the front and all but the far tails of the evaluations."""
    if not len(values):
        return
    ends = np.concatenate([front, np.quantile(values, [TAIL, 1 - TAIL])])
    low, high = float(ends.min()), float(ends.max())
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    getattr(axes, f"set_{name}lim")(low - margin, high + margin)


def better(axes: "Axes", name: str, objective: str, sense: str) -> None:
    """Name an axis, with an arrow to its better end."""
    text = f"{objective}  better →" if sense == "max" else f"← better  {objective}"
    getattr(axes, f"set_{name}label")(text, fontsize=LABEL)


def _lines(axes: "Axes", shown: Evaluations, losses: Floats) -> None:
    """Draw the lines of a front [k, m], coloured by the first objective, and the numbers at both ends of each axis."""
    from matplotlib import colormaps

    low, high = losses.min(0), losses.max(0)
    height = np.where(high > low, (high - losses) / np.where(high > low, high - low, 1.0), 0.5)  # [k, m], 1 the best
    places = np.arange(losses.shape[1])
    for line in height:
        axes.plot(places, line, color=colormaps[VALUES](float(line[0])), alpha=0.7, linewidth=1.2)
    if shown.knee is not None:
        row = int(np.count_nonzero(shown.front[: shown.knee]))
        axes.plot(places, height[row], color=BEST, linewidth=2.6, label="knee")
    signs = signs_of(shown.senses)
    for i in range(losses.shape[1]):
        axes.axvline(i, color=FAINT, linewidth=1, zorder=1)
        look: dict[str, Any] = {"ha": "center", "fontsize": NOTE, "color": "black"}
        axes.text(i, 1.03, f"{signs[i] * low[i]:.4g}", va="bottom", **look)
        axes.text(i, -0.03, f"{signs[i] * high[i]:.4g}", va="top", **look)
