"""Supernets of mobile blocks, elastic in depth, width and kernel (Once-for-all, Cai et al. 2020; thesis 9.1.2)."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lamcts.neural.build.layers import Head, conv_norm
from lamcts.neural.build.mobile import FEATURES, OFA_WIDTHS, STEM, STRIDES, WIDTHS, Inverted, rounded
from lamcts.neural.build.noise import DropPath
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.mobile import EfficientNet, MobileBlocks
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.region import SupernetRegion


class MobileLayer(NamedTuple):
    """Settings of a layer: kernel, stride, expansion, and squeeze-and-excitation."""

    kernel: int
    stride: int
    expansion: int
    squeeze: bool


class MobileSupernet(Supernet):
    """The network of `build` with the largest blocks of the space."""

    space: MobileBlocks

    def __init__(
        self, space: MobileBlocks, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__(space, region, shape, sizes)
        self._build(*shape, **sizes)

    def _build(self, channels: int, classes: int, width: float = 1.0, stem_stride: int = 2) -> None:
        stem = rounded(width * STEM)
        body: list[nn.Module] = [nn.Sequential(*conv_norm(channels, stem, 3, stem_stride), nn.SiLU())]
        widths, before = WIDTHS, stem
        if isinstance(self.space, EfficientNet):
            widths, before = OFA_WIDTHS, rounded(width * WIDTHS[0])
            body.append(nn.Sequential(Inverted(stem, before, 3, 1, 1, False)))
        self.first = len(body)  # index of the first block in the body
        for i, block in enumerate(self.space.blocks):
            after = rounded(width * widths[min(i, len(widths) - 1)])
            largest = MobileLayer(max(block["k"]), 1, max(block["e"]), bool(max(block.get("se", (0,)))))
            pairs = [(before if not j else after, after) for j in range(max(block["l"]))]
            body.append(ElasticBlock(Elastic(*pair, largest) for pair in pairs))
            before = after
        features = rounded(width * FEATURES)
        body += [nn.Sequential(*conv_norm(before, features), nn.SiLU())]
        self.body = nn.ModuleList([*body, Head(features, classes)])

    def masked(self, x: Tensor, point: Point) -> Tensor:
        for i, part in enumerate(self.body):
            x = part(x, self.layers(point, i - self.first)) if isinstance(part, ElasticBlock) else part(x)
        return x

    def source(self, name: str, point: Point, own: Mapping[str, Tensor]) -> Tensor:
        part, number, *rest = name.split(".")
        block = self.body[int(part)]
        if not isinstance(block, ElasticBlock):
            return own[f"body.{name}"]
        elastic = block.elastic[int(number)]
        weights = {path: own[f"body.{part}.{number}.largest.{path}"] for path in elastic.largest.state_dict()}
        layer = self.layers(point, int(part) - self.first)[int(number)]
        return elastic.parts(layer, weights)[".".join(rest)]

    def layers(self, point: Point, block: int) -> list[MobileLayer]:
        """Return the layers of a block; only the first has its stride."""
        found = {"s": STRIDES[block % len(STRIDES)]}
        found |= {name: point[f"block{block}_{name}"] for name in self.space.blocks[block]}
        first = MobileLayer(found["k"], found["s"], found["e"], bool(found.get("se")))
        return [first, *[first._replace(stride=1)] * (found["l"] - 1)]


class ElasticBlock(nn.ModuleList):
    """Layers of a block; a network uses the first ones."""

    @property
    def elastic(self) -> "list[Elastic]":
        return [layer for layer in self if isinstance(layer, Elastic)]

    def forward(self, x: Tensor, layers: list[MobileLayer]) -> Tensor:
        for elastic, layer in zip(self.elastic, layers, strict=False):
            x = elastic(x, layer)
        return x


class Elastic(nn.Module):
    """The largest inverted residual of a layer, with smaller ones as parts."""

    def __init__(self, before: int, after: int, largest: MobileLayer) -> None:
        super().__init__()
        self.ends, self.size = (before, after), largest
        self.largest = alone(before, after, largest)
        self.drop = DropPath()

    def forward(self, x: Tensor, layer: MobileLayer) -> Tensor:
        net = self._alone(layer).train(self.training)
        y: Tensor = functional_call(net, self.parts(layer, self._own), (x,))
        return y

    def parts(self, layer: MobileLayer, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights of a layer, by name, as views of the largest one's."""
        mine, other = roles(self.size), roles(layer)
        found = {}
        for name, value in self._alone(layer).state_dict().items():
            path, number, *rest = name.split(".")
            place = mine.index(other[int(number)])
            found[name] = middle(weights[".".join([path, str(place), *rest])], value.shape)
        return found

    @property
    def _own(self) -> dict[str, Tensor]:
        return dict([*self.largest.named_parameters(), *self.largest.named_buffers()])

    def _alone(self, layer: MobileLayer) -> Inverted:
        """Return a stand-alone layer without weights."""
        if layer not in self._known:
            with torch.device("meta"):
                made = alone(*self.ends, layer)
            made.drop = self.drop  # uses the generator of this network
            self._known[layer] = made
        return self._known[layer]

    @cached_property
    def _known(self) -> dict[MobileLayer, Inverted]:
        return {}


def alone(before: int, after: int, layer: MobileLayer) -> Inverted:
    return Inverted(before, after, layer.kernel, layer.stride, layer.expansion, layer.squeeze)


def roles(layer: MobileLayer) -> list[str]:
    """Return the roles of the modules of an inverted residual, in order."""
    found = ["expand", "expand norm", "expand act"] if layer.expansion > 1 else []
    found += ["filter", "filter norm", "filter act", *(["squeeze"] if layer.squeeze else [])]
    return [*found, "narrow", "narrow norm"]


def middle(weight: Tensor, shape: torch.Size) -> Tensor:
    """Return the part of a weight: the first channels, and the centre of a kernel."""
    for axis, size in enumerate(shape):
        start = (weight.shape[axis] - size) // 2 if axis > 1 else 0
        weight = weight.narrow(axis, start, size)
    return weight
