"""Parameters whose coordinates change together: an order, a mixture, a subset, a row of a table.

Letters: n rows, d coordinates, m moves.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from lamcts.spaces.base import EncodedSpace
from lamcts.types import Floats, Rows

MOST_NEIGHBOURS = 600  # of a point; of more, a random subset: each costs a prediction. An order of 18 items has so many


class JointSpace(EncodedSpace):
    """Base class of kinds whose coordinates are columns of one parameter: a single move changes several of them."""

    is_order: ClassVar[bool] = False  # whether models see which items come before which, and no numbers

    @property
    def levels(self) -> Sequence[Floats | None]:
        """Valid values of each coordinate in ascending order; None, as by default, for all of [0, 1]."""
        return [None] * self.dim

    @property
    def dependent(self) -> bool:
        return bool(self.continuous.any())

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows [m, d] that are one move from a valid row `x` [d]."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method neighbours(x, rng)")

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return a row that is one random move from each valid row of `x` [n, d], [n, d]."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method random_neighbours(x, rng)")


def some_of(count: int, rng: np.random.Generator, most: int = MOST_NEIGHBOURS) -> Rows:
    """Return the numbers of all moves, or of a random subset of more than `most`, in order."""
    return np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
