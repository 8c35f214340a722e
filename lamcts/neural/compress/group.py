"""Groups of workers: three collectives, between processes or in one process, that count the bytes received."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

LENGTH = 8  # bytes of an int64


class Group(Protocol):
    """Workers that reduce gradients together; `local` lists have a tensor for each worker of this process.

    Tensors of `local` may be overwritten. `received` is the number of bytes that a worker has received, the mean over
    the workers of this process.
    """

    size: int
    ranks: Sequence[int]  # the workers of this process
    received: float

    def sum(self, local: list[Tensor]) -> Tensor:
        """Return the sum over the workers (ring all-reduce)."""

    def gather(self, local: list[Tensor]) -> list[Tensor]:
        """Return the bytes of every worker, of any lengths (all-gather, padded to the longest)."""

    def broadcast(self, local: list[Tensor], root: int) -> Tensor:
        """Return the bytes of the worker `root`; those of other workers are ignored."""


class TorchGroup:
    """The processes of a torch.distributed group, a worker each."""

    def __init__(self, process_group: Any = None) -> None:
        self._group = process_group
        self.size = dist.get_world_size(process_group)
        self.rank = dist.get_rank(process_group)
        self.ranks: Sequence[int] = (self.rank,)
        self.received = 0.0

    def sum(self, local: list[Tensor]) -> Tensor:
        [data] = local
        dist.all_reduce(data, group=self._group)
        self.received += ring(data, self.size)
        return data

    def gather(self, local: list[Tensor]) -> list[Tensor]:
        [data] = local
        lengths = [int(one) for one in self._gathered(_length(data))]
        padded = torch.nn.functional.pad(data, (0, max(lengths) - len(data)))
        return [one[:length] for one, length in zip(self._gathered(padded), lengths, strict=True)]

    def broadcast(self, local: list[Tensor], root: int) -> Tensor:
        [data] = local
        length = self._broadcast(_length(data), root)
        return self._broadcast(data if self.rank == root else data.new_empty(int(length)), root)

    def _gathered(self, data: Tensor) -> list[Tensor]:
        """Return tensors of equal sizes from all processes."""
        parts = [torch.empty_like(data) for _ in range(self.size)]
        dist.all_gather(parts, data, group=self._group)
        self.received += (self.size - 1) * nbytes(data)
        return parts

    def _broadcast(self, data: Tensor, root: int) -> Tensor:
        dist.broadcast(data, group=self._group, group_src=root)
        self.received += nbytes(data) * (self.rank != root)
        return data


class Simulated:
    """Workers of one process, which receive nothing and count what processes would."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"expected 1 worker or more, got {workers}")
        self.size, self.rank = workers, 0
        self.ranks: Sequence[int] = range(workers)
        self.received = 0.0

    def sum(self, local: list[Tensor]) -> Tensor:
        total = local[0].clone()
        for one in local[1:]:
            total += one
        self.received += ring(total, self.size)
        return total

    def gather(self, local: list[Tensor]) -> list[Tensor]:
        self.received += (self.size - 1) * (LENGTH + max(map(nbytes, local)))
        return local

    def broadcast(self, local: list[Tensor], root: int) -> Tensor:
        self.received += (LENGTH + nbytes(local[root])) * (self.size - 1) / self.size
        return local[root]


def nbytes(data: Tensor) -> int:
    """Return the bytes of a tensor's elements."""
    return data.numel() * data.element_size()


def ring(data: Tensor, size: int) -> float:
    """Return the bytes that a worker receives in a ring all-reduce."""
    return 2 * (size - 1) / size * nbytes(data)


def _length(data: Tensor) -> Tensor:
    return torch.tensor([len(data)], device=data.device)
