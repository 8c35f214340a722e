"""Scalarisations of losses: the hypervolume that a point adds to a front, and the Chebyshev distance along a weight.

Losses are in standard units, in which all rows of the model have standard deviation 1; so nothing here depends on a
unit, nor on the user's reference. Letters: m losses, k points, p rows of the front, b cells.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.cells import Cells, cells_of
from lamcts.outcomes.hypervolume import improvement
from lamcts.types import Floats

SEARCH_MARGIN = 1.0  # of the front's range, or of the standard deviation if more, from its worst to the reference:
# less left the ends of fronts unsought (ZDT1, seeds 0 and 1)
MAX_LOSSES = 4  # of which volumes are taken: cells grow with the power of m / 2
MAX_FRONT = 100  # rows of a front of three losses or more that cells are made of (untuned)
MIN_RANGE = 0.1  # of a front, to weigh by: a lone row has none (untuned)
SUM_SHARE = 0.05  # of the weighted sum, added to the weighted maximum: Knowles (ParEGO, 2006)


class Scalarisation(Protocol):
    """One number for several losses: lower is better."""

    def of(self, f: Floats) -> Floats:
        """Return the values of losses `f` [k, m], [k]."""

    def slope(self, f: Floats) -> tuple[float, Floats]:
        """Return a number that falls where the value does, at losses `f` [m], and its slope [m]."""


class Single:
    """One loss."""

    def of(self, f: Floats) -> Floats:
        return f[:, 0]

    def slope(self, f: Floats) -> tuple[float, Floats]:
        return float(f[0]), np.ones(1)


@dataclass(frozen=True, eq=False)
class Chebyshev:
    """The augmented weighted Chebyshev distance from the best of each loss (Knowles 2006): `low`, `scale` [m]."""

    low: Floats
    scale: Floats

    @classmethod
    def of_front(cls, front: Floats, weights: Floats) -> "Chebyshev":
        """Return the aim of weights [m], in units of the range of a front [p, m]."""
        low = front.min(0)
        return cls(low, weights / np.maximum(front.max(0) - low, MIN_RANGE))

    def of(self, f: Floats) -> Floats:
        weighted = (f - self.low) * self.scale
        result: Floats = weighted.max(1) + SUM_SHARE * weighted.sum(1)
        return result

    def slopes(self, f: Floats) -> tuple[Floats, Floats]:
        """Return the values of losses `f` [k, m], [k], and their slopes, [k, m]."""
        weighted = (f - self.low) * self.scale
        way = np.tile(SUM_SHARE * self.scale, (len(f), 1))
        worst = weighted.argmax(1)
        way[np.arange(len(f)), worst] += self.scale[worst]
        return self.of(f), way

    def slope(self, f: Floats) -> tuple[float, Floats]:
        value, way = self.slopes(f[None])
        return float(value[0]), way[0]


class Hypervolume:
    """The volume that a point adds to a front [p, m]: of three losses or more, to some rows of it."""

    def __init__(self, front: Floats, margin: float = SEARCH_MARGIN) -> None:
        self.front, self.reference = front, reference_of(front, margin)
        self._some = thinned(front)
        self._cells: Cells | None = None

    def of(self, f: Floats) -> Floats:
        gain = np.zeros(len(f))
        better = ~dominated(f, self.front)
        gain[better] = improvement(f[better], self._some, self.reference)
        return -gain

    def slope(self, f: Floats) -> tuple[float, Floats]:
        """Of minus the logarithm: volumes fall by orders of magnitude as a front fills up."""
        lower, upper = self.cells
        sides = upper - np.maximum(f, lower)  # [b, m]
        hit = (sides > 0).all(1)
        parts = sides[hit].prod(1)
        if not (total := float(parts.sum())) > 0:
            return np.inf, np.zeros(len(f))
        return -float(np.log(total)), ((parts[:, None] / sides[hit]) * (f > lower[hit])).sum(0) / total

    @property
    def cells(self) -> Cells:
        if self._cells is None:
            self._cells = cells_of(self._some, self.reference)
        return self._cells

    def grown(self, f: Floats) -> "Hypervolume":
        """Return the aim once a point [m] is taken; of three losses or more the cells stay, as they are dear."""
        return Hypervolume(np.vstack([self.front, f])) if len(f) == 2 else self


def thinned(front: Floats) -> Floats:
    """Return the rows of a front [p, m] that cells are made of: of three losses or more at most MAX_FRONT."""
    return front if front.shape[1] <= 2 else front[:: max(-(-len(front) // MAX_FRONT), 1)]


def reference_of(front: Floats, margin: float = SEARCH_MARGIN) -> Floats:
    """Return the point [m] that volumes are measured from, beyond the worst of a front [p, m]."""
    worst = front.max(0)
    result: Floats = worst + margin * np.maximum(worst - front.min(0), 1.0)
    return result


def dominated(f: Floats, front: Floats) -> NDArray[np.bool_]:
    """Return which of the points [k, m] are nowhere better than some row of a front [p, m], [k]."""
    if front.shape[1] == 2 and len(front):
        order = np.argsort(front[:, 0], kind="stable")
        across, lowest = front[order, 0], np.minimum.accumulate(front[order, 1])
        last = np.searchsorted(across, f[:, 0], side="right") - 1  # the front's last row that is no worse in the first
        return np.asarray((last >= 0) & (f[:, 0] >= across[last]) & (f[:, 1] >= lowest[last]))
    worse = np.ones((len(f), len(front)), bool)
    for mine, theirs in zip(f.T, front.T, strict=True):
        worse &= mine[:, None] >= theirs
    return np.asarray(worse.any(1))
