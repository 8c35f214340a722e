"""Computation graphs for figures: an operation with the norms and activations that follow it is one node."""

from collections.abc import Collection, Mapping

from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.kinds import IMAGE, POINTWISE, channels, pair
from lamcts.neural.nas.base import Graph

# operations that join the node before them
FOLLOWING = {*POINTWISE, "batch_norm", "layer_norm", "group_norm", "prelu", "flatten"}
SIZE, HIDDEN = "sym_size", -1  # the operation that returns a size; the group of operations that are not drawn
LINES = 4  # of a label (by eye)
WORDS = 22  # letters of the name of an opaque operation (by eye)


def drawable(
    graph: ComputationGraph, marked: Collection[int] = (), names: Mapping[int, str] | None = None
) -> tuple[Graph, set[int]]:
    """Return a graph for figures, and the numbers of its marked nodes."""
    group: list[int] = []
    labels: list[list[str]] = []
    sizes = _sizes(graph, names or {})
    for number, node in enumerate(graph.nodes):
        if number in sizes:
            group.append(HIDDEN)
            continue
        inputs = [one for one in node.inputs if one not in sizes]
        before = inputs[0] if len(inputs) == 1 else None
        label = _label(node, names or {})
        if before is not None and _joins(graph, before, number, marked) and len(labels[group[before]]) < LINES:
            group.append(group[before])
            if labels[group[before]][-1] != label:
                labels[group[before]].append(label)
        else:
            group.append(len(labels))
            labels.append([label])
    ends = {(group[one], group[number]) for number, node in enumerate(graph.nodes) for one in node.inputs}
    edges = [(start, end, "") for start, end in sorted(ends) if start != end and HIDDEN not in (start, end)]
    return Graph(["\n".join(lines) for lines in labels], edges), {group[number] for number in marked}


def _sizes(graph: ComputationGraph, names: Mapping[int, str]) -> set[int]:
    """Return the numbers of operations that compute sizes of tensors, which are not drawn."""
    found: set[int] = set()
    for number, node in enumerate(graph.nodes):
        if node.op == "opaque":
            size = names.get(int(node.attributes["target"])) == SIZE  # type: ignore[arg-type]
            if size or (node.inputs and found.issuperset(node.inputs)):
                found.add(number)
    return found


def _joins(graph: ComputationGraph, before: int, number: int, marked: Collection[int]) -> bool:
    """Whether an operation is drawn with the one before it, which no other operation reads."""
    one, other = graph.nodes[before], graph.nodes[number]
    follows = other.op in FOLLOWING and one.op not in ("input", "opaque")
    follows = follows or one.op == other.op == "opaque"
    alone = len(graph.users[before]) == 1 and before not in graph.outputs
    return follows and alone and (before in marked) == (number in marked)


def _label(node: OperationNode, names: Mapping[int, str]) -> str:
    """Return the name of an operation with its sizes."""
    if node.op == "opaque":
        name = names.get(int(node.attributes["target"]), "opaque")  # type: ignore[arg-type]
        return name if len(name) <= WORDS else name[: WORDS - 3] + "..."
    name = node.op.replace("_", " ")
    if node.op == "input":
        return f"input {' x '.join(map(str, node.shape))}"
    if node.op in ("conv", "max_pool", "avg_pool"):
        name += " {}x{}".format(*pair(node.attributes, "kernel", 1))
    if node.op in ("conv", "linear"):
        name += f", {channels(node.shape)}"
    groups = int(node.attributes.get("groups", 1))  # type: ignore[arg-type]
    name += " depthwise" if groups == node.shape[0] > 1 else f", {groups} groups" if groups > 1 else ""
    stride = pair(node.attributes, "stride", 1)[0] if len(node.shape) == IMAGE else 1
    return f"{name} /{stride}" if stride > 1 else name
