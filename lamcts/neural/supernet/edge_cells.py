"""Supernets of cells with an operation on each edge, such as NAS-Bench-201; all cells share one mask."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.neural.build.edge_cells import MAKERS, Convolution, Reduction
from lamcts.neural.build.layers import Head
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EDGES, LAST, ZERO, EdgeCells, reachable
from lamcts.neural.supernet.mixture import Mixture
from lamcts.neural.supernet.region import SupernetRegion

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
        for edge, (i, j), operation in zip(self.edges, EDGES, operations, strict=True):
            if operation is not None:
                term, before = edge[operation](nodes[i]), nodes[j]  # type: ignore[index]
                nodes[j] = term if before is None else before + term
        out = nodes[LAST]
        return 0 * x if out is None else out

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        nodes = [x, *[torch.zeros_like(x)] * LAST]
        for edge, (i, j), share in zip(self.edges, EDGES, shares, strict=True):
            for (name, operation), part in zip(edge.items(), share, strict=True):  # type: ignore[operator]
                if name != NOTHING:
                    nodes[j] = nodes[j] + part * operation(nodes[i])
        return nodes[LAST]
