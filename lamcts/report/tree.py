"""The tree as a Plotly figure, and as a table of what each split depends on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamcts.plot.canvas import FAINT, SELECTED
from lamcts.plot.grown_tree import VALUE_NAMES, PlacedNode
from lamcts.report.html import VALUES, HtmlTable, PlotlyFigure
from lamcts.report.runs import LabelledRun
from lamcts.tree import Node
from lamcts.types import Floats, Json

DEPTH = 4  # splits below the root that are drawn: more than sixteen boxes side by side cannot be read
NAMED = 3  # parameters that are named of a split
LEAST_SHARE = 0.02  # of the rows that change sides, below which a parameter is not named
MOST_ROWS = 500  # by which the effect of a parameter on a split is measured (untuned)
BOX, LEVEL = 92, 96  # pixels of a box's slot, and from one level to the next


def drawn(run: LabelledRun) -> tuple[PlotlyFigure, HtmlTable] | None:
    """Return the figure and the table of a run's tree; None where it has no split yet."""
    settings, root = run.tree.settings, run.tree.root
    if root is None or root.split is None:
        return None
    placed, value = run.tree.placed(DEPTH), VALUE_NAMES[settings.values]
    parts = [one.part for one in run.shown.space.parameters]
    words = [
        [_described(run, found) for found in influences(spot.node, run.shown.x, parts)] if spot.depth < DEPTH else []
        for spot in placed
    ]
    names = _names(placed)
    rows = [
        [name, f"{spot.node.value:.3g}", str(spot.node.visits), "; ".join(said) or "all parameters together"]
        for name, spot, said in zip(names, placed, words, strict=True)
        if spot.depth < DEPTH and spot.node.split is not None
    ]
    table = HtmlTable(["node", value, "visits", "good side against bad side (share that depends on it)"], rows)
    return _figure(value, placed, names, words), table


class Influence(NamedTuple):
    """How much a split depends on one parameter: the share of rows that change sides with it, and the rows [k, w]."""

    parameter: int
    share: float
    good: Floats  # its coordinates on the good side
    bad: Floats


def influences(node: Node, x: Floats, parts: Sequence[slice]) -> list[Influence]:
    """Return the parameters that the split of a node depends on most, largest first; `x` [n, d] are all rows.

    The values of a parameter are permuted among the node's rows; its share are the rows that change sides.
    """
    if node.split is None:
        return []
    rng = np.random.default_rng(0)
    rows = node.rows if len(node.rows) <= MOST_ROWS else np.sort(rng.choice(node.rows, MOST_ROWS, replace=False))
    here = x[rows]
    side, order = node.split.good(here), rng.permutation(len(rows))
    found = []
    for i, part in enumerate(parts):
        mixed = here.copy()
        mixed[:, part] = here[order, part]
        changed = float(np.mean(node.split.good(mixed) != side))
        found.append(Influence(i, changed, here[side, part], here[~side, part]))
    found.sort(key=lambda one: -one.share)
    return [one for one in found[:NAMED] if one.share >= LEAST_SHARE]


def _described(run: LabelledRun, found: Influence) -> str:
    """Return the influence of one parameter in words: its typical value on either side, and the share of rows."""
    good, bad = (_typical(run, found.parameter, side) for side in (found.good, found.bad))
    return f"{run.shown.space.names[found.parameter]} {good} against {bad} ({found.share:.0%})"


def _typical(run: LabelledRun, i: int, coordinates: Floats) -> str:
    """Return the median of a number, or the commonest option, of rows [k, w] of a parameter's coordinates."""
    parameter = run.shown.space.parameters[i]
    if parameter.options is not None and coordinates.shape[1] > 1:
        share = coordinates.mean(0)
        x = np.eye(len(share))[share.argmax()]
    else:
        x = np.median(coordinates, axis=0)
    value = run.shown.space.along(i, x[None])[0]
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _names(placed: list[PlacedNode]) -> list[str]:
    """Return a name for each node: the sides of the splits on the way to it."""
    names: list[str] = []
    kids: dict[int, int] = {}
    for spot in placed:
        if spot.above is None:
            names.append("all")
            continue
        kids[spot.above] = kids.get(spot.above, 0) + 1
        side = "good" if kids[spot.above] == 1 else "bad"
        names.append(side if spot.above == 0 else f"{names[spot.above]}, {side}")
    return names


def _figure(value: str, placed: list[PlacedNode], names: list[str], words: list[list[str]]) -> PlotlyFigure:
    """Return boxes joined by lines: good sides to the left, the selected path in orange."""
    lines = []
    for spot in placed:
        if spot.above is not None:
            up = placed[spot.above]
            line = {"color": SELECTED, "width": 3} if spot.chosen else {"color": FAINT, "width": 1}
            place = {"x0": up.x, "y0": -up.depth, "x1": spot.x, "y1": -spot.depth}
            lines.append({"type": "line", "layer": "below", "line": line, **place})
    bar = {"thickness": 10}
    values = [float(spot.node.value) for spot in placed]
    edges = [SELECTED if spot.chosen else FAINT for spot in placed]
    marker: Json = {"symbol": "square", "size": 58, "color": values, "colorscale": VALUES, "showscale": True}
    marker |= {"opacity": 1, "line": {"color": edges, "width": 2}, "colorbar": bar}
    boxes: Json = {"type": "scatter", "mode": "markers+text", "cliponaxis": False, "marker": marker}
    boxes |= {"x": [spot.x for spot in placed], "y": [-spot.depth for spot in placed], "hoverinfo": "text"}
    boxes["text"] = [f"{value} {spot.node.value:.2g}\n{spot.node.visits} visits" for spot in placed]
    middle = (min(values) + max(values)) / 2
    boxes["textfont"] = {"size": 10, "color": ["black" if one > middle else "white" for one in values]}
    boxes["hovertext"] = [
        "\n".join([name, *_counts(spot.node, spot.bound), *said])
        for name, spot, said in zip(names, placed, words, strict=True)
    ]
    width, levels = 1 + max(spot.x for spot in placed), 1 + max(spot.depth for spot in placed)
    hidden = {"visible": False, "fixedrange": True}
    x, y = {**hidden, "range": [-0.6, width - 0.4]}, {**hidden, "range": [0.5 - levels, 0.5]}
    look = {"xaxis": x, "yaxis": y, "shapes": lines, "margin": {"l": 5, "r": 5, "t": 5, "b": 5}}
    return PlotlyFigure([boxes], look, LEVEL * levels, int(BOX * width) + 90)


def _counts(node: Node, bound: float | None) -> list[str]:
    kind = "split" if node.kids else "leaf"
    said = [f"{len(node.rows)} evaluations, {len(node.pending)} being evaluated, {kind}"]
    return said if bound is None else [*said, f"upper bound {bound:.3g}"]
