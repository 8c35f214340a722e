"""NASNet cells: two cells of five nodes, each the sum of two operations on earlier outputs.

Thesis, sections 2.1.1 and 4.2.3 (after Zoph et al., 2018). Letters: i a node (0 to 4), k = i + 2 its possible inputs:
0 and 1 are the outputs of the last two cells (0 the older), 2 + j is the output of node j.
"""

import ast
from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import Floats, array_of

CELLS = {"normal": "normal", "reduction": "reduce"}  # ... and what DARTS calls them
OPERATIONS = ("max_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5")  # in the order of the masks' columns
NODES = 5  # of a cell
ROWS = sum(i + 2 for i in range(NODES))  # 20, of a cell's mask: one for each node and possible input of it
PAIRS = [list(combinations_with_replacement(range(i + 2), 2)) for i in range(NODES)]  # 3, 6, 10, 15, 21

Edge = tuple[str, int]  # operation, input
Masks = NDArray[np.uint8]


class NasNet(ArchitectureSpace):
    """The 3.5e21 pairs of NASNet cells: five pairs of inputs and ten operations for each cell.

    Notes
    -----
    `normal_connect2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 0), (0, 1), ..., (3, 3);
    `normal_layer4` and `normal_layer5` are the operations on the pair's first and second input. The same operation
    twice on one input is no network: a mask cannot say it. Swapping a node's two edges gives the same network; nodes
    keep their numbers, as in the mask, so that two cells whose nodes only change places are two networks.
    """

    name = "nasnet"

    def __init__(self) -> None:
        self.space = Space({name: choice for cell in CELLS for name, choice in _parameters(cell)})

    def edges(self, point: Point, cell: str) -> list[list[Edge]]:
        """Return the two edges (operation, input) of each node of a cell, as in DARTS."""
        pairs = [PAIRS[i][point[f"{cell}_connect{i}"]] for i in range(NODES)]
        return [
            [(point[f"{cell}_layer{2 * i + side}"], pair[side]) for side in range(2)] for i, pair in enumerate(pairs)
        ]

    def from_edges(self, cells: dict[str, list[list[Edge]]]) -> Point:
        """Return the point of the edges of both cells; the lower input of a node comes first."""
        point: Point = {}
        for cell in CELLS:
            pairs = [sorted(two, key=lambda edge: edge[1]) for two in cells[cell]]
            for i, (one, two) in enumerate(pairs):
                point[f"{cell}_connect{i}"] = PAIRS[i].index((one[1], two[1]))
            point |= {f"{cell}_layer{j}": operation for j, (operation, _) in enumerate(chain(*pairs))}
        return point

    def invalid(self, point: Point) -> str | None:
        for cell in CELLS:
            for i, (one, two) in enumerate(self.edges(point, cell)):
                if one == two:
                    return f"{cell} node {i}: {one[0]} twice on input {one[1]}"
        return None

    def canonical(self, point: Point) -> Point:
        """Return the point with the operations on one input in the order of `OPERATIONS`."""
        return self.from_edges(
            {
                cell: [sorted(two, key=lambda edge: OPERATIONS.index(edge[0])) for two in self.edges(point, cell)]
                for cell in CELLS
            }
        )

    def masks(self, point: Point) -> Masks:
        """Return the masks of a valid point's cells, [2, 20, 4]: which operations of the supernet's edges are kept.

        Rows are the edges, node by node and there input by input; columns are `OPERATIONS`.
        """
        masks = np.zeros((len(CELLS), ROWS, len(OPERATIONS)), np.uint8)
        for mask, cell in zip(masks, CELLS, strict=True):
            for i, two in enumerate(self.edges(point, cell)):
                for operation, k in two:
                    mask[_first_row(i) + k, OPERATIONS.index(operation)] = 1
        return masks

    def from_masks(self, masks: ArrayLike) -> Point:
        """Return the canonical point of masks, [2, 20, 4] or flat; ValueError unless each node has two ones."""
        given = array_of(masks)
        if given.size != len(CELLS) * ROWS * len(OPERATIONS) or not np.isin(given, (0, 1)).all():
            raise ValueError(f"expected masks [2, 20, 4] of 0 and 1, got shape {given.shape}; pass one network's masks")
        return self.from_edges(
            {
                cell: [_ones(mask, i, cell) for i in range(NODES)]
                for cell, mask in zip(CELLS, given.reshape(len(CELLS), ROWS, len(OPERATIONS)), strict=True)
            }
        )

    def features(self, point: Point) -> Floats:
        """Return the masks as one row, [160], the features of the supernet's search."""
        return self.masks(point).ravel().astype(np.float64)

    def text(self, point: Point) -> str:
        """Return a point as a genotype of DARTS: the two edges of each node, and the cell's outputs.

        Those are of the nodes that no other takes (thesis, 2.1.1).
        """
        parts = []
        for cell, short in CELLS.items():
            edges = self.edges(point, cell)
            parts += [f"{short}={list(chain(*edges))}", f"{short}_concat={[2 + i for i in _loose(edges)]}"]
        return f"Genotype({', '.join(parts)})"

    def parse(self, text: str) -> Point:
        """Return the point of a genotype of DARTS; its outputs are ignored."""
        try:
            call: Any = ast.parse(text.strip(), mode="eval").body
            given = {word.arg: word.value for word in call.keywords}
            edges = {cell: ast.literal_eval(given[short]) for cell, short in CELLS.items()}
            halves = {cell: [list(two) for two in zip(e[::2], e[1::2], strict=True)] for cell, e in edges.items()}
            point: Point = self.space.decode(self.space.encode(self.from_edges(halves)))
        except (SyntaxError, AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"expected Genotype(normal=[(operation, input), ...], reduce=[...]) with {2 * NODES} edges a cell, "
                f"operations of {', '.join(OPERATIONS)} and inputs below i + 2 of node i, got {text[:60]!r}: {error}"
            ) from None
        return point

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the graph of each cell: its edges carry the operations."""
        return {cell: _graph(self.edges(point, cell)) for cell in CELLS}


def _parameters(cell: str) -> list[tuple[str, Choice]]:
    connects = [(f"{cell}_connect{i}", Choice(tuple(range(len(pairs))))) for i, pairs in enumerate(PAIRS)]
    return connects + [(f"{cell}_layer{j}", Choice(OPERATIONS)) for j in range(2 * NODES)]


def _first_row(i: int) -> int:
    """Return where the rows of node i begin in a mask."""
    return i * (i + 3) // 2


def _ones(mask: NDArray[Any], i: int, cell: str) -> list[Edge]:
    """Return the edges of node i that a mask [20, 4] keeps, by input and then by operation."""
    rows, columns = np.nonzero(mask[_first_row(i) : _first_row(i + 1)])
    if len(rows) != 2:
        raise ValueError(f"{cell} node {i}: expected two ones among its {i + 2} rows of the mask, got {len(rows)}")
    return [(OPERATIONS[column], int(row)) for row, column in zip(rows, columns, strict=True)]


def _loose(edges: list[list[Edge]]) -> list[int]:
    """Return the nodes whose output no other node reads."""
    taken = {k - 2 for two in edges for _, k in two}
    return [i for i in range(NODES) if i not in taken]


def _graph(edges: list[list[Edge]]) -> Graph:
    nodes = ["cell k-2", "cell k-1", *(f"node {i}" for i in range(NODES)), "cell k"]
    inside = [(k, 2 + i, operation) for i, two in enumerate(edges) for operation, k in two]
    return Graph(nodes, inside + [(2 + i, 2 + NODES, "") for i in _loose(edges)], inputs=2)
