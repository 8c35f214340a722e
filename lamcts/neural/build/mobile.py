"""Networks of mobile blocks (Tan and Le 2019; thesis 2.1.1, 9.1.2): chains of inverted residuals."""

import torch
from torch import Tensor, nn

from lamcts.neural.build.layers import Head, conv_norm
from lamcts.neural.build.noise import DropPath
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.mobile import EfficientNet, MobileBlocks

WIDTHS: tuple[int, ...] = (16, 24, 40, 80, 112, 192, 320)  # of EfficientNet-B0's seven blocks
STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of EfficientNet-B0's seven blocks
OFA_WIDTHS = (24, 40, 80, 112, 160)  # of Once-for-All's five blocks, as in thesis 9.1.2
STEM, FEATURES = 32, 1280  # channels before and after the blocks: EfficientNet-B0
SQUEEZE = 4  # reduction of squeeze-and-excitation, relative to the layer's input: EfficientNet-B0
EIGHT = 8  # channels are a multiple of it, unless that loses more than a tenth: EfficientNet


def mobile(
    space: MobileBlocks, point: Point, channels: int, classes: int, *, width: float = 1.0, stem_stride: int = 2
) -> nn.Module:
    """Return the network of a point.

    Blocks of `EfficientNet` have the widths of Once-for-All after a first block without expansion. Blocks of other
    spaces have the widths and strides of EfficientNet-B0, which is a point of `AccelNasBench`.
    """
    stem = rounded(width * STEM)
    body = [nn.Sequential(*conv_norm(channels, stem, 3, stem_stride), nn.SiLU())]
    widths, before = WIDTHS, stem
    if isinstance(space, EfficientNet):
        widths, before = OFA_WIDTHS, rounded(width * WIDTHS[0])
        body.append(nn.Sequential(Inverted(stem, before, 3, 1, 1, False)))
    for i, block in enumerate(space.blocks):
        found = {"s": STRIDES[i % len(STRIDES)]} | {field: point[f"block{i}_{field}"] for field in block}
        after = rounded(width * widths[min(i, len(widths) - 1)])
        body.append(nn.Sequential(*_layers(found, before, after)))
        before = after
    last = nn.Sequential(*conv_norm(before, rounded(width * FEATURES)), nn.SiLU())
    return nn.Sequential(*body, last, Head(rounded(width * FEATURES), classes))


def _layers(block: dict[str, int], before: int, after: int) -> list[nn.Module]:
    """Return the layers of a block; the first changes size and channels."""
    shared = block["e"], bool(block.get("se"))
    first = Inverted(before, after, block["k"], block["s"], *shared)
    return [first, *(Inverted(after, after, block["k"], 1, *shared) for _ in range(block["l"] - 1))]


class Inverted(nn.Module):
    """One inverted residual."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int, squeeze: bool) -> None:
        super().__init__()
        hidden, layers = before * expansion, list[nn.Module]()
        layers += [*conv_norm(before, hidden), nn.SiLU()] if expansion > 1 else []
        layers += [*conv_norm(hidden, hidden, kernel, stride, groups=hidden), nn.SiLU()]
        layers += [Squeeze(hidden, max(1, before // SQUEEZE))] if squeeze else []
        self.path = nn.Sequential(*layers, *conv_norm(hidden, after))
        self.drop = DropPath()
        self.residual = stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.path(x)
        return x + self.drop(y) if self.residual else y


class Squeeze(nn.Module):
    """Squeeze-and-excitation: scale channels by a small network of their means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean((2, 3), keepdim=True)  # [b, c, 1, 1]
        return x * torch.sigmoid(self.excite(nn.functional.silu(self.squeeze(means))))


def rounded(channels: float) -> int:
    """Return the nearest multiple of eight, or the next one if that loses more than a tenth."""
    found = max(EIGHT, int(channels + EIGHT / 2) // EIGHT * EIGHT)
    return found if found >= 0.9 * channels else found + EIGHT
