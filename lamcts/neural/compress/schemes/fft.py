"""FFT sparsification: the largest frequencies of a gradient (thesis, 7.3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.codecs import sparse
from lamcts.neural.compress.codecs.values import bits_of
from lamcts.neural.compress.group import Group
from lamcts.neural.compress.schemes.base import Keep, count_of, share
from lamcts.neural.compress.schemes.select import largest


@dataclass(frozen=True)
class Fft:
    """Every worker sends the largest frequencies of its gradient (all-gather); their mean is transformed back.

    Parameters
    ----------
    keep : float or callable, default 0.15
        Share of the frequencies to send, in (0, 1], or a function of the step that returns it: 1 - theta.
    values : str, default "range10"
        Format of a real or imaginary part: "fp32", "fp16", or a range float "range2" to "range16".

    Notes
    -----
    The thesis broadcasts the parameters every ten steps, since its workers drift apart. Here all workers decode the
    same bytes in the same order, so their parameters stay equal to the last bit.
    """

    keep: Keep = 0.15
    values: str = "range10"
    name: ClassVar[str] = "fft"
    feedback: ClassVar[bool] = True
    sparse: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share(self.keep, 0)
        bits_of(self.values)

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        size = len(gradients[0])
        length = next_fast_len(size, real=True)
        with bucket.clock("encode"):
            payloads = [self._encode(one, length, bucket, at) for one, at in zip(gradients, group.ranks, strict=True)]
        with bucket.clock("send"):
            received = group.gather(payloads)
        with bucket.clock("decode"):
            total = torch.zeros(length // 2 + 1, dtype=torch.complex64, device=gradients[0].device)
            for rank, data in enumerate(received):
                bins, parts = sparse.decode(data, len(total), self.values, each=2)
                total[bins] += torch.view_as_complex(parts)
                if bucket.rest and rank in group.ranks:
                    own = torch.zeros_like(total).index_put_((bins,), torch.view_as_complex(parts))
                    gradients[group.ranks.index(rank)] -= torch.fft.irfft(own, length)[:size]
            mean: Tensor = torch.fft.irfft(total, length)
            return mean[:size].div_(group.size)

    def _encode(self, gradient: Tensor, length: int, bucket: Bucket, rank: int) -> Tensor:
        """Return the bytes that a worker sends."""
        spectrum = torch.fft.rfft(gradient, length)
        count = count_of(self.keep, bucket.step, len(spectrum))
        bins = largest(spectrum.abs(), count, bucket.generator(rank, gradient.device))
        return sparse.encode(bins, torch.view_as_real(spectrum[bins]), len(spectrum), self.values)


def shrinking_theta(
    learning_rate: Callable[[int], float], smoothness: float, most: float = 0.5
) -> Callable[[int], float]:
    """Return `keep` by step for which theta^2 = smoothness * learning rate (thesis, Theorem 3).

    Parameters
    ----------
    learning_rate : callable
        The learning rate of a step.
    smoothness : float
        The Lipschitz constant L of the gradient, above 0.
    most : float, default 0.5
        The largest theta, in [0, 1); the proof of Lemma 1 needs theta^2 <= 1/4.
    """
    if not smoothness > 0:
        raise ValueError(f"expected smoothness above 0, got {smoothness}")
    if not 0 <= most < 1:
        raise ValueError(f"expected most in [0, 1), the largest theta, got {most}")

    def keep(step: int) -> float:
        rate = learning_rate(step)
        if not rate >= 0:
            raise ValueError(f"expected a learning rate of 0 or more, got {rate} in step {step}")
        return 1 - min(most, math.sqrt(smoothness * rate))

    return keep
