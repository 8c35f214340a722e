"""Downsampling of a segment's values as difference constraints (AutoGO 3.2 and A.5.7).

The level of a value is the binary logarithm of how often the largest input is larger in height and width. An operation
that can resize adds 0 or 1, all others add nothing, and inputs and outputs have the levels that the network gives.
Such constraints are feasible unless their graph has a negative cycle (Bellman 1958).
"""

from collections.abc import Sequence
from typing import NamedTuple

from lamcts.neural.graphs.computation.kinds import IMAGE, Shape

LARGEST = 12  # levels: from 4,096 pixels to one


class Infeasible(ValueError):
    """A segment cannot have the shapes that the network needs."""


class Constraint(NamedTuple):
    """level(after) - level(before) <= most."""

    before: int
    after: int
    most: int


def solve(count: int, constraints: Sequence[Constraint], early: bool = True) -> list[int]:
    """Return integer levels that keep all differences, as high (`early`) or as low as possible; value 0 has 0."""
    edges = constraints if early else [Constraint(c.after, c.before, c.most) for c in constraints]
    distance = [0 if i == 0 else LARGEST * count for i in range(count)]
    for _ in range(count + 1):
        before = list(distance)
        for edge in edges:
            distance[edge.after] = min(distance[edge.after], distance[edge.before] + edge.most)
        if distance == before:
            return [one if early else -one for one in distance]
    raise Infeasible("heights and widths: no strides lead from those of the inputs to those of the outputs")


def level(shape: Shape, largest: Shape) -> int:
    """Return the level of an image's shape, given the largest one."""
    for halvings in range(LARGEST + 1):
        if tuple(-(-side // 2**halvings) for side in largest[1:]) == shape[1:]:
            return halvings
    raise Infeasible(f"heights and widths: {shape[1:]} is not {largest[1:]} halved several times")


def is_map(shape: Shape) -> bool:
    """Whether a value is an image with levels; one of a single pixel is not, as after global pooling."""
    return len(shape) == IMAGE and max(shape[1:]) > 1
