"""Base class of the spaces of architectures: points, neighbours, and equal networks."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.exchanges import exchanges
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

Point = dict[str, Any]
TRIES = 100_000  # draws for one valid point: of the spaces here at worst one in some tens is valid


class Graph(NamedTuple):
    """A drawable graph: labels of the nodes, edges (from, to, label), and how many of the first nodes are inputs."""

    nodes: list[str]
    edges: list[tuple[int, int, str]]
    inputs: int = 1


def chain(labels: Iterable[str]) -> dict[str, Graph]:
    """Return the graph of a network whose parts follow each other."""
    nodes = ["input", *labels, "output"]
    return {"network": Graph(nodes, [(i, i + 1, "") for i in range(len(nodes) - 1)])}


FREE = ("", "skip_connect", "identity")  # operations that pass their input on


def operations_of(graph: Graph) -> int:
    """Return the number of operations on the paths of a cell from its inputs to its last node."""
    nodes, edges, inputs = graph
    fed, needed = set(range(inputs)), {len(nodes) - 1}
    for source, node, _ in sorted(edges, key=lambda edge: edge[1]):
        fed |= {node} if source in fed else set()
    for source, node, _ in sorted(edges, key=lambda edge: -edge[0]):
        needed |= {source} if node in needed else set()
    used = [edge for edge in edges if edge[0] in fed and edge[1] in needed]
    if any(operation for _, _, operation in edges):
        return sum(operation not in FREE for _, _, operation in used)
    return len({node for _, node, _ in used if node < len(nodes) - 1 and nodes[node] not in FREE})


class ArchitectureSpace:
    """Base class of the spaces of architectures; a subclass sets `name` and `space`.

    A point is a dict of `space`, in which every parameter has a value: `space` is what a search sees.
    """

    name: str
    space: SearchSpace
    notation = "a point as JSON"  # what `parse` expects

    def invalid(self, point: Point) -> str | None:
        """Return why a point is no valid network, or None if it is valid."""
        return None

    def canonical(self, point: Point) -> Point:
        """Return the representative of all valid points that are the same network."""
        return point

    def key(self, point: Point) -> str | None:
        """Return a text that identifies the network of a point; None for an invalid point."""
        if self.invalid(point) is not None:
            return None
        return json.dumps(self.canonical(point), sort_keys=True, separators=(",", ":"))

    def features(self, point: Point) -> Floats:
        """Return the features of a valid point for splits and regressions, [k] in [0, 1]; equal for equal networks."""
        return self.space.encode(self.canonical(point))

    def text(self, point: Point) -> str:
        """Return a point in its benchmark's notation, the inverse of `parse`."""
        return json.dumps(point, separators=(", ", ": "))

    def parse(self, text: str) -> Point:
        """Return the point of a text; ValueError for another text."""
        try:
            point: Point = self.space.decode(self.space.encode(self._read(text.strip())))
        except (ValueError, LookupError, TypeError, AttributeError, SyntaxError) as error:
            raise ValueError(f"expected {self.notation}, got {text[:60]!r}: {error}") from None
        return point

    def _read(self, text: str) -> Point:
        """Return the point that a text says, checked by `parse`; any error of a wrong text will do."""
        point: Point = json.loads(text)
        return point

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the graph of each cell of a valid point by the cell's name, for figures; empty without cells."""
        return {}

    def random(self, rng: np.random.Generator) -> Point:
        """Return a valid point, uniform over the valid points of the space."""
        for _ in range(TRIES):
            point: Point = self.space.decode(self.space.sample(1, rng)[0])
            if self.invalid(point) is None:
                return point
        raise RuntimeError(f"{self.name}: expected a valid point among {TRIES} draws, got none")

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Yield all valid points that differ from `point` in one parameter."""
        parameters = Parameters(self.space)
        codes = parameters.codes(self.space.encode(point)[None])[0]
        near = exchanges(parameters, codes, np.random.default_rng(0))  # it draws for real numbers alone
        for x in parameters.rows(near):
            other: Point = self.space.decode(x)
            if self.invalid(other) is None:
                yield other
