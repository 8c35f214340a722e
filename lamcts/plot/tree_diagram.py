"""Diagram of the tree: every node with its value, visits and upper bound, and the path that selection takes."""

from typing import TYPE_CHECKING

import numpy as np

from lamcts.plot.canvas import FAINT, INK, NOTE, SELECTED, VALUES, Look, sheet, titled
from lamcts.plot.evaluations import Source
from lamcts.plot.grown_tree import VALUE_NAMES, PlacedNode, grown_tree
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANINGS = {
    "ranks": "mean rank of the evaluations inside, from 0 (worst of all) to 1 (best)",
    "raw": "mean value of the evaluations inside; higher is better",
    "hypervolume": "hypervolume of the front inside",
}
ACROSS, DOWN = 1.12, 1.15  # inches that a box takes, with the room around it (by eye)


def tree(run: Source, *, depth: int = 4, title: str = "Search tree") -> "Figure":
    """Draw the tree of a run: good sides of splits to the left, the selected path in orange.

    Parameters
    ----------
    run : run
        An Optimizer, the path of a journal, a Journal, or a Result. From a journal the tree is grown again; a Result
        does not hold the settings of the tree, so the default settings are used.
    depth : int, default 4
        Splits below the root that are drawn.
    title : str
        The title.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the run has no tree.

    See Also
    --------
    tree_used : Whether the tree has chosen where to search.
    """
    grown = grown_tree(run)
    if grown.settings is None or grown.root is None:
        raise ValueError("expected a run with a tree, got tree=None, or one that a journal cannot describe")
    placed, values, bounded = grown.placed(depth), grown.settings.values, grown.cp is not None
    width, levels = 1 + max(spot.x for spot in placed), 1 + max(spot.depth for spot in placed)
    figure, axes = sheet(max(7.2, ACROSS * width + 0.5), DOWN * levels + 1.6)
    shades = _shades([spot.node.value for spot in placed])
    cut = False
    for spot, shade in zip(placed, shades, strict=True):
        line: Look = {"color": SELECTED, "linewidth": 2.5} if spot.chosen else {"color": FAINT, "linewidth": 1}
        if spot.above is not None:
            up = placed[spot.above]
            axes.plot([up.x, spot.x], [-up.depth, -spot.depth], zorder=1, **line)
        if spot.depth == depth and spot.node.split is not None:
            cut = True
            axes.plot([spot.x, spot.x], [-spot.depth, -spot.depth - 0.5], color=FAINT, linestyle=":", zorder=1)
        dark = np.dot(shade[:3], (0.299, 0.587, 0.114)) < 0.5  # luma, ITU-R BT.601
        box = {"boxstyle": "round,pad=0.4", "facecolor": shade, "edgecolor": line["color"]}
        box["linewidth"] = line["linewidth"]
        look: Look = {"ha": "center", "va": "center", "fontsize": NOTE, "color": "white" if dark else "black"}
        axes.text(spot.x, -spot.depth, _label(spot, values), bbox=box, zorder=2, **look)
    axes.set_xlim(-0.6, width - 0.4)
    axes.set_ylim(-levels + 0.5, 0.45)
    axes.axis("off")
    titled(axes, title, "", "")
    figure.supxlabel("\n".join(_notes(values, bounded, cut)), x=0.01, ha="left", fontsize=NOTE, color=INK)
    return figure


def _shades(values: list[float]) -> Floats:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    norm = Normalize(min(values), max(max(values), min(values) + 1e-9))
    return np.asarray(colormaps[VALUES](norm(np.array(values))), float)


def _notes(values: str, bounded: bool, cut: bool) -> list[str]:
    """Return what the numbers in the boxes are, and what the colours of the lines mean."""
    return [
        f"{VALUE_NAMES[values]}: {MEANINGS[values]}",
        "visits: evaluations inside, and points inside that are being evaluated",
        *(["bound: value plus a bonus for few visits (UCB); the higher side is selected"] * bounded),
        f"left: good side of a split · orange: selected region{' · dotted: more splits below' if cut else ''}",
    ]


def _label(spot: PlacedNode, values: str) -> str:
    lines = [f"{VALUE_NAMES[values]} {_digits(spot.node.value)}", f"{spot.node.visits} visits"]
    return "\n".join(lines if spot.bound is None else [*lines, f"bound {_digits(spot.bound)}"])


def _digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
