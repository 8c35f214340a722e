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
# The networks of table 9.4 of the thesis, by their multiplications: of each layer the kernel, the stride, the channels
# and the expansion, and the features after the layers. A kernel of 4 is printed in one layer, which is taken as 3.
LANETS: dict[str, tuple[str, tuple[int, int]]] = {
    "228M": (
        "3 1 24 1, 3 2 36 3, 3 1 36 3, 3 2 40 3, 3 1 40 4, 3 1 40 4, 5 2 80 4, 5 1 80 4, 3 1 80 4, 3 1 112 4, "
        "3 1 112 4, 5 2 168 6, 3 1 168 6, 3 1 168 6, 3 1 168 6",
        (960, 1280),
    ),
    "598M": (
        "3 1 24 1, 3 2 36 3, 5 1 36 4, 3 1 36 4, 5 2 48 4, 5 1 48 4, 3 1 48 6, 3 1 48 6, 7 2 96 6, 5 1 96 6, "
        "3 1 96 6, 5 1 96 6, 3 1 136 6, 5 1 136 6, 5 1 136 6, 3 1 136 6, 3 2 200 6, 5 1 200 6, 5 1 200 6, 3 1 200 6",
        (1152, 1536),
    ),
}
LANET_STEM = 24  # channels before the layers
EIGHT = 8  # channels are a multiple of it, unless that loses more than a tenth: EfficientNet


def mobile(
    space: MobileBlocks, point: Point, channels: int, classes: int, *, width: float = 1.0, stem_stride: int = 2
) -> nn.Module:
    """Return the network of a point."""
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


def lanet(size: str = "598M", classes: int = 1000) -> nn.Module:
    """Return a network that the thesis prints in table 9.4, found on ImageNet.

    Parameters
    ----------
    size : {"228M", "598M"}, default "598M"
        Its multiplications for an image of 224 x 224 pixels, as printed.
    classes : int, default 1000
        Outputs.

    Raises
    ------
    ValueError
        For another size.

    Notes
    -----
    The table leaves out squeeze-and-excitation and activations. Without the former the networks have 4.3 and 6.8
    million weights and 262 and 597 million multiplications; printed are 5.1 and 8.2, and 228 and 598.

    Examples
    --------
    >>> import torch
    >>> from lamcts.neural.build import lanet
    >>> with torch.device("meta"):  # without weights
    ...     net = lanet("598M")
    >>> round(sum(weight.numel() for weight in net.parameters()) / 1e6, 1)
    6.8
    """
    if size not in LANETS:
        raise ValueError(f"size: expected one of {', '.join(LANETS)}, got {size!r}")
    rows, (last, features) = LANETS[size]
    body, before = [nn.Sequential(*conv_norm(3, LANET_STEM, 3, 2), nn.SiLU())], LANET_STEM
    for row in rows.split(", "):
        kernel, stride, after, expansion = map(int, row.split())
        body.append(nn.Sequential(Inverted(before, after, kernel, stride, expansion, False)))
        before = after
    body.append(nn.Sequential(*conv_norm(before, last), nn.SiLU(), nn.AdaptiveAvgPool2d(1)))
    return nn.Sequential(*body, nn.Conv2d(last, features, 1, bias=False), nn.SiLU(), Head(features, classes))


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
