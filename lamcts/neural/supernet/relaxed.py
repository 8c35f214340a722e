"""Supernets whose operations are mixed in shares that gradients can learn."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.neural.build.weights import initialise
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.genotypes import GenotypeSpace
from lamcts.neural.supernet.build import supernet
from lamcts.neural.supernet.genotype_mixture import GenotypeEdges, GenotypeMixture
from lamcts.neural.supernet.mixture import Mixture
from lamcts.neural.supernet.region import SupernetRegion


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
        if not isinstance(space, GenotypeSpace):
            net = supernet(space, channels=channels, classes=classes, seed=seed, **sizes)
            if not isinstance(net, Mixture):
                raise ValueError(f"space: expected NASNet or DARTS cells or operations on edges, got {space.name}")
            return cls(net)
        if unknown := sizes.keys() - {"width", "cells", "partial"}:
            raise ValueError(f"Relaxed: expected sizes width, cells or partial, got {', '.join(sorted(unknown))}")
        edges = GenotypeEdges(space)
        with torch.device("meta"):
            made = GenotypeMixture(edges, SupernetRegion.whole(edges), (channels, classes), sizes)
        made.to_empty(device="cpu")
        initialise(made, seed)
        return cls(made)

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
