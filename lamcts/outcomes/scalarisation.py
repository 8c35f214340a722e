"""Scalarisations of losses: the hypervolume that a point adds to a front, and the Chebyshev distance along a weight.

Losses are standardised: the rows of the model have standard deviation 1. Scalarisations depend neither on a unit nor on
the user's reference. Letters: m losses, k points, p rows of the front, b cells.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats

SEARCH_MARGIN = 1.0  # from a front's worst values to the reference, in its range or, if larger, the standard deviation:
# with less, searches missed the ends of fronts (ZDT1, seeds 0 and 1)
MAX_LOSSES = 4  # for hypervolumes: the number of cells grows with the power m / 2 of the front
MAX_FRONT = 100  # rows of a front of three losses or more: further rows cost cells (`hypervolume.MAX_CELL_COLUMNS`)
MIN_RANGE = 0.1  # of a front, in standard deviations: bounds the weights of a front with little range
SUM_SHARE = 0.05  # of the weighted sum, added to the weighted maximum: Knowles (ParEGO, 2006)


@dataclass(frozen=True, eq=False)
class Chebyshev:
    """The augmented weighted Chebyshev distance from the best of each loss (Knowles 2006): `low`, `scale` [m]."""

    low: Floats
    scale: Floats

    @classmethod
    def of_front(cls, front: Floats, weights: Floats) -> "Chebyshev":
        """Return the distance with weights [m], in units of the range of a front [p, m]."""
        low = front.min(0)
        return cls(low, weights / np.maximum(front.max(0) - low, MIN_RANGE))

    def of(self, f: Floats) -> Floats:
        weighted = (f - self.low) * self.scale
        result: Floats = weighted.max(1) + SUM_SHARE * weighted.sum(1)
        return result

    def slopes(self, f: Floats) -> tuple[Floats, Floats]:
        """Return the values of losses `f` [k, m], [k], and their slopes, [k, m]."""
        weighted = (f - self.low) * self.scale
        slopes = np.tile(SUM_SHARE * self.scale, (len(f), 1))
        worst = weighted.argmax(1)
        slopes[np.arange(len(f)), worst] += self.scale[worst]
        return self.of(f), slopes


def thinned(front: Floats) -> Floats:
    """Return the rows of a front [p, m] that define cells: at most MAX_FRONT for three losses or more."""
    return front if front.shape[1] <= 2 else front[:: max(-(-len(front) // MAX_FRONT), 1)]


def reference_of(front: Floats) -> Floats:
    """Return the reference point [m] of volumes, beyond the worst values of a front [p, m]."""
    worst = front.max(0)
    result: Floats = worst + SEARCH_MARGIN * np.maximum(worst - front.min(0), 1.0)
    return result
