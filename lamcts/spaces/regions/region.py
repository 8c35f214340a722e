"""Regions: the points that a path of splits admits."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats, Rows


class Split(Protocol):
    """A boundary that divides a region in two."""

    def good(self, x: Floats) -> NDArray[np.bool_]:
        """Return which rows of `x` [n, d] are on the good side, [n].

        The side of a row never depends on the other rows of the call.
        """

    def halfspace(self) -> tuple[Floats, float] | None:
        """Return `(w, b)` of a flat boundary, good where `x @ w + b >= 0`; None for a curved one."""


class Step(NamedTuple):
    """One step down a path: the side `good` of `split`."""

    split: Split
    good: bool


@dataclass(frozen=True, eq=False)
class Region:
    """The points of a space on the chosen side of every split of a path.

    Parameters
    ----------
    space : search space
        The whole space.
    steps : tuple of Step
        Splits and sides, from the root. No step is the whole space.
    rows : ndarray of shape (n,)
        Successful evaluations inside, in order of arrival.

    Examples
    --------
    >>> import lamcts, numpy as np
    >>> region = lamcts.Optimizer([(0, 1)] * 2, seed=0).region()
    >>> region.contains(np.array([[0.5, 0.5]])).tolist()
    [True]
    """

    space: SearchSpace
    steps: tuple[Step, ...]
    rows: Rows

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Return which points lie inside.

        Parameters
        ----------
        x : ndarray of shape (n, d)
            Points in the unit cube.

        Returns
        -------
        ndarray of bool of shape (n,)
            Whether each point lies inside.
        """
        inside = np.ones(len(x), bool)
        for split, good in self.steps:
            rows = np.flatnonzero(inside)
            if not len(rows):
                break
            inside[rows] = split.good(x[rows]) == good
        return inside

    def wider(self, seen: Observations) -> "Region":
        """Return the region one step up the path, with its rows in `seen`."""
        steps = self.steps[:-1]
        region = Region(self.space, steps, seen.good)
        return Region(self.space, steps, seen.good[region.contains(seen.x[seen.good])])
