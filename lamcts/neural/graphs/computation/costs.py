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
    """Return the number of parameters."""
    counted: dict[object, int] = {}
    for number, node in enumerate(graph.nodes):
        shapes = [graph.nodes[one].shape for one in node.inputs]
        counted[node.source or number] = node_parameters(node, shapes)
    return sum(counted.values())


def node_parameters(node: OperationNode, shapes: list[Shape]) -> int:
    """Return the number of parameters of one node, given the shapes of its inputs."""
    own, settings = node.attributes.get, node.shape
    if node.op == "conv":
        window = math.prod(pair(node.attributes, "kernel", 1))
        weights = settings[0] * shapes[0][0] * window // int(own("groups", 1))  # type: ignore[arg-type]
        return weights + (settings[0] if own("bias", True) else 0)
    if node.op == "linear":
        return channels(settings) * (channels(shapes[0]) + bool(own("bias", True)))
    if node.op in ("batch_norm", "layer_norm"):
        return 2 * channels(settings) if own("affine", True) else 0
    return int(own("parameters", 0)) if node.op == "opaque" else 0  # type: ignore[arg-type]
