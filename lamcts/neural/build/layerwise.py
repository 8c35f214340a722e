"""Layer-by-layer convolutional networks with skip connections (Zoph and Le 2017, sections 3.3 and A.1)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.layers import Head
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.layerwise import FIELDS, Layerwise


def layerwise(space: Layerwise, point: Point, channels: int, classes: int, *, width: float = 1.0) -> nn.Module:
    """Return the network of a point."""
    return LayerwiseNetwork(space, point, channels, classes, width)


class LayerwiseNetwork(nn.Module):
    """Scores [b, k] of images [b, c, h, w]; smaller inputs of a layer are padded with zeros."""

    def __init__(self, space: Layerwise, point: Point, channels: int, classes: int, width: float) -> None:
        super().__init__()
        *self.sources, self.outputs = space.sources(point)
        layers, counts = list[nn.Module](), list[int]()
        for i, read in enumerate(self.sources):
            *kernel, filters, stride = (point[f"layer{i}_{field}"] for field in FIELDS)
            counts.append(max(1, round(width * filters)))
            before = sum(counts[j] for j in read) if read else channels
            layers.append(_layer(before, counts[-1], (kernel[0], kernel[1]), stride))
        self.layers = nn.ModuleList(layers)
        self.head = Head(sum(counts[i] for i in self.outputs), classes)

    def forward(self, x: Tensor) -> Tensor:
        maps = list[Tensor]()
        for layer, read in zip(self.layers, self.sources, strict=True):
            maps.append(layer(joined([maps[j] for j in read]) if read else x))
        scores: Tensor = self.head(joined([maps[i] for i in self.outputs]))
        return scores


def _layer(before: int, after: int, kernel: tuple[int, int], stride: int) -> nn.Module:
    padding = (kernel[0] // 2, kernel[1] // 2)
    conv = nn.Conv2d(before, after, kernel, stride, padding, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after), nn.ReLU())


def joined(maps: list[Tensor]) -> Tensor:
    """Return maps concatenated by channels, padded with zeros to the largest height and width."""
    height, width = (max(each.shape[axis] for each in maps) for axis in (2, 3))
    return torch.cat([functional.pad(each, (0, width - each.shape[3], 0, height - each.shape[2])) for each in maps], 1)
