"""Layers that several spaces share. Letters: b images, c channels, h by w."""

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv_norm(before: int, after: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution without bias, padded to keep the size, and its batch norm."""
    conv = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(after)]


def conv_norm_relu(before: int, after: int, kernel: int = 1) -> nn.Sequential:
    """Return a convolution, its batch norm and a ReLU."""
    return nn.Sequential(*conv_norm(before, after, kernel), nn.ReLU())


def relu_conv_norm(before: int, after: int) -> nn.Sequential:
    """Return a ReLU, a 1 x 1 convolution and its batch norm."""
    return nn.Sequential(nn.ReLU(), *conv_norm(before, after))


def separable(channels: int, kernel: int, stride: int) -> nn.Sequential:
    """Return a separable convolution applied twice, as in NASNet: ReLU, depthwise and pointwise."""
    halves = [
        (nn.ReLU(), nn.Conv2d(channels, channels, kernel, step, kernel // 2, groups=channels, bias=False))
        for step in (stride, 1)
    ]
    return nn.Sequential(*(layer for half in halves for layer in (*half, *conv_norm(channels, channels))))


def dilated(channels: int, kernel: int, stride: int) -> nn.Sequential:
    """Return a separable convolution whose taps are two pixels apart: ReLU, depthwise and pointwise (DARTS)."""
    depthwise = nn.Conv2d(channels, channels, kernel, stride, kernel - 1, dilation=2, groups=channels, bias=False)
    return nn.Sequential(nn.ReLU(), depthwise, *conv_norm(channels, channels))


class HalfSize(nn.Module):
    """Halve the size by two 1 x 1 convolutions of stride 2, one shifted by a pixel (DARTS)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.even = nn.Conv2d(before, after // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(before, after - after // 2, 1, 2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        x = x.relu()
        moved = functional.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:]  # odd sizes are padded by a row and a column of zeros
        y: Tensor = self.norm(torch.cat([self.even(x), self.odd(moved)], 1))
        return y


class Head(nn.Module):
    """Scores [b, k] of features [b, c, h, w] by global average pooling and a linear layer."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x.mean((2, 3)))
        return y
