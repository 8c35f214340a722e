"""A small U-Net (Ronneberger et al. 2015), the baseline for searched segmenters: two convolutions at each size."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.layers import conv_norm_relu
from lamcts.neural.build.weights import initialised


def unet(*, channels: int = 3, classes: int = 4, width: int = 8, sizes: int = 3, seed: int = 0) -> "UNet":
    """Return a U-Net on the CPU: scores [b, h, w, k] of images [b, c, h, w].

    channels: of an image (3). classes: of a pixel (4). width: channels at full size, doubled at each halving (8).
    sizes: how many there are, the full one included (3). seed: of the first weights (0).
    """
    return initialised(lambda: UNet(channels, classes, [width << i for i in range(sizes)]), seed)


class UNet(nn.Module):
    def __init__(self, channels: int, classes: int, widths: list[int]) -> None:
        super().__init__()
        before = [channels, *widths[:-1]]
        self.down = nn.ModuleList(_two(a, b) for a, b in zip(before, widths, strict=True))
        self.up = nn.ModuleList(_two(fine + coarse, fine) for fine, coarse in pairwise(widths))
        self.scores = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        maps = list[Tensor]()
        for i, layer in enumerate(self.down):
            x = layer(functional.max_pool2d(x, 2) if i else x)
            maps.append(x)
        for layer, skip in zip(reversed(self.up), reversed(maps[:-1]), strict=True):
            x = layer(torch.cat([skip, functional.interpolate(x, size=skip.shape[2:], mode="nearest")], 1))
        scores: Tensor = self.scores(x).movedim(1, 3)
        return scores


def _two(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(conv_norm_relu(before, after, 3), conv_norm_relu(after, after, 3))
