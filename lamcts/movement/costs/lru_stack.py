"""Exact reuse distances of a stream that comes in pieces."""

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Rows

PIECE = 2**17  # accesses at once, which stay in the cache of a core; longer where the stack is: see `LruStack.push`
Ints = NDArray[np.int32]
BITS = 6  # of a digit; measured: 5 and 7 take 5 to 40 % longer at 2^16 to 2^20 elements
BLOCK = 2**BITS  # elements that are compared with each other one by one, and values of a digit


class LruStack:
    """The data of a stream of accesses, in order of last access.

    distance(i) = i - p(i) - #{j < i: p(j) > p(i)}, where p(i) is the previous access to the same datum.
    """

    def __init__(self, data: int) -> None:
        """Start without accesses; the data are 0, ..., data-1."""
        self._stack = np.empty(0, np.int32)  # data, the least recently used first
        self._places = np.full(data, -1, np.int32)  # of each datum in the stack, -1 where it is not there

    @property
    def depth(self) -> int:
        """How many data have been accessed."""
        return len(self._stack)

    def push(self, data: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the reuse distances of the next accesses, [n]; 0 for the first access to a datum."""
        found, start = [np.empty(0, np.int32)], 0
        while start < len(data):
            stop = start + max(PIECE, self.depth // 4)
            found.append(self._push(data[start:stop].astype(np.int32)))
            start = stop
        return np.concatenate(found)

    def _push(self, data: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the distances of one piece, and bring the stack up to date."""
        n, depth = len(data), self.depth
        order = stable_order(data)
        ordered = data[order]
        again = ordered[1:] == ordered[:-1]
        previous = np.empty(n, np.int32)  # place of the previous access: in the stack, or after it
        previous[order[1:]] = np.where(again, order[:-1] + depth, self._places[ordered[1:]])
        previous[order[0]] = self._places[ordered[0]]
        last = np.empty(n, bool)  # whether the piece has no later access to the datum
        last[order] = np.append(~again, True)
        warm = previous >= 0
        places = previous[warm]
        used = np.zeros(depth + n, bool)
        used[places] = True
        ranks = np.cumsum(used, dtype=np.int32)[places] - 1
        found = np.zeros(n, np.int32)
        found[warm] = (np.arange(depth, depth + n, dtype=np.int32)[warm] - places) - larger_before(ranks)
        self._stack = np.concatenate([self._stack[~used[:depth]], data[last]])
        self._places[self._stack] = np.arange(len(self._stack), dtype=np.int32)
        return found


class Histogram:
    """How often each reuse distance occurs; 0 is for cold accesses."""

    def __init__(self) -> None:
        self._counts = np.zeros(1, np.int64)

    def add(self, distances: NDArray[np.integer]) -> None:
        """Count some distances."""
        self._add(np.bincount(distances, minlength=1))

    def merge(self, other: "Histogram", times: int = 1) -> None:
        """Add the counts of another, some times."""
        self._add(other._counts * times)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and np.array_equal(self._counts, other._counts)

    def _add(self, counts: Rows) -> None:
        """Add counts by distance; there is no 0 at the end."""
        small, large = sorted((self._counts, counts), key=len)
        large = large.copy()
        large[: len(small)] += small
        self._counts = large

    def found(self) -> tuple[Rows, Rows, int]:
        """Return the distances that occur, in increasing order, their counts, and the number of cold accesses."""
        distances = np.flatnonzero(self._counts[1:]) + 1
        return distances, self._counts[distances], int(self._counts[0])


def larger_before(ranks: Ints) -> Ints:
    """Return for each element of a permutation of 0, ..., n-1 how many earlier elements are larger, [n].

    Digits of 6 bits are compared, the highest first: O(n log n) operations, and about 40 bytes an element.
    """
    n, low = len(ranks), 0
    while n > BLOCK << low:
        low += BITS
    full = -(-n >> low) << low  # the digits below the highest one take all their values equally often
    padded = np.concatenate([ranks, np.arange(n, full, dtype=np.int32)]) if low else ranks
    found = _larger_digit(padded >> low, full, full >> low) if low else np.zeros(full, np.int32)
    for shift in range(low - BITS, -1, -BITS):
        order = stable_order(padded >> shift + BITS)
        found[order] += _larger_digit(padded[order] >> shift & BLOCK - 1, BLOCK << shift, BLOCK)
    return found[:n] if low else _larger_in_block(ranks)


def stable_order(values: Ints) -> NDArray[np.intp]:
    """Return the stable order of whole numbers from 0: two radix sorts of 16 bits in numpy."""
    highest = int(values.max(initial=0))
    low = np.argsort(values.astype(np.uint8 if highest < 2**8 else np.uint16), kind="stable")
    if highest < 2**16:
        return low
    return low[np.argsort((values >> 16).astype(np.uint8 if highest < 2**24 else np.uint16)[low], kind="stable")]


def _larger_digit(digits: Ints, run: int, values: int) -> Ints:
    """Return how many earlier elements of the same run have a larger digit below `values`, [n]."""
    small = digits.astype(np.uint8)
    found = _larger_in_block(small)
    if run == BLOCK:
        return found
    cells = np.arange(len(small)) // BLOCK * values + small
    table = np.bincount(cells, minlength=len(small) // BLOCK * values).astype(np.int32)
    table = table.reshape(-1, run // BLOCK, values)  # of [run, block of 64 in it, digit]
    upto = np.zeros_like(table)
    np.cumsum(table[:, :-1], axis=1, out=upto[:, 1:])  # in earlier blocks of the run
    np.cumsum(upto, axis=2, out=upto)  # with a digit up to this one
    before = np.arange(run // BLOCK, dtype=np.int32) * BLOCK
    found += (before[:, None] - upto).reshape(-1)[cells]
    return found


def _larger_in_block(digits: NDArray[np.uint8] | Ints) -> Ints:
    """Return how many earlier elements of the same block of 64 are larger, [n]."""
    n = len(digits)
    columns = np.full(-(-n // BLOCK) * BLOCK, 0, np.uint8)
    columns[:n] = digits
    columns = np.ascontiguousarray(columns.reshape(-1, BLOCK).T)  # [64, blocks]: shifts are long rows
    found = np.zeros(columns.shape, np.uint8)
    for shift in range(1, min(n, BLOCK)):
        found[shift:] += columns[:-shift] > columns[shift:]
    return found.T.reshape(-1)[:n].astype(np.int32)
