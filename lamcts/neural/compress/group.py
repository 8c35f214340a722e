"""Groups of workers: three collectives, between processes or in one process, that count what is received."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

LENGTH = 8  # bytes of an int64


@dataclass
class Traffic:
    """Bytes of payload and messages that a worker has received."""

    bytes: float = 0.0
    messages: float = 0.0

    def add(self, count: float, messages: float) -> None:
        """Count messages and their bytes together."""
        self.bytes += count
        self.messages += messages

    def ring(self, data: Tensor, size: int) -> None:
        """Count a ring all-reduce."""
        self.add(2 * (size - 1) / size * nbytes(data), 2 * (size - 1))


class Group(Protocol):
    """Workers that reduce gradients together; they may overwrite `local`, a tensor for each worker of this process."""

    size: int
    ranks: Sequence[int]  # the workers of this process
    traffic: Traffic

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
        self.traffic = Traffic()

    def sum(self, local: list[Tensor]) -> Tensor:
        [data] = local
        dist.all_reduce(data, group=self._group)
        self.traffic.ring(data, self.size)
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
        self.traffic.add((self.size - 1) * nbytes(data), self.size - 1)
        return parts

    def _broadcast(self, data: Tensor, root: int) -> Tensor:
        dist.broadcast(data, group=self._group, group_src=root)
        self.traffic.add(nbytes(data) * (self.rank != root), self.rank != root)
        return data


class Simulated:
    """Workers of one process, which receive nothing and count what processes would."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"expected 1 worker or more, got {workers}")
        self.size, self.rank = workers, 0
        self.ranks: Sequence[int] = range(workers)
        self.traffic = Traffic()

    def sum(self, local: list[Tensor]) -> Tensor:
        total = local[0].clone()
        for one in local[1:]:
            total += one
        self.traffic.ring(total, self.size)
        return total

    def gather(self, local: list[Tensor]) -> list[Tensor]:
        self.traffic.add((self.size - 1) * (LENGTH + max(map(nbytes, local))), 2 * (self.size - 1))
        return local

    def broadcast(self, local: list[Tensor], root: int) -> Tensor:
        others = (self.size - 1) / self.size
        self.traffic.add((LENGTH + nbytes(local[root])) * others, 2 * others)
        return local[root]


def nbytes(data: Tensor) -> int:
    """Return the bytes of a tensor's elements."""
    return data.numel() * data.element_size()


def _length(data: Tensor) -> Tensor:
    return torch.tensor([len(data)], device=data.device)
