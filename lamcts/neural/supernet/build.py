"""Build the supernet of a space of architectures from a seed."""

from collections.abc import Callable
from typing import Any

import torch

from lamcts.neural.build.build import check_sizes, class_names
from lamcts.neural.build.weights import initialise
from lamcts.neural.nas.base import ArchitectureSpace
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.nas.genotypes import GenotypeSpace
from lamcts.neural.nas.mobile import MobileBlocks
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.edge_cells import EdgeSupernet
from lamcts.neural.supernet.genotypes import GenotypeSupernet
from lamcts.neural.supernet.mobile import MobileSupernet
from lamcts.neural.supernet.region import SupernetRegion

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
        Cells with an operation on each edge, NASNet or DARTS cells, or mobile blocks.
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
    with torch.device("meta"):
        net = kind(space, region or SupernetRegion.whole(space), (channels, classes), sizes)
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net
