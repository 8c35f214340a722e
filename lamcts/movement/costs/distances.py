"""Reuse distances, and what follows from them: misses of LRU caches of every capacity, and data movement distance."""

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.text import safe_repr
from lamcts.types import Rows

RESOLVED = 10  # data of a sample in a cache, below which its misses are wrong by a factor of two (untuned)

Numbers = NDArray[np.number[Any]]


@dataclass(frozen=True, eq=False)
class ReuseDistances:
    """How often each reuse distance occurs in a stream of accesses.

    The reuse distance of an access is the number of distinct data since the previous access to the same datum, that
    datum included: 1 for an immediate repetition. A fully associative LRU cache of c data hits if and only if the
    distance is at most c (Mattson et al. 1970). The first access to a datum is cold: it has no distance.

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

    References
    ----------
    Mattson, Gecsei, Slutz, Traiger 1970, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2).

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> found = costs.reuse_distances("abcabcaab")
    >>> found.accesses, found.cold, found.misses(2), found.misses([0, 1, 3])
    (9, 3, 8, array([9, 8, 3]))
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

        Returns
        -------
        float or array
            Misses in lines; an int, or an array of int, unless the numbers are estimates.

        Raises
        ------
        ValueError
            If the capacity is negative or the unit is another word.
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
        """Return the standard error of `misses`: 0.0 where the numbers are exact, inf where the sample is too small.

        A sample cannot tell distances apart that differ by a few of its data. The error is infinite for capacities that
        hold fewer than ten data of the sample.
        """
        lines = capacity // self.line_words if unit == "words" else capacity
        if self.samples and lines * self.rate < RESOLVED:
            return math.inf
        return _standard_error([sample.misses(capacity, unit) for sample in self.samples])

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
        """The data movement distance: the sum of the square roots of the distances.

        Notes
        -----
        Definition 2.1 of Ding et al. Cold accesses count 0; see `cold_dmd`. Data of s bits have sqrt(s) times the
        distance (definition 3.19).

        Data movement distance does not predict run time. On 27 tilings of a compiled matrix product (N = 320), its
        rank correlation with the time is -0.42 (``python -m benchmarks.movement.costs.movement_and_time``): the
        tilings that it prefers are the slower ones. Compare exact misses at the capacities of a machine, their ratio to
        the lower bound, and measured times.

        References
        ----------
        Ding et al., DMC4ML: data movement complexity for machine learning.
        """
        return float(self.counts @ np.sqrt(self.distances))

    @property
    def dmd_error(self) -> float:
        """The standard error of `dmd`, 0.0 where it is exact."""
        return _standard_error([sample.dmd for sample in self.samples])

    @property
    def cold_dmd(self) -> float:
        """The least data movement distance of the m cold accesses by section 3.5.2 of Ding et al.: m sqrt(m)."""
        return float(self.cold**1.5)


def _plain(value: Any) -> float:
    """Return a number of numpy as an int or a float."""
    found: float = value.item() if isinstance(value, np.generic) else value
    return found


def _standard_error(estimates: list[float]) -> float:
    """Return the standard error of the mean of estimates, 0.0 where there are none."""
    return float(np.std(estimates, ddof=1) / np.sqrt(len(estimates))) if estimates else 0.0
