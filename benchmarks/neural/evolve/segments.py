"""Mine the database of segments that comes with the package, and print what is in it.

python -m benchmarks.neural.evolve.segments
"""

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.harness import script
from lamcts.neural import nas
from lamcts.neural.build import build
from lamcts.neural.evolve import read
from lamcts.neural.graphs.computation import ComputationGraph, database
from lamcts.neural.nas.base import ArchitectureSpace

SHIPPED = Path(database.__file__).with_name(database.SHIPPED)
SIDE, BATCH = 32, 2
SPACES: dict[str, tuple[ArchitectureSpace, dict[str, object]]] = {
    "NAS-Bench-101": (nas.NasBench101(), {"width": 16, "cells": 1, "stages": 2}),
    "NAS-Bench-201": (nas.NasBench201(), {"widths": (8, 16), "cells": 1}),
    "NASNet": (nas.NasNet(), {"width": 8, "cells": 3}),
    "EfficientNet": (nas.EfficientNet(), {"width": 0.5}),
}


class Residual(nn.Module):
    """The basic block of ResNet."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(*convolved(before, after, 3, stride), nn.ReLU(), *convolved(after, after, 3, 1))
        self.short = nn.Sequential(*(convolved(before, after, 1, stride) if stride > 1 or before != after else []))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.path(x) + self.short(x))


class Bottleneck(Residual):
    """The bottleneck of ResNet-50."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__(before, after, stride)
        inner = after // 4
        layers = [*convolved(before, inner, 1, 1), nn.ReLU(), *convolved(inner, inner, 3, stride), nn.ReLU()]
        self.path = nn.Sequential(*layers, *convolved(inner, after, 1, 1))


class Perceptron(nn.Module):
    """The feed-forward part of a transformer's layer, with its normalisation and skip."""

    def __init__(self, width: int, expand: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, expand * width), nn.GELU(), nn.Linear(expand * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(self.norm(x))


def convolved(before: int, after: int, kernel: int, stride: int) -> list[nn.Module]:
    """Return a convolution and its normalisation."""
    return [nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(after)]


def residual(block: type[Residual]) -> nn.Module:
    """Return a residual network of three stages of two blocks."""
    widths = [16, 16, 16, 32, 32, 64, 64]
    blocks = [block(before, after, 1 + (before != after)) for before, after in itertools.pairwise(widths)]
    return nn.Sequential(*convolved(3, 16, 3, 1), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def vgg() -> nn.Module:
    """Return convolutions and pools in a line."""
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [*convolved(before, after, 3, 1), nn.ReLU(), *convolved(after, after, 3, 1), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 64), nn.ReLU())


def drawn(name: str, count: int) -> Iterator[ComputationGraph]:
    """Yield the graphs of random networks of a space."""
    space, sizes = SPACES[name]
    rng = np.random.default_rng(0)
    x = torch.rand(BATCH, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    for _ in range(count):
        yield read(build(space, space.random(rng), **sizes), x).graph  # type: ignore[arg-type]


def fixed() -> Iterator[ComputationGraph]:
    """Yield the graphs of common blocks."""
    x = torch.rand(BATCH, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    for net in (residual(Residual), residual(Bottleneck), vgg()):
        yield read(net, x).graph
    tokens = torch.rand(BATCH, 16, 32, generator=torch.Generator().manual_seed(0))
    yield read(nn.Sequential(*(Perceptron(32, expand) for expand in (1, 2, 4, 4))), tokens).graph


def main() -> None:
    given = script.parser(__doc__, SHIPPED, "one network of two spaces")
    given.add_argument("--each", type=int, default=25, help="networks of each space")
    given.add_argument("--size", type=int, default=1000, help="largest vocabulary")
    args = script.parsed(given, each=1)
    begin, graphs = time.process_time(), [*fixed()]
    for name in list(SPACES)[: 2 if args.smoke else None]:
        some = [*drawn(name, args.each)]
        print(f"{name}: {len(some)} networks, {np.mean([len(one.nodes) for one in some]):.0f} operations on average")
        graphs += some
    read_in, begin = time.process_time() - begin, time.process_time()
    found = database.mine(graphs, args.size)
    sizes = [len(segment.nodes) for segment in found.segments]
    print(f"read in {read_in:.0f} s, mined in {time.process_time() - begin:.1f} s of CPU time")
    print(f"{len(found.segments)} segments of {np.mean(sizes):.1f} operations on average, {max(sizes)} at most")
    print("inputs and outputs:", Counter(segment.degrees for segment in found.segments).most_common(8))
    found.save(args.out)
    print(f"{args.out.name}: {args.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
