"""Reuse distances of a sample of the data, chosen by hash (SHARDS, Waldspurger et al. 2015)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.distances import ReuseDistances
from lamcts.movement.costs.histogram import Histogram
from lamcts.movement.costs.lru_stack import LruStack
from lamcts.types import Floats

PARTS = 10  # disjoint samples, whose spread is the error


def sampled_distances(
    pieces: Iterable[NDArray[np.integer]], data: int, rate: float, line_words: int = 1, seed: int = 0
) -> ReuseDistances:
    """Return estimates from the accesses to a share `rate` of the data, with ten smaller samples for the error.

    The sample has a share `rate` of the data between two accesses: a distance d in it is an estimate of
    1 + (d - 1) / rate. The cold accesses are counted exactly. Accesses that the sample has too few or too many of are
    added to the distance 1, or taken from it, which does not bias the misses (SHARDS-adj).
    """
    share = hashed(data, seed)
    numbers = np.where(share < rate, np.cumsum(share < rate, dtype=np.int32) - 1, -1)  # in the sample, -1: not in it
    parts = (share[share < rate] * (PARTS / rate)).astype(np.int32)
    seen, accesses = np.zeros(data, bool), 0
    samples = [_Sample(len(parts)) for _ in range(PARTS + 1)]  # one of each part, and one of all
    for piece in pieces:
        seen[piece] = True
        accesses += len(piece)
        found = numbers[piece]
        found = found[found >= 0]
        samples[-1].add(found)
        for part, sample in enumerate(samples[:-1]):
            sample.add(found[parts[found] == part])
    cold = int(seen.sum())
    estimates = [sample.estimate(rate / PARTS, accesses, cold) for sample in samples[:-1]]
    every = [ReuseDistances(*found, cold, line_words) for found in estimates]
    return ReuseDistances(*samples[-1].estimate(rate, accesses, cold), cold, line_words, tuple(every), rate)


def hashed(data: int, seed: int) -> Floats:
    """Return a number in [0, 1) for each datum, by the mixing steps of SplitMix64."""
    mixed = np.arange(1, data + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) / 2.0**64


class _Sample:
    """The reuse distances among some of the data."""

    def __init__(self, data: int) -> None:
        self._stack, self._histogram = LruStack(data), Histogram()

    def add(self, accesses: NDArray[np.integer]) -> None:
        """Count accesses to data of the sample."""
        self._histogram.add(self._stack.push(accesses))

    def estimate(self, rate: float, accesses: int, cold: int) -> tuple[Floats, Floats]:
        """Return the distances and counts that the sample estimates for the whole stream."""
        distances, counts, _ = self._histogram.found()
        missing = accesses - cold - counts.sum() / rate
        return np.append(1.0, 1 + (distances - 1) / rate), np.append(missing, counts / rate)
