"""`build`: a network of any space of architectures, its first weights drawn from a seed."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.nas.cells import EdgeCells
from lamcts.nas.convnet import ConvNet
from lamcts.nas.enas import EnasCell
from lamcts.nas.mobile import MobileBlocks
from lamcts.nas.nasbench101 import NasBench101
from lamcts.nas.nasnet import NasNet
from lamcts.neural.build.convnet import convnet
from lamcts.neural.build.edge_cells import edge_network
from lamcts.neural.build.mobile import mobile
from lamcts.neural.build.nasbench101 import nasbench101
from lamcts.neural.build.nasnet import nasnet
from lamcts.neural.build.recurrent import recurrent
from lamcts.neural.build.weights import initialise

MAKERS: dict[type[ArchitectureSpace], Callable[..., nn.Module]] = {
    NasNet: nasnet,
    NasBench101: nasbench101,
    EdgeCells: edge_network,
    ConvNet: convnet,
    MobileBlocks: mobile,
    EnasCell: recurrent,
}


def build(
    space: ArchitectureSpace, point: Point, *, channels: int = 3, classes: int = 10, seed: int = 0, **sizes: Any
) -> nn.Module:
    """Return the network of a point, on the CPU. Nothing global is drawn from.

    space, point: the architecture. channels: of an image (3). classes: how many there are; of a text, its words (10).
    seed: of the first weights (0); those of a module depend on its path, not on what stands beside it.
    sizes: what the kind's own function takes, such as `width` and `cells`; its defaults are those of the paper.
    """
    maker = maker_of(space)
    known = _sizes(maker)
    for name in sizes:
        if name not in known:
            raise ValueError(f"build: expected sizes of {space.name}, {', '.join(known)}, got {name!r}")
    with torch.device("meta"):  # layers draw their weights from the global generator as soon as they have memory
        net = maker(space, point, channels, classes, **sizes)
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net


def maker_of(space: ArchitectureSpace) -> Callable[..., nn.Module]:
    """Return the function that makes the networks of a space."""
    for kind, maker in MAKERS.items():
        if isinstance(space, kind):
            return maker
    known = ", ".join(kind.__name__ for kind in MAKERS)
    raise ValueError(f"build: expected a space whose networks can be built, got {space.name}; these can: {known}")


def _sizes(maker: Callable[..., nn.Module]) -> list[str]:
    parameters = inspect.signature(maker).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
