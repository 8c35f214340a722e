"""Small residual networks as graphs, and a database of their segments."""

from functools import cache

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.database import SegmentDatabase, mine


def network(blocks: int, width: int = 8, flipped: bool = False) -> ComputationGraph:
    """Return a residual network of blocks of two convolutions, with the stride of 2 in the second block."""
    nodes = [OperationNode("input", (), (3, 16, 16))]

    def add(op: str, *inputs: int, **settings: object) -> int:
        shape = nodes[inputs[0]].shape
        if op == "conv":
            stride, width = settings["stride"], settings["channels"]
            shape = (width, shape[1] // stride, shape[2] // stride)  # type: ignore[assignment, operator]
            settings |= {"kernel": (3, 3), "padding": (1, 1), "stride": (stride, stride)}
        nodes.append(OperationNode(op, inputs, shape, settings))  # type: ignore[arg-type]
        return len(nodes) - 1

    at = add("conv", 0, channels=width, stride=1)
    for block in range(blocks):
        stride = 2 if block == 1 else 1
        path = add("relu", add("batch_norm", add("conv", at, channels=width, stride=stride)))
        path = add("batch_norm", add("conv", path, channels=width, stride=1))
        short = at if stride == 1 else add("conv", at, channels=width, stride=2)
        at = add("relu", add("add", *((short, path) if flipped else (path, short))))
    return ComputationGraph(tuple(nodes), (at,))


@cache
def database() -> SegmentDatabase:
    """Return the segments of four such networks."""
    return mine([network(2), network(3), network(4, width=16), network(3, flipped=True)], size=40)
