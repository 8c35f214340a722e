"""Rows of a lineage's own: a search that models no others is not led back to the valley that those have searched."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.types import Floats, Rows


class OwnRows(Observations):
    """Some rows of `seen`, numbered anew in the order they were taken; what is known and pending is that of all.

    rows: their numbers in `seen`.
    """

    def __init__(self, seen: Observations) -> None:
        super().__init__(seen.dim, seen.repeat, None, seen.f.shape[1], seen.g.shape[1])
        self._seen = seen
        self._rows: list[int] = []

    @property
    def rows(self) -> Rows:
        return np.array(self._rows, np.int64)

    @property
    def of(self) -> int:
        """How many rows there are in all."""
        return len(self._seen)

    def take(self, rows: Rows) -> Rows:
        """Take these rows of `seen` as well; return their own numbers."""
        seen = self._seen
        told = seen.x[rows], seen.f[rows], seen.seconds[rows], seen.trial[rows], seen.source[rows]
        own = self.append(*told, seen.g[rows], seen.kind[rows])
        self._rows += rows.tolist()
        floors = zip(own.tolist(), rows.tolist(), strict=True)
        self.floors |= {mine: seen.floors[row] for mine, row in floors if row in seen.floors}
        return own

    def number(self, own: int | None) -> int | None:
        """Return the number in `seen` of a row of its own."""
        return None if own is None else self._rows[own]

    def within(self, region: Region) -> Region:
        """Return the region with its own rows."""
        if len(self) == self.of:
            return region
        good = self.good
        rows = good[region.contains(self.x[good])] if region.steps else good
        return Region(region.space, region.steps, rows)

    # What is known of points does not depend on whose they are -------------------------------------------------------

    @property
    def keyed(self) -> bool:
        return self._seen.keyed

    @property
    def distinct(self) -> int:
        return self._seen.distinct

    def pending_x(self) -> Floats:
        return self._seen.pending_x()

    def unseen(self, x: Floats) -> NDArray[np.bool_]:
        return self._seen.unseen(x)

    def left(self, every: Callable[[], Floats | None]) -> Floats | None:
        return self._seen.left(every)

    def _count(self, point: Floats, change: int) -> None:
        pass
