"""A trial: one point handed out for evaluation."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Note, Point


@dataclass(frozen=True)
class Trial:
    """One point to evaluate.

    Attributes
    ----------
    id : int
        Number of the trial, in order of issue.
    point : point of the space
        The point in the user's units.
    x : ndarray of shape (d,)
        The same point, encoded in the unit cube.
    seed : int
        Seed for the noise of the objective. It depends on the run's seed and `id` alone.
    session : int
        The search that proposed the point, -1 for the initial design and for points of the user.
    note : JSON value
        A note of that search.
    """

    id: int
    point: Point = field(compare=False)
    x: NDArray[np.float64] = field(repr=False, compare=False)
    seed: int = field(default=0, repr=False)
    session: int = field(default=-1, repr=False)
    note: Note = field(default=None, repr=False, compare=False)
