"""Spaces of architectures that a table lists by a whole number, equal for all points of a row."""

import re

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space


class TabledSpace(ArchitectureSpace):
    """A space whose networks have a number, the code, in tables."""

    def code(self, point: Point) -> int:
        """Return the number of the row that holds a valid point."""
        raise NotImplementedError


class OperationSpace(TabledSpace):
    """A space with the same operations at each place, such as the edges of a cell or the layers of a network.

    name: the name of the space. places: the names of the parameters. operations: the options of each parameter.
    """

    def __init__(self, name: str, places: tuple[str, ...], operations: tuple[str, ...]) -> None:
        self.name, self.places, self.operations = name, places, operations
        self.space = Space({place: Choice(operations) for place in places})
        self._number = {operation: i for i, operation in enumerate(operations)}

    def numbers(self, point: Point) -> tuple[int, ...]:
        """Return the numbers of a point's operations, place by place."""
        try:
            return tuple([self._number[point[place]] for place in self.places])
        except (KeyError, TypeError):
            self.space.encode(point)  # says what is wrong
            raise

    def point(self, numbers: tuple[int, ...]) -> Point:
        """Return the point of operation numbers, one a place."""
        return {place: self.operations[i] for place, i in zip(self.places, numbers, strict=True)}

    def code(self, point: Point) -> int:
        return self.code_of(self.numbers(point))

    def code_of(self, numbers: tuple[int, ...]) -> int:
        """Return the number whose digits are these numbers, the first as the last digit."""
        code = 0
        for number in reversed(numbers):
            code = code * len(self.operations) + number
        return code


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
