"""What a point is expected to add to a front, and the slope of that: exact, and in double precision, as no draw is.

It is the logarithm of the expected gain in volume (Yang, Emmerich, Deutz and Bäck 2019, eq. 15) and of the chance that
the constraints are kept, climbed along its slope as by Daulton et al. 2020 (arXiv 2006.05078).
Letters: m losses, k points, d coordinates, q columns, b cells.
"""

import math

import numpy as np

from lamcts.models.groups import Groups
from lamcts.samplers.parts.aims import Volume
from lamcts.types import Floats

ROOT_2PI = math.sqrt(2.0 * math.pi)  # of the normal density
LEAST = 1e-150  # variance or gain that stands for none: quotients by it stay doubles
MOST_Z = 1e8  # deviations at which an improvement is the difference to the last bit
LEAST_Z = -40.0  # below it a chance is no double any more


class ExpectedVolume:
    """The worth of points under the processes `groups`, over the front of a volume, which has a row or more."""

    def __init__(self, groups: Groups, volume: Volume) -> None:
        self._groups = groups
        self._lower, self._upper = volume.cells

    def slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return minus the logarithm of what points [k, d] are worth, [k], and its slopes [k, d]."""
        mean, variance, by_mean, by_variance = self._groups.slopes(x)
        sd = np.sqrt(np.maximum(variance, LEAST))
        value, way, widening = self._worth(mean, sd)
        gradient = np.einsum("kq,kqd->kd", way, by_mean)
        gradient += np.einsum("kq,kqd->kd", widening / (2 * sd), by_variance)
        return -value, -gradient

    def _worth(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the logarithm [k] and its slopes along means and deviations [k, q]."""
        from scipy.special import log_ndtr

        m = self._groups.losses
        z = np.clip(-mean[:, m:] / sd[:, m:], -MOST_Z, MOST_Z)
        log = log_ndtr(z)
        steep = np.exp(-z * z / 2 - log) / ROOT_2PI / sd[:, m:]  # of the chance that a constraint is kept
        value, way, widening = self._volume(mean[:, :m], sd[:, :m])
        return value + log.sum(1), np.hstack([way, -steep]), np.hstack([widening, -steep * z])

    def _volume(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the logarithm of the expected gain [k], and its slopes [k, m]; where there is none, -inf and 0."""
        m = mean.shape[1]
        sides, way, widening = zip(*(self._side(j, mean[:, [j]], sd[:, [j]]) for j in range(m)), strict=True)
        total = np.prod(sides, axis=0).sum(1)  # [k]
        total[total < LEAST] = 0.0
        some = np.where(total > 0, total, np.inf)
        others = [np.prod([sides[i] for i in range(m) if i != j], axis=0) / some[:, None] for j in range(m)]
        slopes = [
            np.stack([(rest * own).sum(1) for rest, own in zip(others, each, strict=True)], axis=1)
            for each in (way, widening)
        ]
        with np.errstate(divide="ignore"):
            return np.log(total), slopes[0], slopes[1]

    def _side(self, j: int, mean: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected overlap with each cell's side in loss j, and its slopes, [k, b] each."""
        high, low = (_improvement(mean, sd, ends[:, j]) for ends in (self._upper, self._lower))
        return np.maximum(high[0] - low[0], 0.0), high[1] - low[1], high[2] - low[2]


def _improvement(mean: Floats, sd: Floats, best: Floats) -> tuple[Floats, Floats, Floats]:
    """Return `E max(best - f, 0)` and its slopes along mean and deviation [k, 1], [k, b]; `best` [b] may be -inf."""
    from scipy.special import ndtr

    z = np.clip((best - mean) / sd, LEAST_Z, MOST_Z)
    density, chance = np.exp(-z * z / 2) / ROOT_2PI, ndtr(z)
    return sd * (density + z * chance), -chance, density
