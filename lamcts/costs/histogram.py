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
        counts = np.bincount(distances, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def found(self) -> tuple[Rows, Rows, int]:
        """Return the distances that occur, in increasing order, their counts, and the number of cold accesses."""
        distances = np.flatnonzero(self._counts[1:]) + 1
        return distances, self._counts[distances], int(self._counts[0])
