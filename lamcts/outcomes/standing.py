"""The one order of rows that have several columns: what tree, searches and `best` compare by.

First the feasible rows, by how many others dominate them; then the infeasible ones, by the sum of the ranks of their
violations; failed rows have no standing. With one objective and no constraint it is the order of the losses.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import dominance_numbers
from lamcts.types import Floats

Mask = NDArray[np.bool_]
OK, FAILED, CHECKED = 0, 1, 2  # kinds of rows: evaluated; failed; only its constraints are known
KINDS = ("ok", "failed", "checked")


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


def standing(f: Floats, g: Floats, kind: NDArray[np.int64], dominated: NDArray[np.int64] | None = None) -> Floats:
    """Return numbers [n] in the order of the standing, equal where it is equal; nan for rows without one.

    f [n, m], g [n, c], kind [n]; `dominated`: how many feasible rows dominate each feasible row, where that is known.
    """
    if f.shape[1] == 1 and not g.shape[1]:
        return np.array(f[:, 0])
    good, here = feasible(g, kind), placed(g, kind)
    level = np.full(len(f), np.nan)
    if f.shape[1] == 1:
        level[good] = f[good, 0]
    elif good.any():
        level[good] = dominance_numbers(f[good]) if dominated is None else dominated
    broken = here & ~good
    level[broken] = violation(g[here])[~good[here]]
    result = np.full(len(f), np.nan)
    result[good] = _places(level[good])
    result[broken] = len(np.unique(level[good])) + _places(level[broken])
    return result


def _places(level: Floats) -> Floats:
    """Return 0 for the lowest number, 1 for the next, and so on, equals equal, [n]."""
    return np.unique(level, return_inverse=True)[1].astype(float)
