"""What normal losses are expected to add to a front: the acquisition function of several objectives.

Letters: m points, k objectives, f rows of a front, b cells.
"""

import numpy as np

from lamcts.models.acquisition import expected_improvement
from lamcts.outcomes.hypervolume import Cells, cells_of
from lamcts.types import Floats


def expected_hypervolume(mean: Floats, sd: Floats, front: Floats, reference: Floats) -> Floats:
    """Return the expected gain in hypervolume, [m], of losses that are normal with `mean` and `sd` [m, k].

    Exact for independent losses: a sum over the cells that the front [f, k] leaves below the reference [k] of products,
    over objectives, of the expected overlap with the cell's side (Yang, Emmerich, Deutz and Bäck 2019, eq. 15).
    """
    lower, upper = cells_of(front, reference)
    total = np.zeros(len(mean))
    for low, high in zip(lower, upper, strict=True):
        sides = np.ones(len(mean))
        for j in range(front.shape[1]):
            below = expected_improvement(mean[:, j], sd[:, j], low[j]) if np.isfinite(low[j]) else 0.0
            sides = sides * np.maximum(expected_improvement(mean[:, j], sd[:, j], high[j]) - below, 0.0)
        total += sides
    return total


def expected_gain(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the same, [m], of the cells of a front and a reference (`cells_of`): for many calls over one front.

    Cells share their ends, so improvements are taken once for each end.
    """
    volume = np.ones((len(cells.upper), len(mean)))  # [b, m]
    for j in range(mean.shape[1]):
        ends, place = np.unique(np.stack([cells.lower[:, j], cells.upper[:, j]]), return_inverse=True)
        below = expected_improvement(mean[:, j], sd[:, j], ends[:, None])  # [ends, m], 0 at -inf
        low, high = below[place.reshape(2, -1)]
        volume *= np.maximum(high - low, 0.0)
    total: Floats = volume.sum(0)
    return total
