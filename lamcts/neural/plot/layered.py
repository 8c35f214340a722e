"""Layered drawing of a graph without cycles, in columns from left to right (Sugiyama, Tagawa and Toda 1981).

Long edges are led around nodes by bends. The slots of each column are ordered so that few edges cross: sweeps put each
slot at the mean of its neighbours, then neighbours are exchanged; the best of several random starts is kept. networkx
has no layout that avoids crossings. Letters: s slots, which are the nodes and then the bends and labels of edges;
c columns. Lengths are in inches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.types import Floats, Rows

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
    """Slots by their middle `at` [s, 2] and `size` [s, 2]: all of a column are as wide as it is.

    `chains` [e]: the slots of each edge from end to end. `named` [e]: the slot in which its label stands, -1 where it
    has none.
    """

    at: Floats
    size: Floats
    chains: list[list[int]]
    named: list[int]


def layered(sizes: Floats, edges: Sequence[Edge], label_sizes: Floats) -> Layout:
    """Return where to draw nodes of `sizes` [n, 2] and the edges, whose labels have `label_sizes` [e, 2]."""
    ranks = _ranks(len(sizes), edges)
    chains, named, columns, size = _slots(ranks, sizes, edges, label_sizes)
    links = [pair for chain in chains for pair in pairwise(chain)]
    order = ordered(columns, links)
    y = _levelled(order, links, size, len(sizes))
    x, width = _across(columns, size)
    return Layout(np.column_stack([x, y]), np.column_stack([width, size[:, 1]]), chains, named)


def _ranks(n: int, edges: Sequence[Edge]) -> list[int]:
    """Return of each node the length of the longest path to it."""
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
    return [rank[i] for i in range(n)]


def _slots(
    ranks: list[int], sizes: Floats, edges: Sequence[Edge], label_sizes: Floats
) -> tuple[list[list[int]], list[int], Rows, Floats]:
    """Return the chains, the slots of labels, and of each slot its column and size.

    Where any edge has a label there is a column for them before each column of nodes.
    """
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
    """Return the heights [s] that bring neighbours to one level, in the order given and without overlaps.

    Each column in turn takes the least squares solution.
    """
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


def _across(columns: Rows, size: Floats) -> tuple[Floats, Floats]:
    """Return the middles [s] and the widths [s] of the slots' columns, each as wide as its widest slot."""
    widths = np.array([size[columns == c, 0].max() for c in range(columns.max() + 1)])
    ends = np.cumsum(widths + GAP)
    return (ends - (widths + GAP) / 2)[columns], widths[columns]
