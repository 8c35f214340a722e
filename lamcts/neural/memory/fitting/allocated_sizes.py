"""Sizes of allocations: CUDA's allocator rounds each tensor up, which a budget has to cover."""

from collections.abc import Iterable
from typing import Any

from lamcts.neural.graphs import StepGraph

UNITS = {"cuda": 512}  # bytes of the smallest block, by device type (torch's CUDACachingAllocator)


def unit_of(model: Any) -> int:
    """Return the bytes of which allocations on the device of a model are multiples."""
    return next((UNITS.get(one.device.type, 1) for one in model.parameters()), 1)


def as_allocated(graph: StepGraph, unit: int, outside: Iterable[int] = ()) -> StepGraph:
    """Return a graph whose storages have multiples of `unit` bytes; `outside` are sizes of tensors that it lacks."""
    if unit == 1:
        return graph
    storages = tuple(one._replace(bytes=_rounded(one.bytes, unit)) for one in graph.storages)
    more = sum(_rounded(size, unit) - size for size in outside)
    return StepGraph(graph.steps, storages, graph.tensors, graph.accounting, graph.outside_bytes + more)


def outside_sizes(model: Any, inputs: Iterable[Any], states: int) -> list[int]:
    """Return the bytes of tensors outside the graph; each parameter has a gradient and `states` of the optimizer."""
    trained = [_size(one) for one in model.parameters()]
    return trained * (2 + states) + [_size(one) for one in (*model.buffers(), *inputs)]


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _size(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
