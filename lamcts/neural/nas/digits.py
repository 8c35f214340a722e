"""The space of `digits4096`, the table that ships: one of four operations on each of the six edges of a cell."""

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EdgeCells, reachable

OPERATIONS = ("none", "skip_connect", "avg_pool_3x3", "nor_conv_3x3")  # four of the five of NAS-Bench-201


class Digits4096(EdgeCells):
    """Cells in the notation of NAS-Bench-201, `|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...|`.

    Two cells are the same network where they differ in operations that no path from input to output passes: 2,128 of
    4,096 differ. Cells that are one graph only once their skips are drawn together (`NasBench201` counts them as one)
    begin with other weights on other edges, and so have values of their own.
    """

    def __init__(self) -> None:
        super().__init__("digits4096", OPERATIONS)

    def canonical(self, point: Point) -> Point:
        """Return the cell with `none` at the operations that no path passes."""
        return self.point(reachable(self.numbers(point)))
