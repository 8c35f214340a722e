"""The size space of NATS-Bench: the widths of five parts of a network.

Dong et al., "NATS-Bench: Benchmarking NAS Algorithms for Architecture Topology and Size", 2021.
"""

import re

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.spaces.integer import Int
from lamcts.spaces.product import Space

PARTS = ("stem", "stage_1", "block_1", "stage_2", "block_2")  # three stages of cells, two residual blocks between them
UNIT, WIDTHS = 8, 8  # channels of a unit, and the largest number of units: 8, 16, ..., 64 channels


class NatsSize(TabledSpace):
    """The 32,768 networks of five widths, in the notation `8:16:24:64:32`: channels of each part.

    A parameter is the number of channels divided by 8, from 1 to 8. The cell is the same in all networks.
    """

    name = "nats-size"

    def __init__(self) -> None:
        self.space = Space({part: Int(1, WIDTHS) for part in PARTS})

    def numbers(self, point: Point) -> tuple[int, ...]:
        """Return the widths of a point's parts, in units of 8 channels."""
        self.space.encode(point)  # says what is wrong
        return tuple(int(point[part]) for part in PARTS)

    def point(self, numbers: tuple[int, ...]) -> Point:
        """Return the point of widths in units of 8 channels."""
        return dict(zip(PARTS, numbers, strict=True))

    def code(self, point: Point) -> int:
        code = 0
        for number in reversed(self.numbers(point)):
            code = code * WIDTHS + number - 1
        return code

    def text(self, point: Point) -> str:
        return ":".join(str(UNIT * number) for number in self.numbers(point))

    def parse(self, text: str) -> Point:
        widths = [int(word) for word in text.split(":")] if re.fullmatch(r"\d{1,3}(:\d{1,3})*", text.strip()) else []
        known = [UNIT * unit for unit in range(1, WIDTHS + 1)]
        if len(widths) != len(PARTS) or not set(widths) <= set(known):
            raise ValueError(
                f"expected {len(PARTS)} of the widths 8, 16, ..., 64, such as '8:16:24:64:32', got {text[:80]!r}"
            )
        return self.point(tuple(width // UNIT for width in widths))

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the chain of parts with their channels."""
        parts = [f"{part}: {UNIT * number}" for part, number in self.point(self.numbers(point)).items()]
        nodes = ["input", *parts, "output"]
        return {"network": Graph(nodes, [(i, i + 1, "") for i in range(len(nodes) - 1)])}
