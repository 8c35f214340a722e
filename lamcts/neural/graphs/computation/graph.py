"""A network as a directed acyclic graph of primitive operations with shapes (AutoGO 3.1)."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

from lamcts.neural.graphs.computation.kinds import (
    OPERATIONS,
    Attribute,
    Attributes,
    Shape,
    channels,
    output_shape,
    pair,
)

DIGEST = 16  # bytes of a hash


@dataclass(frozen=True)
class OperationNode:
    """One operation of a graph."""

    op: str
    inputs: tuple[int, ...]
    shape: Shape
    attributes: Attributes = field(default_factory=dict)
    source: str | None = None

    def __post_init__(self) -> None:
        if self.op not in OPERATIONS:
            raise ValueError(f"expected an operation of {', '.join(OPERATIONS)}, got {self.op!r}")

    @cached_property
    def text(self) -> str:
        """Operation, shape and attributes as text, without connections."""
        return json.dumps([self.op, list(self.shape), _plain(self.attributes)])

    def with_inputs(self, inputs: tuple[int, ...]) -> "OperationNode":
        """Return the node with other inputs; its text, which has no inputs, is computed once for all of them."""
        if inputs == self.inputs:
            return self
        node = OperationNode(self.op, inputs, self.shape, self.attributes, self.source)
        node.__dict__["text"] = self.text
        return node

    def to_json(self) -> list[Any]:
        """Return the node as JSON values."""
        return [self.op, list(self.inputs), list(self.shape), _plain(self.attributes), self.source]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> "OperationNode":
        """Return the node that `to_json` described."""
        op, inputs, shape, attributes, source = values
        return cls(
            op, tuple(inputs), tuple(shape), {name: _frozen(value) for name, value in attributes.items()}, source
        )


@dataclass(frozen=True)
class ComputationGraph:
    """A network's operations in topological order."""

    nodes: tuple[OperationNode, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        for number, node in enumerate(self.nodes):
            if any(not 0 <= one < number for one in node.inputs):
                raise ValueError(
                    f"node {number} ({node.op}): expected inputs from 0 to {number - 1}, got {node.inputs}"
                )
            if node.op not in ("input", "opaque"):
                shape = output_shape(node.op, node.attributes, [self.nodes[one].shape for one in node.inputs])
                if shape != node.shape:
                    raise ValueError(f"node {number} ({node.op}): expected shape {shape}, got {node.shape}")
        if not self.outputs or any(not 0 <= one < len(self.nodes) for one in self.outputs):
            raise ValueError(f"outputs: expected numbers from 0 to {len(self.nodes) - 1}, got {self.outputs}")

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the nodes that read each node's value, ascending; a node that reads it twice counts once."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for one in set(node.inputs):
                found[one].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def digest(self) -> str:
        """A hash that isomorphic graphs share: each node's operation with the hashes of its inputs, all together."""
        hashes: list[str] = []
        for node in self.nodes:
            before = [hashes[one] for one in node.inputs]
            if OPERATIONS[node.op].commutes:
                before.sort()
            hashes.append(_hash("|".join([node.text, *before])))
        return hashed([sorted(hashes), [hashes[one] for one in self.outputs]])

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON values."""
        return {"nodes": [node.to_json() for node in self.nodes], "outputs": list(self.outputs)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ComputationGraph":
        """Return the graph that `to_json` described."""
        return cls(tuple(map(OperationNode.from_json, values["nodes"])), tuple(values["outputs"]))


def hashed(values: Any) -> str:
    """Return a hash of JSON values, 32 hexadecimal digits."""
    return _hash(json.dumps(values, sort_keys=True))


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=DIGEST).hexdigest()


def _plain(attributes: Attributes) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in sorted(attributes.items())}


def _frozen(value: Any) -> Attribute:
    return tuple(value) if isinstance(value, list) else value


def flops(graph: ComputationGraph) -> int:
    """Return the floating-point operations of convolutions and linear layers for one example."""
    return sum(node_flops(node, [graph.nodes[one].shape for one in node.inputs]) for node in graph.nodes)


def node_flops(node: OperationNode, shapes: list[Shape]) -> int:
    """Return the floating-point operations of one node, given the shapes of its inputs."""
    if node.op == "conv":
        window = math.prod(pair(node.attributes, "kernel", 1))
        return 2 * math.prod(node.shape) * window * shapes[0][0] // int(node.attributes.get("groups", 1))  # type: ignore[arg-type]
    if node.op == "linear":
        return 2 * math.prod(node.shape) * channels(shapes[0])
    return int(node.attributes.get("flops", 0)) if node.op == "opaque" else 0  # type: ignore[arg-type]


def parameters(graph: ComputationGraph) -> int:
    """Return the number of parameters; tensors that several operations share count once."""
    counted: dict[object, int] = {}
    for number, node in enumerate(graph.nodes):
        sizes = node_tensors(node, [graph.nodes[one].shape for one in node.inputs])
        names = node.source.split("+") if node.source else []
        if len(names) == len(sizes):
            counted |= dict(zip(names, sizes, strict=True))
        else:  # an opaque operation, of which the sum is known
            counted[node.source or number] = sum(sizes)
    return sum(counted.values())


def node_tensors(node: OperationNode, shapes: list[Shape]) -> list[int]:
    """Return the sizes of the tensors of one node, weights first, given the shapes of its inputs."""
    own, width = node.attributes.get, channels(node.shape) if node.shape else 1
    if node.op in ("conv", "linear"):
        window = math.prod(pair(node.attributes, "kernel", 1)) if node.op == "conv" else 1
        groups = int(own("groups", 1)) if node.op == "conv" else 1  # type: ignore[arg-type]
        return [width * channels(shapes[0]) * window // groups, *([width] if own("bias", True) else [])]
    if node.op == "prelu":
        return [1 if own("shared") else width]
    if node.op in ("batch_norm", "layer_norm", "group_norm"):
        return [width, width] if own("affine", True) else []
    return [int(own("parameters", 0))] if node.op == "opaque" else []  # type: ignore[arg-type]
