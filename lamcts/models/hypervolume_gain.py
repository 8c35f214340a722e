"""What normal losses are expected to add to a front: the acquisition function of several objectives.

Letters: m points, k objectives, f rows of a front.
"""

import numpy as np

from lamcts.models.acquisition import expected_improvement
from lamcts.outcomes.hypervolume import cells_of
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
