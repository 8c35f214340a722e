"""The tree as a drawing: every node with its value, visits and UCB, and the path that selection takes."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.plot.canvas import FAINT, INK, NOTE, SELECTED, VALUES, sheet, titled
from lamcts.plot.leaves import selected
from lamcts.tree.select import upper_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure


VALUE_NAMES = {"ranks": "rank", "raw": "mean", "hypervolume": "volume"}  # what a node's value is, in a word


MEANINGS = {
    "ranks": "mean rank of the evaluations inside, from 0, the worst of all, to 1, the best",
    "raw": "mean value of the evaluations inside; higher is better",
    "hypervolume": "hypervolume of the front inside",
}
ACROSS, DOWN = 1.12, 1.15  # inches that a box takes, with the room around it (by eye)


class Spot(NamedTuple):
    """One node on the sheet: where, which, whether it lies on the selected path, what stands above it."""

    x: float
    depth: int
    node: Any
    ucb: float | None
    chosen: bool
    above: int | None


def tree(optimizer: Any, *, depth: int = 4, title: str = "The tree of latent actions") -> "Figure":
    """Draw the tree of an `Optimizer` down to `depth` splits: good sides to the left, the selected path in orange.

    Inside a node: its value (mean of ranks, 1 the best, unless the tree uses raw means), visits, and upper bound.
    """
    if not hasattr(optimizer, "tree_root"):
        got = f"{type(optimizer).__name__}: a result and a journal keep no tree"
        raise ValueError(f"expected an Optimizer, such as Optimizer.load('run.npz'), got {got}")
    root = optimizer.tree_root()
    if root is None:
        raise ValueError("expected an optimizer with a tree, got tree=None: there is no tree to draw")
    spots: list[Spot] = []
    steps = selected(optimizer).steps
    cp = optimizer.tree.cp if optimizer.tree.selector == "ucb" else None
    width = placed(root, depth, cp, [step.good for step in steps], spots)
    levels = 1 + max(spot.depth for spot in spots)
    cut = any(spot.depth == depth and spot.node.split is not None for spot in spots)
    figure, ax = sheet(max(7.2, ACROSS * width + 0.5), DOWN * levels + 1.6)
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    values = [spot.node.value for spot in spots]
    shade, norm = colormaps[VALUES], Normalize(min(values), max(max(values), min(values) + 1e-9))
    for spot in spots:
        if spot.above is not None:
            up = spots[spot.above]
            line: dict[str, Any] = (
                {"color": SELECTED, "linewidth": 2.5} if spot.chosen else {"color": FAINT, "linewidth": 1}
            )
            ax.plot([up.x, spot.x], [-up.depth, -spot.depth], zorder=1, **line)
        if spot.depth == depth and spot.node.split is not None:
            ax.plot([spot.x, spot.x], [-spot.depth, -spot.depth - 0.5], color=FAINT, linestyle=":", zorder=1)
        colour = shade(norm(spot.node.value))
        dark = np.dot(colour[:3], (0.299, 0.587, 0.114)) < 0.5  # luma, ITU-R BT.601
        edge: dict[str, Any] = (
            {"edgecolor": SELECTED, "linewidth": 2.5} if spot.chosen else {"edgecolor": FAINT, "linewidth": 0.8}
        )
        box: dict[str, Any] = {"boxstyle": "round,pad=0.4", "facecolor": colour, **edge}
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": NOTE, "color": "white" if dark else "black"}
        ax.text(spot.x, -spot.depth, _label(spot, optimizer.tree.values), bbox=box, zorder=2, **look)
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(-levels + 0.5, 0.45)
    ax.axis("off")
    titled(ax, title, "", "")
    _legend(figure, optimizer.tree.values, cp is not None, cut)
    return figure


def _legend(figure: "Figure", values: str, bounded: bool, cut: bool) -> None:
    """Say below the tree what the numbers in its boxes are, and what the colours of its lines mean."""
    rows = [
        f"{VALUE_NAMES[values]}: {MEANINGS[values]}",
        "visits: evaluations inside, and points that are out",
        *(["bound: the value and a bonus for few visits (UCB); the side where it is higher is selected"] * bounded),
        f"left: the good side of a split · orange: selected{' · dotted: goes on below' if cut else ''}",
    ]
    figure.supxlabel("\n".join(rows), x=0.01, ha="left", fontsize=NOTE, color=INK)


def placed(root: Any, depth: int, cp: float | None, path: list[bool], spots: list[Spot]) -> float:
    """Fill `spots`, parents before their kids; leaves take one slot each, parents stand between their kids."""
    slots = 0

    def put(node: Any, level: int, above: int | None, ucb: float | None, chosen: bool) -> float:
        nonlocal slots
        mine = len(spots)
        spots.append(Spot(0.0, level, node, ucb, chosen, above))
        if node.split is None or level == depth:
            x, slots = float(slots), slots + 1
        else:
            sides = [chosen and level < len(path) and path[level] == good for good in (True, False)]
            places = [
                put(kid, level + 1, mine, None if cp is None else upper_bound(node, kid, cp), side)
                for kid, side in zip(node.kids, sides, strict=True)
            ]
            x = sum(places) / 2
        spots[mine] = spots[mine]._replace(x=x)
        return x

    put(root, 0, None, None, True)
    return slots


def _label(spot: Spot, values: str) -> str:
    lines = [f"{VALUE_NAMES[values]} {_digits(spot.node.value)}", f"{spot.node.visits} visits"]
    if spot.ucb is not None:
        lines.append(f"bound {_digits(spot.ucb)}")
    return "\n".join(lines)


def _digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
