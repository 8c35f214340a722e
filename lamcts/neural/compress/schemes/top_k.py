"""Sparse schemes: each worker sends its largest numbers or frequencies, or all those at indices that one picks."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.codecs import sparse
from lamcts.neural.compress.codecs.bits import true_indices
from lamcts.neural.compress.codecs.values import bits_of, from_half, to_half
from lamcts.neural.compress.group import Group
from lamcts.neural.compress.schemes.base import Gathered, Keep, Part, count_of, share

HALF_MAX = 65504  # the largest float16
SAMPLE = 4096  # as many magnitudes are sorted to find a threshold
SPREAD = 3  # standard deviations of the sample's count by which the threshold is lowered


@dataclass(frozen=True)
class TopK(Gathered):
    """Every worker sends its numbers of largest magnitude (all-gather).

    Parameters
    ----------
    keep : float or callable, default 0.01
        Share of the numbers to send, in (0, 1], or a function of the step that returns it.
    values : str, default "range8"
        Format of a number: "fp32", "fp16", or a range float "range2" to "range16".

    References
    ----------
    Lin et al. (2018), "Deep gradient compression", ICLR.
    """

    keep: Keep = 0.01
    values: str = "range8"
    name: ClassVar[str] = "topk"
    feedback: ClassVar[bool] = True
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        share(self.keep, 0)
        bits_of(self.values)

    def encode(self, x: Tensor, bucket: Bucket, generator: torch.Generator) -> Tensor:
        """Return the bytes of the coefficients of largest magnitude."""
        indices = largest(x.abs(), count_of(self.keep, bucket.step, len(x)), generator)
        kept = torch.view_as_real(x[indices]) if x.is_complex() else x[indices]
        return sparse.encode(indices, kept, len(x), self.values)

    def decode(self, data: Tensor, like: Tensor, bucket: Bucket) -> Part:
        """Return the coefficients that were sent, and where they are."""
        indices, x = sparse.decode(data, len(like), self.values, each=1 + like.is_complex())
        return indices, torch.view_as_complex(x) if like.is_complex() else x


@dataclass(frozen=True)
class SharedTopK:
    """All workers send the numbers at the same indices (ring all-reduce), which each worker picks in turn.

    Parameters
    ----------
    keep : float or callable, default 0.03
        Share of the numbers to send, in (0, 1], or a function of the step that returns it.
    values : str, default "fp16"
        Format of a number, "fp32" or "fp16": a ring cannot add range floats.

    References
    ----------
    Chen et al. (2020), "ScaleCom: scalable sparsified gradient compression", NeurIPS.
    """

    keep: Keep = 0.03
    values: str = "fp16"
    name: ClassVar[str] = "shared-topk"
    feedback: ClassVar[bool] = True
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        share(self.keep, 0)
        if self.values not in ("fp32", "fp16"):
            raise ValueError(f"expected values 'fp32' or 'fp16', which an all-reduce can add, got {self.values!r}")

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        root = bucket.step % group.size
        with bucket.clock("pick"):
            picks = [self._pick(one, at == root, bucket) for one, at in zip(gradients, group.ranks, strict=True)]
        with bucket.clock("send"):
            pick = group.broadcast(picks, root)
        with bucket.clock("encode"):
            indices, top = sparse.decode_indices(pick, len(gradients[0]))
            sent = [self._sent(one[indices], top, group.size) for one in gradients]
            for one, x in zip(gradients, sent, strict=True):
                one[indices] -= self._numbers(x, top)
        with bucket.clock("send"):
            total = group.sum(sent)
        bucket.sent += [indices] * len(gradients)
        mean = torch.zeros_like(gradients[0])
        mean[indices] = self._numbers(total, top, group.size)
        return mean

    def _pick(self, gradient: Tensor, chosen: bool, bucket: Bucket) -> Tensor:
        """Return the code of the indices of the largest numbers, or no bytes if it is another worker's turn."""
        if not chosen:
            return gradient.new_empty(0, dtype=torch.uint8)
        magnitude, count = gradient.abs(), count_of(self.keep, bucket.step, len(gradient))
        indices = largest(magnitude, count, bucket.generator(0, gradient.device))
        return sparse.encode_indices(indices, float(magnitude[indices].max()), len(gradient))

    def _sent(self, x: Tensor, top: float, workers: int) -> Tensor:
        """Return numbers in the format of the ring, small enough for a sum over all workers."""
        if self.values == "fp32" or top == 0:
            return x
        return to_half(x, top, HALF_MAX // workers)

    def _numbers(self, x: Tensor, top: float, workers: int = 1) -> Tensor:
        """Return the mean in float32 of numbers that were added in the format of the ring."""
        mean = x.float() / workers
        return from_half(mean, top) if x.dtype == torch.float16 else mean


def largest(magnitude: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return the indices of the `count` largest elements, rising.

    A threshold that is somewhat too low comes from a sample; the elements above it are few, and are sorted. So the
    result is exact. If the sample misleads, the whole vector is sorted.
    """
    size = len(magnitude)
    if count >= size:
        return torch.arange(size, device=magnitude.device)
    if size > 4 * SAMPLE:
        candidates = _candidates(magnitude, count, generator)
        if count <= len(candidates) < size // 2:
            return candidates[_largest(magnitude[candidates], count)]
    return _largest(magnitude, count)


def _candidates(magnitude: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return the indices of elements above a threshold from a sample."""
    size = len(magnitude)
    sample = magnitude[torch.randint(size, (SAMPLE,), generator=generator, device=magnitude.device)]
    above = SAMPLE * count / size
    place = min(SAMPLE, math.ceil(above + SPREAD * math.sqrt(above) + SPREAD))
    return true_indices(magnitude >= torch.topk(sample, place).values[-1])


def _largest(magnitude: Tensor, count: int) -> Tensor:
    """Return the indices of the largest elements, by sorting; rising."""
    chosen = torch.zeros(len(magnitude), dtype=torch.bool, device=magnitude.device)
    chosen[torch.topk(magnitude, count, sorted=False).indices] = True
    return true_indices(chosen)


@dataclass(frozen=True)
class Fft(TopK):
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
    sparse: ClassVar[bool] = False

    def forward(self, gradient: Tensor) -> Tensor:
        x: Tensor = torch.fft.rfft(gradient, next_fast_len(len(gradient), real=True))
        return x

    def backward(self, x: Tensor, size: int) -> Tensor:
        gradient: Tensor = torch.fft.irfft(x, next_fast_len(size, real=True))
        return gradient[:size]


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
