"""Build the network of a point of any space of architectures from a seed."""

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.edge_cells import edge_network
from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.build.genotypes import genotype_network
from lamcts.neural.build.layers import Head, conv_norm, conv_norm_relu
from lamcts.neural.build.mobile import mobile
from lamcts.neural.build.nasbench101 import nasbench101
from lamcts.neural.build.recurrent import recurrent
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.nas.chains import ConvNet
from lamcts.neural.nas.enas import EnasCell
from lamcts.neural.nas.genotypes import GenotypeSpace
from lamcts.neural.nas.layerwise import FIELDS, Layerwise
from lamcts.neural.nas.mobile import MobileBlocks
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.random_graphs import Edges, RandomGraphs


def random_graphs(
    space: RandomGraphs, point: Point, channels: int, classes: int, *, width: int = 78, stem_stride: int = 2
) -> nn.Module:
    """Return the network of a point."""
    stem = max(1, width // 2)
    body: list[nn.Module] = [nn.Sequential(*conv_norm(channels, stem, 3, stem_stride))]
    before = stem
    for i in range(space.stages):
        after = width * 2**i
        body.append(RandomStage(space.edges(point, i), space.nodes, before, after, 2 if i else stem_stride))
        before = after
    return nn.Sequential(*body, nn.ReLU(), Head(before, classes))


class RandomStage(nn.Module):
    """The graph of a stage; nodes that read its input change size and channels."""

    def __init__(self, edges: Edges, nodes: int, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.sources = [[i for i, j in edges if j == node] for node in range(nodes)]
        taken = {i for i, _ in edges}
        self.outputs = [node for node in range(nodes) if node not in taken]
        self.sums = nn.ModuleList(WeightedSum(max(1, len(read)), 1, bias=False) for read in self.sources)
        self.layers = nn.ModuleList(
            _separable(after, after, 1) if read else _separable(before, after, stride) for read in self.sources
        )

    def forward(self, x: Tensor) -> Tensor:
        maps = list[Tensor]()
        for add, layer, read in zip(self.sums, self.layers, self.sources, strict=True):
            maps.append(layer(add([maps[i] for i in read] or [x])))
        return torch.stack([maps[i] for i in self.outputs]).mean(0)


class WeightedSum(nn.Linear):
    """The sum of maps with weights between 0 and 1, all one half at first."""

    gain = 0.0  # zeros before the sigmoid; untuned

    def forward(self, maps: list[Tensor]) -> Tensor:  # type: ignore[override]
        shares = self.weight[0].sigmoid()  # [k]
        total: Tensor = maps[0] * shares[0] if len(maps) == 1 else torch.tensordot(shares, torch.stack(maps), 1)
        return total


def _separable(before: int, after: int, stride: int) -> nn.Module:
    """Return a ReLU, a depthwise 3 x 3 and a pointwise convolution, and batch norm."""
    deep = nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False)
    return nn.Sequential(nn.ReLU(), deep, *conv_norm(before, after))


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


def convnet(space: ConvNet, point: Point, channels: int, classes: int, *, stages: int = 3) -> nn.Module:
    """Return the network of a point; the thesis leaves the layers around its convolutions open."""
    body, before, each = list[nn.Module](), channels, -(-space.layers // stages)
    for i in range(space.layers):
        after = point[f"layer{i}"]
        body += [nn.MaxPool2d(2, ceil_mode=True)] if i and i % each == 0 else []
        body.append(conv_norm_relu(before, after, 3))
        before = after
    return nn.Sequential(*body, Head(before, classes))


MAKERS: dict[type[ArchitectureSpace], Callable[..., nn.Module]] = {
    GenotypeSpace: genotype_network,
    NasBench101: nasbench101,
    EdgeCells: edge_network,
    ConvNet: convnet,
    Layerwise: layerwise,
    RandomGraphs: random_graphs,
    MobileBlocks: mobile,
    EnasCell: recurrent,
}


def build(
    space: ArchitectureSpace, point: Point, *, channels: int = 3, classes: int = 10, seed: int = 0, **sizes: Any
) -> nn.Module:
    """Return the network of a point, on the CPU; no global generator is used.

    Parameters
    ----------
    space : ArchitectureSpace
        The space of the architecture.
    point : dict
        The architecture.
    channels : int, default 3
        Image channels; not used by a `NetworkFactory`.
    classes : int, default 10
        Number of classes; for texts, the vocabulary size. Not used by a `NetworkFactory`.
    seed : int, default 0
        Seed of the initial weights. The weights of a module depend on its path only.
    **sizes
        Keyword arguments of the space's builder, such as `width` and `cells`, by default those of the paper.
    """
    check_sizes(space, sizes, "build")
    if isinstance(space, NetworkFactory):
        return space.network(point, seed)
    maker = maker_of(space)
    return initialised(lambda: maker(space, point, channels, classes, **sizes), seed)


def maker_of(space: ArchitectureSpace) -> Callable[..., nn.Module]:
    """Return the builder of a space."""
    for kind, maker in MAKERS.items():
        if isinstance(space, kind):
            return maker
    known = class_names(MAKERS)
    raise ValueError(f"build: expected a space whose networks can be built, got {space.name}; these can: {known}")


def class_names(kinds: Iterable[type[ArchitectureSpace]]) -> str:
    """Return the names of classes of spaces for a message, of base classes those of their subclasses."""
    return ", ".join(one.__name__ for kind in kinds for one in kind.__subclasses__() or [kind])


def check_sizes(space: ArchitectureSpace, sizes: Collection[str], caller: str) -> None:
    """Raise ValueError for names that are no keyword arguments of the space's builder."""
    if isinstance(space, NetworkFactory):
        if sizes:
            raise ValueError(f"{caller}: expected no sizes of {space.name}, got {', '.join(sizes)}; add parameters")
        return
    parameters = inspect.signature(maker_of(space)).parameters.values()
    known = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    for name in sizes:
        if name not in known:
            raise ValueError(f"{caller}: expected sizes of {space.name}, {', '.join(known)}, got {name!r}")
