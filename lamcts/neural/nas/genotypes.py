"""Spaces of two cells, normal and reduction, in the notation of DARTS: genotypes.

Each node adds two operations on earlier outputs. Letters: i a node, k < i + 2 its possible inputs: 0 and 1 are the
outputs of the last two cells (0 the older), 2 + j is the output of node j.
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space

Edge = tuple[str, int]  # operation, input
SIDES = 2  # edges of a node


class GenotypeSpace(ArchitectureSpace):
    """Base class of the spaces of a normal and a reduction cell; a subclass sets the attributes.

    cells: their names in points, the normal cell first, and in genotypes. operations: of an edge. pairs: the pairs of
    inputs that a node may have. connect, operation: names of a node's pair and of an edge's operation in points. none:
    whether DARTS may also give an edge no operation, which no point has.
    """

    cells: Mapping[str, str]
    operations: tuple[str, ...]
    pairs: Sequence[Sequence[tuple[int, int]]]
    connect: str
    operation: str
    none = False

    def __init__(self) -> None:
        two = "two inputs" if (0, 0) in self.pairs[0] else "two different inputs"
        self.notation = (
            f"Genotype(normal=[(operation, input), ...], reduce=[...]) with {SIDES * len(self.pairs)} edges a cell, "
            f"operations of {', '.join(self.operations)}, and {two} of node i below i + 2"
        )
        self.space = Space({name: choice for cell in self.cells for name, choice in self._parameters(cell)})

    def edges(self, point: Point, cell: str) -> list[list[Edge]]:
        """Return the two edges (operation, input) of each node of a cell, as in DARTS."""
        taken = [pairs[point.get(f"{cell}_{self.connect}{i}", 0)] for i, pairs in enumerate(self.pairs)]
        return [
            [(point[f"{cell}_{self.operation}{SIDES * i + side}"], pair[side]) for side in range(SIDES)]
            for i, pair in enumerate(taken)
        ]

    def from_edges(self, cells: Mapping[str, list[list[Edge]]]) -> Point:
        """Return the point of the edges of both cells; the lower input of a node comes first."""
        point: Point = {}
        for cell in self.cells:
            nodes = [sorted(two, key=lambda edge: edge[1]) for two in cells[cell]]
            for i, (one, two) in enumerate(nodes):
                number = self.pairs[i].index((one[1], two[1]))
                point |= {f"{cell}_{self.connect}{i}": number} if len(self.pairs[i]) > 1 else {}
            point |= {f"{cell}_{self.operation}{j}": name for j, (name, _) in enumerate(chain(*nodes))}
        return point

    def outputs(self, edges: list[list[Edge]]) -> list[int]:
        """Return the nodes of a cell whose outputs it concatenates: those that no other node reads."""
        taken = {k - 2 for two in edges for _, k in two}
        return [i for i in range(len(self.pairs)) if i not in taken]

    def text(self, point: Point) -> str:
        """Return a point as a genotype of DARTS: the two edges of each node, and the cell's outputs."""
        parts = []
        for cell, short in self.cells.items():
            edges = self.edges(point, cell)
            parts += [f"{short}={list(chain(*edges))}", f"{short}_concat={[2 + i for i in self.outputs(edges)]}"]
        return f"Genotype({', '.join(parts)})"

    def _read(self, text: str) -> Point:
        """Return the point of a genotype of DARTS; its outputs are ignored."""
        call: Any = ast.parse(text, mode="eval").body
        given = {word.arg: word.value for word in call.keywords}
        edges = {cell: ast.literal_eval(given[short]) for cell, short in self.cells.items()}
        return self.from_edges({cell: [list(two) for two in zip(e[::2], e[1::2], strict=True)] for cell, e in edges.items()})

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the graph of each cell: its edges carry the operations."""
        return {cell: self._graph(self.edges(point, cell)) for cell in self.cells}

    def _graph(self, edges: list[list[Edge]]) -> Graph:
        nodes = ["cell k-2", "cell k-1", *(f"node {i}" for i in range(len(edges))), "cell k"]
        inside = [(k, 2 + i, operation) for i, two in enumerate(edges) for operation, k in two]
        return Graph(nodes, inside + [(2 + i, 2 + len(edges), "") for i in self.outputs(edges)], inputs=2)

    def _parameters(self, cell: str) -> list[tuple[str, Choice]]:
        """Return the parameters of a cell; a node with one pair of inputs has no parameter for it."""
        numbers = [(i, tuple(range(len(pairs)))) for i, pairs in enumerate(self.pairs) if len(pairs) > 1]
        connects = [(f"{cell}_{self.connect}{i}", Choice(options)) for i, options in numbers]
        edges = range(SIDES * len(self.pairs))
        return connects + [(f"{cell}_{self.operation}{j}", Choice(self.operations)) for j in edges]
