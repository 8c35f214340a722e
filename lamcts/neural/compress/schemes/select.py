"""The largest elements of a vector, by a threshold from a sample."""

import math

import torch
from torch import Tensor

from lamcts.neural.compress.codecs.bits import true_indices

SAMPLE = 4096  # as many magnitudes are sorted to find a threshold
SPREAD = 3  # standard deviations of the sample's count by which the threshold is lowered


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
