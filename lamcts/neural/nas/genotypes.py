"""Spaces of cells in the notation of DARTS: genotypes. NASNet and DARTS have two cells, normal and reduction.

Each node adds two operations on earlier outputs. Letters: i a node, k < i + 2 its possible inputs: 0 and 1 are the
outputs of the last two cells (0 the older), 2 + j is the output of node j.
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import Floats, array_of

Edge = tuple[str, int]  # operation, input
Masks = NDArray[np.uint8]
SIDES = 2  # edges of a node


class GenotypeSpace(ArchitectureSpace):
    """Base class of the spaces of a normal and a reduction cell, or of one cell; a subclass sets the attributes.

    cells: their names in points, the normal cell first, and in genotypes. operations: of an edge. pairs: the pairs of
    inputs that a node may have. connect, operation: names of a node's pair and of an edge's operation in points. none:
    whether DARTS may also give an edge no operation, which no point has. one_output: whether a cell's output is its
    last node.
    """

    cells: Mapping[str, str]
    operations: tuple[str, ...]
    pairs: Sequence[Sequence[tuple[int, int]]]
    connect: str
    operation: str
    none = False
    one_output = False

    def __init__(self) -> None:
        two = "two inputs" if (0, 0) in self.pairs[0] else "two different inputs"
        shorts = "=[...], ".join(self.cells.values())
        self.notation = (
            f"Genotype({shorts}=[(operation, input), ...]) with {SIDES * len(self.pairs)} edges a cell, "
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

    def computed(self, point: Point, cell: str) -> list[list[Edge]]:
        """Return the edges that a network computes, of each node; none for a node that it drops."""
        return self.edges(point, cell)

    def from_edges(self, cells: Mapping[str, list[list[Edge]]]) -> Point:
        """Return the point of the edges of all cells; without ordered pairs the lower input of a node comes first."""
        point: Point = {}
        for cell in self.cells:
            ordered = (1, 0) in self.pairs[0]
            nodes = [two if ordered else sorted(two, key=lambda edge: edge[1]) for two in cells[cell]]
            for i, (one, two) in enumerate(nodes):
                number = self.pairs[i].index((one[1], two[1]))
                point |= {f"{cell}_{self.connect}{i}": number} if len(self.pairs[i]) > 1 else {}
            point |= {f"{cell}_{self.operation}{j}": name for j, (name, _) in enumerate(chain(*nodes))}
        return point

    def outputs(self, edges: list[list[Edge]]) -> list[int]:
        """Return the nodes of a cell whose outputs it concatenates: the last, or those that no other node reads."""
        if self.one_output:
            return [len(edges) - 1]
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
        return self.from_edges(
            {cell: [list(two) for two in zip(e[::2], e[1::2], strict=True)] for cell, e in edges.items()}
        )

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


class DartsCells(GenotypeSpace):
    """The 1.1e18 pairs of DARTS cells (Liu et al. 2019; NAS-Bench-301), in the notation of its genotypes.

    Notes
    -----
    `normal_inputs2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 1), (0, 2), ..., (2, 3);
    `normal_op4` and `normal_op5` are the operations on the first and the second of these inputs. A cell concatenates
    all of its nodes.
    """

    name = "darts"
    cells = MappingProxyType({"normal": "normal", "reduce": "reduce"})
    operations = (
        "max_pool_3x3",
        "avg_pool_3x3",
        "skip_connect",
        "sep_conv_3x3",
        "sep_conv_5x5",
        "dil_conv_3x3",
        "dil_conv_5x5",
    )
    pairs = tuple(tuple(combinations(range(i + 2), 2)) for i in range(4))  # 1, 3, 6, 10
    connect, operation = "inputs", "op"
    none = True

    def outputs(self, edges: list[list[Edge]]) -> list[int]:
        """Return all nodes of a cell."""
        return list(range(len(edges)))


NASNET_NODES = 5  # of a cell
ROWS = sum(i + 2 for i in range(NASNET_NODES))  # 20, of a cell's mask: one for each node and possible input of it


class NasNet(GenotypeSpace):
    """The 3.5e21 pairs of NASNet cells (Zoph et al. 2018; thesis, 2.1.1 and 4.2.3).

    A cell has five pairs of inputs and ten operations.

    Notes
    -----
    `normal_connect2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 0), (0, 1), ..., (3, 3);
    `normal_layer4` and `normal_layer5` are the operations on the pair's first and second input. The same operation
    twice on one input is no network: a mask cannot say it. Swapping a node's two edges gives the same network; nodes
    keep their numbers, as in the mask, so that two cells whose nodes only change places are two networks.
    """

    name = "nasnet"
    cells = MappingProxyType({"normal": "normal", "reduction": "reduce"})
    operations = ("max_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5")  # in the order of the masks' columns
    pairs = tuple(
        tuple(combinations_with_replacement(range(i + 2), 2)) for i in range(NASNET_NODES)
    )  # 3, 6, 10, 15, 21
    connect, operation = "connect", "layer"

    def invalid(self, point: Point) -> str | None:
        for cell in self.cells:
            for i, (one, two) in enumerate(self.edges(point, cell)):
                if one == two:
                    return f"{cell} node {i}: {one[0]} twice on input {one[1]}"
        return None

    def canonical(self, point: Point) -> Point:
        """Return the point with the operations on one input in the order of `operations`."""
        return self.from_edges(
            {
                cell: [sorted(two, key=lambda edge: self.operations.index(edge[0])) for two in self.edges(point, cell)]
                for cell in self.cells
            }
        )

    def masks(self, point: Point) -> Masks:
        """Return the masks of a valid point's cells, [2, 20, 4]: which operations of the supernet's edges are kept.

        Rows are the edges, node by node and there input by input; columns are `operations`.
        """
        masks = np.zeros((len(self.cells), ROWS, len(self.operations)), np.uint8)
        for mask, cell in zip(masks, self.cells, strict=True):
            for i, two in enumerate(self.edges(point, cell)):
                for operation, k in two:
                    mask[_first_row(i) + k, self.operations.index(operation)] = 1
        return masks

    def from_masks(self, masks: ArrayLike) -> Point:
        """Return the canonical point of masks, [2, 20, 4] or flat; ValueError unless each node has two ones."""
        given = array_of(masks)
        if given.size != len(self.cells) * ROWS * len(self.operations) or not np.isin(given, (0, 1)).all():
            raise ValueError(f"expected masks [2, 20, 4] of 0 and 1, got shape {given.shape}; pass one network's masks")
        return self.from_edges(
            {
                cell: [self._ones(mask, i, cell) for i in range(NASNET_NODES)]
                for cell, mask in zip(
                    self.cells, given.reshape(len(self.cells), ROWS, len(self.operations)), strict=True
                )
            }
        )

    def features(self, point: Point) -> Floats:
        """Return the masks as one row, [160], the features of the supernet's search."""
        return self.masks(point).ravel().astype(np.float64)

    def _ones(self, mask: NDArray[Any], i: int, cell: str) -> list[Edge]:
        """Return the edges of node i that a mask [20, 4] keeps, by input and then by operation."""
        rows, columns = np.nonzero(mask[_first_row(i) : _first_row(i + 1)])
        if len(rows) != 2:
            raise ValueError(f"{cell} node {i}: expected two ones among its {i + 2} rows of the mask, got {len(rows)}")
        return [(self.operations[column], int(row)) for row, column in zip(rows, columns, strict=True)]


def _first_row(i: int) -> int:
    """Return where the rows of node i begin in a mask."""
    return i * (i + 3) // 2
