"""A segmenter: an architecture as its backbone, and a small pyramid that says each pixel's class (Lin et al. 2017).

A step of the pyramid takes the backbone's last map of a size, adds what comes from the coarser one, and hands it to
the finer. Letters: b images of c channels, h by w; k classes.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.build.build import maker_of
from lamcts.neural.build.edge_cells import EdgeNetwork
from lamcts.neural.build.layers import conv_norm_relu
from lamcts.neural.build.nasnet import NasNetNetwork
from lamcts.neural.build.weights import initialise

PROBE = 32  # pixels of the image by which channels are counted; no memory is taken


def segmenter(
    space: ArchitectureSpace,
    point: Point,
    *,
    channels: int = 3,
    classes: int = 4,
    head: int = 16,
    seed: int = 0,
    **sizes: Any,
) -> "Segmenter":
    """Return the segmenter whose backbone is the network of a point, on the CPU. Nothing global is drawn from.

    space, point: the architecture, of NASNet cells or of cells with an operation on each edge. channels: of an image
    (3). classes: of a pixel (4). head: channels of the pyramid (16). seed: of the first weights (0).
    sizes: of the backbone, such as `width` and `cells`, or `widths` and `cells`.
    """
    with torch.device("meta"):
        net = Segmenter(Backbone(maker_of(space)(space, point, channels, classes, **sizes)), channels, classes, head)
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net


class Backbone(nn.Module):
    """The maps of a network, the last of each size, the finest first; its own head is taken off."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        if not isinstance(net, EdgeNetwork | NasNetNetwork):
            raise ValueError(f"segmenter: expected NASNet cells or cells of edges, got {type(net).__name__}")
        for unused in ("last", "head"):
            if hasattr(net, unused):
                setattr(net, unused, nn.Identity())
        self.net = net

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = list[Tensor]()
        for each in walked(self.net, x):
            if maps and maps[-1].shape[2:] == each.shape[2:]:
                maps.pop()
            maps.append(each)
        return maps


def walked(net: nn.Module, x: Tensor) -> list[Tensor]:
    """Return what comes out of each stage of a network, [b, c, h, w] each."""
    if isinstance(net, EdgeNetwork):
        found = [net.stem(x)]
        for stage in net.stages:
            found.append(stage(found[-1]))
        return found
    assert isinstance(net, NasNetNetwork)
    found = [net.stem(x)] * 2
    for cell in net.cells:
        found.append(cell(found[-2], found[-1]))
    return found


class Segmenter(nn.Module):
    """Scores [b, h, w, k] of images [b, c, h, w]: classes stand last, as in all that the training loop judges."""

    def __init__(self, backbone: nn.Module, channels: int, classes: int, head: int) -> None:
        super().__init__()
        self.backbone = backbone
        with torch.no_grad():
            maps = backbone.eval()(torch.zeros(1, channels, PROBE, PROBE, device="meta"))
        self.beside = nn.ModuleList(nn.Conv2d(each.shape[1], head, 1) for each in maps)
        self.smooth = conv_norm_relu(head, head, 3)
        self.scores = nn.Conv2d(head, classes, 1)
        self.train()

    def forward(self, x: Tensor) -> Tensor:
        maps: list[Tensor] = self.backbone(x)
        above = self.beside[-1](maps[-1].relu())
        for beside, each in zip(reversed(self.beside[:-1]), reversed(maps[:-1]), strict=True):
            above = beside(each.relu()) + functional.interpolate(above, size=each.shape[2:], mode="nearest")
        if above.shape[2:] != x.shape[2:]:
            above = functional.interpolate(above, size=x.shape[2:], mode="nearest")
        scores: Tensor = self.scores(self.smooth(above)).movedim(1, 3)
        return scores
