"""Spaces of architectures that a table lists by a whole number, equal for all points of a row."""

from typing import Any

from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space


class TabledSpace(ArchitectureSpace):
    """A space whose networks have a number, the code, in tables."""

    def code(self, point: Point) -> int:
        """Return the number of the row that holds a valid point."""
        raise NotImplementedError

    def point_of(self, code: int) -> Point:
        """Return the point of a row's number."""
        raise NotImplementedError


class OperationSpace(TabledSpace):
    """A space with the same operations at each place, such as the edges of a cell or the layers of a network.

    name: the name of the space. places: the names of the parameters. operations: the options of each parameter.
    """

    def __init__(self, name: str, places: tuple[str, ...], operations: tuple[Any, ...]) -> None:
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

    def point_of(self, code: int) -> Point:
        """Return the point of a number, the inverse of `code_of`."""
        return self.point(
            tuple([code // len(self.operations) ** i % len(self.operations) for i in range(len(self.places))])
        )
