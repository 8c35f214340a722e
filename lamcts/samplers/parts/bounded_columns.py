"""Losses and constraints as a search sees them: within 1e300, so that differences and sums of a few are finite."""

import numpy as np

from lamcts.observations import Observations
from lamcts.types import Floats

FARTHEST = 1e300  # the largest size of a number that a search sees: 1e8 of them have a finite sum


def bounded(numbers: Floats) -> Floats:
    """Return numbers of at most `FARTHEST` in size, the same array where all are."""
    return np.clip(numbers, -FARTHEST, FARTHEST) if (np.abs(numbers) > FARTHEST).any() else numbers


class BoundedColumns(Observations):
    """Observations whose columns are bounded; their order, their standing and all else is that of the true numbers.

    A penalty near the largest float is worth no more than 1e300, but `max - (-max)` overflows, and so do the models.
    """

    def __init__(self, seen: Observations) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> object:
        if name == "_seen":  # a copy that is being made
            raise AttributeError(name)
        return getattr(self._seen, name)

    @property
    def f(self) -> Floats:
        return bounded(self._seen.f)

    @property
    def g(self) -> Floats:
        return bounded(self._seen.g)
