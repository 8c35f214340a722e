"""Cells of four nodes with an operation on each of six edges: NAS-Bench-201, TransNAS-Bench-101, and `digits4096`."""

import re
from functools import cache
from itertools import product

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.tabled import OperationSpace

EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # by the node that they lead to, as in both texts
LAST = 3  # number of the node that is the output
ZERO, SKIP = 0, 1  # numbers of the operations that give nothing, and that change nothing


class EdgeCells(OperationSpace):
    """Cells with an operation on each edge; operation 0 is none, operation 1 a skip."""

    def __init__(self, name: str, operations: tuple[str, ...]) -> None:
        super().__init__(name, tuple(f"edge_{i}_{j}" for i, j in EDGES), operations)

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the cell: nodes are sums of their inputs, edges are operations."""
        found = zip(EDGES, self.numbers(point), strict=True)
        edges = [(i, j, self.operations[number]) for (i, j), number in found if number != ZERO]
        return {"cell": Graph(["input", "1", "2", "output"], edges)}

    def text(self, point: Point) -> str:
        """Return a cell in the notation of NAS-Bench-201, the inputs of each node."""
        nodes = [[f"{point[f'edge_{i}_{j}']}~{i}" for i in range(j)] for j in range(1, LAST + 1)]
        return "+".join(f"|{'|'.join(node)}|" for node in nodes)

    def _read(self, text: str) -> Point:
        point = dict(zip(self.places, re.findall(r"([^|~+]+)~\d", text), strict=True))
        if self.text(point) != text:
            raise ValueError("not the edges into each node in order")
        return point

    @property
    def notation(self) -> str:  # type: ignore[override]
        return (
            f"a cell such as {self.text(self.point((3, 0, 1, 2, 3, 1)))!r}, operations of {', '.join(self.operations)}"
        )

    def canonical(self, point: Point) -> Point:
        """Return the cell with `none` at the operations that no path passes."""
        return self.point(reachable(self.numbers(point)))


def reachable(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the operations [6] of a cell, `none` where no path from input to output passes."""
    fed, used = {0}, {LAST}
    for (i, j), number in zip(EDGES, numbers, strict=True):  # edges to a node come before those that leave it
        if number != ZERO and i in fed:
            fed.add(j)
    for (i, j), number in zip(reversed(EDGES), reversed(numbers), strict=True):
        if number != ZERO and j in used:
            used.add(i)
    return tuple(n if i in fed and j in used else ZERO for (i, j), n in zip(EDGES, numbers, strict=True))


class Digits4096(EdgeCells):
    """Cells of the table that ships, in the notation of NAS-Bench-201, `|nor_conv_3x3~0|+|none~0|skip_connect~1|+...`.

    Two cells are the same network where they differ in operations that no path from input to output passes: 2,128 of
    4,096 differ. Cells that are one graph only once their skips are drawn together (`NasBench201` counts them as one)
    begin with other weights on other edges, and so have values of their own.
    """

    def __init__(self) -> None:
        super().__init__("digits4096", ("none", "skip_connect", "avg_pool_3x3", "nor_conv_3x3"))


class TransNas(EdgeCells):
    """Cells in the notation `64-41414-1_02_333`: the operation numbers on the edges into each node.

    Two cells are the same network where they differ in operations that no path from input to output passes; 2,128 of
    4,096 differ. Width and stages of the network, 64-41414, are the same for all.
    """

    notation = "a cell such as '64-41414-1_02_333', six digits of 0 to 3"

    def __init__(self) -> None:
        super().__init__("transnas", ("none", "skip", "conv1x1", "conv3x3"))

    def code(self, point: Point) -> int:
        return self.code_of(reachable(self.numbers(point)))

    def text(self, point: Point) -> str:
        return "64-41414-{}_{}{}_{}{}{}".format(*self.numbers(point))

    def _read(self, text: str) -> Point:
        found = re.fullmatch(r"64-41414-([0-3])_([0-3])([0-3])_([0-3])([0-3])([0-3])", text)
        return self.point(tuple(map(int, found.groups() if found else ())))


class NasBench201(EdgeCells):
    """Cells in the notation `|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...|`: the inputs of each node.

    Two cells are the same graph where they compute the same: a skip is what it leads from, what comes from nothing is
    nothing, and sums have no order. Of 15,625 cells 4,930 differ. The 6,466 of the paper (`topology_id` in its tables)
    tell some of these apart by edges that no path from input to output passes; cells with one id are the same here too.
    All cells were trained, so those that are the same graph have values of their own, apart by chance.

    References
    ----------
    Dong and Yang (2020), NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search.
    """

    def __init__(self) -> None:
        super().__init__("nasbench201", ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"))

    def canonical(self, point: Point) -> Point:
        """Return the first cell with the same graph, in the order of operation numbers."""
        return self.point(_representatives()[_graph(self.numbers(point))])


def _graph(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the terms of the output's sum, such as `3(x)`, operation 3 on the input; empty for no output."""
    sums: list[tuple[str, ...]] = [("x",)]
    for node in range(1, LAST + 1):
        terms: list[str] = []
        for (i, j), number in zip(EDGES, numbers, strict=True):
            if j == node and number != ZERO and sums[i]:
                terms += sums[i] if number == SKIP else [f"{number}({'+'.join(sums[i])})"]
        sums.append(tuple(sorted(terms)))
    return sums[LAST]


@cache
def _representatives() -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return the first cell of each graph."""
    found: dict[tuple[str, ...], tuple[int, ...]] = {}
    for numbers in product(range(len(NasBench201().operations)), repeat=len(EDGES)):
        found.setdefault(_graph(numbers), numbers)
    return found
