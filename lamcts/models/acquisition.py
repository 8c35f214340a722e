"""Acquisition functions: what a point is worth trying, from the model's mean and standard deviation there.

Losses are minimised; a higher acquisition is better. Letters: m points, k objectives, b cells.
"""

import math

import numpy as np

from lamcts.outcomes.cells import Cells
from lamcts.types import Floats

# Logarithms that the formulas below take.
LOG_ROOT_2PI = math.log(2.0 * math.pi) / 2.0
LOG_ROOT_HALF_PI = math.log(math.pi / 2.0) / 2.0
TINY = 1e-300  # keeps quotients and logarithms finite
MAX_Z = 1e8  # at so many deviations the improvement is the difference to the last bit
MAX_ROOT = 1e150  # its square is a double, that of more is not
MIN_SD = 1e-150  # that of a row of the model without noise: quotients of common losses by it stay doubles
LEAST_BELOW_1 = 1e-16  # about half an ulp of 1: nearer to 0 the difference would be 0, and its logarithm infinite
MAX_LOG = 300.0  # of a quotient far out in the tail: its exponential, over sd, stays a double
SERIES_BELOW = -1e7  # below it `erfcx(-z / sqrt 2) |z| sqrt(pi / 2)` is 1 to the last bit and its series takes over
MIN_VOLUME = 1e-200  # below it the logarithm of a volume is summed up as one: what remains of the digits is few
MIN_SHARE = 1e-16  # of a cell's side: about half an ulp of 1, nearer to 0 the logarithm would be infinite


def expected_improvement(mean: Floats, sd: Floats, best: float | Floats) -> Floats:
    """Return `E max(best - f, 0)` for `f` normal with `mean` and `sd` [m], [m] (Jones et al. 1998, eq. 15).

    `best` [b, 1]: of each, [b, m].
    """
    from scipy.special import ndtr

    sd = np.maximum(sd, TINY)
    z = np.clip((best - mean) / sd, -MAX_Z, MAX_Z)
    value: Floats = np.where(z < MAX_Z, sd * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + z * ndtr(z)), best - mean)
    return value


def log_expected_improvement(mean: Floats, sd: Floats, best: float) -> Floats:
    """Return the logarithm of `expected_improvement`, finite and sloped where that one underflows to 0, [m].

    Ament et al. 2023, arXiv 2310.20708, eq. 9.
    """
    from scipy.special import erfcx, ndtr

    sd = _positive(sd)
    z = np.maximum((best - mean) / sd, -MAX_ROOT)
    value = np.empty_like(z)
    near = z > -1.0
    value[near] = np.log(np.exp(-(z[near] ** 2) / 2.0 - LOG_ROOT_2PI) + z[near] * ndtr(z[near]))
    far = ~near & (z > SERIES_BELOW)
    small = np.log(erfcx(-z[far] / math.sqrt(2.0)) * -z[far]) + LOG_ROOT_HALF_PI  # <= 0
    value[far] = -(z[far] ** 2) / 2.0 - LOG_ROOT_2PI + np.log(-np.expm1(np.minimum(small, -LEAST_BELOW_1)))
    tail = z <= SERIES_BELOW
    value[tail] = -(z[tail] ** 2) / 2.0 - LOG_ROOT_2PI - 2.0 * np.log(-z[tail])
    return value + np.log(sd)


def slopes(mean: Floats, sd: Floats, best: float) -> tuple[Floats, Floats]:
    """Return the derivatives of `log_expected_improvement` along the mean and along the standard deviation, [m], [m].

    With `u = (best - mean) / sd` and `h = phi(u) + u Phi(u)`: `-Phi(u) / (sd h)` and `phi(u) / (sd h)`.
    """
    from scipy.special import log_ndtr

    sd = _positive(sd)
    u = np.maximum((best - mean) / sd, -MAX_ROOT)
    log_h = log_expected_improvement(mean, sd, best) - np.log(sd)
    density = -(u * u) / 2.0 - LOG_ROOT_2PI
    return -np.exp(np.minimum(log_ndtr(u) - log_h, MAX_LOG)) / sd, np.exp(np.minimum(density - log_h, MAX_LOG)) / sd


def _positive(sd: Floats) -> Floats:
    return np.maximum(sd, MIN_SD)


def expected_hypervolume(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the expected gain in hypervolume, [m], of losses that are normal with `mean` and `sd` [m, k].

    Exact for independent losses: a sum over the cells that a front leaves below a reference of products, over
    objectives, of the expected overlap with the cell's side (Yang, Emmerich, Deutz and Bäck 2019, eq. 15).
    """
    volumes = np.ones((len(cells.lower), len(mean)))
    for j, (low, high) in enumerate(zip(cells.lower.T, cells.upper.T, strict=True)):
        levels, inverse = np.unique(np.r_[low, high], return_inverse=True)
        gains, finite = np.zeros((len(levels), len(mean))), np.isfinite(levels)
        gains[finite] = expected_improvement(mean[:, j], sd[:, j], levels[finite, None])
        below, above = gains[inverse.reshape(2, -1)]  # [b, m] each
        volumes *= np.maximum(above - below, 0.0)
    total: Floats = volumes.sum(0)
    return total


def log_expected_hypervolume(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the logarithm of `expected_hypervolume`, [m]; finite where `expected_hypervolume` underflows."""
    volume = expected_hypervolume(mean, sd, cells)
    result: Floats = np.log(np.maximum(volume, TINY))
    few = np.flatnonzero(volume < MIN_VOLUME)  # the sum of logarithms takes ten times as long
    if len(few):
        result[few] = np.logaddexp.reduce(_log_volumes(mean[few], sd[few], cells), axis=0)
    return result


def _log_volumes(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the logarithm of the expected volume that points [m, k] dominate of each cell, [b, m]."""
    total = np.zeros((len(cells.lower), len(mean)))
    for j, (low, high) in enumerate(zip(cells.lower.T, cells.upper.T, strict=True)):
        levels, inverse = np.unique(np.r_[low, high], return_inverse=True)
        none = np.full(len(mean), -np.inf)
        gains = [log_expected_improvement(mean[:, j], sd[:, j], to) if np.isfinite(to) else none for to in levels]
        below, above = np.stack(gains)[inverse.reshape(2, -1)]  # [b, m] each
        total += above + np.log(-np.expm1(np.minimum(below - above, -MIN_SHARE)))
    return total
