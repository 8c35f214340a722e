"""Several losses in `Turbo`: which rows of a front a batch lies round, and which results make the front grow.

Letters: p rows of the front, m losses, n rows.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import contributions
from lamcts.samplers.parts.scalarisation import MOST_LOSSES, Chebyshev, Hypervolume, dominated, reference_of
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.turbo.session import TurboProgress

CENTRES, BY_VOLUME = 4, 3  # rows of a front that a batch lies round, and those of them by what they add (untuned)
BARRED = 20  # asks before a row is a centre again (untuned; MORBO: 100)
GROWN = 1e-3  # of the volume between a front's best and its reference: a row that adds less is no success (untuned)


def front_centres(front: Rows, f: Floats, progress: "TurboProgress") -> list[int]:
    """Return the rows to search round, of a front [p] with losses `f` [p, m]: by what they add, and by weights."""
    m = f.shape[1]
    chosen = _adding(front, f, progress) if m == 2 else []
    weights = progress.rng.dirichlet(np.ones(m), CENTRES - len(chosen))
    return chosen + [int(front[Chebyshev.of_front(f, own).of(f).argmin()]) for own in weights]


def _adding(front: Rows, f: Floats, progress: "TurboProgress") -> list[int]:
    """Return the rows that add most to the front's volume, of those that were no centre lately if there are."""
    progress.asks += 1
    progress.used = {row: ask for row, ask in progress.used.items() if progress.asks - ask < BARRED}
    worth = contributions(f, reference_of(f))
    last = np.array([progress.used.get(int(row), -1) for row in front])
    chosen: list[int] = front[np.lexsort((-worth, last))[:BY_VOLUME]].tolist()
    progress.used |= dict.fromkeys(chosen, progress.asks)
    return chosen


def growing(old: Floats, f: Floats, feasible: NDArray[np.bool_]) -> list[bool]:
    """Return of each result `f` [n, m] whether the front of losses `old` grows by more than a little, if feasible."""
    front = old[non_dominated(old)]
    result = np.zeros(len(f), bool)
    if f.shape[1] > MOST_LOSSES:
        result[feasible] = ~dominated(f[feasible], front)
    else:
        volume = Hypervolume(front)
        with np.errstate(over="ignore", invalid="ignore"):  # a volume beyond all floats grows by no share of it
            least = GROWN * np.prod(volume.reference - front.min(0))
        result[feasible] = -volume.of(f[feasible]) > least
    return result.tolist()
