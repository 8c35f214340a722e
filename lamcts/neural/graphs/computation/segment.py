"""Segments: contiguous runs of a graph's operations, cut out and put in the place of others (AutoGO 3.2, A.3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from fractions import Fraction
from functools import cached_property
from typing import Any

from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode, hashed
from lamcts.neural.graphs.computation.kinds import OPERATIONS, Shape, channels, pair

FIXED = ("input", "opaque", "flatten")  # operations that are never part of a segment


@dataclass(frozen=True)
class Segment:
    """Operations with their inputs and outputs, in topological order."""

    nodes: tuple[OperationNode, ...]
    shapes: tuple[Shape, ...]
    outputs: tuple[int, ...]

    @property
    def degrees(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return len(self.shapes), len(self.outputs)

    @cached_property
    def digest(self) -> str:
        """A hash of operations and connections, with channels as multiples of those of the first input."""
        nodes = [[node.op, list(node.inputs), self.relative(node)] for node in self.nodes]
        return hashed([nodes, len(self.shapes), list(self.outputs)])

    def relative(self, node: OperationNode) -> dict[str, Any]:
        """Return the attributes that hold for any width and any stride."""
        found: dict[str, Any] = dict(node.attributes)
        if OPERATIONS[node.op].resizes and pair(found, "kernel", 1)[0] % 2:  # of odd windows `resolve` sets the stride
            found = {name: value for name, value in found.items() if name not in ("stride", "padding", "ceil")}
        for name in found.keys() & {"channels", "groups"}:
            if name == "channels" or found[name] > 1:
                found[name] = str(Fraction(found[name], channels(self.shapes[0])))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in sorted(found.items())}

    def to_json(self) -> dict[str, Any]:
        """Return the segment as JSON values."""
        nodes = [node.to_json() for node in self.nodes]
        return {"nodes": nodes, "shapes": [list(shape) for shape in self.shapes], "outputs": list(self.outputs)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Segment":
        """Return the segment that `to_json` described."""
        nodes = tuple(map(OperationNode.from_json, values["nodes"]))
        return cls(nodes, tuple(map(tuple, values["shapes"])), tuple(values["outputs"]))


def cut(graph: ComputationGraph, start: int, stop: int) -> Segment:
    """Return the nodes from `start` to before `stop` as a segment."""
    run = graph.nodes[start:stop]
    if not run or not 0 <= start < stop <= len(graph.nodes):
        raise ValueError(f"expected a run of nodes from 0 to {len(graph.nodes)}, got {start} to {stop}")
    if fixed := next((node.op for node in run if node.op in FIXED), None):
        raise ValueError(f"nodes {start} to {stop}: expected operations that can be replaced, got {fixed}")
    entries, outputs = ports(graph, start, stop)
    place = {number: -1 - i for i, number in enumerate(entries)} | {start + i: i for i in range(len(run))}
    nodes = tuple(changed(node, inputs=tuple(place[one] for one in node.inputs)) for node in run)
    return Segment(nodes, tuple(graph.nodes[one].shape for one in entries), tuple(one - start for one in outputs))


def ports(graph: ComputationGraph, start: int, stop: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the nodes that a run reads from before it, and of its nodes that are read after it."""
    entries = sorted({one for node in graph.nodes[start:stop] for one in node.inputs if one < start})
    read = [any(user >= stop for user in graph.users[one]) or one in graph.outputs for one in range(start, stop)]
    return entries, [start + i for i, is_read in enumerate(read) if is_read]


def replace(
    graph: ComputationGraph,
    start: int,
    stop: int,
    segment: Segment,
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> ComputationGraph:
    """Return the graph with a segment in the place of the nodes from `start` to before `stop`."""
    entries, exits = ports(graph, start, stop)
    if sorted(inputs) != list(range(len(entries))) or len(segment.shapes) != len(entries):
        raise ValueError(f"expected a segment of {len(entries)} inputs, got {len(segment.shapes)}, read as {inputs}")
    if sorted(outputs) != list(range(len(exits))) or len(segment.outputs) != len(exits):
        raise ValueError(f"expected a segment of {len(exits)} outputs, got {len(segment.outputs)}, read as {outputs}")
    inner = [_moved(node, lambda one: entries[inputs[-1 - one]] if one < 0 else start + one) for node in segment.nodes]
    shift = len(inner) - (stop - start)
    stands = {old: start + segment.outputs[new] for old, new in zip(exits, outputs, strict=True)}
    for old, new in stands.items():
        if inner[new - start].shape != graph.nodes[old].shape:
            raise ValueError(f"expected an output of shape {graph.nodes[old].shape}, got {inner[new - start].shape}")

    def after(one: int) -> int:
        return one if one < start else stands[one] if one < stop else one + shift

    rest = [_moved(node, after) for node in graph.nodes[stop:]]
    return ComputationGraph((*graph.nodes[:start], *inner, *rest), tuple(map(after, graph.outputs)))


def _moved(node: OperationNode, place: Any) -> OperationNode:
    return node.with_inputs(tuple(map(place, node.inputs)))
