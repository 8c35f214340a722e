"""Supernets of NASNet and DARTS cells (thesis 4.2.3, fig. 4.3): a mask selects two operations for each node.

The output width of a NASNet cell depends on the mask, since it concatenates unused nodes. Layers that read it have
weights for all five nodes, and a network uses its own columns.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lamcts.neural.build.genotypes import STEM, operation
from lamcts.neural.build.layers import HalfSize, Head, conv_norm, relu_conv_norm
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.genotypes import SIDES, Edge, GenotypeSpace
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.region import SupernetRegion

Columns = Tensor | None  # input channels that a layer reads; None: all


class GenotypeSupernet(Supernet):
    """The skeleton of `build` with all operations of the region between all nodes."""

    space: GenotypeSpace

    def __init__(
        self, space: GenotypeSpace, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__(space, region, shape, sizes)
        self.places = tuple(name for name in region.allowed if f"_{space.operation}" in name)
        self._build(*shape, **sizes)

    def _build(self, channels: int, classes: int, width: int = 36, cells: int = 20) -> None:
        self.stem = nn.Sequential(*conv_norm(channels, STEM * width, 3))
        made, before, reduced = list[SharedCell](), (STEM * width, STEM * width), False
        for i in range(cells):
            reduces = i in (cells // 3, 2 * cells // 3) and cells > 1
            width *= 1 + reduces
            made.append(SharedCell(self.space, self.region, before, width, reduces, reduced))
            before, reduced = (before[1], len(self.space.pairs) * width), reduces
        self.cells = nn.ModuleList(made)
        self.head = Head(before[1], classes)

    def masked(self, x: Tensor, point: Point) -> Tensor:
        edges = {kind: self.space.edges(point, kind) for kind in self.space.cells}
        old = new = self.stem(x)
        for i, cell in enumerate(self._cells):
            reads = self._columns(point, i - 2), self._columns(point, i - 1)
            old, new = new, cell(old, new, edges[cell.kind], reads)
        scores: Tensor = narrowed(self.head, new, self._columns(point, len(self.cells) - 1))
        return scores

    def source(self, name: str, point: Point, own: Mapping[str, Tensor]) -> Tensor:
        parts, weight = name.split("."), own[name]
        if weight.ndim < 2 or (parts[0] != "head" and parts[2] not in ("older", "old")):
            return weight
        before = len(self.cells) - 1 if parts[0] == "head" else int(parts[1]) - (2 if parts[2] == "older" else 1)
        columns = self._columns(point, before)
        return weight if columns is None else weight[:, columns]

    @property
    def _cells(self) -> list["SharedCell"]:
        return [cell for cell in self.cells if isinstance(cell, SharedCell)]

    def _columns(self, point: Point, i: int) -> Columns:
        """Return the channels of a cell's full output that a network has; all of the stem's."""
        if i < 0:
            return None
        cell = self._cells[i]
        outputs = self.space.outputs(self.space.edges(point, cell.kind))
        return torch.cat([torch.arange(cell.width) + node * cell.width for node in outputs])


class SharedCell(nn.Module):
    """One cell. `before`: full channels of the last two cells; `reduced`: the last one halved the size."""

    def __init__(
        self,
        space: GenotypeSpace,
        region: SupernetRegion,
        before: tuple[int, int],
        width: int,
        reduces: bool,
        reduced: bool,
    ) -> None:
        super().__init__()
        self.space, self.kind, self.width = space, list(space.cells)[reduces], width
        self.older = (HalfSize if reduced else relu_conv_norm)(before[0], width)
        self.old = relu_conv_norm(before[1], width)
        self.nodes = nn.ModuleList(
            nn.ModuleDict({f"{name}_{k}": operation(name, width, 1 + (reduces and k < 2)) for name, k in edges})
            for edges in possible(space, region, self.kind)
        )

    def forward(self, older: Tensor, old: Tensor, edges: list[list[Edge]], reads: tuple[Columns, Columns]) -> Tensor:
        taken = {k for two in edges for _, k in two}
        values = [narrowed(self.older, older, reads[0]) if 0 in taken else older]
        values += [narrowed(self.old, old, reads[1]) if 1 in taken else old]
        for node, two in zip(self.nodes, edges, strict=True):
            one, other = (node[f"{name}_{k}"](values[k]) for name, k in two)  # type: ignore[index]
            values.append(one + other)
        return torch.cat([values[2 + i] for i in self.space.outputs(edges)], 1)


def narrowed(layer: nn.Module, x: Tensor, columns: Columns) -> Tensor:
    """Apply a layer to an input with some of its channels, by the columns of its weights."""
    if columns is None:
        return layer(x)  # type: ignore[no-any-return]
    columns = columns.to(x.device)
    fewer = {name: weight[:, columns] for name, weight in layer.named_parameters() if weight.ndim > 1}
    y: Tensor = functional_call(layer, fewer, (x,))
    return y


def possible(space: GenotypeSpace, region: SupernetRegion, kind: str) -> list[list[Edge]]:
    """Return the operations and inputs of each node that occur in a region."""
    found = []
    for i, pairs in enumerate(space.pairs):
        numbers = region.allowed.get(f"{kind}_{space.connect}{i}", (0,))
        edges = {
            (name, pairs[number][side]): None  # a dict keeps the order
            for side in range(SIDES)
            for number in numbers
            for name in region.allowed[f"{kind}_{space.operation}{SIDES * i + side}"]
        }
        found.append(list(edges))
    return found
