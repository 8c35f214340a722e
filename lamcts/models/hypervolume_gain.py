"""What normal losses are expected to add to a front: the acquisition function of several objectives.

Letters: m points, k objectives, b cells.
"""

import numpy as np

from lamcts.models.acquisition import expected_improvement, log_expected_improvement
from lamcts.outcomes.hypervolume import Cells
from lamcts.types import Floats

LEAST = 1e-300  # volume whose logarithm is taken at least
LEAST_VOLUME = 1e-200  # below it the logarithm of a volume is summed up as one: what remains of the digits is few
LEAST_SHARE = 1e-16  # of a cell's side: about half an ulp of 1, nearer to 0 the logarithm would be infinite


def expected_hypervolume(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the expected gain in hypervolume, [m], of losses that are normal with `mean` and `sd` [m, k].

    Exact for independent losses: a sum over the cells that a front leaves below a reference of products, over
    objectives, of the expected overlap with the cell's side (Yang, Emmerich, Deutz and Bäck 2019, eq. 15).
    """
    volumes = np.ones((len(cells.lower), len(mean)))
    for j, (low, high) in enumerate(zip(cells.lower.T, cells.upper.T, strict=True)):
        levels, place = np.unique(np.r_[low, high], return_inverse=True)
        gains, finite = np.zeros((len(levels), len(mean))), np.isfinite(levels)
        gains[finite] = expected_improvement(mean[:, j], sd[:, j], levels[finite, None])
        below, above = gains[place.reshape(2, -1)]  # [b, m] each
        volumes *= np.maximum(above - below, 0.0)
    total: Floats = volumes.sum(0)
    return total


def log_expected_hypervolume(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the logarithm of `expected_hypervolume`, [m], that still says which is larger where that one is 0."""
    volume = expected_hypervolume(mean, sd, cells)
    result: Floats = np.log(np.maximum(volume, LEAST))
    few = np.flatnonzero(volume < LEAST_VOLUME)  # the sum of logarithms takes ten times as long
    if len(few):
        result[few] = np.logaddexp.reduce(_log_volumes(mean[few], sd[few], cells), axis=0)
    return result


def _log_volumes(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the logarithm of the expected volume that points [m, k] dominate of each cell, [b, m]."""
    total = np.zeros((len(cells.lower), len(mean)))
    for j, (low, high) in enumerate(zip(cells.lower.T, cells.upper.T, strict=True)):
        levels, place = np.unique(np.r_[low, high], return_inverse=True)
        none = np.full(len(mean), -np.inf)
        gains = [log_expected_improvement(mean[:, j], sd[:, j], to) if np.isfinite(to) else none for to in levels]
        below, above = np.stack(gains)[place.reshape(2, -1)]  # [b, m] each
        total += above + np.log(-np.expm1(np.minimum(below - above, -LEAST_SHARE)))
    return total
