"""Cells of an architecture as graphs, from the input on the left to the output on the right."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.plot.canvas import COLOURS, FAINT, SELECTED, Look, page
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

# All chosen by eye.
SWEEPS = 24  # over the columns, there and back; more changed no picture
GAP = 0.4  # between columns
ROOM = 0.14  # between slots of a column
BEND = 0.08  # height of a bend
STIFF = 30.0  # how much more than others edges between two bends pull to be level
STARTS = 16  # of the order; a hundred drawn NASNet cells had 194 crossings with 1 start, 86 with 4, 70 with 16 and 64

Links = list[tuple[int, int]]
Order = list[list[int]]
Edge = tuple[int, int, str]


@dataclass(frozen=True)
class Layout:
    """Slots by their middle `at` [s, 2] and `size` [s, 2]: all of a column are as wide as it is."""

    at: Floats
    size: Floats
    chains: list[list[int]]  # [e], the slots of each edge from end to end
    named: list[int]  # [e], the slot in which its label stands, -1 where it has none


def layered(sizes: Floats, edges: Sequence[Edge], label_sizes: Floats) -> Layout:
    """Return where to draw nodes of `sizes` [n, 2] and the edges, whose labels have `label_sizes` [e, 2]."""
    n = len(sizes)
    try:
        import networkx
    except ImportError:
        raise MissingExtra.of("networkx", "plot") from None
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((i, j) for i, j, _ in edges)
    if not networkx.is_directed_acyclic_graph(graph):
        raise ValueError("expected a graph without cycles; leave out the edges that lead back")
    rank = {i: place for place, nodes in enumerate(networkx.topological_generations(graph)) for i in nodes}
    ranks = [rank[i] for i in range(n)]
    chains, named, columns, size = _slots(ranks, sizes, edges, label_sizes)
    links = [pair for chain in chains for pair in pairwise(chain)]
    order = ordered(columns, links)
    y = _levelled(order, links, size, len(sizes))
    widths = np.array([size[columns == c, 0].max() for c in range(columns.max() + 1)])
    ends = np.cumsum(widths + GAP)
    x, width = (ends - (widths + GAP) / 2)[columns], widths[columns]
    return Layout(np.column_stack([x, y]), np.column_stack([width, size[:, 1]]), chains, named)


def _slots(
    ranks: list[int], sizes: Floats, edges: Sequence[Edge], label_sizes: Floats
) -> tuple[list[list[int]], list[int], Rows, Floats]:
    """Return the chains, the slots of labels, and of each slot its column and size."""
    step = 2 if any(label for _, _, label in edges) else 1
    columns, size = [step * rank for rank in ranks], [tuple(pair) for pair in sizes]
    chains, named = [], []
    for (i, j, label), label_size in zip(edges, label_sizes, strict=True):
        between = range(columns[i] + 1, columns[j])
        first = len(columns)
        columns += between
        size += [(0.0, BEND)] * len(between)
        named.append(len(columns) - 1 if label else -1)
        if label:
            size[-1] = tuple(label_size)
        chains.append([i, *range(first, len(columns)), j])
    return chains, named, np.array(columns), np.array(size)


def ordered(columns: Rows, links: Links) -> Order:
    """Return the slots of each column from bottom to top; links join slots of neighbouring columns [s]."""
    rng = np.random.default_rng(0)  # a graph has one picture
    start: Order = [np.flatnonzero(columns == c).tolist() for c in range(columns.max() + 1)]
    found = [(_crossings(start, links), start)]
    for _ in range(STARTS):
        if not found[-1][0]:
            break
        found.append(_exchanged(_swept(start, links), links))
        start = [rng.permutation(column).tolist() for column in start]
    return min(found, key=lambda one: one[0])[1]


def _places(order: Order) -> dict[int, float]:
    """Return the height of each slot in its column, from the column's middle."""
    return {s: place - (len(column) - 1) / 2 for column in order for place, s in enumerate(column)}


def _crossings(order: Order, links: Links) -> int:
    """Return how many pairs of links between the same two columns cross."""
    place, column = _places(order), {s: c for c, slots in enumerate(order) for s in slots}
    left, one, two = np.array([(column[i], place[i], place[j]) for i, j in links]).T
    cross = (one[:, None] - one) * (two[:, None] - two) < 0
    return int((cross & (left[:, None] == left)).sum()) // 2


def _swept(order: Order, links: Links) -> Order:
    """Return an order after two sweeps to the right and two back, each slot at the mean of its neighbours."""
    order = [list(column) for column in order]
    for columns, (end, other) in [(order[1:], (1, 0)), (order[-2::-1], (0, 1))] * 2:
        for column in columns:
            place = _places(order)
            near = {s: [place[link[other]] for link in links if link[end] == s] for s in column}
            column.sort(key={s: float(np.mean(near[s])) if near[s] else place[s] for s in column}.__getitem__)
    return order


def _exchanged(order: Order, links: Links) -> tuple[int, Order]:
    """Return the number of crossings and the order after exchanges of neighbours in a column, while one pays."""
    count, before = _crossings(order, links), -1
    while count != before:
        before = count
        for column in order:
            for k in range(len(column) - 1):
                column[k : k + 2] = column[k + 1], column[k]
                now = _crossings(order, links)
                if now < count:
                    count = now
                else:
                    column[k : k + 2] = column[k + 1], column[k]
    return count, order


def _levelled(order: list[list[int]], links: Links, size: Floats, nodes: int) -> Floats:
    """Return the heights [s] that bring neighbours to one level, in the order given and without overlaps."""
    from scipy.optimize import isotonic_regression

    pull = np.zeros((len(size), len(size)))
    for i, j in links:
        pull[i, j] = pull[j, i] = pull[i, j] + (STIFF if min(i, j) >= nodes else 1.0)
    offsets = [np.cumsum(size[column, 1] + ROOM) - (size[column, 1] + ROOM) / 2 for column in order]
    y = np.zeros(len(size))
    for column, offset in zip(order, offsets, strict=True):
        y[column] = offset - offset.mean()
    for c in [*range(len(order)), *reversed(range(len(order)))] * SWEEPS:
        weight = pull[order[c]].sum(1)
        wanted = np.where(weight > 0, pull[order[c]] @ y / np.where(weight > 0, weight, 1.0), y[order[c]])
        fit = isotonic_regression(wanted - offsets[c], weights=np.maximum(weight, 1.0))
        y[order[c]] = fit.x + offsets[c]
    return y


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
        slots = chain[1:-1]
        sides = np.array([[-0.5, 0.0], [0.5, 0.0]])
        line = _curve(np.vstack([start, *[layout.at[s] + layout.size[s] * sides for s in slots], end]), down)
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


def _curve(line: Floats, down: bool = False) -> "Path":
    """Return a smooth path through points: level at each of them, or upright in a drawing from top to bottom."""
    from matplotlib.path import Path

    points, codes = [line[0]], [Path.MOVETO]
    for (x, y), (z, w) in pairwise(line):
        middle = (x + z) / 2
        points += [np.array([middle, y]), np.array([middle, w]), np.array([z, w])]
        codes += [Path.CURVE4] * 3
    return Path(turned(np.array(points), down), codes)
