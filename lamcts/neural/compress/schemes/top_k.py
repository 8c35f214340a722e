"""Sparse schemes: every worker sends its largest numbers, or all send those at indices that one worker picks."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.codecs import sparse
from lamcts.neural.compress.codecs.values import bits_of
from lamcts.neural.compress.group import Group
from lamcts.neural.compress.schemes.base import Keep, share
from lamcts.neural.compress.schemes.select import largest


@dataclass(frozen=True)
class TopK:
    """Every worker sends its numbers of largest magnitude (all-gather).

    Parameters
    ----------
    keep : float or callable, default 0.01
        Share of the numbers to send, in (0, 1], or a function of the step that returns it.
    values : str, default "range8"
        Format of a number: "fp32", "fp16", or a range float "range2" to "range16".
    """

    keep: Keep = 0.01
    values: str = "range8"
    name: ClassVar[str] = "topk"
    feedback: ClassVar[bool] = True
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        share(self.keep, 0)
        bits_of(self.values)

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        size, count = len(gradients[0]), math.ceil(share(self.keep, bucket.step) * len(gradients[0]))
        with bucket.clock("encode"):
            payloads = [self._encode(one, count, bucket, at) for one, at in zip(gradients, group.ranks, strict=True)]
        with bucket.clock("send"):
            received = group.gather(payloads)
        with bucket.clock("decode"):
            total = torch.zeros_like(gradients[0])
            for rank, data in enumerate(received):
                indices, x = sparse.decode(data, size, self.values)
                total[indices] += x
                if rank in group.ranks:
                    gradients[group.ranks.index(rank)][indices] -= x
                    bucket.sent[rank] = indices
            return total / group.size

    def _encode(self, gradient: Tensor, count: int, bucket: Bucket, rank: int) -> Tensor:
        indices = largest(gradient.abs(), count, bucket.generator(rank, gradient.device))
        return sparse.encode(indices, gradient[indices], len(gradient), self.values)
