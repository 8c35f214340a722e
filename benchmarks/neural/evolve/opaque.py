"""How many operations of common networks are opaque to evolution, so that no edit replaces them?

    python -m benchmarks.neural.evolve.opaque

Networks of the forms of MobileNetV2, ShuffleNetV2, ConvNeXt-T and ViT-B/16, with their numbers of blocks and fewer
channels. Opaque operations that one opaque operation alone reads count as one with it. Rows go to
results/evolve_opaque.csv.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.neural import evolve

KEY = ("network",)
COLUMNS = (*KEY, "operations", "opaque", "names", "versions")


def normalised(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution with batch norm."""
    return [nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(after)]


class Inverted(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self, before: int, after: int, stride: int, times: int = 6) -> None:
        super().__init__()
        wide = times * before
        first = [*normalised(before, wide, 1), nn.ReLU6(inplace=True)] if times > 1 else []
        middle = [*normalised(wide, wide, 3, stride, wide), nn.ReLU6(inplace=True)]
        self.steps = nn.Sequential(*first, *middle, *normalised(wide, after, 1))
        self.adds = before == after and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.steps(x) if self.adds else self.steps(x)


class Shuffled(nn.Module):
    """A block of ShuffleNetV2 without stride."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        first, last = [*normalised(half, half, 1), nn.ReLU(inplace=True)], [*normalised(half, half, 1), nn.ReLU()]
        self.steps = nn.Sequential(*first, *normalised(half, half, 3, groups=half), *last)

    def forward(self, x: Tensor) -> Tensor:
        one, other = x.chunk(2, 1)
        x = torch.cat([one, self.steps(other)], 1)
        n, channels, height, width = x.shape
        return x.view(n, 2, channels // 2, height, width).transpose(1, 2).reshape(n, channels, height, width)


class Last(nn.LayerNorm):
    """Layer norm of the channels of images."""

    def forward(self, x: Tensor) -> Tensor:
        x = functional.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class Next(nn.Module):
    """A block of ConvNeXt."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.factor = nn.Parameter(torch.full((width, 1, 1), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.factor * self.narrow(functional.gelu(self.wide(y))).permute(0, 3, 1, 2)


class Vision(nn.Module):
    """Patches and encoder layers of torch."""

    def __init__(self, width: int = 32, layers: int = 12) -> None:
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, width, 8, 8), nn.Parameter(torch.zeros(1, 16, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.layers(x)).mean(1))


def pooled(*steps: nn.Module, width: int) -> nn.Module:
    return nn.Sequential(*steps, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def mobilenet() -> nn.Module:
    blocks, before = [Inverted(8, 8, 1, times=1)], 8
    for after, count, stride in ((8, 2, 2), (16, 3, 2), (16, 4, 2), (24, 3, 1), (24, 3, 2), (32, 1, 1)):
        for i in range(count):
            blocks.append(Inverted(before, after, stride if i == 0 else 1))
            before = after
    first, last = [*normalised(3, 8, 3, 2), nn.ReLU6(inplace=True)], [*normalised(32, 64, 1), nn.ReLU6(inplace=True)]
    return pooled(*first, *blocks, *last, width=64)


def shufflenet() -> nn.Module:
    return pooled(*normalised(3, 16, 3, 2), nn.ReLU(), *(Shuffled(16) for _ in range(13)), width=16)


def convnext() -> nn.Module:
    steps: list[nn.Module] = [nn.Conv2d(3, 8, 4, 4), Last(8)]
    for width, count in ((8, 3), (16, 3), (32, 9), (64, 3)):
        steps += [Next(width) for _ in range(count)]
        if width < 64:
            steps += [Last(width), nn.Conv2d(width, 2 * width, 2, 2)]
    return pooled(*steps, width=64)


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "MobileNetV2": mobilenet,
    "ShuffleNetV2": shufflenet,
    "ConvNeXt-T": convnext,
    "ViT-B/16": Vision,
}


def main() -> None:
    given = script.parser(__doc__, "evolve_opaque.csv", "one network")
    given.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    arguments = script.parsed(given, networks=["MobileNetV2"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for [name] in sheet.missing((name,) for name in arguments.networks):
        model = evolve.read(NETWORKS[name](), torch.rand(2, 3, 32, 32))
        operations = [node.op for node in model.graph.nodes]
        sheet.record({
            "network": name, "operations": len(operations), "opaque": operations.count("opaque"),
            "names": " ".join(sorted({*model.names.values()})), "versions": versions(("torch", "lamcts")),
        })  # fmt: skip


if __name__ == "__main__":
    main()
