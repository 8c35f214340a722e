"""Reuse distances, and what follows from them: misses of LRU caches of every capacity, and data movement distance."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.costs.histogram import Histogram
from lamcts.costs.lru_stack import LruStack
from lamcts.text import safe_repr
from lamcts.types import Floats, Rows


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

    References
    ----------
    Mattson, Gecsei, Slutz, Traiger 1970, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2).

    Examples
    --------
    >>> from lamcts import costs
    >>> found = costs.reuse_distances("abcabcaab")
    >>> found.accesses, found.cold, found.misses(2), found.misses([0, 1, 3])
    (9, 3, 8, array([9, 8, 3]))
    """

    distances: Floats
    counts: Floats
    cold: float
    line_words: int = 1
    samples: tuple["ReuseDistances", ...] = ()

    def __post_init__(self) -> None:
        self.distances.flags.writeable = self.counts.flags.writeable = False

    @property
    def accesses(self) -> float:
        """The number of accesses."""
        return _plain(self.counts.sum() + self.cold)

    @overload
    def misses(self, capacity: int, unit: str = "words") -> float: ...
    @overload
    def misses(self, capacity: ArrayLike, unit: str = "words") -> Floats: ...
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
        """Return the standard error of `misses`, 0.0 where the numbers are exact."""
        return _standard_error([sample.misses(capacity, unit) for sample in self.samples])

    def curve(self) -> tuple[Rows, Floats]:
        """Return the capacities in words at which the number of misses changes, from 0 on, and the misses there."""
        held = np.append(0, np.unique(np.ceil(self.distances).astype(np.int64)))
        return held * self.line_words, self.misses(held, unit="lines")

    def histogram(self) -> tuple[Rows, Floats]:
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
        rank correlation with the time was -0.68: the tilings that it prefers were the slower ones. Compare exact misses
        at the capacities of a machine, their ratio to the lower bound, and measured times.

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


def reuse_distances(accesses: Iterable[Hashable]) -> ReuseDistances:
    """Return the exact reuse distances of a stream of accesses.

    Parameters
    ----------
    accesses : array of shape (n,), text, or iterable of hashable
        The data, in order of access. Whole numbers in a numpy array are fastest: about 0.1 microseconds an access.

    Returns
    -------
    ReuseDistances
        How often each distance occurs.

    Raises
    ------
    ValueError
        If an array has more than one dimension.
    TypeError
        If a datum is not hashable.

    Notes
    -----
    distance(i) = i - p(i) - #{j < i: p(j) > p(i)}, where p(i) is the previous access to the same datum. The count is
    that of inversions of a permutation, which `lamcts.costs.inversions` counts by blocks of 64.

    Examples
    --------
    >>> from lamcts import costs
    >>> found = costs.reuse_distances("abbbca")
    >>> found.distances, found.counts, found.cold
    (array([1, 3]), array([2, 1]), 3)
    """
    data, distinct = numbered(accesses)
    histogram = Histogram()
    histogram.add(LruStack(distinct).push(data))
    return ReuseDistances(*histogram.found())


def dmd(accesses: Iterable[Hashable]) -> float:
    """Return the data movement distance of a stream of accesses: the sum of the square roots of its reuse distances.

    Parameters
    ----------
    accesses : array of shape (n,), text, or iterable of hashable
        The data, in order of access.

    Returns
    -------
    float
        The distance. Cold accesses count 0.

    Notes
    -----
    Data movement distance does not predict run time; see `ReuseDistances.dmd`.

    References
    ----------
    Ding et al., DMC4ML: data movement complexity for machine learning, definition 2.1.

    Examples
    --------
    >>> from lamcts import costs
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
            return (accesses if lowest == 0 else accesses - accesses.dtype.type(lowest)), highest - lowest + 1
    values, data = np.unique(accesses, return_inverse=True)
    return data, len(values)


def _plain(value: Any) -> float:
    """Return a number of numpy as an int or a float."""
    return value.item() if isinstance(value, np.generic) else value


def _standard_error(estimates: list[float]) -> float:
    """Return the standard error of the mean of estimates, 0.0 where there are none."""
    return float(np.std(estimates, ddof=1) / np.sqrt(len(estimates))) if estimates else 0.0
