"""Networks of random graphs (Xie et al. 2019, section 3.2).

A node adds its inputs with learnt positive weights and applies a ReLU, a separable convolution and batch norm. Nodes
without inputs read the stage's input; the stage's output is the mean of the nodes that no other node reads.
"""

import torch
from torch import Tensor, nn

from lamcts.neural.build.layers import Head, conv_norm
from lamcts.neural.nas.base import Point
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
