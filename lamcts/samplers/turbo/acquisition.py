"""The acquisition of `Turbo`: the candidate that each posterior draw leads to, and the expected gain in hypervolume.

The gain is exact for two losses (Yang, Emmerich, Deutz and Bäck 2019, eq. 15), times the chance that constraints are
kept, and climbed along its slope (Daulton et al. 2020, arXiv 2006.05078).

Letters: c candidates, k draws, m losses, q columns: the losses and the constraints that count; d coordinates.
"""

import math
from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import MAX_Z
from lamcts.models.multi_output import MultiOutput
from lamcts.models.posterior_paths import Singles
from lamcts.samplers.parts.feasibility_penalty import INFEASIBLE_PENALTY, SLOPE_PENALTY
from lamcts.samplers.parts.scalarisation import MAX_LOSSES, Chebyshev, Hypervolume, Scalarisation, Single
from lamcts.types import Floats

WEIGHTED_SHARE = 0.25  # share of draws that follow random weights, where volumes can be taken (untuned)
# Of the expected gain:
ROOT_2PI = math.sqrt(2.0 * math.pi)  # of the normal density
MIN_VARIANCE = 1e-150  # variance or gain used for 0: quotients stay finite
MIN_Z = -40.0  # below it a chance is no double any more


class Picks(NamedTuple):
    """Rows of the candidates, one a draw, and the scalarisation of each, [k]; `losses`: how many columns are losses."""

    rows: list[int]
    scalarisations: list[Scalarisation]
    losses: int

    def slope(self, values: Singles, gradient: Singles) -> tuple[Floats, Floats]:
        """Return the penalised values [k] of draws [k, q], and their slopes [k, d]; `gradient` [k, q, d]."""
        m, f = self.losses, values.astype(float)
        over = np.maximum(f[:, m:], 0.0)
        value: Floats = SLOPE_PENALTY * over.sum(1)
        way: Floats = SLOPE_PENALTY * np.einsum("kc,kcd->kd", over > 0, gradient[:, m:])
        if m == 1:
            return value + f[:, 0], way + gradient[:, 0]
        for i, aim in enumerate(self.scalarisations):
            least, slope = aim.slope(f[i, :m])
            value[i] += least
            way[i] += slope @ gradient[i, :m]
        return value, way


def picked(draws: Floats, m: int, front: Floats, rng: np.random.Generator) -> Picks:
    """Return the candidate that each of the draws [c, k, q] leads to, one that no earlier draw took.

    Among candidates drawn feasible the best by what the draw aims at, else the one of the least drawn violation.
    front: the losses [p, m] of the rows that none dominates; p may be 0.
    """
    rows: list[int] = []
    scalarisations: list[Scalarisation] = []
    volume = Hypervolume(front) if 1 < m <= MAX_LOSSES and len(front) else None
    for i in range(draws.shape[1]):
        f, over = draws[:, i, :m], np.maximum(draws[:, i, m:], 0.0).sum(1)
        over[rows] = np.inf
        aim, value = _aimed(f, over, front, volume, rng)
        value[over > 0] = INFEASIBLE_PENALTY + over[over > 0]
        rows.append(int(value.argmin()))
        scalarisations.append(aim)
        if volume is not None and over[rows[-1]] == 0:
            volume = volume.grown(f[rows[-1]])
    return Picks(rows, scalarisations, m)


def _aimed(
    f: Floats, over: Floats, front: Floats, volume: Hypervolume | None, rng: np.random.Generator
) -> tuple[Scalarisation, Floats]:
    """Return what a draw [c, m] aims at, and the values of the candidates [c]; `over` [c] by how much it is broken."""
    if f.shape[1] == 1:
        return Single(), Single().of(f).copy()
    weights, weighted = rng.dirichlet(np.ones(f.shape[1])), rng.random() < WEIGHTED_SHARE
    if volume is not None and not weighted:
        value = volume.of(f)
        if (value[over == 0] < 0).any():
            return volume, value
    aim = Chebyshev.of_front(front if len(front) else f, weights)
    return aim, aim.of(f)


class ExpectedVolume:
    """The acquisition of points under the processes `model`, over the front of a volume, which has a row or more."""

    def __init__(self, model: MultiOutput, volume: Hypervolume) -> None:
        self._model = model
        self._lower, self._upper = volume.cells

    def slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return minus the logarithm of what points [k, d] are worth, [k], and its slopes [k, d]."""
        mean, variance, by_mean, by_variance = self._model.slopes(x)
        sd = np.sqrt(np.maximum(variance, MIN_VARIANCE))
        value, way, widening = self._acquisition(mean, sd)
        gradient = np.einsum("kq,kqd->kd", way, by_mean)
        gradient += np.einsum("kq,kqd->kd", widening / (2 * sd), by_variance)
        return -value, -gradient

    def _acquisition(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the logarithm [k] and its slopes along means and deviations [k, q]."""
        from scipy.special import log_ndtr

        m = self._model.losses
        z = np.clip(-mean[:, m:] / sd[:, m:], -MAX_Z, MAX_Z)
        log = log_ndtr(z)
        steep = np.exp(-z * z / 2 - log) / ROOT_2PI / sd[:, m:]  # of the chance that a constraint is kept
        value, way, widening = self._volume(mean[:, :m], sd[:, :m])
        return value + log.sum(1), np.hstack([way, -steep]), np.hstack([widening, -steep * z])

    def _volume(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the logarithm of the expected gain [k], and its slopes [k, m]; where there is none, -inf and 0."""
        m = mean.shape[1]
        sides, way, widening = zip(*(self._side(j, mean[:, [j]], sd[:, [j]]) for j in range(m)), strict=True)
        total = np.prod(sides, axis=0).sum(1)  # [k]
        total[total < MIN_VARIANCE] = 0.0
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

    z = np.clip((best - mean) / sd, MIN_Z, MAX_Z)
    density, chance = np.exp(-z * z / 2) / ROOT_2PI, ndtr(z)
    return sd * (density + z * chance), -chance, density
