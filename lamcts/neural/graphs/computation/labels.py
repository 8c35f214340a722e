"""Labels of operations, so that a graph is a string of symbols (AutoGO 3.1 and A.5.2)."""

from lamcts.neural.graphs.computation.graph import ComputationGraph
from lamcts.neural.graphs.computation.kinds import channels, pair

SHORT = {"conv": "conv2d"}  # AutoGO's footnote 3; others have their name without underscores


def label(graph: ComputationGraph, number: int) -> str:
    """Return a node's label: its operation with the kernel, the operations before it, and those after it."""
    node = graph.nodes[number]
    before = sorted(name(graph, one) for one in node.inputs)
    after = sorted(name(graph, one) for one in graph.users[number])
    return ",".join([name(graph, number, kernel=True), "in", *before, "out", *after])


def name(graph: ComputationGraph, number: int, kernel: bool = False) -> str:
    """Return the name of a node's operation, with the kernel's height if asked for."""
    node = graph.nodes[number]
    short = SHORT.get(node.op, node.op.replace("_", ""))
    groups = int(node.attributes.get("groups", 1))  # type: ignore[arg-type]
    if node.op == "conv" and groups > 1:
        short = "depthwise" if groups == channels(graph.nodes[node.inputs[0]].shape) else "groupconv2d"
    return f"{short}{pair(node.attributes, 'kernel', 1)[0]}" if kernel and "kernel" in node.attributes else short


def labels(graph: ComputationGraph) -> list[str]:
    """Return the labels of all nodes."""
    return [label(graph, number) for number in range(len(graph.nodes))]
