"""Which rows tell the trend: spread ones, those of the best lineage, and of every other valley its lowest alone.

A lineage's rows lie where it went. With all of them there the trend says where searches have been: on turned Levy it
led farther from the optimum with every lineage that ended.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamcts.models.trend import MOST_ROWS, thinned
from lamcts.observations import Observations
from lamcts.samplers.parts.lineage import Lineage
from lamcts.types import Floats, Rows

# On rows of turned Levy and Rastrigin, seeds 0 to 2: 100 rows of the best lineage told the optimum half as well.
OF_BEST = 200  # rows of the best lineage at least, though others take part
OF_FIRST = 100  # rows of the first, which came all the way down, where another is the best (untuned)
SPREAD = 200  # rows that were spread out, at most (untuned)


def telling(
    seen: Observations, lineages: Sequence[Lineage], leader: int, enough: float
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the rows of `seen` that tell the trend, and which of them are the lowest of their valleys.

    leader: the number of the best lineage. enough: results after which a lineage has found the lowest of its valley.
    """
    owned = [one.own.rows[one.own.good] for one in lineages]
    spread = np.setdiff1d(seen.good, np.concatenate(owned))
    parts = [_thinned(seen, spread, SPREAD)]
    for k, rows in enumerate(owned):
        most = max(OF_BEST, MOST_ROWS - len(parts[0])) if k == leader else 1 if k else OF_FIRST
        parts.append(_thinned(seen, rows, most))
    bottoms = [one.incumbent for k, one in enumerate(lineages) if k == leader or one.told >= enough]
    rows = np.unique(np.concatenate(parts))
    return rows, np.isin(rows, [row for row in bottoms if row is not None])


def _thinned(seen: Observations, rows: Rows, most: int) -> Rows:
    """Return at most `most` of these rows, the best one first."""
    if not len(rows):
        return rows
    x: Floats = seen.x[rows]
    return rows[thinned(x, int(np.argmin(seen.y[rows])), most)]
