"""Cells of an architecture as graphs, from the input on the left to the output on the right."""

from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.neural.plot.layered import Layout, layered
from lamcts.plot.canvas import COLOURS, FAINT, SELECTED, Look, page
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

LETTER, LINE = 0.075, 0.15  # inches a letter of size 8 is wide, and a line high, with some room
PAD = 0.09  # inches around a node's label
PORT = 0.11  # inches between the arrows that reach a node
MARGIN = 0.12  # inches around a drawing
TITLE = 0.4  # inches above a drawing
PLAIN: Look = {"facecolor": "#F2F4F7", "edgecolor": FAINT}  # of nodes
MARKED: Look = {"facecolor": "#FBE3D3", "edgecolor": SELECTED}
LEAST, LEAST_DOWN = 4.0, 3.0  # inches, of a drawing's width: its title needs them


def cells(space: ArchitectureSpace, point: Point, *, title: str | None = None) -> "Figure":
    """Draw the graph of each cell of a network, one above the other; each operation has its colour.

    Parameters
    ----------
    space : ArchitectureSpace
        The space of networks.
    point : point
        A point of the space.
    title : str, default None
        The title; by default the name of the space.
    """
    wrong = space.invalid(point)
    if wrong is not None:
        raise ValueError(f"expected a network that can be drawn, got one that is invalid: {wrong}")
    graphs = space.graphs(point)
    if not graphs:
        raise ValueError(f"expected a space that draws its networks, got {space.name}: define its method `graphs`")
    return drawing({f"{title or space.name}: {name}": graph for name, graph in graphs.items()})


def drawing(graphs: dict[str, Graph]) -> "Figure":
    """Draw graphs without cycles, one above the other, each under its name."""
    layouts = [_layout(graph) for graph in graphs.values()]
    boxes = [_box(layout) for layout in layouts]  # [4] each: left, bottom, right, top
    sides = np.array([(right - left, top - bottom) for left, bottom, right, top in boxes])
    width = max(LEAST, float(sides[:, 0].max()))
    figure = page(width, float(sides[:, 1].sum()) + TITLE * len(boxes))
    ratios = (sides[:, 1] + TITLE).tolist()
    axes = figure.subplots(len(boxes), 1, squeeze=False, height_ratios=ratios)[:, 0]
    colours = _colours(graphs)
    for ax, (name, graph), layout, box in zip(axes, graphs.items(), layouts, boxes, strict=True):
        _framed(ax, name, (box[0], box[0] + width), (box[1], box[3]))
        _draw(ax, graph, layout, colours)
    return figure


def drawing_down(graphs: dict[str, Graph], marked: dict[str, set[int]]) -> "Figure":
    """Draw graphs without cycles from top to bottom, side by side, with some nodes in another colour."""
    layouts = [_layout(graph, down=True) for graph in graphs.values()]
    boxes = [_box(layout) for layout in layouts]
    widths = [max(LEAST_DOWN, top - bottom) for _, bottom, _, top in boxes]
    height = max(right - left for left, _, right, _ in boxes)
    figure = page(sum(widths), height + TITLE)
    axes = figure.subplots(1, len(boxes), squeeze=False, width_ratios=widths)[0]
    for ax, (name, graph), layout, box, width in zip(axes, graphs.items(), layouts, boxes, widths, strict=True):
        middle = (box[1] + box[3]) / 2
        _framed(ax, name, (middle - width / 2, middle + width / 2), (-box[0] - height, -box[0]))
        _draw(ax, graph, layout, _colours(graphs), marked[name], down=True)
    return figure


def _framed(ax: "Axes", name: str, x: tuple[float, float], y: tuple[float, float]) -> None:
    ax.set(xlim=x, ylim=y, aspect="equal", anchor="NW")
    ax.axis("off")
    ax.set_title(name, loc="left", fontsize=12, fontweight="bold")


def _layout(graph: Graph, down: bool = False) -> Layout:
    """Return the layout from left to right; of a graph from top to bottom, before it is turned."""
    order = [1, 0] if down else [0, 1]
    nodes = np.array([_extent(label) for label in graph.nodes]).reshape(-1, 2)[:, order] + 2 * PAD
    for side in range(2):
        ports = np.bincount([edge[side] for edge in graph.edges], minlength=len(nodes))
        nodes[:, 1] = np.maximum(nodes[:, 1], PORT * (ports + 1))
    labels = np.array([_extent(label) for _, _, label in graph.edges]).reshape(-1, 2)[:, order]
    return layered(nodes, graph.edges, labels)


def _extent(label: str) -> tuple[float, float]:
    """Return the width and the height of a label."""
    lines = label.split("\n")
    return LETTER * max(map(len, lines)), LINE * len(lines)


def _box(layout: Layout) -> tuple[float, float, float, float]:
    low, high = (layout.at - layout.size / 2).min(0) - MARGIN, (layout.at + layout.size / 2).max(0) + MARGIN
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _colours(graphs: dict[str, Graph]) -> dict[str, str]:
    """Return a colour for each label of an edge, the same in all graphs."""
    labels = sorted({label for graph in graphs.values() for _, _, label in graph.edges if label})
    return {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(labels)} | {"": FAINT}


def _draw(
    ax: "Axes",
    graph: Graph,
    layout: Layout,
    colours: dict[str, str],
    marked: Collection[int] = (),
    down: bool = False,
) -> None:
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    starts, ends = _ports(layout, len(graph.nodes))
    for (_, _, label), chain, start, end in zip(graph.edges, layout.chains, starts, ends, strict=True):
        line = _curve(np.vstack([start, *_through(layout, chain[1:-1]), end]), down)
        style: Look = {"arrowstyle": "-|>", "mutation_scale": 9, "linewidth": 1.3, "color": colours[label]}
        ax.add_patch(FancyArrowPatch(path=line, zorder=1, **style))
    clear = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # the line stops at its label
    for (_, _, label), slot in zip(graph.edges, layout.named, strict=True):
        if label:
            _write(ax, turned(layout.at[slot], down), label, {"color": colours[label], "bbox": clear, "zorder": 2})
    shape: Look = {"boxstyle": "round,pad=0,rounding_size=0.07"}
    places, sizes = turned(layout.at, down), layout.size[:, ::-1] if down else layout.size
    nodes = zip(graph.nodes, places, sizes, strict=False)  # the nodes are the first slots
    for number, (label, at, size) in enumerate(nodes):
        look = shape | (MARKED if number in marked else PLAIN)
        ax.add_patch(FancyBboxPatch(at - size / 2, *size, linewidth=1, zorder=3, **look))
        _write(ax, at, label, {"zorder": 4})


def turned(points: Floats, down: bool) -> Floats:
    """Return points [..., 2] of a drawing from left to right as those of one from top to bottom."""
    return points[..., ::-1] * np.array([1.0, -1.0]) if down else points


def _write(ax: "Axes", at: Floats, label: str, look: Look) -> None:
    ax.text(float(at[0]), float(at[1]), label, ha="center", va="center", fontsize=8, **look)


def _ports(layout: Layout, nodes: int) -> tuple[Floats, Floats]:
    """Return where edges leave and reach their nodes, [e, 2] each: spread over the right and the left side."""
    starts, ends = np.zeros((2, len(layout.chains), 2))
    for node in range(nodes):
        for found, side, own, near in ((starts, 0.5, 0, 1), (ends, -0.5, -1, -2)):
            edges = [e for e, chain in enumerate(layout.chains) if chain[own] == node]
            levels = [layout.at[layout.chains[e][near], 1] for e in edges]
            edges = [edges[place] for place in np.argsort(levels, kind="stable")]
            shares = (np.arange(len(edges)) + 1) / (len(edges) + 1) - 0.5
            found[edges] = layout.at[node] + layout.size[node] * np.column_stack([np.full(len(edges), side), shares])
    return starts, ends


def _through(layout: Layout, slots: list[int]) -> list[Floats]:
    """Return where an edge enters and leaves the columns between its ends: level, so that it passes by nodes there."""
    sides = np.array([[-0.5, 0.0], [0.5, 0.0]])
    return [layout.at[s] + layout.size[s] * sides for s in slots]


def _curve(line: Floats, down: bool = False) -> "Path":
    """Return a smooth path through points: level at each of them, or upright in a drawing from top to bottom."""
    from matplotlib.path import Path

    points, codes = [line[0]], [Path.MOVETO]
    for (x, y), (z, w) in pairwise(line):
        middle = (x + z) / 2
        points += [np.array([middle, y]), np.array([middle, w]), np.array([z, w])]
        codes += [Path.CURVE4] * 3
    return Path(turned(np.array(points), down), codes)
