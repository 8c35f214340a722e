"""Exact and sampled reuse distances of any stream of accesses."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.movement.costs.lru_stack import Histogram, LruStack
from lamcts.text import safe_repr
from lamcts.types import Floats, Rows, whole_number

RESOLVED = 10  # data of a sample in a cache, below which its misses are wrong by a factor of two (untuned)
Numbers = NDArray[np.number[Any]]
LIMIT = 2 * 10**8  # accesses: 20 seconds at 1e7 a second, measured at commit 7f0b6325
PARTS = 10  # disjoint samples, whose spread is the error


@dataclass(frozen=True, eq=False)
class ReuseDistances:
    """How often each reuse distance occurs in a stream of accesses.

    The reuse distance of an access is the number of distinct data since the previous access to the same datum, that
    datum included. A fully associative LRU cache of c data hits if and only if the distance is at most c (Mattson et
    al. 1970). The first access to a datum is cold: it has no distance.

    Parameters
    ----------
    distances : array of shape (k,)
        The distances that occur, in increasing order; in lines where `line_words` > 1.
    counts : array of shape (k,)
        How many accesses have each distance. Not whole for estimates.
    cold : float
        How many accesses are the first to their datum, which is the number of distinct data.
    line_words : int, default 1
        Words of a datum: 1, or the words of a cache line.
    samples : tuple of ReuseDistances, default ()
        Estimates from disjoint samples of the data, for the error of an estimate. Empty: the numbers are exact.
    rate : float, default 1.0
        Share of the data that was measured.
    """

    distances: Numbers
    counts: Numbers
    cold: float
    line_words: int = 1
    samples: tuple["ReuseDistances", ...] = ()
    rate: float = 1.0

    def __post_init__(self) -> None:
        self.distances.flags.writeable = self.counts.flags.writeable = False

    @property
    def accesses(self) -> float:
        """The number of accesses."""
        return _plain(self.counts.sum() + self.cold)

    @overload
    def misses(self, capacity: int, unit: str = "words") -> float: ...
    @overload
    def misses(self, capacity: ArrayLike, unit: str = "words") -> Numbers: ...
    def misses(self, capacity: Any, unit: str = "words") -> Any:
        """Return how many accesses miss in a fully associative LRU cache, cold misses included.

        Parameters
        ----------
        capacity : int or array of int
            What the cache holds, at least 0. Words of an incomplete line do not count.
        unit : {"words", "lines"}, default "words"
            Unit of the capacity. Without a line size, a line is a word.
        """
        if unit not in ("words", "lines"):
            raise ValueError(f"unit: expected 'words' or 'lines', got {safe_repr(unit):.40}")
        held = np.asarray(capacity)
        if held.dtype.kind not in "iu" or (held < 0).any():
            raise ValueError(f"capacity: expected whole numbers of at least 0, got {safe_repr(capacity):.60}")
        lines = held // self.line_words if unit == "words" else held
        tail = np.append(np.cumsum(self.counts[::-1])[::-1], 0)  # accesses from each distance on
        found = self.cold + tail[np.searchsorted(self.distances, lines, side="right")]
        return found if held.ndim else _plain(found)

    def misses_error(self, capacity: int, unit: str = "words") -> float:
        """Return the standard error of `misses`: 0.0 where exact, inf where the sample is too small."""
        lines = capacity // self.line_words if unit == "words" else capacity
        if self.samples and lines * self.rate < RESOLVED:
            return math.inf
        estimates = [sample.misses(capacity, unit) for sample in self.samples]
        return float(np.std(estimates, ddof=1) / np.sqrt(len(estimates))) if estimates else 0.0

    def curve(self) -> tuple[Rows, Numbers]:
        """Return the capacities in words at which the number of misses changes, from 0 on, and the misses there."""
        held = np.append(0, np.unique(np.ceil(self.distances).astype(np.int64)))
        return held * self.line_words, self.misses(held, unit="lines")

    def histogram(self) -> tuple[Rows, Numbers]:
        """Return lower ends of ranges 1, 2-3, 4-7, ... of distances, and how many accesses are in each range."""
        octaves = np.floor(np.log2(self.distances)).astype(np.int64)
        counts = np.bincount(octaves, self.counts)
        return 2 ** np.arange(len(counts)), counts if self.samples else counts.astype(self.counts.dtype)

    @property
    def dmd(self) -> float:
        """The data movement distance: the sum of the square roots of the distances."""
        return float(self.counts @ np.sqrt(self.distances))


def reuse_distances(
    accesses: Iterable[Hashable], line: int | None = None, element_bytes: int = 8, sample: float | None = None
) -> ReuseDistances:
    """Return the reuse distances of a stream of accesses, exactly unless `sample` is set.

    Parameters
    ----------
    accesses : array of shape (n,), text, or iterable of hashable
        The data, in order of access. Whole numbers in a numpy array are fastest: about 0.1 microseconds an access.
    line : int or None, default None
        Bytes of a cache line, a power of two. The accesses must be addresses then, counted in elements. None: each
        datum is a line of its own.
    element_bytes : int, default 8
        Bytes of an element; `line` must be a multiple.
    sample : float or None, default None
        Share of the data to measure, in (0, 1], by SHARDS-adj (Waldspurger et al. 2015). It misjudges streams in
        which few data have most of the accesses. None: all, exactly, up to 2e8 accesses.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> found = costs.reuse_distances("abbbca")
    >>> found.distances, found.counts, found.cold
    (array([1, 3]), array([2, 1]), 3)
    """
    words = words_of_line(line, element_bytes)
    if line is not None and not (isinstance(accesses, np.ndarray) and accesses.dtype.kind in "iu"):
        raise ValueError("accesses: expected a numpy array of addresses where line is set; leave line out")
    data, distinct = numbered(accesses // words if isinstance(accesses, np.ndarray) and words > 1 else accesses)
    check_length(len(data), sample)
    return of_pieces([data], distinct, words, sample)


def of_pieces(
    pieces: Iterable[NDArray[np.integer]], data: int, line_words: int = 1, sample: float | None = None
) -> ReuseDistances:
    """Return the reuse distances of a stream that comes in pieces; the data are 0, ..., `data` - 1."""
    if sample is not None:
        return sampled_distances(pieces, data, sample, line_words)
    stack, histogram = LruStack(data), Histogram()
    for piece in pieces:
        histogram.add(stack.push(piece))
    return ReuseDistances(*histogram.found(), line_words)


def words_of_line(line: int | None, element_bytes: int) -> int:
    """Return how many elements a line has, 1 for None; ValueError unless the line is a power of two and fits."""
    size = whole_number(element_bytes, "element_bytes")
    if line is None:
        return 1
    if whole_number(line, "line") & line - 1:
        raise ValueError(f"line: expected a power of two in bytes, got {line}; use {2 ** round(np.log2(line))}")
    if line % size:
        raise ValueError(f"line: expected a multiple of element_bytes={size}, got {line}; use a longer line")
    return line // size


def check_length(accesses: int, sample: float | None) -> None:
    """Raise ValueError for a share outside (0, 1], or more accesses than can be measured."""
    if sample is not None and not (isinstance(sample, (int, float)) and 0 < sample <= 1):
        raise ValueError(f"sample: expected None or a share in (0, 1], got {safe_repr(sample):.40}; use 0.01")
    if accesses * (1 if sample is None else sample) > LIMIT:
        raise ValueError(
            f"accesses: expected at most {LIMIT:,}, got {accesses:,}; use sample=0.01, smaller sizes, or a nest "
            "with a steady state (steady=True)"
        )


def dmd(accesses: Iterable[Hashable]) -> float:
    """Return the data movement distance of accesses: the sum of the square roots of the reuse distances.

    Parameters
    ----------
    accesses : array of shape (n,), text, or iterable of hashable
        The data, in order of access. Cold accesses count 0.

    Notes
    -----
    Definition 2.1 of Ding et al., DMC4ML. The distance does not predict run time.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> round(costs.dmd("abbbca"), 6)  # 2 + sqrt(3)
    3.732051
    """
    return reuse_distances(accesses).dmd


def numbered(accesses: Iterable[Hashable]) -> tuple[NDArray[np.integer], int]:
    """Return the data of a stream as numbers 0, ..., k-1 and k; in order of value for arrays, else of first access."""
    if isinstance(accesses, np.ndarray):
        if accesses.ndim != 1:
            raise ValueError(f"accesses: expected one dimension, got {accesses.ndim}; use accesses.ravel()")
        return _numbered_array(accesses)
    numbers: dict[Hashable, int] = {}
    stream: Sequence[Hashable] = accesses if isinstance(accesses, (str, list, tuple)) else list(accesses)
    data = np.fromiter((numbers.setdefault(datum, len(numbers)) for datum in stream), np.int64, len(stream))
    return data, len(numbers)


def _numbered_array(accesses: NDArray[Any]) -> tuple[NDArray[np.integer], int]:
    """Return the elements as numbers and their count; whole numbers of a short range stay as they are."""
    if accesses.dtype.kind in "iu" and len(accesses):
        lowest, highest = int(accesses.min()), int(accesses.max())
        if highest - lowest < 2 * len(accesses) + 1024:
            return (accesses if lowest == 0 else accesses.astype(np.int64) - lowest), highest - lowest + 1
    values, data = np.unique(accesses, return_inverse=True)
    return data, len(values)


def sampled_distances(
    pieces: Iterable[NDArray[np.integer]], data: int, rate: float, line_words: int = 1, seed: int = 0
) -> ReuseDistances:
    """Return estimates 1 + (d - 1) / rate from a share `rate` of the data (SHARDS-adj, Waldspurger et al. 2015)."""
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


def _plain(value: Any) -> float:
    """Return a number of numpy as an int or a float."""
    found: float = value.item() if isinstance(value, np.generic) else value
    return found
