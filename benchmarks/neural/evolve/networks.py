"""Networks as users write them, on images of 16 x 16."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural import nas
from lamcts.neural.build import build


class ResidualBlock(nn.Module):
    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        same = before == after and stride == 1
        self.short = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.short(x)
        return torch.relu_(y)


class ResNet(nn.Module):
    def __init__(self, width: int = 8, classes: int = 10, channels: int = 3) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.blocks = nn.Sequential(
            ResidualBlock(width, width), ResidualBlock(width, 2 * width, 2), ResidualBlock(2 * width, 4 * width, 2)
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Denoiser(nn.Module):
    """Convolutions whose output is subtracted from an image."""

    def __init__(self, width: int = 8, channels: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        for _ in range(3):
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        self.noise = nn.Sequential(*layers, nn.Conv2d(width, channels, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return x - self.noise(x)


def vgg() -> nn.Module:
    def stage(before: int, after: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, 1, 1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]

    features = [*stage(3, 8), nn.MaxPool2d(2), *stage(8, 16), *stage(16, 16), nn.MaxPool2d(2), *stage(16, 32)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)]
    return nn.Sequential(*features, *head)


class InvertedResidual(nn.Module):
    """A block of MobileNetV3, with squeeze and excitation."""

    def __init__(self, width: int, stride: int = 1, expand: int = 3) -> None:
        super().__init__()
        wide = width * expand
        self.expand = nn.Sequential(nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish()
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(wide, wide // 4, 1),
            nn.ReLU(),
            nn.Conv2d(wide // 4, wide, 1),
            nn.Hardsigmoid(),
        )
        self.project = nn.Sequential(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width))
        self.adds = stride == 1

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(self.expand(x))
        y = self.project(y * self.squeeze(y))
        return x + y if self.adds else y


def mobilenet() -> nn.Module:
    stem = [nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish()]
    blocks = [InvertedResidual(8), InvertedResidual(8, stride=2), InvertedResidual(8)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))


class Transformer(nn.Module):
    """Patches, two encoder layers of torch, and one attention block by hand with tied projections."""

    def __init__(self, width: int = 16, patch: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (16 // patch) ** 2, width))
        layer = nn.TransformerEncoderLayer(width, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.qkv = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        x = self.layers(x)
        n, tokens, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, tokens, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        x = x + functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, tokens, width)
        return self.head(x.mean(1))


class UNet(nn.Module):
    """Two levels, with transposed convolutions and concatenated skips; it returns an image of 2 classes."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, 1, 1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.out = nn.Sequential(nn.Conv2d(2 * width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, 2, 1))

    def forward(self, x: Tensor) -> Tensor:
        one = self.down1(x)
        return self.out(torch.cat([one, self.up(self.down2(one))], 1))


class Shared(nn.Module):
    """One block that is used twice, and a tied pair of linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.block = ResidualBlock(8, 8)
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        x = self.block(self.block(self.stem(x))).mean((2, 3))
        return self.second(torch.relu(self.first(x)))


class Clipped(nn.Module):
    """Clipped and learned activations, normalised groups, and numbers that values are multiplied by and added to."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(inplace=True))
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(4, 8, eps=1e-4), nn.PReLU(8))
        self.third = nn.Sequential(nn.Conv2d(8, 8, 1), nn.PReLU(), nn.Hardtanh(-2.0, 2.0))
        self.out = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(2.0 * x - 1.0)
        return self.out((x + 0.1 * self.third(self.second(x))).mean((2, 3)))


class Maps(nn.Module):
    """Linear layers on maps, as in ConvNeXt, and channels that are cut, as in ShuffleNet."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.norm = nn.LayerNorm(8)
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)
        self.first = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(inplace=True))
        self.out = nn.Linear(6, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = x + self.narrow(functional.gelu(self.wide(y))).permute(0, 3, 1, 2)
        one, other = y.chunk(2, 1)
        y = torch.cat([self.first(one), other], 1)
        return self.out(y[:, 1:7].mean((2, 3)))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "resnet": ResNet,
    "vgg": vgg,
    "mobilenet": mobilenet,
    "transformer": Transformer,
    "unet": UNet,
    "shared": Shared,
    "clipped": Clipped,
    "maps": Maps,
}
SIDE = 16


def cells() -> nn.Module:
    """Return a network of NAS-Bench-101 cells."""
    space = nas.NasBench101()
    return build(space, space.random(np.random.default_rng(1)), width=8, cells=1, stages=2)


MODELS["cells"] = cells
