"""Mixtures of NASNet cells for DARTS (Liu et al. 2018), also with partial channels (PC-DARTS, Xu et al. 2020).

A place is an edge from an input to a node. Every node adds its edges up, and a cell concatenates all of its nodes.
Letters: i a node, k an input of it, m operations of an edge.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.nas.nasnet import CELLS, NODES, OPERATIONS, Edge, NasNet
from lamcts.neural.build.layers import HalfSize, Head, conv_norm, relu_conv_norm
from lamcts.neural.build.nasnet import STEM, operation
from lamcts.neural.supernet.mixture import Mixture, Shares
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number

Strengths = Mapping[str, Tensor | float]  # of the operations on an edge


class NasNetEdges(ArchitectureSpace):
    """An operation on each of the 20 edges of both cells: what DARTS relaxes, before it chooses two edges a node."""

    name = "nasnet-edges"

    def __init__(self) -> None:
        self.space = Space({place: Choice(OPERATIONS) for cell in CELLS for place in edges_of(cell)})


class NasNetMixture(Mixture):
    """The skeleton of `build` with all operations on all edges.

    partial: with K above 1, operations work on 1 / K of the channels, and edges have shares of their own (1).
    """

    def __init__(
        self, space: NasNetEdges, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__(space, region, shape, sizes)
        self._build(*shape, **sizes)

    def _build(self, channels: int, classes: int, width: int = 36, cells: int = 20, partial: int = 1) -> None:
        if width % whole_number(partial, "partial", least=1):
            raise ValueError(f"partial: expected a divisor of the width {width}, got {partial}")
        nodes = [(cell, i) for cell in CELLS for i in range(NODES)] if partial > 1 else []
        self.normalised = {f"{cell}_{i}": [edge(cell, i, k) for k in range(i + 2)] for cell, i in nodes}
        self.stem = nn.Sequential(*conv_norm(channels, STEM * width, 3))
        made, before, reduced = list[MixedCell](), (STEM * width, STEM * width), False
        for i in range(cells):
            reduces = i in (cells // 3, 2 * cells // 3) and cells > 1
            width *= 1 + reduces
            made.append(MixedCell(self.region, before, width, reduces, reduced, partial))
            before, reduced = (before[1], NODES * width), reduces
        self.cells = nn.ModuleList(made)
        self.head = Head(before[1], classes)

    def masked(self, x: Tensor, point: Point) -> Tensor:
        return self._through(x, {place: {name: 1.0} for place, name in point.items()})

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        places = zip(self.region.allowed.items(), shares, strict=True)
        return self._through(x, {place: dict(zip(names, each, strict=True)) for (place, names), each in places})

    def _through(self, x: Tensor, strengths: Mapping[str, Strengths]) -> Tensor:
        old = new = self.stem(x)
        for cell in self.cells:
            old, new = new, cell(old, new, strengths)
        scores: Tensor = self.head(new)
        return scores

    def source(self, name: str, point: Point, own: Mapping[str, Tensor]) -> Tensor:
        raise ValueError(f"{self.space.name}: expected a supernet of networks, got a mixture; train the point alone")

    def strongest(self, shares: Shares) -> Point:
        """Return the cells of the two strongest edges of each node, each with its strongest operation (DARTS)."""
        return NasNet().from_edges({cell: [two_edges(shares, cell, i) for i in range(NODES)] for cell in CELLS})


class MixedCell(nn.Module):
    """One cell. `before`: channels of the last two cells; `reduced`: the last one halved the size."""

    def __init__(
        self,
        region: SupernetRegion,
        before: tuple[int, int],
        width: int,
        reduces: bool,
        reduced: bool,
        partial: int,
    ) -> None:
        super().__init__()
        self.kind = "reduction" if reduces else "normal"
        self.older = (HalfSize if reduced else relu_conv_norm)(before[0], width)
        self.old = relu_conv_norm(before[1], width)
        self.edges = nn.ModuleDict(
            {
                place: MixedEdge(region.allowed[place], width, 1 + (reduces and k < 2), partial)
                for place, k in edges_of(self.kind).items()
            }
        )

    def forward(self, older: Tensor, old: Tensor, strengths: Mapping[str, Strengths]) -> Tensor:
        values = [self.older(older), self.old(old)]
        for i in range(NODES):
            places = [edge(self.kind, i, k) for k in range(i + 2)]
            terms = [self.edges[place](values[k], strengths[place]) for k, place in enumerate(places)]
            values.append(torch.stack(terms).sum(0))
        return torch.cat(values[2:], 1)


class MixedEdge(nn.Module):
    """The operations of an edge on the first of `partial` equal parts of the channels; the others pass."""

    def __init__(self, names: Sequence[str], width: int, stride: int, partial: int) -> None:
        super().__init__()
        self.stride, self.partial, self.channels = stride, partial, width // partial
        self.operations = nn.ModuleDict({name: operation(name, self.channels, stride) for name in names})

    def forward(self, x: Tensor, strengths: Strengths) -> Tensor:
        inside = x[:, : self.channels]
        y = torch.stack([part * self.operations[name](inside) for name, part in strengths.items()]).sum(0)
        if self.partial == 1:
            return y
        rest = x[:, self.channels :]
        rest = rest if self.stride == 1 else functional.max_pool2d(rest, 2, ceil_mode=True)
        both = torch.cat([y, rest * sum(strengths.values())], 1)  # the shares of an edge add up to its own share
        return functional.channel_shuffle(both, self.partial)  # as in PC-DARTS


def edge(cell: str, i: int, k: int) -> str:
    """Return the place of the edge from input k to node i."""
    return f"{cell}_edge_{i}_{k}"


def edges_of(cell: str) -> dict[str, int]:
    """Return the places of a cell, and the input of each."""
    return {edge(cell, i, k): k for i in range(NODES) for k in range(i + 2)}


def two_edges(shares: Shares, cell: str, i: int) -> list[Edge]:
    """Return the two edges of a node whose best operations have the largest shares; ties go to the first."""
    best: list[tuple[float, Edge]] = []
    for k in range(i + 2):
        each = shares[edge(cell, i, k)]
        name = max(each, key=each.__getitem__)
        best.append((each[name], (name, k)))
    one, other = max(combinations(best, 2), key=lambda two: two[0][0] + two[1][0])
    return [one[1], other[1]]
