"""Build the network of a point of any space of architectures from a seed."""

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from torch import nn

from lamcts.neural.build.convnet import convnet
from lamcts.neural.build.edge_cells import edge_network
from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.build.genotypes import genotype_network
from lamcts.neural.build.layerwise import layerwise
from lamcts.neural.build.mobile import mobile
from lamcts.neural.build.nasbench101 import nasbench101
from lamcts.neural.build.random_graphs import random_graphs
from lamcts.neural.build.recurrent import recurrent
from lamcts.neural.build.weights import initialise
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.nas.convnet import ConvNet
from lamcts.neural.nas.enas import EnasCell
from lamcts.neural.nas.genotypes import GenotypeSpace
from lamcts.neural.nas.layerwise import Layerwise
from lamcts.neural.nas.mobile import MobileBlocks
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.random_graphs import RandomGraphs

MAKERS: dict[type[ArchitectureSpace], Callable[..., nn.Module]] = {
    GenotypeSpace: genotype_network,
    NasBench101: nasbench101,
    EdgeCells: edge_network,
    ConvNet: convnet,
    Layerwise: layerwise,
    RandomGraphs: random_graphs,
    MobileBlocks: mobile,
    EnasCell: recurrent,
}


def build(
    space: ArchitectureSpace, point: Point, *, channels: int = 3, classes: int = 10, seed: int = 0, **sizes: Any
) -> nn.Module:
    """Return the network of a point, on the CPU; no global generator is used.

    Parameters
    ----------
    space : ArchitectureSpace
        The space of the architecture.
    point : dict
        The architecture.
    channels : int, default 3
        Image channels; not used by a `NetworkFactory`.
    classes : int, default 10
        Number of classes; for texts, the vocabulary size. Not used by a `NetworkFactory`.
    seed : int, default 0
        Seed of the initial weights. The weights of a module depend on its path only.
    **sizes
        Keyword arguments of the space's builder, such as `width` and `cells`, by default those of the paper.
    """
    check_sizes(space, sizes, "build")
    if isinstance(space, NetworkFactory):
        return space.network(point, seed)
    maker = maker_of(space)
    with torch.device("meta"):  # with memory, layers would draw weights from the global generator
        net = maker(space, point, channels, classes, **sizes)
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net


def maker_of(space: ArchitectureSpace) -> Callable[..., nn.Module]:
    """Return the builder of a space."""
    for kind, maker in MAKERS.items():
        if isinstance(space, kind):
            return maker
    known = class_names(MAKERS)
    raise ValueError(f"build: expected a space whose networks can be built, got {space.name}; these can: {known}")


def class_names(kinds: Iterable[type[ArchitectureSpace]]) -> str:
    """Return the names of classes of spaces for a message, of base classes those of their subclasses."""
    return ", ".join(one.__name__ for kind in kinds for one in kind.__subclasses__() or [kind])


def check_sizes(space: ArchitectureSpace, sizes: Collection[str], caller: str) -> None:
    """Raise ValueError for names that are no keyword arguments of the space's builder."""
    if isinstance(space, NetworkFactory):
        if sizes:
            raise ValueError(f"{caller}: expected no sizes of {space.name}, got {', '.join(sizes)}; add parameters")
        return
    parameters = inspect.signature(maker_of(space)).parameters.values()
    known = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    for name in sizes:
        if name not in known:
            raise ValueError(f"{caller}: expected sizes of {space.name}, {', '.join(known)}, got {name!r}")
