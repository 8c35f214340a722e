"""What our own reference searches stand on: rows of codes, what was seen of them, and their values.

A row of codes holds one number a parameter (`lamcts.spaces.parameters`). Two rows with the same key of the space are
the same point, and a row whose key is None is none: neither is evaluated.
"""

from collections.abc import Hashable

import numpy as np

from benchmarks.harness.search import Search
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

TRIES = 1000  # draws in a row that bring nothing new, after which the space counts as used up


class EvaluatedCodes:
    """The space of a search as codes z [p], and the losses of all that was evaluated there."""

    def __init__(self, search: Search) -> None:
        self.search, self.rng = search, search.rng()
        self.space = search.objective.space
        self.parameters = Parameters(self.space)
        self._seen: set[Hashable] = {None}

    def losses(self, z: Floats) -> list[float]:
        """Evaluate codes [n, p]; a failure counts as infinitely bad."""
        rows = self.parameters.rows(z)
        points = [self.space.decode(x) for x in rows]
        self._seen |= {self.key(x) for x in rows}
        return [np.inf if np.isnan(loss) else loss for loss in self.search.evaluate_all(points)]

    def unseen(self, z: Floats) -> Floats:
        """Return those of the codes [n, p] that are neither known nor forbidden, no two with one key."""
        first = dict[Hashable, int]()
        for i, x in enumerate(self.parameters.rows(z)):
            first.setdefault(self.key(x), i)
        return z[[i for key, i in first.items() if key not in self._seen]]

    def draw(self, n: int) -> Floats:
        """Return codes of `n` unseen rows drawn uniformly, [n, p]; fewer where the space is used up."""
        found, fruitless = np.empty((0, self.parameters.count)), 0
        while len(found) < n and fruitless < TRIES:
            more = self.unseen(np.vstack([found, self.parameters.draw(n, self.rng)]))[:n]
            fruitless = 0 if len(more) > len(found) else fruitless + n
            found = more
        return found

    def key(self, x: Floats) -> Hashable:
        """Return what tells the point of a row [d] from others, None where it is no point."""
        own = getattr(self.space, "key", None)
        return x.tobytes() if own is None else own(self.space.decode(x))
