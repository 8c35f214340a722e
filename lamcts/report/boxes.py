"""The tree as a figure, and as a table of what each split asks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.plot.canvas import FAINT, SELECTED
from lamcts.plot.nodes import VALUE_NAMES, Spot, placed
from lamcts.report.grown import Question, questions
from lamcts.report.runs import Run
from lamcts.report.sheet import VALUES, Figure, Table

if TYPE_CHECKING:
    from lamcts.tree.grow import LatentTree
    from lamcts.tree.node import Node

DEPTH = 4  # splits below the root that are drawn: more than sixteen boxes side by side are read by nobody
ASKED = 3  # parameters that are named of a split
LEAST_SHARE = 0.02  # of the rows that change sides, below which a parameter is not named
BOX, LEVEL = 92, 96  # pixels of a box's slot, and from one level to the next


def drawn(run: Run) -> tuple[Figure, Table] | None:
    """Return the figure and the table of a run's tree; None where it has none, or no split yet."""
    if run.tree is None or run.tree[1].split is None:
        return None
    settings, root = run.tree
    spots: list[Spot] = []
    path = [step.good for step in settings.select(root, np.random.default_rng(0)).steps]
    width = placed(root, DEPTH, settings.cp if settings.selector == "ucb" else None, path, spots)
    parts = [one.part for one in run.space.parameters]
    asked = [questions(spot.node, run.record.x, parts) if spot.depth < DEPTH else [] for spot in spots]
    names = _names(spots)
    words = [[_asks(run, question) for question in _named(found)] for found in asked]
    rows = [
        [name, f"{spot.node.value:.3g}", str(spot.node.visits), "; ".join(said) or "all parameters together"]
        for name, spot, said in zip(names, spots, words, strict=True)
        if spot.depth < DEPTH and spot.node.split is not None
    ]
    figure = _figure(settings, spots, names, words, width)
    head = ["node", VALUE_NAMES[settings.values], "visits", "what is good of it, and how much it is asked"]
    return figure, Table(head, rows)


def _named(found: list[Question]) -> list[Question]:
    return [question for question in found[:ASKED] if question.share >= LEAST_SHARE]


def _asks(run: Run, question: Question) -> str:
    """Return one parameter of a split in words: what the middle of either side has, and how many rows it decides."""
    parameter = run.space.parameters[question.parameter]
    good, bad = (_middle(run, question.parameter, side) for side in (question.good, question.bad))
    return f"{parameter.name} {good} against {bad} ({question.share:.0%})"


def _middle(run: Run, i: int, coordinates: Any) -> str:
    """Return the median of a number, or the commonest option, of rows [k, w] of a parameter's coordinates."""
    parameter = run.space.parameters[i]
    if parameter.options is not None and coordinates.shape[1] > 1:
        share = coordinates.mean(0)
        x = np.eye(len(share))[share.argmax()]
    else:
        x = np.median(coordinates, axis=0)
    value = run.space.along(i, x[None])[0]
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _names(spots: list[Spot]) -> list[str]:
    """Return a name for each node: the way to it, good or bad."""
    names: list[str] = []
    kids: dict[int, int] = {}
    for spot in spots:
        if spot.above is None:
            names.append("all")
            continue
        kids[spot.above] = kids.get(spot.above, 0) + 1
        side = "good" if kids[spot.above] == 1 else "bad"
        names.append(side if spot.above == 0 else f"{names[spot.above]}, {side}")
    return names


def _figure(
    settings: "LatentTree", spots: list[Spot], names: list[str], words: list[list[str]], width: float
) -> Figure:
    """Return boxes joined by lines: good sides to the left, what the tree would select now in orange."""
    lines = []
    for spot in spots:
        if spot.above is not None:
            up = spots[spot.above]
            line = {"color": SELECTED, "width": 3} if spot.chosen else {"color": FAINT, "width": 1}
            place = {"x0": up.x, "y0": -up.depth, "x1": spot.x, "y1": -spot.depth}
            lines.append({"type": "line", "layer": "below", "line": line, **place})
    bar = {"thickness": 10, "title": {"text": VALUE_NAMES[settings.values], "side": "right"}}
    values = [float(spot.node.value) for spot in spots]
    edges = [SELECTED if spot.chosen else FAINT for spot in spots]
    marker: dict[str, Any] = {"symbol": "square", "size": 58, "color": values, "colorscale": VALUES, "showscale": True}
    marker |= {"opacity": 1, "line": {"color": edges, "width": 2}, "colorbar": bar}
    label = VALUE_NAMES[settings.values]
    boxes: dict[str, Any] = {"type": "scatter", "mode": "markers+text", "cliponaxis": False, "marker": marker}
    boxes |= {"x": [spot.x for spot in spots], "y": [-spot.depth for spot in spots], "hoverinfo": "text"}
    boxes["text"] = [f"{label} {spot.node.value:.2g}\n{spot.node.visits} visits" for spot in spots]
    middle = (min(values) + max(values)) / 2
    boxes["textfont"] = {"size": 10, "color": ["black" if value > middle else "white" for value in values]}
    boxes["hovertext"] = [
        "\n".join([name, *_counts(spot.node, spot.ucb), *said])
        for name, spot, said in zip(names, spots, words, strict=True)
    ]
    levels = 1 + max(spot.depth for spot in spots)
    hidden = {"visible": False, "fixedrange": True}
    x, y = {**hidden, "range": [-0.6, width - 0.4]}, {**hidden, "range": [0.5 - levels, 0.5]}
    look = {"xaxis": x, "yaxis": y, "shapes": lines, "margin": {"l": 5, "r": 5, "t": 5, "b": 5}}
    return Figure([boxes], look, LEVEL * levels, int(BOX * width) + 90)


def _counts(node: "Node", bound: float | None) -> list[str]:
    said = [f"{len(node.rows)} evaluations, {len(node.pending)} points out, {'split' if node.kids else 'leaf'}"]
    return said if bound is None else [*said, f"upper bound {bound:.3g}"]
