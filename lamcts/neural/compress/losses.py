"""Measured errors: what was not sent, and alpha of Assumption 3."""

import math

import torch
from torch import Tensor


class Losses:
    """Sums of squares over buckets and steps."""

    def __init__(self) -> None:
        self._given = self._left = 0.0
        self._mean = self._gap = 0.0  # of this step
        self.alpha: float | None = None

    def sent(self, given: float, left: list[Tensor]) -> None:
        """Add the squared norm of what workers were given, and vectors that they did not send."""
        self._given += given
        self._left += squares(left)

    def reduced(self, mean: Tensor, reduced: Tensor) -> None:
        """Add the true mean of a bucket, and the one that the scheme returned."""
        self._mean += squares([mean])
        self._gap += squares([mean - reduced])

    def end_step(self) -> None:
        """Keep the largest alpha."""
        if self._mean:
            self.alpha = max(self.alpha or 0.0, math.sqrt(self._gap / self._mean))
        self._mean = self._gap = 0.0

    @property
    def error(self) -> float | None:
        """The relative error, or None if nothing was added."""
        return math.sqrt(self._left / self._given) if self._given else None


def squares(vectors: list[Tensor]) -> float:
    """Return the sum of the squares of all elements."""
    return sum(float(torch.linalg.vector_norm(one)) ** 2 for one in vectors)
