"""Cells of four nodes with an operation on each of six edges, as in NAS-Bench-201."""

import re

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

    def parse(self, text: str) -> Point:
        found = re.findall(r"([^|~+]+)~(\d)", text)
        ops, sources = [op for op, _ in found], [int(source) for _, source in found]
        if sources == [i for i, _ in EDGES] and set(ops) <= set(self.operations):
            point = dict(zip(self.places, ops, strict=True))
            if self.text(point) == text.strip():
                return point
        raise ValueError(
            f"expected a cell such as {self.text(self.point((3, 0, 1, 2, 3, 1)))!r}, got {text[:80]!r}: "
            f"operations are {', '.join(self.operations)}"
        )


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


OPERATIONS = ("none", "skip", "conv1x1", "conv3x3")
TEXT = re.compile(r"64-41414-([0-3])_([0-3]{2})_([0-3]{3})")  # width and stages of the network, the same for all


class TransNas(EdgeCells):
    """Cells in the notation `64-41414-1_02_333`: the operation numbers on the edges into each node.

    Two cells are the same network where they differ in operations that no path from input to output passes; 2,128 of
    4,096 differ.
    """

    def __init__(self) -> None:
        super().__init__("transnas", OPERATIONS)

    def canonical(self, point: Point) -> Point:
        """Return the cell with `none` at the operations that no path passes."""
        return self.point(reachable(self.numbers(point)))

    def code(self, point: Point) -> int:
        return self.code_of(reachable(self.numbers(point)))

    def text(self, point: Point) -> str:
        digits = "".join(map(str, self.numbers(point)))
        return f"64-41414-{digits[0]}_{digits[1:3]}_{digits[3:]}"

    def parse(self, text: str) -> Point:
        found = TEXT.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"expected a cell such as '64-41414-1_02_333', {len(EDGES)} digits, got {text[:80]!r}")
        return self.point(tuple(map(int, "".join(found.groups()))))
