"""Computation graphs of cells with an operation on each edge, built without a module.

They equal the graphs that `lamcts.neural.evolve.read` returns for networks of `lamcts.neural.build.edge_cells`, but for
the names of parameters. Reading a module takes a second.
"""

from collections.abc import Sequence

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode, output_shape
from lamcts.neural.graphs.computation.kinds import Attribute, Shape
from lamcts.neural.nas.cells import EDGES, LAST, ZERO, reachable

WINDOW: dict[str, Attribute] = {"dilation": (1, 1), "groups": 1, "bias": False}
NORM: dict[str, Attribute] = {"momentum": 0.1, "eps": 1e-5, "affine": True}
KERNELS = {"conv1x1": 1, "nor_conv_1x1": 1, "conv3x3": 3, "nor_conv_3x3": 3}


class Builder:
    """Nodes so far; each method adds operations and returns the number of the last one."""

    def __init__(self, shape: Shape) -> None:
        self.nodes = [OperationNode("input", (), shape)]

    def add(self, op: str, *inputs: int, **attributes: Attribute) -> int:
        shape = output_shape(op, attributes, [self.nodes[one].shape for one in inputs])
        self.nodes.append(OperationNode(op, inputs, shape, attributes))
        return len(self.nodes) - 1

    def conv(self, x: int, width: int, kernel: int = 3, stride: int = 1) -> int:
        padding = kernel // 2
        own: dict[str, Attribute] = {"channels": width, "kernel": (kernel, kernel), "stride": (stride, stride)}
        return self.add("conv", x, **own, padding=(padding, padding), **WINDOW)

    def pool(self, x: int, kernel: int, stride: int, padding: int, counted: bool) -> int:
        own: dict[str, Attribute] = {"kernel": (kernel, kernel), "stride": (stride, stride)}
        return self.add("avg_pool", x, **own, padding=(padding, padding), ceil=False, count_padding=counted)

    def convolution(self, x: int, width: int, kernel: int = 3, stride: int = 1, relu: bool = True) -> int:
        """Add a ReLU, a convolution and its batch norm."""
        return self.add("batch_norm", self.conv(self.add("relu", x) if relu else x, width, kernel, stride), **NORM)

    def reduction(self, x: int, width: int) -> int:
        """Add a residual block that halves the size."""
        y = self.convolution(self.convolution(x, width, stride=2), width)
        return self.add("add", y, self.conv(self.pool(x, 2, 2, 0, True), width, kernel=1))

    def edge(self, x: int, operation: str, width: int) -> int:
        """Add the operation of one edge of a cell; a skip adds nothing."""
        if operation in KERNELS:
            return self.convolution(x, width, KERNELS[operation])
        return self.pool(x, 3, 1, 1, False) if operation == "avg_pool_3x3" else x

    def cell(self, x: int, operations: Sequence[str], numbers: Sequence[int], width: int) -> int | None:
        """Add a cell; return None if no path leads from its input to its output."""
        sums: list[int | None] = [x, *[None] * LAST]
        for (i, j), number in zip(EDGES, reachable(tuple(numbers)), strict=True):
            before = sums[i]
            if number != ZERO and before is not None:
                term, own = self.edge(before, operations[number], width), sums[j]
                sums[j] = term if own is None else self.add("add", own, term)
        return sums[LAST]


def cell_graph(
    operations: Sequence[str],
    numbers: Sequence[int],
    shape: Shape = (3, 32, 32),
    classes: int = 10,
    widths: Sequence[int] = (16, 32, 64),
    cells: int = 1,
) -> ComputationGraph | None:
    """Return the graph of a network of equal cells; None if no path leads from a cell's input to its output.

    operations: by number; numbers: of the six edges of a cell; widths: channels of each stage; cells: of each stage.
    """
    made = Builder(shape)
    x: int | None = made.convolution(0, widths[0], relu=False)
    for stage, width in enumerate(widths):
        x = made.reduction(x, width) if stage and x is not None else x
        for _ in range(cells):
            x = None if x is None else made.cell(x, operations, numbers, width)
    if x is None:
        return None
    x = made.add("relu", made.add("batch_norm", x, **NORM))
    x = made.add("linear", made.add("flatten", made.add("global_pool", x)), channels=classes, bias=True)
    return ComputationGraph(tuple(made.nodes), (x,))
