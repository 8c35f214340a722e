"""Known noise of the rows of a Gaussian process: standard errors of values as variances on the diagonal of its kernel.

A row's diagonal entry is its correlation with itself, the fitted noise, and its known variance over the signal's. The
signal follows from the rows, so it is found by iteration. Letters: n rows, m losses.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats, Rows

ROUNDS = 4  # of the iteration: it changes little afterwards, and a signal of 0 is not reached (untuned)
EXACT_NOISE = 1e-6  # share of the signal's variance that an exact row (sem 0) has as noise, so that Cholesky succeeds
MAX_SEM = 1e3  # standard errors in units of the spread of the rows; larger ones are all the same (untuned)


@dataclass(frozen=True, eq=False)
class KnownNoise:
    """Known variances [n] in the units of the model, and which rows the fitted noise applies to: all but exact ones."""

    variance: Floats
    fitted: Floats

    @classmethod
    def of(cls, sems: Floats | None, y: Floats, z: Floats) -> "KnownNoise | None":
        """Return the known noise of losses `y` [n], in the model's units `z` [n]; None if no standard error is known.

        `sems` [n] and `y` have nan where unknown; the units are a rising function of the losses.
        """
        if sems is None or np.isnan(sems).all():
            return None
        there, variance = np.isfinite(y), np.zeros(len(y))
        variance[there] = carried(y[there], z[there], np.nan_to_num(sems[there])) ** 2
        return cls(variance, np.where(sems == 0, 0.0, 1.0))

    def at(self, rows: Rows) -> "KnownNoise":
        """Return the noise of some rows."""
        return KnownNoise(self.variance[rows], self.fitted[rows])

    def shared(self, signal: float) -> "KnownNoise":
        """Return the same with variances as shares of the signal's."""
        return KnownNoise(self.variance / signal, self.fitted)

    def diagonal(self, noise: float, signal: float = 1.0) -> Floats:
        """Return what rows add to the diagonal [n], as shares of the signal's variance."""
        return noise * self.fitted + EXACT_NOISE * (1.0 - self.fitted) + self.variance / signal

    def grown(self, k: int) -> "KnownNoise":
        """Return the noise with `k` further rows of unknown noise."""
        return KnownNoise(np.append(self.variance, np.zeros(k)), np.append(self.fitted, np.ones(k)))


def carried(y: Floats, z: Floats, sems: Floats) -> Floats:
    """Return standard deviations [n] in units `z` [n], a rising function of `y` [n], of values with errors `sems` [n].

    The function is linear between rows, and outside has its mean slope. A deviation is the larger of the two sides.
    """
    if not len(y):
        return np.zeros(0)
    exponent = -int(np.frexp(max(np.abs(y).max(), np.finfo(float).tiny))[1])
    y, sems = np.ldexp(y, exponent), np.ldexp(sems, exponent)  # exact, and no difference overflows
    levels, first = np.unique(y, return_index=True)
    width = levels[-1] - levels[0]
    if not width > 0:
        return np.where(sems > 0, 1.0, 0.0)  # equal values: nothing tells the unit
    sems = np.minimum(sems, MAX_SEM * width)
    slope = (z[first[-1]] - z[first[0]]) / width

    def units(values: Floats) -> Floats:
        beyond: Floats = np.maximum(values - levels[-1], 0.0) + np.minimum(values - levels[0], 0.0)
        result: Floats = np.interp(values, levels, z[first]) + slope * beyond
        return result

    here = units(y)
    return np.maximum(units(y + sems) - here, here - units(y - sems))
