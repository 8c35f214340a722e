"""Plain ConvNets: 3 x 3 convolutions with batch norm and ReLU, in stages of halved size."""

from torch import nn

from lamcts.neural.build.layers import Head, conv_norm_relu
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.convnet import ConvNet


def convnet(space: ConvNet, point: Point, channels: int, classes: int, *, stages: int = 3) -> nn.Module:
    """Return the network of a point; the thesis leaves the layers around its convolutions open."""
    body, before, each = list[nn.Module](), channels, -(-space.layers // stages)
    for i in range(space.layers):
        after = point[f"layer{i}"]
        body += [nn.MaxPool2d(2, ceil_mode=True)] if i and i % each == 0 else []
        body.append(conv_norm_relu(before, after, 3))
        before = after
    return nn.Sequential(*body, Head(before, classes))
