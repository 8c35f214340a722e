"""Cost of a network without allocation: parameters, and operations of one example."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from lamcts.movement import costs
from lamcts.neural.build.build import build, maker_of
from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.nas.base import ArchitectureSpace, Point, operations_of
from lamcts.neural.nas.io_cell import IoCell

INPUTS = 2  # nodes of an I/O cell that are the outputs of the last two cells


class Size(NamedTuple):
    """Cost of a network."""

    parameters: int
    flops: int


def size(
    space: ArchitectureSpace,
    point: Point,
    shape: tuple[int, ...],
    classes: int,
    sizes: Mapping[str, Any] | None = None,
    *,
    integers: bool | None = None,
) -> Size:
    """Return the cost of a point's network, without allocation except for a `NetworkFactory`."""
    if isinstance(space, NetworkFactory):
        return size_of(build(space, point, **(sizes or {})), shape, integers)
    with torch.device("meta"):
        return size_of(maker_of(space)(space, point, shape[0], classes, **(sizes or {})), shape, integers)


def cell_costs(space: ArchitectureSpace, point: Point) -> dict[str, float]:
    """Return the operations of a network's cells; of an I/O cell also its nodes that are computed and its I/O cost."""
    graphs = space.graphs(point).values()
    found = {"operations": float(sum(map(operations_of, graphs)))} if graphs else {}
    if isinstance(space, IoCell):
        reads = space.reads(point)
        found |= {"nodes": float(len(reads) - INPUTS), "io": costs.cell_io(reads)}
    return found


@torch.no_grad()
def size_of(net: nn.Module, shape: tuple[int, ...], integers: bool | None = None) -> Size:
    """Return the cost of any network, which is in evaluation mode afterwards."""
    device = next(net.parameters()).device
    whole = len(shape) != 3 if integers is None else integers
    x = torch.zeros((1, *shape), dtype=torch.int64 if whole else torch.float32, device=device)
    net.eval()
    with FlopCounterMode(display=False) as counter:
        net(x)
    return Size(sum(each.numel() for each in net.parameters()), int(counter.get_total_flops()))
