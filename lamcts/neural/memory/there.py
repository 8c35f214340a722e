"""How many bytes are there at each step, storages coming and going.

Letters: S steps.
"""

import numpy as np

from lamcts.types import Rows

FEW = 24  # intervals that are added one by one; more are summed at once (untuned)


class There:
    """Bytes [S], to which intervals of steps are added, both ends included."""

    def __init__(self, begin: Rows) -> None:
        self.sums = begin
        self.enters: list[int] = []
        self.leaves: list[int] = []
        self.sizes: list[int] = []

    def add(self, enter: int, leave: int, size: int) -> None:
        """Add `size` bytes at the steps from `enter` to `leave`; none where it leaves before it enters."""
        if leave >= enter:
            self.enters.append(enter)
            self.leaves.append(leave + 1)
            self.sizes.append(size)

    def live(self) -> Rows:
        """Return the bytes at each step, which further intervals change."""
        if len(self.sizes) <= FEW:
            for enter, leave, size in zip(self.enters, self.leaves, self.sizes, strict=True):
                self.sums[enter:leave] += size
        else:
            count = len(self.sums) + 1
            sizes = np.array(self.sizes, float)  # whole numbers below 2^53, which floats add without error
            change = np.bincount(self.enters, sizes, count) - np.bincount(self.leaves, sizes, count)
            self.sums += change[:-1].cumsum().astype(np.int64)
        self.enters, self.leaves, self.sizes = [], [], []
        return self.sums
