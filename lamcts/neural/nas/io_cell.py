"""Cells of convolutions and poolings that are searched by their loads and stores (appendix C of the paper on I/O cost).

Letters: i a node, k < i + 2 its possible inputs, as in `genotypes.py`; node i is node i + 3 of the paper.
"""

from itertools import product
from types import MappingProxyType

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.genotypes import SIDES, Edge, GenotypeSpace
from lamcts.types import whole_number

NODES = 12  # most nodes of a cell, its two inputs included: the paper's limit
LEAST = 3  # the inputs and the output
CELL = "cell"  # its name in points and genotypes


class IoCell(GenotypeSpace):
    """Cells of convolutions and poolings with two inputs and one output: 1.8e27 points of twelve nodes.

    Parameters
    ----------
    nodes : int, default 12
        Number of nodes, from 3 to 12. Two are the outputs of the last two cells.

    Notes
    -----
    Each node adds two operations on an ordered pair of earlier nodes. `cell_inputs2` = 7 says that node 2 takes the
    pair number 7 of (0, 0), (0, 1), ..., (3, 3), that is (1, 3); `cell_op4` and `cell_op5` are the operations on the
    pair's first and second input. The cell's output is its last node. Nodes without a path to it are dropped, and an
    operation that occurs twice on one input is computed once. Nodes keep their order, on which the I/O cost depends.

    Examples
    --------
    >>> from lamcts.neural import nas
    >>> space = nas.IoCell(nodes=4)
    >>> edges = [[("conv_3x3", 0), ("conv_3x3", 0)], [("max_pool_3x3", 2), ("conv_5x5", 1)]]
    >>> space.reads(space.from_edges({"cell": edges}))
    [(), (), (0,), (1, 2)]
    """

    name = "io-cell"
    cells = MappingProxyType({CELL: CELL})
    operations = ("conv_3x3", "conv_5x5", "avg_pool_3x3", "max_pool_3x3")
    connect, operation = "inputs", "op"
    one_output = True

    def __init__(self, nodes: int = NODES) -> None:
        self.nodes = whole_number(nodes, "IoCell: nodes", least=LEAST)
        if self.nodes > NODES:
            raise ValueError(f"IoCell: nodes: expected from {LEAST} to {NODES}, got {nodes}")
        self.pairs = tuple(tuple(product(range(i + 2), range(i + 2))) for i in range(self.nodes - 2))
        super().__init__()

    def computed(self, point: Point, cell: str = CELL) -> list[list[Edge]]:
        """Return the different edges of each node, sorted: the nodes with a path to the output first, in their order.

        The output stays last, and the nodes before it that are dropped have none.
        """
        nodes, last = [set(two) for two in self.edges(point, cell)], len(self.pairs) - 1
        needed = {last + 2}
        for i in reversed(range(len(nodes))):
            needed |= {k for _, k in nodes[i]} if i + 2 in needed else set()
        kept = [i for i in range(last) if i + 2 in needed]
        place = {old: new for new, old in enumerate([0, 1, *(i + 2 for i in kept)])}
        moved = [[(name, place[k]) for name, k in nodes[i]] for i in (*kept, last)]
        *inner, output = (sorted(edges, key=lambda edge: (edge[1], self.operations.index(edge[0]))) for edges in moved)
        return [*inner, *([] for _ in range(last - len(inner))), output]

    def canonical(self, point: Point) -> Point:
        """Return the point of the computed nodes, the output last."""
        unused = [(self.operations[0], 0)]
        return self.from_edges({CELL: [((edges or unused) * SIDES)[:SIDES] for edges in self.computed(point)]})

    def reads(self, point: Point) -> list[tuple[int, ...]]:
        """Return the nodes that each node reads, of the two inputs and the computed nodes in order."""
        return [(), (), *(tuple(sorted({k for _, k in edges})) for edges in self.computed(point) if edges)]

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the cell's graph without the nodes that are dropped."""
        return {CELL: self._graph([edges for edges in self.computed(point) if edges])}
