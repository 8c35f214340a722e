"""Exact and sampled reuse distances of any stream of accesses."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.distances import ReuseDistances
from lamcts.movement.costs.histogram import Histogram
from lamcts.movement.costs.lru_stack import LruStack
from lamcts.movement.costs.sampling import sampled_distances
from lamcts.text import safe_repr
from lamcts.types import whole_number

LIMIT = 2 * 10**8  # accesses: 20 seconds at the rates of benchmarks/movement/costs/reuse.py


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
        Share of the data to measure, in (0, 1]. None: all, exactly.

    Returns
    -------
    ReuseDistances
        How often each distance occurs.

    Raises
    ------
    ValueError
        If an array has more than one dimension, the line size is no power of two, a line is set for data that are not
        whole numbers, or more than 2e8 accesses are to be measured exactly.
    TypeError
        If a datum is not hashable.

    Notes
    -----
    distance(i) = i - p(i) - #{j < i: p(j) > p(i)}, where p(i) is the previous access to the same datum. The count is
    that of inversions of a permutation, which `lamcts.movement.costs.inversions` counts by blocks of 64.

    A sample keeps the data whose hash is below the share (SHARDS-adj). It misjudges streams in which few data have most
    of the accesses, such as the weights of a convolution; `ReuseDistances.misses_error` does not see that.

    References
    ----------
    Waldspurger, Park, Garthwaite, Ahmad 2015, Efficient MRC construction with SHARDS, FAST '15.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.movement import costs
    >>> found = costs.reuse_distances("abbbca")
    >>> found.distances, found.counts, found.cold
    (array([1, 3]), array([2, 1]), 3)
    >>> costs.reuse_distances(np.arange(64), line=64).misses(8)
    8
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
