"""Networks of NASNet, DARTS and I/O cells in the skeleton of DARTS (Liu et al. 2018; training of thesis 4.2.3).

A stem, cells of which those at a third and two thirds of the depth halve the size, and a head. A cell reads the two
cells before it, projected to its width, and concatenates the outputs of its nodes: all of DARTS cells, of NASNet
cells those that no other node uses, and of I/O cells the last.
"""

from collections.abc import Callable
from functools import reduce

import torch
from torch import Tensor, nn

from lamcts.neural.build.layers import HalfSize, Head, conv_norm, dilated, relu_conv_norm, separable
from lamcts.neural.build.noise import DropPath
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.genotypes import Edge, GenotypeSpace

STEM = 3  # width of the stem relative to the first cells: DARTS
MAKERS: dict[str, Callable[[int, int], nn.Module]] = {  # of operations by width and stride
    "conv_3x3": lambda width, stride: nn.Sequential(nn.ReLU(), *conv_norm(width, width, 3, stride)),
    "conv_5x5": lambda width, stride: nn.Sequential(nn.ReLU(), *conv_norm(width, width, 5, stride)),
    "max_pool_3x3": lambda width, stride: nn.MaxPool2d(3, stride, 1),
    "avg_pool_3x3": lambda width, stride: nn.AvgPool2d(3, stride, 1, count_include_pad=False),
    "sep_conv_3x3": lambda width, stride: separable(width, 3, stride),
    "sep_conv_5x5": lambda width, stride: separable(width, 5, stride),
    "dil_conv_3x3": lambda width, stride: dilated(width, 3, stride),
    "dil_conv_5x5": lambda width, stride: dilated(width, 5, stride),
}


def genotype_network(
    space: GenotypeSpace, point: Point, channels: int, classes: int, *, width: int = 36, cells: int = 20
) -> nn.Module:
    """Return the network of a pair of valid cells."""
    if (reason := space.invalid(point)) is not None:
        raise ValueError(f"{space.name}: expected valid cells, got some that are not: {reason}")
    return GenotypeNetwork(space, point, channels, classes, width, cells)


class GenotypeNetwork(nn.Module):
    """Scores [b, k] of images [b, c, h, w]."""

    def __init__(self, space: GenotypeSpace, point: Point, channels: int, classes: int, width: int, cells: int) -> None:
        super().__init__()
        kinds = [space.computed(point, cell) for cell in space.cells]  # normal, reduction; or one
        self.stem = nn.Sequential(*conv_norm(channels, STEM * width, 3))
        made, before, reduced = list[GenotypeCell](), (STEM * width, STEM * width), False
        for i in range(cells):
            reduces = i in (cells // 3, 2 * cells // 3) and cells > 1
            width *= 1 + reduces
            edges = kinds[-1 if reduces else 0]
            cell = GenotypeCell(edges, space.outputs(edges), before, width, reduces, reduced)
            made.append(cell)
            before, reduced = (before[1], cell.channels), reduces
        self.cells = nn.ModuleList(made)
        self.head = Head(before[1], classes)

    def forward(self, x: Tensor) -> Tensor:
        old = new = self.stem(x)
        for cell in self.cells:
            old, new = new, cell(old, new)
        scores: Tensor = self.head(new)
        return scores


class GenotypeCell(nn.Module):
    """One cell. `outputs`: nodes; `before`: channels of the last two cells; `reduced`: the last one halved the size."""

    def __init__(
        self,
        edges: list[list[Edge]],
        outputs: list[int],
        before: tuple[int, int],
        width: int,
        reduces: bool,
        reduced: bool,
    ) -> None:
        super().__init__()
        self.edges, taken = edges, {source for two in edges for _, source in two}
        as_large = HalfSize if reduced else relu_conv_norm
        self.older = as_large(before[0], width) if 0 in taken else None  # no weights for unused inputs
        self.old = relu_conv_norm(before[1], width) if 1 in taken else None
        self.outputs = [2 + i for i in outputs]
        self.channels = width * len(self.outputs)
        self.nodes = nn.ModuleList(
            nn.ModuleDict({_name(edge): operation(edge[0], width, 1 + (reduces and edge[1] < 2)) for edge in two})
            for two in edges
        )

    def forward(self, older: Tensor, old: Tensor) -> Tensor:
        values = [older if self.older is None else self.older(older), old if self.old is None else self.old(old)]
        add_nodes(values, self.nodes, self.edges)
        return torch.cat([values[i] for i in self.outputs], 1)


def add_nodes(values: list[Tensor], nodes: nn.ModuleList, edges: list[list[Edge]]) -> None:
    """Append the value of each node, the sum of its edges, to those of the inputs; a dropped node has any value."""
    for node, read in zip(nodes, edges, strict=True):
        terms = [node[_name(edge)](values[edge[1]]) for edge in read]  # type: ignore[index]
        values.append(reduce(torch.add, terms) if terms else values[0])


def _name(edge: Edge) -> str:
    """Return the module name of an edge's operation, which depends on the edge only."""
    return f"{edge[0]}_{edge[1]}"


def operation(name: str, width: int, stride: int) -> nn.Module:
    """Return an operation of an edge; all except skips may be dropped as a path."""
    if name == "skip_connect":
        return nn.Identity() if stride == 1 else nn.Sequential(HalfSize(width, width), DropPath())
    return nn.Sequential(MAKERS[name](width, stride), DropPath())
