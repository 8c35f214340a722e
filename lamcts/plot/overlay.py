"""The fronts of several runs in one picture, a colour and a shape for each."""

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.plot.canvas import COLOURS, DOT, NOTE, TITLE, literal, page, styled
from lamcts.plot.fronts import COLUMNS, MOST, Evaluations, better, fit, staircase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPES = ("o", "s", "^", "D", "v", "P", "X")  # told apart without colours


def fronts(
    runs: Mapping[str, Any], senses: Mapping[str, str], *, feasible: Mapping[str, Any] | None = None, title: str = ""
) -> "Figure":
    """Draw the front of each run, or of all runs of a label together, over one another.

    runs: values [n, m] in the user's units by label, nan where an evaluation failed; 2 to 4 columns, of which each pair
    has a panel. senses: "min" or "max" by name, in the order of the columns.
    feasible: which evaluations keep all constraints, [n] by label; all, by default. title: "Fronts" by default.
    """
    if not 2 <= len(senses) <= MOST:
        raise ValueError(f"fronts: expected 2 to {MOST} objectives, got {len(senses)}: draw `hypervolume` instead")
    shown = {
        label: Evaluations.of(values, senses, None if feasible is None else feasible[label])
        for label, values in runs.items()
    }
    pairs = list(combinations(range(len(senses)), 2))
    across = min(len(pairs), COLUMNS)
    down = -(-len(pairs) // across)
    figure = page(7.2, 5.2) if len(pairs) == 1 else page(3.9 * across, 3.4 * down + 0.9)
    panels = [styled(figure.add_subplot(down, across, i + 1)) for i in range(len(pairs))]
    for axes, pair in zip(panels, pairs, strict=True):
        _panel(axes, shown, pair)
    panels[0].set_title(literal(title or "Fronts"), loc="left", fontsize=TITLE, fontweight="bold", pad=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=NOTE)
    return figure


def _panel(axes: "Axes", shown: Mapping[str, Evaluations], pair: tuple[int, int]) -> None:
    """Draw two columns of all runs."""
    for i, (label, run) in enumerate(shown.items()):
        colour = COLOURS[i % len(COLOURS)]
        if run.values.shape[1] == 2 and run.front.any():
            staircase(axes, run, colour)
        x, y = run.values[run.front][:, pair].T
        look: dict[str, Any] = {"s": 1.5 * DOT, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        name = f"{literal(label)}: {int(run.front.sum())} points"
        axes.scatter(x, y, color=colour, marker=SHAPES[i % len(SHAPES)], label=name, **look)
    senses = next(iter(shown.values())).senses
    for i, name in zip(pair, ("x", "y"), strict=True):
        ends = np.concatenate([run.values[run.front, i] for run in shown.values()])
        fit(axes, name, ends, ends)
        better(axes, name, *list(senses.items())[i])
