"""NAS-Bench-201, the topology space of NATS-Bench: one of five operations on each of the six edges of a cell.

Dong and Yang, "NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search", 2020.
"""

from functools import cache
from itertools import product

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EDGES, LAST, SKIP, ZERO, EdgeCells

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


class NasBench201(EdgeCells):
    """Cells in the notation `|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...|`: the inputs of each node.

    Two cells are the same graph where they compute the same: a skip is what it leads from, what comes from nothing is
    nothing, and sums have no order. Of 15,625 cells 4,930 differ. The 6,466 of the paper (`topology_id` in its tables)
    tell some of these apart by edges that no path from input to output passes; cells with one id are the same here too.
    All cells were trained, so those that are the same graph have values of their own, apart by chance.
    """

    def __init__(self) -> None:
        super().__init__("nasbench201", OPERATIONS)

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
    for numbers in product(range(len(OPERATIONS)), repeat=len(EDGES)):
        found.setdefault(_graph(numbers), numbers)
    return found
