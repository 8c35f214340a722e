"""Counts of whole numbers that arrive in pieces."""

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Rows


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
