"""Scalarisations of losses: the hypervolume that a point adds to a front, and the Chebyshev distance along a weight.

Losses are in standard units, in which all rows of the model have standard deviation 1; so nothing here depends on a
unit, nor on the user's reference. Letters: m losses, k points, p rows of the front, b cells.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats

SEARCH_MARGIN = 1.0  # of the front's range, or of the standard deviation if more, from its worst to the reference:
# less left the ends of fronts unsought (ZDT1, seeds 0 and 1)
MAX_LOSSES = 4  # of which volumes are taken: cells grow with the power of m / 2
MAX_FRONT = 100  # rows of a front of three losses or more that cells are made of (untuned)
MIN_RANGE = 0.1  # of a front, to weigh by: a lone row has none (untuned)
SUM_SHARE = 0.05  # of the weighted sum, added to the weighted maximum: Knowles (ParEGO, 2006)


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


def thinned(front: Floats) -> Floats:
    """Return the rows of a front [p, m] that cells are made of: of three losses or more at most MAX_FRONT."""
    return front if front.shape[1] <= 2 else front[:: max(-(-len(front) // MAX_FRONT), 1)]


def reference_of(front: Floats) -> Floats:
    """Return the point [m] that volumes are measured from, beyond the worst of a front [p, m]."""
    worst = front.max(0)
    result: Floats = worst + SEARCH_MARGIN * np.maximum(worst - front.min(0), 1.0)
    return result
