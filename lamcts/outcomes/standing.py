"""The one order of rows that have several columns: what tree, searches and `best` compare by.

First the feasible rows, by how many others dominate them; then the infeasible ones, by the sum of the ranks of their
violations; failed and pruned rows have no standing. With one objective and no constraint it is the order of the losses.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import DominanceNumbers, dominance_numbers
from lamcts.outcomes.violations import ViolationRanks, violation
from lamcts.types import Floats

Mask = NDArray[np.bool_]
# kinds of rows: evaluated; failed; only its constraints are known; stopped on its way, since others were ahead
OK, FAILED, CHECKED, PRUNED = 0, 1, 2, 3
KINDS = ("ok", "failed", "checked", "pruned")


def feasible(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows were evaluated and keep all constraints (one not measured is not kept), [n]; g [n, c]."""
    return np.asarray((kind == OK) & (g <= 0).all(1))


def placed(g: Floats, kind: NDArray[np.int64]) -> Mask:
    """Return which rows have a standing, [n]: not those that failed, nor those whose check found nothing wrong."""
    return np.asarray((kind == OK) | ((kind == CHECKED) & (g > 0).any(1)))


def excess(g: Floats) -> Floats:
    """Return by how much the rows of g [n, c] break constraints in sum, each in its own units, [n].

    What was not measured adds nothing; nan where nothing was.
    """
    unknown = np.isnan(g)
    total: Floats = np.where(unknown, 0.0, np.maximum(g, 0.0)).sum(1)
    return np.where(unknown.any(1) & unknown.all(1), np.nan, total)


def standing(f: Floats, g: Floats, kind: NDArray[np.int64]) -> Floats:
    """Return numbers [n] in the order of the standing, equal where it is equal; nan for rows without one.

    f [n, m], g [n, c], kind [n].
    """
    if f.shape[1] == 1 and not g.shape[1]:
        return np.array(f[:, 0])
    good, here = feasible(g, kind), placed(g, kind)
    broken = here & ~good
    level = f[good, 0] if f.shape[1] == 1 else dominance_numbers(f[good])
    return _arranged(good, broken, level, violation(g[broken]))


class Standings:
    """The standing of rows as they come: the same as `standing` of all, but a new row is only compared with each.

    losses, constraints: how many columns there are.
    """

    def __init__(self, losses: int, constraints: int) -> None:
        self._one, self._numbers = losses == 1, np.empty(0)
        self._dominated = DominanceNumbers(losses)  # of the feasible rows
        self._violations = ViolationRanks(constraints)  # of the broken ones

    def append(self, f: Floats, g: Floats, good: Mask, broken: Mask) -> None:
        """Take rows, f [k, m] and g [k, c]; which are feasible, and which have a standing all the same, [k]."""
        self._dominated.append(f[good])
        self._violations.append(g[broken])

    def of(self, f: Floats, good: Mask, broken: Mask) -> Floats:
        """Return the standing of all rows, [n], of which these are the losses [n, m] and what was said of them."""
        if len(self._numbers) != len(f):
            level = f[good, 0] if self._one else self._dominated.numbers
            self._numbers = _arranged(good, broken, level, self._violations.totals)
        return self._numbers


def _arranged(good: Mask, broken: Mask, level: Floats | NDArray[np.int64], over: Floats) -> Floats:
    """Return the standing [n] of rows of which some are feasible, some `broken` (infeasible), others without one.

    level: what the feasible rows compare by, in order; over: the same of the broken ones. Both ascend.
    """
    result = np.full(len(good), np.nan)
    result[good] = first = _places(level)
    result[broken] = first.max(initial=-1.0) + 1.0 + _places(over)
    return result


def _places(level: Floats | NDArray[np.int64]) -> Floats:
    """Return 0 for the lowest number, 1 for the next, and so on, equals equal, [n]."""
    if level.dtype == np.int64 and len(level):  # counts of rows: there is no need to sort them
        above = level - level.min()
        place: Floats = (np.cumsum(np.bincount(above) > 0) - 1.0)[above]
        return place
    return np.unique(level, return_inverse=True)[1].astype(float)
