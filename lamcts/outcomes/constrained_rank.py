"""The constrained rank of rows: the order by which the tree, samplers and `best` compare evaluations.

Feasible rows come first, by their dominance numbers. Infeasible rows follow, by the sum of the ranks of their
violations. Failed, pruned and partial rows have no rank. With one objective and no constraint, the rank is the loss.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import DominanceNumbers, dominance_numbers
from lamcts.types import Floats, Rows

Mask = NDArray[np.bool_]
# Kinds of rows: evaluated; failed; checked, with constraints alone known; pruned; evaluated below full fidelity
OK, FAILED, CHECKED, PRUNED, PARTIAL = range(5)
WITH_LOSSES = (OK, PARTIAL)
KINDS = ("ok", "failed", "checked", "pruned", "partial")
FEASIBLE = "feasible"  # the name of evaluated rows that satisfy all constraints
RERANK_ROWS = 50  # new rows beyond which all rows are ranked again: with 50 columns, that costs as much as 15 new rows
# among 1,000, or 200 among 20,000


def feasible(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows of g [n, c] were evaluated and satisfy all constraints, [n]; an unmeasured one is violated."""
    return np.asarray((kind == OK) & (g <= 0).all(1))


def rankable(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows have a rank, [n]: evaluated rows, and checked rows that violate a constraint."""
    return np.asarray((kind == OK) | ((kind == CHECKED) & (g > 0).any(1)))


def total_violation(g: Floats) -> Floats:
    """Return the sum of the measured violations in each row of g [n, c], [n]; nan where none was measured."""
    unknown = np.isnan(g)
    total: Floats = np.where(unknown, 0.0, np.maximum(g, 0.0)).sum(1)
    return np.where(unknown.any(1) & unknown.all(1), np.nan, total)


def constrained_rank(f: Floats, g: Floats, kind: NDArray[np.int64]) -> Floats:
    """Return the constrained ranks [n] of f [n, m], g [n, c] and kind [n]; lower is better, nan without a rank."""
    if f.shape[1] == 1 and not g.shape[1]:
        return np.where(kind == PARTIAL, np.nan, f[:, 0])
    is_feasible = feasible(g, kind)
    is_infeasible = rankable(g, kind) & ~is_feasible
    keys = f[is_feasible, 0] if f.shape[1] == 1 else dominance_numbers(f[is_feasible])
    return _arranged(is_feasible, is_infeasible, keys, violation_ranks(g[is_infeasible]))


class ConstrainedRanks:
    """The constrained ranks of rows as they arrive: each new row is compared once with every other row."""

    def __init__(self, losses: int, constraints: int) -> None:
        self._is_single_loss = losses == 1
        self._ranks = np.empty(0)
        self._dominance = DominanceNumbers(losses)  # of the feasible rows
        self._violations = ViolationRanks(constraints)  # of the infeasible rows

    def append(self, f: Floats, g: Floats, is_feasible: Mask, is_infeasible: Mask) -> None:
        """Add rows f [k, m] and g [k, c], with masks [k] of the feasible rows and of the ranked infeasible rows."""
        self._dominance.append(f[is_feasible])
        self._violations.append(g[is_infeasible])

    def of(self, f: Floats, is_feasible: Mask, is_infeasible: Mask) -> Floats:
        """Return the ranks of all rows, [n], given their losses [n, m] and masks."""
        if len(self._ranks) != len(f):
            keys = f[is_feasible, 0] if self._is_single_loss else self._dominance.numbers
            self._ranks = _arranged(is_feasible, is_infeasible, keys, self._violations.totals)
        return self._ranks


def _arranged(
    is_feasible: Mask, is_infeasible: Mask, keys: Floats | NDArray[np.int64], infeasible_keys: Floats
) -> Floats:
    """Return the ranks [n], nan for rows in neither mask; the keys order the rows of each mask, lower is better."""
    ranks = np.full(len(is_feasible), np.nan)
    ranks[is_feasible] = feasible_ranks = _dense_ranks(keys)
    ranks[is_infeasible] = feasible_ranks.max(initial=-1.0) + 1.0 + _dense_ranks(infeasible_keys)
    return ranks


def _dense_ranks(keys: Floats | NDArray[np.int64]) -> Floats:
    """Return 0 for the lowest key, 1 for the next, and so on, [n]; equal keys have equal ranks."""
    if keys.dtype == np.int64 and len(keys):  # counts of rows, which need no sort
        offsets = keys - keys.min()
        ranks: Floats = (np.cumsum(np.bincount(offsets) > 0) - 1.0)[offsets]
        return ranks
    return np.unique(keys, return_inverse=True)[1].astype(float)


# Ranks of violations --------------------------------------------------------------------------------------------------


def violation_ranks(g: Floats) -> Floats:
    """Return the sum of the ranks of each row's violations g [n, c], [n]; ties have their mean, nan is the largest."""
    total = np.zeros(len(g))
    for column in g.T:
        violations = np.where(np.isnan(column), np.inf, column)
        is_violated = violations > 0
        if is_violated.any():
            _, inverse, count = np.unique(violations[is_violated], return_inverse=True, return_counts=True)
            total[is_violated] += (np.cumsum(count) - (count - 1) / 2)[inverse]
    return total


class ViolationRanks:
    """The sums of violation ranks of rows as they arrive, for c constraints; new rows are ranked at the next read.

    A new row raises the rank of each larger violation by 1, and of each equal one by 1/2. Multiples of 1/2 are exact.
    """

    def __init__(self, c: int) -> None:
        self._columns = np.zeros((c, 16))  # [c, capacity], violations, 0 where a constraint is satisfied
        self._totals = np.zeros(16)
        self._n_violating = np.zeros(c, np.int64)  # ranked rows that violate each constraint
        self._n_rows = self._n_ranked = 0

    def append(self, g: Floats) -> None:
        """Add the violations of rows g [k, c]; nan is the largest."""
        first = self._n_rows
        self._n_rows += len(g)
        if self._n_rows > len(self._totals):
            n_more = max(self._n_rows, 2 * len(self._totals)) - len(self._totals)
            self._columns = np.concatenate([self._columns, np.zeros((len(self._columns), n_more))], axis=1)
            self._totals = np.concatenate([self._totals, np.zeros(n_more)])
        self._columns[:, first : self._n_rows] = np.where(np.isnan(g), np.inf, np.maximum(g, 0.0)).T

    @property
    def totals(self) -> Floats:
        """The sums, [n]: a view, which the next rows change."""
        if self._n_rows - self._n_ranked > RERANK_ROWS:
            self._totals[: self._n_rows] = violation_ranks(self._columns[:, : self._n_rows].T)
            self._n_violating = np.count_nonzero(self._columns[:, : self._n_rows], axis=1)
            self._n_ranked = self._n_rows
        while self._n_ranked < self._n_rows:
            self._rank(self._n_ranked)
            self._n_ranked += 1
        return self._totals[: self._n_rows]

    def _rank(self, row: int) -> None:
        """Rank a row among the rows before it."""
        rises: Rows = np.zeros(row, np.int64)  # twice the increases of earlier rows
        rank = 0  # twice the rank of this row
        for j in np.flatnonzero(self._columns[:, row]):
            earlier = self._columns[j, :row]
            violation = self._columns[j, row]
            is_worse = earlier > violation
            is_no_better = earlier >= violation
            rises += is_worse.view(np.int8)
            rises += is_no_better.view(np.int8)
            n_above = int(np.count_nonzero(is_worse)) + int(np.count_nonzero(is_no_better))
            rank += 2 * int(self._n_violating[j]) + 2 - n_above
        self._totals[:row] += rises / 2
        self._totals[row] = rank / 2
        self._n_violating += self._columns[:, row] > 0
