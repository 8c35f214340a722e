"""The constrained rank of rows: the order by which the tree, samplers and `best` compare evaluations.

First the feasible rows, by how many others dominate them; then the infeasible ones, by the sum of the ranks of their
violations; failed, pruned and partial rows have no rank. With one objective and no constraint it is the order of the
losses.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import DominanceNumbers, dominance_numbers
from lamcts.types import Floats, Rows

Mask = NDArray[np.bool_]
# kinds of rows: evaluated; failed; only its constraints are known; stopped on its way, since others were ahead;
# evaluated below full fidelity
OK, FAILED, CHECKED, PRUNED, PARTIAL = 0, 1, 2, 3, 4
WITH_LOSSES = (OK, PARTIAL)
KINDS = ("ok", "failed", "checked", "pruned", "partial")
FEASIBLE = "feasible"  # what those are called that were evaluated and keep all constraints
RERANK_ROWS = 50  # new rows beyond which all are ranked at once: with 50 columns as dear as 15 rows of 1,000, or 200
# of 20,000


def feasible(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows were evaluated and keep all constraints (one not measured is not kept), [n]; g [n, c]."""
    return np.asarray((kind == OK) & (g <= 0).all(1))


def rankable(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows have a rank, [n]: not failed ones, nor checked ones that violate no constraint."""
    return np.asarray((kind == OK) | ((kind == CHECKED) & (g > 0).any(1)))


def total_violation(g: Floats) -> Floats:
    """Return by how much the rows of g [n, c] break constraints in sum, each in its own units, [n].

    What was not measured adds nothing; nan where nothing was.
    """
    unknown = np.isnan(g)
    total: Floats = np.where(unknown, 0.0, np.maximum(g, 0.0)).sum(1)
    return np.where(unknown.any(1) & unknown.all(1), np.nan, total)


def constrained_rank(f: Floats, g: Floats, kind: NDArray[np.int64]) -> Floats:
    """Return the constrained ranks [n], lower is better; nan for rows without one.

    f [n, m], g [n, c], kind [n].
    """
    if f.shape[1] == 1 and not g.shape[1]:
        return np.where(kind == PARTIAL, np.nan, f[:, 0])
    good, here = feasible(g, kind), rankable(g, kind)
    infeasible = here & ~good
    level = f[good, 0] if f.shape[1] == 1 else dominance_numbers(f[good])
    return _arranged(good, infeasible, level, violation_ranks(g[infeasible]))


class ConstrainedRanks:
    """The constrained ranks of rows as they arrive: each new row is compared once with every other row.

    losses, constraints: how many columns there are.
    """

    def __init__(self, losses: int, constraints: int) -> None:
        self._one, self._numbers = losses == 1, np.empty(0)
        self._dominated = DominanceNumbers(losses)  # of the feasible rows
        self._violations = ViolationRanks(constraints)  # of the infeasible ones

    def append(self, f: Floats, g: Floats, good: Mask, infeasible: Mask) -> None:
        """Add rows, f [k, m] and g [k, c]: which are feasible, and which are ranked although infeasible, [k]."""
        self._dominated.append(f[good])
        self._violations.append(g[infeasible])

    def of(self, f: Floats, good: Mask, infeasible: Mask) -> Floats:
        """Return the ranks of all rows, [n], given their losses [n, m] and masks."""
        if len(self._numbers) != len(f):
            level = f[good, 0] if self._one else self._dominated.numbers
            self._numbers = _arranged(good, infeasible, level, self._violations.totals)
        return self._numbers


def _arranged(good: Mask, infeasible: Mask, level: Floats | NDArray[np.int64], over: Floats) -> Floats:
    """Return the ranks [n] of rows of which some are feasible, some infeasible, others without rank.

    level: what the feasible rows compare by, in order; over: the same of the infeasible ones. Both ascend.
    """
    result = np.full(len(good), np.nan)
    result[good] = first = _dense_ranks(level)
    result[infeasible] = first.max(initial=-1.0) + 1.0 + _dense_ranks(over)
    return result


def _dense_ranks(level: Floats | NDArray[np.int64]) -> Floats:
    """Return 0 for the lowest number, 1 for the next, and so on, equals equal, [n]."""
    if level.dtype == np.int64 and len(level):  # counts of rows: there is no need to sort them
        above = level - level.min()
        ranks: Floats = (np.cumsum(np.bincount(above) > 0) - 1.0)[above]
        return ranks
    return np.unique(level, return_inverse=True)[1].astype(float)


# Ranks of violations --------------------------------------------------------------------------------------------------


def violation_ranks(g: Floats) -> Floats:
    """Return the sum over constraints of the rank of each row's violation among all violations of it, [n].

    Nothing but the order of the violations of a constraint enters, and equals share their middle rank. g [n, c]; nan,
    a constraint that was not measured, counts as its worst.
    """
    total = np.zeros(len(g))
    for column in g.T:
        over = np.where(np.isnan(column), np.inf, column)
        infeasible = over > 0
        if infeasible.any():
            _, inverse, count = np.unique(over[infeasible], return_inverse=True, return_counts=True)
            total[infeasible] += (np.cumsum(count) - (count - 1) / 2)[inverse]
    return total


class ViolationRanks:
    """The sum of ranks of every row's violations, kept as rows arrive; rows wait until the sums are read.

    A new row raises the rank of each row that violates a constraint more by 1, and of an equal one by a half. All sums
    are of halves, so nothing is rounded.

    c: how many constraints there are.
    """

    def __init__(self, c: int) -> None:
        self._over = np.zeros((c, 16))  # [c, room], 0 where kept; rows lie along it, as they are compared
        self._totals = np.zeros(16)
        self._breaking = np.zeros(c, np.int64)  # how many of the rows that are ranked break each constraint
        self._n = self._ranked = 0

    def append(self, g: Floats) -> None:
        """Take the violations of rows, g [k, c]; nan, not measured, counts as the worst."""
        first, self._n = self._n, self._n + len(g)
        if self._n > len(self._totals):
            more = max(self._n, 2 * len(self._totals)) - len(self._totals)
            self._over = np.concatenate([self._over, np.zeros((len(self._over), more))], axis=1)
            self._totals = np.concatenate([self._totals, np.zeros(more)])
        self._over[:, first : self._n] = np.where(np.isnan(g), np.inf, np.maximum(g, 0.0)).T

    @property
    def totals(self) -> Floats:
        """The sums, [n]: a view, so copy what has to outlive the next rows."""
        if self._n - self._ranked > RERANK_ROWS:
            self._totals[: self._n] = violation_ranks(self._over[:, : self._n].T)
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
