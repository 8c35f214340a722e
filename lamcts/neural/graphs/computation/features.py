"""Features of a computation graph for predictors of accuracy: of each operation, and of the whole network."""

import math
from collections import Counter

import numpy as np

from lamcts.neural.graphs.computation.costs import flops, parameters
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.kinds import IMAGE, OPERATIONS, channels, pair
from lamcts.neural.graphs.computation.labels import labels, name
from lamcts.types import Floats, Rows

NUMBERS = ("channels", "size", "kernel", "stride", "groups")  # of each operation, as binary logarithms
KINDS = {op: number for number, op in enumerate(OPERATIONS)}


def node_features(graph: ComputationGraph) -> tuple[Rows, Floats]:
    """Return kinds and numbers of a graph's operations."""
    kinds = np.array([KINDS[node.op] for node in graph.nodes], dtype=np.int64)
    return kinds, np.log2([_numbers(node) for node in graph.nodes])


def _numbers(node: OperationNode) -> list[float]:
    """Return channels, height, kernel, stride and groups of an operation, 1 for those that it lacks."""
    width = channels(node.shape) if node.shape else 1
    height = node.shape[1] if len(node.shape) == IMAGE else 1
    window = [pair(node.attributes, which, 1)[0] for which in ("kernel", "stride", "groups")]
    return [max(one, 1) for one in (width, height, *window)]


def edges(graph: ComputationGraph) -> Rows:
    """Return the edges of a graph, [2, e]: the node that is read, and the node that reads it."""
    found = [(one, number) for number, node in enumerate(graph.nodes) for one in node.inputs]
    return np.array(found, dtype=np.int64).reshape(-1, 2).T


def counts(graph: ComputationGraph, labelled: bool = False) -> dict[str, float]:
    """Return the counts of operations by name and kernel, the logarithms of FLOPs and parameters, and the depth."""
    names = [name(graph, number, kernel=True) for number in range(len(graph.nodes))]
    found: dict[str, float] = dict(Counter([*names, *(labels(graph) if labelled else ())]))
    costs = {"log flops": math.log1p(flops(graph)), "log params": math.log1p(parameters(graph))}
    return found | costs | {"depth": depth(graph)}


def depth(graph: ComputationGraph) -> int:
    """Return the number of operations on the longest path from an input."""
    found: list[int] = []
    for node in graph.nodes:
        found.append(max((found[one] + 1 for one in node.inputs), default=0))
    return max(found)
