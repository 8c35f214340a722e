"""The protocol of a compression scheme, the scheme without compression, and what schemes that gather share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.group import Group

Keep = float | Callable[[int], float]  # the share that is sent, or that share by step


class Scheme(Protocol):
    """Settings of a way to send gradients: a frozen dataclass.

    Attributes
    ----------
    name : str
        The name for `hook` and `SimulatedWorkers`.
    feedback : bool
        Whether error feedback is on unless the user sets it: not for unbiased schemes.
    sparse : bool
        Whether the scheme reports the indices that were sent, which momentum correction needs.
    """

    name: ClassVar[str]
    feedback: ClassVar[bool]
    sparse: ClassVar[bool]

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        """Return the mean over all workers."""


def share(keep: Keep, step: int) -> float:
    """Return the share that is sent in a step; ValueError if it is outside of (0, 1]."""
    now = keep(step) if callable(keep) else keep
    if not 0 < now <= 1:
        raise ValueError(f"expected keep in (0, 1], the share of numbers to send, got {now} in step {step}")
    return now


def count_of(keep: Keep, step: int, size: int) -> int:
    """Return how many of `size` numbers are sent, 1 or more."""
    return max(1, min(size, math.ceil(share(keep, step) * size)))


@dataclass(frozen=True)
class Dense:
    """The mean in float32; every other scheme is compared with it."""

    name: ClassVar[str] = "none"
    feedback: ClassVar[bool] = False
    sparse: ClassVar[bool] = False

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        with bucket.clock("send"):
            total = group.sum([one.clone() for one in gradients])
        for one in gradients:
            one.zero_()
        return total.div_(group.size)


Part = tuple[Tensor | None, Tensor]  # indices, or None for all; and the numbers there


class Gathered(ABC):
    """A scheme in which every worker receives the payloads of all others."""

    sparse: ClassVar[bool] = False

    @abstractmethod
    def encode(self, x: Tensor, bucket: Bucket, generator: torch.Generator) -> Tensor:
        """Return the bytes that a worker sends of its coefficients."""

    @abstractmethod
    def decode(self, data: Tensor, like: Tensor, bucket: Bucket) -> Part:
        """Return what was sent of coefficients such as `like`."""

    def forward(self, gradient: Tensor) -> Tensor:
        """Return the coefficients of a gradient: itself, or its transform."""
        return gradient

    def backward(self, x: Tensor, size: int) -> Tensor:
        """Return the gradient of coefficients."""
        return x

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        """Return the mean of what all workers sent, and leave in each gradient what its worker did not send."""
        size = len(gradients[0])
        with bucket.clock("encode"):
            makers = [bucket.generator(rank, gradients[0].device) for rank in group.ranks]
            own = dict(zip(group.ranks, map(self.forward, gradients), strict=True))
            payloads = [self.encode(x, bucket, maker) for x, maker in zip(own.values(), makers, strict=True)]
        with bucket.clock("send"):
            received = group.gather(payloads)
        with bucket.clock("decode"):
            total = torch.zeros_like(own[group.ranks[0]])
            for rank, data in enumerate(received):
                indices, x = self.decode(data, total, bucket)
                add(total, indices, x)
                if rank in own and self.sparse and indices is not None:
                    bucket.sent.append(indices)
                if rank in own and bucket.rest:
                    add(own[rank], indices, x, -1)
                    gradients[group.ranks.index(rank)].copy_(self.backward(own[rank], size))
            return self.backward(total, size).div_(group.size)


def add(total: Tensor, indices: Tensor | None, x: Tensor, factor: int = 1) -> None:
    """Add numbers, at some indices or everywhere, in place."""
    if indices is None:
        total.add_(x, alpha=factor)
    else:
        total.index_add_(0, indices, x, alpha=factor)
