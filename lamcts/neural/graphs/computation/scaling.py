"""Width scaling as an edit: the channels of a network, of a stage or of one class of equal numbers, times a factor."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from typing import Any

import numpy as np

from lamcts.neural.graphs.computation.database import SegmentDatabase
from lamcts.neural.graphs.computation.edits import FACTORS
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.kinds import OPERATIONS, Shape, channels, with_channels
from lamcts.neural.graphs.computation.levels import Infeasible
from lamcts.neural.graphs.computation.widths import Widths

DIGITS = 3  # of a factor


@dataclass(frozen=True)
class WidthEdit:
    """Numbers of channels of a network times a factor."""

    factor: float
    nodes: tuple[int, ...]

    def apply(self, graph: ComputationGraph, database: SegmentDatabase | None = None) -> ComputationGraph:
        """Return the graph with other numbers of channels."""
        widths = _widths(graph)
        for root in {widths.find(one) for one in self.nodes}:
            widths.wanted[root] = max(round(self.factor * widths.wanted[root]), 1)
        for total, parts in widths.sums:
            widths.wanted[widths.find(total)] = sum(widths.wanted[widths.find(one)] for one in parts)
        counts = widths.solve()
        shapes = [with_channels(node.shape, count) for node, count in zip(graph.nodes, counts, strict=True)]
        try:
            return ComputationGraph(tuple(_scaled(graph, i, shapes) for i in range(len(shapes))), graph.outputs)
        except ValueError as error:
            raise Infeasible(f"channels: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """Return the edit as JSON values."""
        return asdict(self) | {"nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "WidthEdit":
        """Return the edit that `to_json` described."""
        return cls(values["factor"], tuple(values["nodes"]))


def _widths(graph: ComputationGraph) -> Widths:
    """Return the classes of equal channels of a graph; nodes with a parameter of one name have equal ones."""
    found = Widths([channels(node.shape) for node in graph.nodes])
    found.keep(graph.nodes)
    for one in graph.outputs:
        found.fix(one, channels(graph.nodes[one].shape))
    first: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        for name in node.source.split("+") if node.source else ():
            other = first.setdefault(name, number)
            found.equal(other, number)
            found.equal(graph.nodes[other].inputs[0], node.inputs[0])
    return found


def _scaled(graph: ComputationGraph, number: int, shapes: list[Shape]) -> OperationNode:
    """Return a node with its new shape; the groups of a depthwise convolution follow its input."""
    node, settings = graph.nodes[number], dict(graph.nodes[number].attributes)
    if OPERATIONS[node.op].sets_channels:
        settings["channels"] = channels(shapes[number])
    if 1 < settings.get("groups", 1) == channels(graph.nodes[node.inputs[0]].shape):  # type: ignore[operator]
        settings["groups"] = channels(shapes[node.inputs[0]])
    same = shapes[number] == node.shape and settings == node.attributes
    return node if same else changed(node, shape=shapes[number], attributes=settings)


def scalable(graph: ComputationGraph) -> list[int]:
    """Return the first node of each class of equal channels whose number is free."""
    found = _widths(graph)
    fixed = set(found.known) | {found.find(total) for total, _ in found.sums}
    return sorted({found.find(one) for one in range(len(graph.nodes))} - fixed)


def width_children(
    graph: ComputationGraph, rng: np.random.Generator, tries: int
) -> Iterator[tuple[WidthEdit, ComputationGraph]]:
    """Yield random width edits with their results, which differ from the graph.

    An edit scales all free numbers of channels, those of one resolution, or one alone, each as often. The factor is
    log-uniform between 1/2 and 2, the least and the largest of `FACTORS`.
    """
    free = scalable(graph)
    sizes = {one: with_channels(graph.nodes[one].shape, 0) for one in free}
    for _ in range(tries if free else 0):
        one = free[rng.integers(len(free))]
        alike = [other for other in free if sizes[other] == sizes[one]]
        nodes = (free, alike, [one])[rng.integers(3)]
        factor = round(float(np.exp(rng.uniform(*np.log([FACTORS[0], FACTORS[-1]])))), DIGITS)
        edit = WidthEdit(factor, tuple(nodes))
        try:
            child = edit.apply(graph)
        except Infeasible:
            continue
        if child.digest != graph.digest:
            yield edit, child
