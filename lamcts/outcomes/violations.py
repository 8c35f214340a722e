"""How much rows break constraints, whatever the units: ranks, of all rows at once or kept as rows come.

    ranks = ViolationRanks(c=50)
    ranks.append(g)      # [k, 50], as rows come
    ranks.totals         # [n], the same as violation(g of all rows)

A new row raises the rank of each row that breaks a constraint more by 1, and of an equal one by a half: what it takes
is one comparison with each row. All sums are of halves, so nothing is rounded.
"""

import numpy as np

from lamcts.types import Floats, Rows

MANY = 50  # new rows beyond which all are ranked anew: with 50 columns as dear as 15 rows of 1,000, or 200 of 20,000


def violation(g: Floats) -> Floats:
    """Return the sum over constraints of the rank of each row's violation among all violations of it, [n].

    Nothing but the order of the violations of a constraint enters, and equals share their middle rank. g [n, c]; nan,
    a constraint that was not measured, counts as its worst.
    """
    total = np.zeros(len(g))
    for column in g.T:
        over = np.where(np.isnan(column), np.inf, column)
        broken = over > 0
        if broken.any():
            _, place, count = np.unique(over[broken], return_inverse=True, return_counts=True)
            total[broken] += (np.cumsum(count) - (count - 1) / 2)[place]
    return total


class ViolationRanks:
    """The sum of ranks of every row's violations. Rows wait until the sums are asked for.

    c: how many constraints there are.
    """

    def __init__(self, c: int) -> None:
        self._over = np.zeros((c, 16))  # [c, room], 0 where kept; rows lie along it, as they are compared
        self._totals = np.zeros(16)
        self._breaking = np.zeros(c, np.int64)  # how many of the rows that are ranked break each constraint
        self._n = self._ranked = 0

    def append(self, g: Floats) -> None:
        """Take the excesses of rows, g [k, c]; nan, not measured, counts as the worst."""
        first, self._n = self._n, self._n + len(g)
        if self._n > len(self._totals):
            more = max(self._n, 2 * len(self._totals)) - len(self._totals)
            self._over = np.concatenate([self._over, np.zeros((len(self._over), more))], axis=1)
            self._totals = np.concatenate([self._totals, np.zeros(more)])
        self._over[:, first : self._n] = np.where(np.isnan(g), np.inf, np.maximum(g, 0.0)).T

    @property
    def totals(self) -> Floats:
        """The sums, [n]: a view, so copy what has to outlive the next rows."""
        if self._n - self._ranked > MANY:
            self._totals[: self._n] = violation(self._over[:, : self._n].T)
            self._breaking = np.count_nonzero(self._over[:, : self._n], axis=1)
            self._ranked = self._n
        while self._ranked < self._n:
            self._rank(self._ranked)
            self._ranked += 1
        return self._totals[: self._n]

    def _rank(self, row: int) -> None:
        """Rank one row among those before it."""
        twice: Rows = np.zeros(row, np.int64)  # by what the others rise, doubled
        own = 0  # doubled, too
        for j in np.flatnonzero(self._over[:, row]):
            before, here = self._over[j, :row], self._over[j, row]
            worse, no_better = before > here, before >= here
            twice += worse.view(np.int8)
            twice += no_better.view(np.int8)
            own += 2 * int(self._breaking[j]) + 2 - int(np.count_nonzero(worse)) - int(np.count_nonzero(no_better))
        self._totals[:row] += twice / 2
        self._totals[row] = own / 2
        self._breaking += self._over[:, row] > 0
