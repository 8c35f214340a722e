"""The networks of the memory benchmarks, as modules: torchvision does not load beside torch's CPU build.

Widths and depths are parameters, so that tests run small ones. Needs torch.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}  # He 2015, table 1
EXPANSION = 4  # outputs of a bottleneck over its inner channels


def alexnet(width: int = 96, classes: int = 1000, hidden: int = 4096, image: int = 227) -> nn.Module:
    """Return the thesis's AlexNet, without channel groups; `width` is that of its first convolution."""
    channels = [width, width * 8 // 3, width * 4, width * 4, width * 8 // 3]
    layers: list[nn.Module] = [nn.Conv2d(3, channels[0], 11, 4)]
    layers += [
        nn.ReLU(),
        nn.LocalResponseNorm(5),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(channels[0], channels[1], 5, padding=2),
    ]
    layers += [nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2)]
    for before, after in pairwise(channels[1:]):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
    side = ((image - 11) // 4 + 1 - 3) // 2 + 1  # after the first pool
    side = (((side - 3) // 2 + 1) - 3) // 2 + 1
    layers += [nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(channels[-1] * side**2, hidden), nn.ReLU(), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(), nn.Linear(hidden, classes))


def convolved(before: int, after: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Return a convolution without bias, a normalisation, and a ReLU in place."""
    layer = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class Bottleneck(nn.Module):
    """A block of a ResNet, its stride at the 3 x 3 convolution."""

    def __init__(self, before: int, inner: int, stride: int) -> None:
        super().__init__()
        after = EXPANSION * inner
        self.long = nn.Sequential(convolved(before, inner, 1), convolved(inner, inner, 3, stride))
        self.last = nn.Sequential(nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))
        self.short: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.long(x))
        out += self.short(x)
        return torch.relu_(out)


def resnet(depth: int | Sequence[int] = 50, width: int = 64, classes: int = 1000) -> nn.Module:
    """Return a ResNet of 50, 101 or 152 layers, or of so many blocks in each stage."""
    layers: list[nn.Module] = [convolved(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, count in enumerate(BLOCKS[depth] if isinstance(depth, int) else depth):
        for i in range(count):
            inner = width * 2**stage
            layers.append(Bottleneck(before, inner, 2 if stage and not i else 1))
            before = EXPANSION * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class Residual(nn.Module):
    """A block of two convolutions around which its input goes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.long = nn.Sequential(convolved(width, width, 3), nn.Conv2d(width, width, 3, 1, 1, bias=False))
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.long(x))
        out += x
        return torch.relu_(out)


def residual(width: int, blocks: int, classes: int) -> nn.Module:
    """Return a ResNet of one width."""
    layers = [convolved(3, width, 3), *(Residual(width) for _ in range(blocks))]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class Fan(nn.Module):
    """Four branches side by side, concatenated, as Inception's."""

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        half = width // 2
        self.branches = nn.ModuleList([convolved(before, width, 1)])
        self.branches += [nn.Sequential(convolved(before, half, 1), convolved(half, width, k)) for k in (3, 5)]
        self.branches.append(nn.Sequential(nn.MaxPool2d(3, 1, 1), convolved(before, half, 1)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception(modules: int = 9, width: int = 64, classes: int = 1000) -> nn.Module:
    """Return modules of four branches between a stem and a classifier."""
    layers: list[nn.Module] = [convolved(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)]
    before, after = width, 3 * width + width // 2
    for _ in range(modules):
        layers.append(Fan(before, width))
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class Dense(nn.Module):
    """A layer of a DenseNet: it appends `growth` channels to all that it reads."""

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        inner = 4 * growth
        self.first = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(), nn.Conv2d(before, inner, 1, bias=False))
        self.second = nn.Sequential(
            nn.BatchNorm2d(inner), nn.ReLU(), nn.Conv2d(inner, growth, 3, padding=1, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.second(self.first(x))], 1)


def densenet(blocks: Sequence[int] = (6, 12, 24, 16), growth: int = 32, classes: int = 1000) -> nn.Module:
    """Return a DenseNet, by default that of 121 layers."""
    layers: list[nn.Module] = [convolved(3, 2 * growth, 7, 2), nn.MaxPool2d(3, 2, 1)]
    channels = 2 * growth
    for stage, count in enumerate(blocks):
        if stage:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False)]
            layers.append(nn.AvgPool2d(2))
            channels //= 2
        for _ in range(count):
            layers.append(Dense(channels, growth))
            channels += growth
    layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(channels, classes))


class Block(nn.Module):
    """A transformer's block, normalised first: attention, then a perceptron."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def attention(self, x: Tensor, dropout: float = 0.0) -> Tensor:
        rows, length, width = x.shape
        parts = self.mixed(x).view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts.unbind(0), dropout_p=dropout, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return out

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        added: Tensor = x + self.mlp(self.norms[1](x))
        return added


def transformer(
    layers: int = 12, width: int = 768, heads: int = 12, words: int = 50257, dropout: float = 0.1
) -> nn.Module:
    """Return a language model of so many blocks, its words embedded; positions are left out."""
    blocks = [Block(width, heads, dropout) for _ in range(layers)]
    return nn.Sequential(nn.Embedding(words, width), *blocks, nn.LayerNorm(width), nn.Linear(width, words))


def images(count: int, side: int = 224) -> Tensor:
    """Return a batch of empty images."""
    return torch.zeros(count, 3, side, side)


def texts(count: int, length: int = 1024) -> Tensor:
    """Return a batch of texts of one word."""
    return torch.zeros(count, length, dtype=torch.long)


# Small ones, with a batch each: what tests and smoke runs take.
SMALL: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "alexnet": lambda: (alexnet(6, 5, 16, 67), images(2, 67)),
    "resnet": lambda: (resnet((1, 2), 4, 5), images(2, 32)),
    "inception": lambda: (inception(2, 4, 5), images(2, 32)),
    "densenet": lambda: (densenet((2, 3), 4, 5), images(2, 32)),
    "transformer": lambda: (transformer(2, 16, 2, 11), texts(2, 8)),
}
# As published, with the batch of the benchmarks.
FULL: dict[str, Callable[[int], tuple[nn.Module, Any]]] = {
    "alexnet": lambda batch: (alexnet(), images(batch, 227)),
    "resnet50": lambda batch: (resnet(50), images(batch)),
    "resnet152": lambda batch: (resnet(152), images(batch)),
    "inception": lambda batch: (inception(), images(batch)),
    "densenet121": lambda batch: (densenet(), images(batch)),
    "transformer12": lambda batch: (transformer(12), texts(batch)),
    "transformer24": lambda batch: (transformer(24, 1024, 16), texts(batch)),
}
