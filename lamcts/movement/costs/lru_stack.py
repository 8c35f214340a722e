"""LRU stack distances of a stream of accesses, exactly, a piece of the stream at a time (Mattson et al. 1970)."""

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.inversions import larger_before, stable_order

PIECE = 2**17  # accesses at once, which stay in the cache of a core; longer where the stack is: see `LruStack.push`


class LruStack:
    """The data of a stream of accesses, in order of last access.

    distance(i) = i - p(i) - #{j < i: p(j) > p(i)}, where p(i) is the previous access to the same datum. A piece is
    treated as if the stream so far had been one access to each datum, in order of last access.
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
        """Return the reuse distances of the next accesses, [n]; 0 for the first access to a datum.

        A piece is at least as long as a quarter of the stack, since each piece passes over the whole stack.
        """
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
