"""The cells of DARTS: two cells of four nodes, each the sum of operations on two different earlier outputs.

Liu et al., "DARTS: Differentiable Architecture Search", 2019; the space of NAS-Bench-301. Letters: i a node (0 to 3),
k its possible inputs: 0 and 1 are the outputs of the last two cells, 2 + j is the output of node j.
"""

import ast
from itertools import chain, combinations
from typing import Any

from lamcts.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space

CELLS = ("normal", "reduce")
NODES = 4  # of a cell
OPERATIONS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)
PAIRS = [tuple(combinations(range(i + 2), 2)) for i in range(NODES)]  # 1, 3, 6, 10

Edge = tuple[str, int]  # operation, input


class DartsCells(ArchitectureSpace):
    """The 1.1e18 pairs of DARTS cells, in the notation of its genotypes.

    Notes
    -----
    `normal_inputs2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 1), (0, 2), ..., (2, 3);
    `normal_op4` and `normal_op5` are the operations on the first and the second of these inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.nas import DartsCells
    >>> space = DartsCells()
    >>> point = space.random(np.random.default_rng(0))
    >>> space.parse(space.text(point)) == point
    True
    >>> f"{space.space.size:.2g}"
    '1.1e+18'
    """

    name = "darts-cells"

    def __init__(self) -> None:
        self.space = Space({name: choice for cell in CELLS for name, choice in _parameters(cell)})

    def edges(self, point: Point, cell: str) -> list[Edge]:
        """Return the eight edges (operation, input) of a cell, two a node."""
        pairs = [PAIRS[i][point.get(f"{cell}_inputs{i}", 0)] for i in range(NODES)]
        return [(point[f"{cell}_op{j}"], k) for j, k in enumerate(chain(*pairs))]

    def from_edges(self, cells: dict[str, list[Edge]]) -> Point:
        """Return the point of the eight edges of both cells."""
        point: Point = {}
        for cell in CELLS:
            for i in range(NODES):
                one, two = sorted(cells[cell][2 * i : 2 * i + 2], key=lambda edge: edge[1])
                number = PAIRS[i].index((one[1], two[1]))
                point |= {f"{cell}_inputs{i}": number} if i else {}
                point |= {f"{cell}_op{2 * i}": one[0], f"{cell}_op{2 * i + 1}": two[0]}
        return point

    def text(self, point: Point) -> str:
        """Return a point as a genotype of DARTS."""
        outputs = list(range(2, 2 + NODES))
        parts = [f"{cell}={self.edges(point, cell)}, {cell}_concat={outputs}" for cell in CELLS]
        return f"Genotype({', '.join(parts)})"

    def parse(self, text: str) -> Point:
        """Return the point of a genotype of DARTS; its outputs are ignored."""
        try:
            call: Any = ast.parse(text.strip(), mode="eval").body
            given = {word.arg: word.value for word in call.keywords}
            edges = {cell: ast.literal_eval(given[cell]) for cell in CELLS}
            if any(len(each) != 2 * NODES for each in edges.values()):
                raise ValueError(f"cells of {', '.join(str(len(each)) for each in edges.values())} edges")
            point: Point = self.space.decode(self.space.encode(self.from_edges(edges)))
        except (SyntaxError, AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"expected Genotype(normal=[(operation, input), ...], reduce=[...]) with {2 * NODES} edges a cell, "
                f"operations of {', '.join(OPERATIONS)} and two different inputs a node, got {text[:60]!r}: {error}"
            ) from None
        return point

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the graph of each cell: its edges carry the operations."""
        nodes = ["cell k-2", "cell k-1", *(f"node {i}" for i in range(NODES)), "cell k"]
        joined = [(2 + i, 2 + NODES, "") for i in range(NODES)]
        return {
            cell: Graph(nodes, [(k, 2 + j // 2, op) for j, (op, k) in enumerate(self.edges(point, cell))] + joined, 2)
            for cell in CELLS
        }


def _parameters(cell: str) -> list[tuple[str, Choice]]:
    inputs = [(f"{cell}_inputs{i}", Choice(tuple(range(len(pairs))))) for i, pairs in enumerate(PAIRS) if i]
    return inputs + [(f"{cell}_op{j}", Choice(OPERATIONS)) for j in range(2 * NODES)]
