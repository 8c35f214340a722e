"""Networks of NAS-Bench-101 cells (Ying et al. 2019, section 2.2 and its code).

The input of a cell is projected to each vertex that reads it. Other inputs are added, truncated to the channels of the
vertex. Inputs of the output are concatenated; a projection of the cell input is added if it has an edge to the output.
"""

import torch
from torch import Tensor, nn

from lamcts.neural.build.layers import Head, conv_norm_relu
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.nasbench101 import OPERATIONS, LabelledCell, NasBench101

POOL = OPERATIONS.index("maxpool3x3")  # the operation without weights
KERNELS = {OPERATIONS.index("conv3x3-bn-relu"): 3, OPERATIONS.index("conv1x1-bn-relu"): 1}  # of the other operations


def nasbench101(
    space: NasBench101, point: Point, channels: int, classes: int, *, width: int = 128, cells: int = 3, stages: int = 3
) -> nn.Module:
    """Return the network of a valid cell."""
    reason, cell = space.invalid(point), space.cell(point)
    if cell is None or reason is not None:
        raise ValueError(f"{space.name}: expected a valid cell, got one that is not: {reason}")
    layers, before = [conv_norm_relu(channels, width, 3)], width
    body: list[nn.Module] = list(layers)
    for stage in range(stages):
        body += [nn.MaxPool2d(2, ceil_mode=True)] if stage else []
        for _ in range(cells):
            body.append(Module(cell, before, width * 2**stage))
            before = width * 2**stage
    return nn.Sequential(*body, Head(before, classes))


class Module(nn.Module):
    """One cell, from `before` to `after` channels."""

    def __init__(self, cell: LabelledCell, before: int, after: int) -> None:
        super().__init__()
        self.sources = [[s for s in range(t) if into >> s & 1] for t, into in enumerate(cell.before)]
        self.widths = vertex_channels(cell, before, after)
        self.operations, self.projections = nn.ModuleDict(), nn.ModuleDict()
        for t, operation in enumerate(cell.ops, start=1):
            width = self.widths[t]
            pool = operation == POOL
            self.operations[str(t)] = (
                nn.MaxPool2d(3, 1, 1) if pool else conv_norm_relu(width, width, KERNELS[operation])
            )
        for t, sources in enumerate(self.sources):
            if 0 in sources:
                self.projections[str(t)] = conv_norm_relu(before, self.widths[t])

    def forward(self, x: Tensor) -> Tensor:
        values, last = [x], len(self.sources) - 1
        for t in range(1, last):
            values.append(self.operations[str(t)](self._into(values, t)))
        inner = [values[s] for s in self.sources[last] if s]
        found = [torch.cat(inner, 1)] if inner else []
        found += [self.projections[str(last)](x)] if 0 in self.sources[last] else []
        return sum(found[1:], found[0])

    def _into(self, values: list[Tensor], t: int) -> Tensor:
        """Return the sum of the inputs of a vertex."""
        found = [values[s][:, : self.widths[t]] for s in self.sources[t] if s]
        found += [self.projections[str(t)](values[0])] if 0 in self.sources[t] else []
        return sum(found[1:], found[0])


def vertex_channels(cell: LabelledCell, before: int, after: int) -> list[int]:
    """Return the channels of each vertex: the inputs of the output share its channels, the others follow."""
    last = len(cell.before) - 1
    ends = [t for t in range(1, last) if cell.before[last] >> t & 1]
    if len(ends) > after:
        raise ValueError(f"width: expected at least {len(ends)} channels, one a vertex, got {after}")
    widths = [before, *[0] * (last - 1), after]
    for place, t in enumerate(ends):
        widths[t] = after // len(ends) + (place < after % len(ends))
    for t in range(last - 1, 0, -1):
        widths[t] = widths[t] or max(widths[u] for u in range(t + 1, last) if cell.before[u] >> t & 1)
    return widths
