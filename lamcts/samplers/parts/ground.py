"""What is known of the ground: which lineage is the best and how it gets on, and the trend of the rows of all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lamcts.models.trend import Trend
from lamcts.observations import Observations
from lamcts.samplers.parts.lineage import Lineage, Pace
from lamcts.samplers.parts.valleys import telling
from lamcts.types import Floats

GOOD = 0.25  # share of rows better than the one that gains are measured by, as in `auto`
# Tuned: on seeds 0 and 1 of turned functions in 20 dimensions, straight and bent, as benchmarks/README.md tells.
RIPPLES = 0.12  # deviations of the losses: Rosenbrock's trend leaves 0.003 to 0.1, Levy's 0.13 to 0.4, Rastrigin's more
PATIENCE = 2.0  # windows before a lineage is given up: on turned Rastrigin 1.5 ended some that went on to 12
MERGED = 0.01  # sides of the cube: nearer to where another ended, a lineage would end there (untuned)
PLATEAU = 0.25  # share of first rows with one loss, the worst: more of them are a penalty, and no scale (untuned)


class Ground:
    """What `lineages`, which others add to, have found. A `window` is how many results gains are taken over."""

    def __init__(self, seen: Observations, lineages: Sequence[Lineage]) -> None:
        self.seen, self.lineages = seen, lineages

    @property
    def leader(self) -> int:
        """The number of the best lineage, of equals one that goes on, the first."""
        return min((one.best, one.course.ended >= 0, k) for k, one in enumerate(self.lineages))[-1]

    @property
    def best(self) -> Lineage:
        return self.lineages[self.leader]

    @property
    def stray(self) -> int | None:
        """The best row of all, if no lineage that goes on has it: spread out, or come to one that was given up."""
        row, best = self.seen.best, self.best
        return row if row is not None and (self.seen.y[row] < best.best or best.course.ended >= 0) else None

    def pace(self, window: int) -> Pace:
        """Return how the best gets on."""
        y = self.seen.y[self.seen.good]
        if not len(y):
            return "moving"
        rank = int(GOOD * len(y))
        return self.best.pace(window, float(np.partition(y, rank)[rank]), self.first(window))

    def first(self, window: int) -> float:
        """Return the loss of a usual row that the run began with, of those without a penalty."""
        y = self.seen.y[self.seen.good[:window]]
        less = y[y < y.max()]
        usual = less if len(less) and len(y) - len(less) > PLATEAU * len(y) else y
        return 2 * float(np.median(usual / 2))  # halves: no overflow

    def gained(self, window: int) -> bool:
        """Return whether the best is better than what it knew when it began."""
        return self.best.gained(self.first(window))

    def ended(self, window: int) -> bool:
        """Return whether the best gained nothing for two windows."""
        return self.best.ended(window, self.first(window))

    def is_smooth(self, window: int) -> bool:
        """Return whether the trend of all rows knows no ripples."""
        return is_smooth(self.trend(window))

    def trend(self, window: int, shaped: bool = True) -> Trend:
        rows, bottoms = telling(self.seen, self.lineages, self.leader, PATIENCE * window)
        return Trend(self.seen.x[rows], self.seen.y[rows], shaped, bottoms)

    def is_near(self, place: Floats, distance: float) -> bool:
        """Return whether a place is where the best is."""
        return apart(place, self.seen.x[self.best.incumbent]) < distance

    def is_known(self, new: Lineage) -> bool:
        """Return whether a lineage has come to the lowest point of another, on its way down there or past it."""
        if new.session is None or new.own.best is None:
            return False
        x = new.own.x[new.own.best]
        others = [row for one in self.lineages if one is not new and (row := one.incumbent) is not None]
        return any(apart(x, self.seen.x[row]) < MERGED and self.seen.y[row] <= new.best for row in others)

    def is_hopeless(self, new: Lineage, window: int) -> bool:
        """Return whether a lineage would end above the best, or waits too long for the first results of its box."""
        patience = PATIENCE * window * (1 if new.course.middle else 2)
        if new.waits:
            return len(self.seen) >= new.course.began + patience
        return len(new.own) >= patience and new.reach(window) > self.best.best


def is_smooth(trend: Trend) -> bool:
    """Return whether there are no ripples, hence but one valley."""
    return trend.ripples < RIPPLES


def apart(a: ArrayLike, b: ArrayLike) -> float:
    """Return the distance of two points along the parameter where it is largest."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())
