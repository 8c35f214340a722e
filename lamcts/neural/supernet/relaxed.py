"""Supernets whose operations are mixed in shares that gradients can learn."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.genotypes import STEM, operation
from lamcts.neural.build.layers import HalfSize, Head, conv_norm, relu_conv_norm
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.genotypes import Edge, GenotypeSpace
from lamcts.neural.supernet.base import Mixture, Shares
from lamcts.neural.supernet.build import supernet
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number


class Relaxed(nn.Module):
    """Scores [b, k] by all operations of a supernet, weighted by the softmax of `logits`.

    net: the supernet. logits: of the operations of each place, zero at first. edge_logits: of the edges of each node,
    for partial channels; empty else.
    """

    def __init__(self, net: Mixture) -> None:
        super().__init__()
        self.net = net
        self.logits = _zeros({place: net.options(place) for place in net.region.allowed})
        self.edge_logits = _zeros(net.normalised)

    @classmethod
    def of(
        cls, space: ArchitectureSpace, *, channels: int = 3, classes: int = 10, seed: int = 0, **sizes: Any
    ) -> "Relaxed":
        """Return the mixture of a space with equal shares, on the CPU."""
        if not isinstance(space, GenotypeSpace) or space.one_output:
            net = supernet(space, channels=channels, classes=classes, seed=seed, **sizes)
            if not isinstance(net, Mixture):
                raise ValueError(f"space: expected NASNet or DARTS cells or operations on edges, got {space.name}")
            return cls(net)
        if unknown := sizes.keys() - {"width", "cells", "partial"}:
            raise ValueError(f"Relaxed: expected sizes width, cells or partial, got {', '.join(sorted(unknown))}")
        edges = GenotypeEdges(space)
        whole = SupernetRegion.whole(edges)
        return cls(initialised(lambda: GenotypeMixture(edges, whole, (channels, classes), sizes), seed))

    def forward(self, x: Tensor) -> Tensor:
        return self.net.mixed(x, list(self._shares().values()))

    def _shares(self) -> dict[str, Tensor]:
        """Return the shares [m] of each place, in the order of the region."""
        found = {place: self.logits[place].softmax(0) for place in self.net.region.allowed}
        for node, places in self.net.normalised.items():
            for place, share in zip(places, self.edge_logits[node].softmax(0), strict=True):
                found[place] = share * found[place]
        return found

    @property
    def architecture(self) -> list[nn.Parameter]:
        """All logits, which the optimizer of the shares changes."""
        return [*self.logits.values(), *self.edge_logits.values()]

    @property
    def shares(self) -> dict[str, dict[str, float]]:
        """The share of each operation, by place, that of "none" last; with partial channels, times the edge's share."""
        found = self._shares().items()
        return {place: dict(zip(self.net.options(place), each.tolist(), strict=True)) for place, each in found}

    @property
    def point(self) -> Point:
        """The architecture of the largest shares; ties go to the first."""
        return self.net.strongest(self.shares)

    @torch.no_grad()
    def restricted(self, region: SupernetRegion) -> "Relaxed":
        """Return the mixture restricted to a part of the region, with copies of weights and logits."""
        net = self.net.restricted(region)
        assert isinstance(net, Mixture)
        child = Relaxed(net)
        for place in region.allowed:
            mine, options = self.net.options(place), net.options(place)
            child.logits[place].copy_(self.logits[place][[mine.index(option) for option in options]])
        child.edge_logits.load_state_dict(self.edge_logits.state_dict())
        return child


def _zeros(options: Mapping[str, Any]) -> nn.ParameterDict:
    """Return a logit of zero for each option, by place."""
    return nn.ParameterDict({place: nn.Parameter(torch.zeros(len(each))) for place, each in options.items()})


Strengths = Mapping[str, Tensor | float]  # of the operations on an edge
NONE = "none"  # the operation of DARTS that adds nothing: it has a share, and no edge keeps it


class GenotypeEdges(ArchitectureSpace):
    """An operation on each edge of both cells: what DARTS relaxes, before it chooses two edges a node."""

    def __init__(self, cells: GenotypeSpace) -> None:
        self.cells, self.name = cells, f"{cells.name}-edges"
        places = [place for cell in cells.cells for node in self.places(cell) for place in node]
        self.space = Space({place: Choice(cells.operations) for place in places})

    def places(self, cell: str) -> list[list[str]]:
        """Return the places of each node of a cell, by input."""
        return [[edge(cell, i, k) for k in range(i + 2)] for i in range(len(self.cells.pairs))]


class GenotypeMixture(Mixture):
    """The skeleton of `build` with all operations on all edges."""

    space: GenotypeEdges

    def __init__(
        self, space: GenotypeEdges, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__(space, region, shape, sizes)
        self.more = (NONE,) if space.cells.none else ()
        self._build(*shape, **sizes)

    def _build(self, channels: int, classes: int, width: int = 36, cells: int = 20, partial: int = 1) -> None:
        if width % whole_number(partial, "partial", least=1):
            raise ValueError(f"partial: expected a divisor of the width {width}, got {partial}")
        kinds = {cell: self.space.places(cell) for cell in self.space.cells.cells}  # normal, reduction
        if partial > 1:
            self.normalised = {f"{cell}_{i}": node for cell, nodes in kinds.items() for i, node in enumerate(nodes)}
        self.stem = nn.Sequential(*conv_norm(channels, STEM * width, 3))
        made, before, reduced = list[MixedCell](), (STEM * width, STEM * width), False
        for i in range(cells):
            reduces = i in (cells // 3, 2 * cells // 3) and cells > 1
            width *= 1 + reduces
            places = list(kinds.values())[reduces]
            made.append(MixedCell(places, self.region, before, width, reduces, reduced, partial))
            before, reduced = (before[1], len(places) * width), reduces
        self.cells = nn.ModuleList(made)
        self.head = Head(before[1], classes)

    def masked(self, x: Tensor, point: Point) -> Tensor:
        return self._through(x, {place: {name: 1.0} for place, name in point.items()})

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        places = zip(self.region.allowed, shares, strict=True)
        return self._through(x, {place: dict(zip(self.options(place), each, strict=True)) for place, each in places})

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
        cells, places = self.space.cells, self.space.places
        return cells.from_edges({cell: [two_edges(shares, node) for node in places(cell)] for cell in cells.cells})


class MixedCell(nn.Module):
    """One cell. `before`: channels of the last two cells; `reduced`: the last one halved the size."""

    def __init__(
        self,
        places: list[list[str]],
        region: SupernetRegion,
        before: tuple[int, int],
        width: int,
        reduces: bool,
        reduced: bool,
        partial: int,
    ) -> None:
        super().__init__()
        self.places = places
        self.older = (HalfSize if reduced else relu_conv_norm)(before[0], width)
        self.old = relu_conv_norm(before[1], width)
        self.edges = nn.ModuleDict(
            {
                place: MixedEdge(region.allowed[place], width, 1 + (reduces and k < 2), partial)
                for node in places
                for k, place in enumerate(node)
            }
        )

    def forward(self, older: Tensor, old: Tensor, strengths: Mapping[str, Strengths]) -> Tensor:
        values = [self.older(older), self.old(old)]
        for node in self.places:
            terms = [self.edges[place](values[k], strengths[place]) for k, place in enumerate(node)]
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
        terms = [part * self.operations[name](inside) for name, part in strengths.items() if name != NONE]
        y = torch.stack(terms).sum(0)
        if self.partial == 1:
            return y
        rest = x[:, self.channels :]
        rest = rest if self.stride == 1 else functional.max_pool2d(rest, 2, ceil_mode=True)
        both = torch.cat([y, rest * sum(strengths.values())], 1)  # the shares of an edge add up to its own share
        return functional.channel_shuffle(both, self.partial)  # as in PC-DARTS


def edge(cell: str, i: int, k: int) -> str:
    """Return the place of the edge from input k to node i."""
    return f"{cell}_edge_{i}_{k}"


def two_edges(shares: Shares, node: list[str]) -> list[Edge]:
    """Return the two edges of a node whose best operations have the largest shares; ties go to the first."""
    best: list[tuple[float, Edge]] = []
    for k, place in enumerate(node):
        each = {name: share for name, share in shares[place].items() if name != NONE}
        name = max(each, key=each.__getitem__)
        best.append((each[name], (name, k)))
    one, other = max(combinations(best, 2), key=lambda two: two[0][0] + two[1][0])
    return [one[1], other[1]]
