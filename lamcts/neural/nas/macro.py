"""NAS-Bench-Macro: one of three blocks in each of eight layers.

Su et al., "Prioritized Architecture Sampling with Monto-Carlo Tree Search", 2021 (MCT-NAS).
"""

import re

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.tabled import OperationSpace

OPERATIONS = ("identity", "mbconv_k3_e3", "mbconv_k5_e6")
LAYERS = 8  # of the paper's networks
# Neighbouring layers of the same width and stride: an identity before a block is the same network as one after it.
# The table holds the same three runs for both, and 3,969 different ones in all.
ALIKE = ((3, 4), (6, 7))


class NasBenchMacro(OperationSpace):
    """Chains of eight blocks in the notation `22212202`: a layer's digit is the number of its block."""

    def __init__(self) -> None:
        super().__init__("nasbench-macro", tuple(f"layer_{i + 1}" for i in range(LAYERS)), OPERATIONS)

    def canonical(self, point: Point) -> Point:
        """Return the network with the identity after any adjacent block of the same width and stride."""
        numbers = list(self.numbers(point))
        for first, second in ALIKE:
            if numbers[first] == 0:
                numbers[first], numbers[second] = numbers[second], 0
        return self.point(tuple(numbers))

    def text(self, point: Point) -> str:
        return "".join(map(str, self.numbers(point)))

    def parse(self, text: str) -> Point:
        if not re.fullmatch(f"[0-2]{{{LAYERS}}}", text.strip()):
            raise ValueError(f"expected {LAYERS} digits of 0 to 2, such as '22212202', got {text[:80]!r}")
        return self.point(tuple(map(int, text.strip())))

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the chain of blocks."""
        nodes = ["input", *(self.operations[number] for number in self.numbers(point)), "output"]
        return {"network": Graph(nodes, [(i, i + 1, "") for i in range(len(nodes) - 1)])}
