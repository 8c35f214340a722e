"""Acquisition functions of the posterior means and standard deviations at points.

Losses are minimised; a higher acquisition is better. Letters: m points, k objectives, b cells, s draws.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from lamcts.outcomes.cells import Cells
from lamcts.types import Floats

# Constants of the formulas below.
LOG_ROOT_2PI = math.log(2.0 * math.pi) / 2.0
LOG_ROOT_HALF_PI = math.log(math.pi / 2.0) / 2.0
TINY = 1e-300  # keeps quotients and logarithms finite
MAX_Z = 1e8  # at more deviations the improvement is the difference to the last bit
MIN_Z = -40.0  # below it the normal distribution underflows
MAX_ROOT = 1e150  # its square is a double, larger squares may overflow
MIN_SD = 1e-150  # least standard deviation: quotients of common losses by it stay doubles
LEAST_BELOW_1 = 1e-16  # about half an ulp of 1: nearer to 0 the difference would be 0, and its logarithm infinite
MAX_LOG = 300.0  # bound of log quotients in the tail: their exponential, over sd, stays a double
SERIES_BELOW = -1e7  # below it `erfcx(-z / sqrt 2) |z| sqrt(pi / 2)` is 1 to the last bit and its series takes over
MIN_VOLUME = 1e-200  # below it volumes lose digits, and are summed as logarithms
SOFTPLUS_CUTOFF = -30.0  # below it the logarithm of softplus equals its argument up to 1e-13
SMOOTHING = 1e-2  # scale of the softplus of drawn improvements: more blurs small gains, less leaves flat regions


def expected_improvement(mean: Floats, sd: Floats, best: float | Floats) -> Floats:
    """Return `E max(best - f, 0)` for `f` normal with `mean` and `sd` [m], [m] (Jones et al. 1998, eq. 15).

    `best` [b, 1] gives the improvement on each, [b, m].
    """
    from scipy.special import ndtr

    sd = np.maximum(sd, TINY)
    z = np.clip((best - mean) / sd, -MAX_Z, MAX_Z)
    value: Floats = np.where(z < MAX_Z, sd * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + z * ndtr(z)), best - mean)
    return value


def log_expected_improvement(mean: Floats, sd: Floats, best: float) -> Floats:
    """Return the logarithm of `expected_improvement`, finite and sloped where it would underflow to 0, [m].

    Ament et al. 2023, arXiv 2310.20708, eq. 9.
    """
    from scipy.special import erfcx, ndtr

    sd = np.maximum(sd, MIN_SD)
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


def log_expected_improvement_slopes(mean: Floats, sd: Floats, best: float) -> tuple[Floats, Floats]:
    """Return the derivatives of `log_expected_improvement` along the mean and along the standard deviation, [m], [m].

    With `u = (best - mean) / sd` and `h = phi(u) + u Phi(u)`: `-Phi(u) / (sd h)` and `phi(u) / (sd h)`.
    """
    from scipy.special import log_ndtr

    sd = np.maximum(sd, MIN_SD)
    u = np.maximum((best - mean) / sd, -MAX_ROOT)
    log_h = log_expected_improvement(mean, sd, best) - np.log(sd)
    density = -(u * u) / 2.0 - LOG_ROOT_2PI
    return -np.exp(np.minimum(log_ndtr(u) - log_h, MAX_LOG)) / sd, np.exp(np.minimum(density - log_h, MAX_LOG)) / sd


def expected_hypervolume(mean: Floats, sd: Floats, cells: Cells) -> Floats:
    """Return the expected gain in hypervolume, [m], of losses that are normal with `mean` and `sd` [m, k].

    Exact for independent losses: a sum over the cells between a front and a reference. Each term is a product over
    objectives of the expected overlap with the cell's side (Yang, Emmerich, Deutz and Bäck 2019, eq. 15).
    """
    volumes = np.ones((len(cells.lower), len(mean)))
    for j, (low, high) in enumerate(zip(cells.lower.T, cells.upper.T, strict=True)):
        levels, inverse = np.unique(np.r_[low, high], return_inverse=True)
        gains = np.zeros((len(levels), len(mean)))
        finite = np.isfinite(levels)
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
        sides = [_log_side(j, mean[few], sd[few], cells)[0] for j in range(mean.shape[1])]
        result[few] = np.logaddexp.reduce(np.sum(sides, axis=0), axis=0)
    return result


def _side(j: int, mean: Floats, sd: Floats, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return the expected overlap with each cell's side in objective `j`, and its slopes as in `_log_side`, [b, m]."""
    from scipy.special import ndtr

    levels, inverse = np.unique(np.r_[cells.lower[:, j], cells.upper[:, j]], return_inverse=True)
    mean, sd = mean[:, j], np.maximum(sd[:, j], TINY)
    z = np.clip((levels[:, None] - mean) / sd, MIN_Z, MAX_Z)  # [levels, m]
    density, chance = np.exp(-z * z / 2 - LOG_ROOT_2PI), ndtr(z)
    below, above = inverse.reshape(2, -1)  # [b] each: the levels of a cell's ends
    gain, by_mean = sd * (density + z * chance), -chance
    return np.maximum(gain[above] - gain[below], 0.0), by_mean[above] - by_mean[below], density[above] - density[below]


def _log_side(j: int, mean: Floats, sd: Floats, cells: Cells, sloped: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return the logarithm of the expected overlap with each cell's side in objective `j`, [b, m].

    With it, if `sloped`, its slopes along the mean and the standard deviation, [b, m] each.
    """
    levels, inverse = np.unique(np.r_[cells.lower[:, j], cells.upper[:, j]], return_inverse=True)
    shape = (len(levels), len(mean))
    gains, by_mean, by_sd = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
    for i in np.flatnonzero(np.isfinite(levels)):
        gains[i] = log_expected_improvement(mean[:, j], sd[:, j], levels[i])
        if sloped:
            by_mean[i], by_sd[i] = log_expected_improvement_slopes(mean[:, j], sd[:, j], levels[i])
    below, above = inverse.reshape(2, -1)  # [b] each: the levels of a cell's ends
    share = np.minimum(gains[below] - gains[above], -LEAST_BELOW_1)  # log of the lower end's gain over the upper end's
    left, ratio = -np.expm1(share), np.exp(share)
    side = gains[above] + np.log(left)
    return side, (by_mean[above] - ratio * by_mean[below]) / left, (by_sd[above] - ratio * by_sd[below]) / left


Aim = Callable[[Floats], tuple[Floats, Floats]]  # columns [s, k] -> one value for each row [s], its slopes [s, k]


class Sloped(NamedTuple):
    """An acquisition function [m], and its slopes along the means and the standard deviations [m, k]."""

    value: Floats
    by_mean: Floats
    by_sd: Floats


class Gain(Protocol):
    """Logarithm of a positive gain of columns with means and standard deviations [m, k], in the model's units.

    Logarithms of probabilities are added to it, so it is a logarithm even where the acquisition function is a bound.
    Columns are about standard, standard deviations at least the root of `MIN_VARIANCE` of `surrogate.py`.
    """

    def value(self, mean: Floats, sd: Floats) -> Floats:
        """Return it, [m]."""

    def slopes(self, mean: Floats, sd: Floats) -> Sloped:
        """Return the log gain with its slopes."""


class Improvement(NamedTuple):
    """Log expected improvement of a single loss on `best`."""

    best: float

    def value(self, mean: Floats, sd: Floats) -> Floats:
        return log_expected_improvement(mean[:, 0], sd[:, 0], self.best)

    def slopes(self, mean: Floats, sd: Floats) -> Sloped:
        by_mean, by_sd = log_expected_improvement_slopes(mean[:, 0], sd[:, 0], self.best)
        return Sloped(self.value(mean, sd), by_mean[:, None], by_sd[:, None])


class VolumeImprovement(NamedTuple):
    """Log expected hypervolume improvement of several losses, over the cells below a front.

    Its slope is used as in Daulton et al. 2020 (arXiv 2006.05078).
    """

    cells: Cells

    def value(self, mean: Floats, sd: Floats) -> Floats:
        return log_expected_hypervolume(mean, sd, self.cells)

    def slopes(self, mean: Floats, sd: Floats) -> Sloped:
        result = _sloped_volume(mean, sd, self.cells)
        few = np.flatnonzero(result.value < math.log(MIN_VOLUME))
        if len(few):
            for column, exact in zip(result, _sloped_log_volume(mean[few], sd[few], self.cells), strict=True):
                column[few] = exact
        return result


def _sloped_volume(mean: Floats, sd: Floats, cells: Cells) -> Sloped:
    """Return the log expected hypervolume improvement with its slopes, where it does not underflow."""
    sides = [_side(j, mean, sd, cells) for j in range(mean.shape[1])]
    total = np.prod([side for side, _, _ in sides], axis=0).sum(0)
    volume = np.maximum(total, TINY)
    gradients = []
    for j, (_, *along) in enumerate(sides):
        others = np.prod([side for i, (side, _, _) in enumerate(sides) if i != j], axis=0) / volume
        gradients.append([(others * slope).sum(0) for slope in along])
    by_mean, by_sd = np.moveaxis(np.array(gradients), 0, 2)  # [m, k] each
    return Sloped(np.log(volume), by_mean, by_sd)


def _sloped_log_volume(mean: Floats, sd: Floats, cells: Cells) -> Sloped:
    """Return the log expected hypervolume improvement with its slopes, by logarithms of the volume in each cell."""
    parts = [_log_side(j, mean, sd, cells, sloped=True) for j in range(mean.shape[1])]
    sides = np.sum([side for side, _, _ in parts], axis=0)  # [b, m]
    value: Floats = np.logaddexp.reduce(sides, axis=0)
    shares = np.exp(sides - np.where(np.isfinite(value), value, 0.0))  # of the cells, [b, m]
    by_mean, by_sd = (np.stack([(shares * part[i]).sum(0) for part in parts], axis=1) for i in (1, 2))
    return Sloped(value, by_mean, by_sd)


class DrawnImprovement(NamedTuple):
    """Log expected improvement on `best` of a function of the columns but for a constant, by common draws [s, k].

    The softplus gives it a slope where no draw improves (Ament et al. 2023, arXiv 2310.20708).
    """

    of: Aim
    best: float
    normal: Floats

    def value(self, mean: Floats, sd: Floats) -> Floats:
        return self.slopes(mean, sd).value

    def slopes(self, mean: Floats, sd: Floats) -> Sloped:
        f = mean[:, None] + sd[:, None] * self.normal  # [m, s, k]
        objective, along = (part.reshape(*f.shape[:2], -1) for part in self.of(f.reshape(-1, f.shape[2])))
        gain = (self.best - objective[:, :, 0]) / SMOOTHING  # [m, s]
        bounded = np.maximum(gain, SOFTPLUS_CUTOFF)
        soft = np.logaddexp(0.0, bounded)
        log = np.where(gain < SOFTPLUS_CUTOFF, gain, np.log(soft))
        value: Floats = np.logaddexp.reduce(log, axis=1)
        slope = np.where(gain < SOFTPLUS_CUTOFF, 1.0, -np.expm1(-soft) / soft)  # of `log`: the sigmoid over softplus
        along = along * (np.exp(log - value[:, None]) * slope / -SMOOTHING)[:, :, None]
        return Sloped(value, along.sum(1), (along * self.normal).sum(1))


def log_feasible(mean: Floats, sd: Floats) -> Sloped:
    """Return the logarithm of the probability that all columns [m, k] are at most 0, with its slopes."""
    from scipy.special import log_ndtr

    sd = np.maximum(sd, MIN_SD)
    z = np.clip(-mean / sd, -MAX_Z, MAX_Z)
    log = log_ndtr(z)
    slope = np.exp(np.minimum(-z * z / 2 - LOG_ROOT_2PI - log, MAX_LOG)) / sd
    return Sloped(log.sum(1), -slope, -slope * z)
