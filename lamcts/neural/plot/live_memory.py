"""Live memory by step of a training step, a line a plan: figure 8.10 of the thesis, with the budget in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamcts.plot.canvas import COLOURS, FAINT, INK, LABEL, NOTE, SELECTED, Look, literal, sheet, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.neural.memory import Report

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}  # bytes
ROOM = 1.1  # times the highest line is the height of the sheet, for the words above it
OTHERS = tuple(colour for colour in COLOURS if colour != SELECTED)  # which is the last plan
WORD: Look = {"ha": "center", "va": "top", "fontsize": LABEL, "color": INK}
KEY: Look = {"frameon": False, "fontsize": NOTE, "columnspacing": 1.4, "handlelength": 1.4}  # of the legend


def live_memory(
    reports: "Sequence[Report]", *, budget_bytes: int | None = None, title: str = "Memory of a training step"
) -> "Figure":
    """Draw the live memory at each step of a forward and backward pass, a line for each plan.

    Parameters
    ----------
    reports : sequence of Report
        Simulated plans on one graph; the last is drawn above the others.
    budget_bytes : int, default None
        A budget that is drawn as a dashed line.
    title : str
        The title.
    """
    if not reports or any(one.graph is not reports[0].graph for one in reports):
        raise ValueError(f"expected reports of plans on one graph, at least one, got {len(reports)}")
    graph = reports[0].graph
    highest = max(budget_bytes or 0, *(one.total_bytes for one in reports))
    unit = max((name for name in UNITS if UNITS[name] <= highest), key=UNITS.__getitem__, default="KiB")
    figure, axes = sheet(8.4, 4.8)
    for i, report in enumerate(reports):
        live = (np.array(report.live_bytes) + graph.outside_bytes) / UNITS[unit]  # [steps]
        colour = SELECTED if i == len(reports) - 1 else OTHERS[i % len(OTHERS)]
        chosen = colour == SELECTED
        width, order = (2.4, 3) if chosen else (1.4, 2)
        axes.stairs(live, color=colour, label=literal(report.plan.name), baseline=None, linewidth=width, zorder=order)
    if graph.outside_bytes:
        axes.axhspan(
            0, graph.outside_bytes / UNITS[unit], color=FAINT, alpha=0.2, linewidth=0, label="same under all plans"
        )
    if budget_bytes is not None:
        axes.axhline(budget_bytes / UNITS[unit], color=INK, linestyle="--", linewidth=1.2, label="budget")
    axes.set_xlim(0, len(graph.steps))
    axes.set_ylim(0, ROOM * highest / UNITS[unit])
    steps = len(graph.steps)
    axes.axvline(graph.forward_count, color=FAINT, linewidth=1, linestyle=":")
    for middle, word in ((graph.forward_count / 2, "forward"), ((graph.forward_count + steps) / 2, "backward")):
        axes.text(middle, 0.985, word, transform=axes.get_xaxis_transform(), **WORD)
    titled(axes, title, "step of the forward and backward pass", f"live memory, {unit}")
    figure.legend(loc="outside lower center", ncols=len(axes.get_legend_handles_labels()[1]), **KEY)
    return figure
