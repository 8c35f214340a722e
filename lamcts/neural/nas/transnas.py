"""TransNAS-Bench-101, the micro space: one of four operations on each of the six edges of a cell.

Duan et al., "TransNAS-Bench-101: Improving Transferability and Generalizability of Cross-Task Neural Architecture
Search", 2021.
"""

import re

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EDGES, EdgeCells, reachable

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
