"""NASNet cells: two cells of five nodes, each the sum of two operations on earlier outputs.

Thesis, sections 2.1.1 and 4.2.3 (after Zoph et al., 2018). Letters as in `lamcts.neural.nas.genotypes`: i a node (0 to
4), k an input of it.
"""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.genotypes import Edge, GenotypeSpace
from lamcts.types import Floats, array_of

CELLS = {"normal": "normal", "reduction": "reduce"}  # ... and what DARTS calls them
OPERATIONS = ("max_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5")  # in the order of the masks' columns
NODES = 5  # of a cell
ROWS = sum(i + 2 for i in range(NODES))  # 20, of a cell's mask: one for each node and possible input of it
PAIRS = [list(combinations_with_replacement(range(i + 2), 2)) for i in range(NODES)]  # 3, 6, 10, 15, 21

Masks = NDArray[np.uint8]


class NasNet(GenotypeSpace):
    """The 3.5e21 pairs of NASNet cells: five pairs of inputs and ten operations for each cell.

    Notes
    -----
    `normal_connect2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 0), (0, 1), ..., (3, 3);
    `normal_layer4` and `normal_layer5` are the operations on the pair's first and second input. The same operation
    twice on one input is no network: a mask cannot say it. Swapping a node's two edges gives the same network; nodes
    keep their numbers, as in the mask, so that two cells whose nodes only change places are two networks.
    """

    name = "nasnet"
    cells, operations, pairs = CELLS, OPERATIONS, PAIRS
    connect, operation = "connect", "layer"

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


def _first_row(i: int) -> int:
    """Return where the rows of node i begin in a mask."""
    return i * (i + 3) // 2


def _ones(mask: NDArray[Any], i: int, cell: str) -> list[Edge]:
    """Return the edges of node i that a mask [20, 4] keeps, by input and then by operation."""
    rows, columns = np.nonzero(mask[_first_row(i) : _first_row(i + 1)])
    if len(rows) != 2:
        raise ValueError(f"{cell} node {i}: expected two ones among its {i + 2} rows of the mask, got {len(rows)}")
    return [(OPERATIONS[column], int(row)) for row, column in zip(rows, columns, strict=True)]
