"""Costs of a computation graph in closed form: floating-point operations and parameters."""

import math

from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.kinds import Shape, channels, pair


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
