"""Networks of cells with an operation on each edge, as in NAS-Bench-201 (Dong and Yang 2020, section 2.1).

A stem, stages of cells separated by reductions, and a head. Letters: b images, c channels, h by w.
"""

from collections.abc import Callable

from torch import Tensor, nn

from lamcts.neural.build.layers import Head
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EDGES, LAST, ZERO, EdgeCells, reachable


def edge_network(
    space: EdgeCells,
    point: Point,
    channels: int,
    classes: int,
    *,
    widths: tuple[int, ...] = (16, 32, 64),
    cells: int = 5,
) -> "EdgeNetwork":
    """Return the network of a cell."""
    return EdgeNetwork(space.operations, space.numbers(point), channels, classes, tuple(widths), cells)


class EdgeNetwork(nn.Module):
    """Scores [b, k] of images [b, c, h, w].

    All operations of a cell have weights, as in NAS-Bench-201, whose tables count them. Operations without a path from
    input to output are not computed or trained. Cells that differ only in them train to equal networks, bit for bit,
    since the initial weights of an edge do not depend on other edges.
    """

    def __init__(
        self,
        operations: tuple[str, ...],
        numbers: tuple[int, ...],
        channels: int,
        classes: int,
        widths: tuple[int, ...],
        cells: int,
    ) -> None:
        super().__init__()
        self.shape = (channels, classes, widths, cells)  # networks with equal shapes can be trained in a batch
        self.stem = Convolution(channels, widths[0], relu=False)
        self.stages = nn.ModuleList()
        for stage, width in enumerate(widths):
            self.stages.extend([Reduction(widths[stage - 1], width)] if stage else [])
            self.stages.extend(EdgeCell(operations, numbers, width) for _ in range(cells))
        self.last = nn.BatchNorm2d(widths[-1])
        self.head = Head(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        scores: Tensor = self.head(self.last(x).relu())
        return scores


class EdgeCell(nn.Module):
    """One cell: nodes are sums of their inputs; without a path the output is zero."""

    def __init__(self, operations: tuple[str, ...], numbers: tuple[int, ...], channels: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(MAKERS[operations[number]](channels) for number in numbers)
        self.live = reachable(numbers)

    def forward(self, x: Tensor) -> Tensor:
        nodes: list[Tensor | None] = [x, *[None] * LAST]
        for edge, (i, j), number in zip(self.edges, EDGES, self.live, strict=True):
            if number != ZERO:
                term, before = edge(nodes[i]), nodes[j]
                nodes[j] = term if before is None else before + term
        out = nodes[LAST]
        return 0 * x if out is None else out  # gives earlier layers zero gradients, as in batched training


class Convolution(nn.Module):
    """A ReLU, except in the stem, a convolution and its batch norm."""

    def __init__(self, before: int, after: int, kernel: int = 3, stride: int = 1, relu: bool = True) -> None:
        super().__init__()
        self.relu = relu
        self.conv = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(self.conv(x.relu() if self.relu else x))
        return y


class Reduction(nn.Module):
    """A residual block that halves the size and changes the channels."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = Convolution(before, after, stride=2)
        self.second = Convolution(after, after)
        self.pool = nn.AvgPool2d(2)
        self.beside = nn.Conv2d(before, after, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x)) + self.beside(self.pool(x))
        return y


def _nothing(channels: int) -> nn.Module:
    return nn.Identity()  # not computed for an edge without an operation


def _averages(channels: int) -> nn.Module:
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


def _convolution(kernel: int) -> Callable[[int], nn.Module]:
    return lambda channels: Convolution(channels, channels, kernel)


# By name of the operation; numbers are kernel sizes.
MAKERS: dict[str, Callable[[int], nn.Module]] = {
    "none": _nothing,
    "skip": _nothing,
    "skip_connect": _nothing,
    "avg_pool_3x3": _averages,
    "conv1x1": _convolution(1),
    "nor_conv_1x1": _convolution(1),
    "conv3x3": _convolution(3),
    "nor_conv_3x3": _convolution(3),
}
