"""Build the supernet of a space of architectures from a seed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lamcts.neural.build.build import check_sizes, class_names
from lamcts.neural.build.edge_cells import MAKERS, Convolution, Reduction
from lamcts.neural.build.genotypes import STEM, add_nodes, operation
from lamcts.neural.build.layers import HalfSize, Head, conv_norm, relu_conv_norm
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.cells import EDGES, LAST, ZERO, EdgeCells, reachable
from lamcts.neural.nas.genotypes import SIDES, Edge, GenotypeSpace
from lamcts.neural.nas.mobile import MobileBlocks
from lamcts.neural.supernet.base import Mixture, Supernet
from lamcts.neural.supernet.mobile import MobileSupernet
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
            outputs = 1 if self.space.one_output else len(self.space.pairs)
            before, reduced = (before[1], outputs * width), reduces
        self.cells = nn.ModuleList(made)
        self.head = Head(before[1], classes)

    def masked(self, x: Tensor, point: Point) -> Tensor:
        edges = {kind: self.space.computed(point, kind) for kind in self.space.cells}
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
        """Return the channels of a cell's full output that a network has; None: all, as of the stem's."""
        if i < 0 or self.space.one_output:
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
        self.space, self.kind, self.width = space, list(space.cells)[-1 if reduces else 0], width
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
        add_nodes(values, self.nodes, edges)
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


NOTHING = "none"  # the operation without output, in all spaces of these cells


class EdgeSupernet(Mixture):
    """The skeleton of `build` with all operations of the region on each edge."""

    space: EdgeCells

    def __init__(
        self, space: EdgeCells, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__(space, region, shape, sizes)
        self._build(*shape, **sizes)

    def _build(self, channels: int, classes: int, widths: tuple[int, ...] = (16, 32, 64), cells: int = 5) -> None:
        self.stem = Convolution(channels, widths[0], relu=False)
        self.stages = nn.ModuleList()
        for stage, width in enumerate(widths):
            self.stages.extend([Reduction(widths[stage - 1], width)] if stage else [])
            self.stages.extend(SuperCell(self.region, width) for _ in range(cells))
        self.last = nn.BatchNorm2d(widths[-1])
        self.head = Head(widths[-1], classes)

    def masked(self, x: Tensor, point: Point) -> Tensor:
        live = reachable(self.space.numbers(point))
        operations = [None if number == ZERO else self.space.operations[number] for number in live]
        return self._through(x, lambda cell, x: cell(x, operations))

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        return self._through(x, lambda cell, x: cell.mixed(x, shares))

    def _through(self, x: Tensor, run: "Callable[[SuperCell, Tensor], Tensor]") -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = run(stage, x) if isinstance(stage, SuperCell) else stage(x)
        scores: Tensor = self.head(self.last(x).relu())
        return scores

    def source(self, name: str, point: Point, own: Mapping[str, Tensor]) -> Tensor:
        parts = name.split(".")
        if parts[0] == "stages" and parts[2] == "edges":  # stages.0.edges.3.conv.weight
            parts.insert(4, point[self.places[int(parts[3])]])
        return own[".".join(parts)]

    def learns(self, point: Point) -> bool:
        """Return whether the cell has a path from input to output."""
        return any(reachable(self.space.numbers(point)))


class SuperCell(nn.Module):
    """A cell with all operations of a region on each edge."""

    def __init__(self, region: SupernetRegion, channels: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(
            nn.ModuleDict({operation: MAKERS[operation](channels) for operation in options})
            for options in region.allowed.values()
        )

    def forward(self, x: Tensor, operations: list[str | None]) -> Tensor:
        nodes: list[Tensor | None] = [x, *[None] * LAST]
        for edge, (i, j), name in zip(self.edges, EDGES, operations, strict=True):
            if name is not None:
                term, before = edge[name](nodes[i]), nodes[j]  # type: ignore[index]
                nodes[j] = term if before is None else before + term
        out = nodes[LAST]
        return 0 * x if out is None else out

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        nodes = [x, *[torch.zeros_like(x)] * LAST]
        for edge, (i, j), share in zip(self.edges, EDGES, shares, strict=True):
            for (name, layer), part in zip(edge.items(), share, strict=True):  # type: ignore[operator]
                if name != NOTHING:
                    nodes[j] = nodes[j] + part * layer(nodes[i])
        return nodes[LAST]


KINDS: dict[type[ArchitectureSpace], Callable[..., Supernet]] = {
    EdgeCells: EdgeSupernet,
    GenotypeSpace: GenotypeSupernet,
    MobileBlocks: MobileSupernet,
}


def supernet(
    space: ArchitectureSpace,
    *,
    channels: int = 3,
    classes: int = 10,
    seed: int = 0,
    region: SupernetRegion | None = None,
    **sizes: Any,
) -> Supernet:
    """Return the supernet of a space, on the CPU; no global generator is used.

    Parameters
    ----------
    space : ArchitectureSpace
        Cells with an operation on each edge, NASNet, DARTS or I/O cells, or mobile blocks.
    channels : int, default 3
        Image channels.
    classes : int, default 10
        Number of classes.
    seed : int, default 0
        Seed of the initial weights.
    region : SupernetRegion, default None
        The architectures with weights; None is the whole space.
    **sizes
        Keyword arguments of `lamcts.neural.build.build`, by default those of the paper.
    """
    kind = next((made for known, made in KINDS.items() if isinstance(space, known)), None)
    if kind is None:
        raise ValueError(f"supernet: expected a space that has one, got {space.name}; these have: {class_names(KINDS)}")
    check_sizes(space, sizes, "supernet")
    part = region or SupernetRegion.whole(space)
    return initialised(lambda: kind(space, part, (channels, classes), sizes), seed)
