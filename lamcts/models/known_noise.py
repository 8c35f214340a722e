"""Known noise of the rows of a Gaussian process: standard errors of values as variances on the diagonal of its kernel.

A row's diagonal entry is the sum of 1, the fitted noise, and its known variance over that of the signal. The signal
depends on the rows, so it is iterated. Letters: n rows, m losses.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats, Rows

ROUNDS = 4  # iterations of the signal: each costs a factor, and the signal changes little afterwards
EXACT_NOISE = 1e-6  # noise of an exact row (sem 0) over the signal's variance, so that Cholesky succeeds
MAX_SEM = 1e3  # bound of standard errors over the spread of the rows: a row with more has no weight either way


@dataclass(frozen=True, eq=False)
class KnownNoise:
    """Known variances [n] in the units of the model; `fitted` [n] is 0 for exact rows, 1 for rows with fitted noise."""

    variance: Floats
    fitted: Floats

    @classmethod
    def of(cls, sems: Floats | None, y: Floats, z: Floats) -> "KnownNoise | None":
        """Return the known noise of losses `y` [n], in the model's units `z` [n]; None if no standard error is known.

        `sems` [n] and `y` have nan where unknown; the units are a rising function of the losses.
        """
        if sems is None or np.isnan(sems).all():
            return None
        is_known, variance = np.isfinite(y), np.zeros(len(y))
        variance[is_known] = carried(y[is_known], z[is_known], np.nan_to_num(sems[is_known])) ** 2
        return cls(variance, np.where(sems == 0, 0.0, 1.0))

    def at(self, rows: Rows) -> "KnownNoise":
        """Return the noise of `rows`."""
        return KnownNoise(self.variance[rows], self.fitted[rows])

    def shared(self, signal: float) -> "KnownNoise":
        """Return the noise with variances divided by the signal's."""
        return KnownNoise(self.variance / signal, self.fitted)

    def diagonal(self, noise: float, signal: float = 1.0) -> Floats:
        """Return the noise of the rows over the signal's variance, [n]."""
        return noise * self.fitted + EXACT_NOISE * (1.0 - self.fitted) + self.variance / signal

    def grown(self, k: int) -> "KnownNoise":
        """Return the noise with `k` further rows of unknown noise."""
        return KnownNoise(np.append(self.variance, np.zeros(k)), np.append(self.fitted, np.ones(k)))


def carried(y: Floats, z: Floats, sems: Floats) -> Floats:
    """Return standard deviations [n] in units `z` [n], a rising function of `y` [n], of values with errors `sems` [n].

    The function is linear between rows, and has its mean slope outside. The larger deviation of the two sides counts.
    """
    if not len(y):
        return np.zeros(0)
    exponent = -int(np.frexp(max(np.abs(y).max(), np.finfo(float).tiny))[1])
    y, sems = np.ldexp(y, exponent), np.ldexp(sems, exponent)  # exact; no difference overflows
    levels, first = np.unique(y, return_index=True)
    width = levels[-1] - levels[0]
    if not width > 0:
        return np.where(sems > 0, 1.0, 0.0)  # equal values have no unit
    sems = np.minimum(sems, MAX_SEM * width)
    slope = (z[first[-1]] - z[first[0]]) / width

    def units(values: Floats) -> Floats:
        beyond: Floats = np.maximum(values - levels[-1], 0.0) + np.minimum(values - levels[0], 0.0)
        result: Floats = np.interp(values, levels, z[first]) + slope * beyond
        return result

    centre = units(y)
    return np.maximum(units(y + sems) - centre, centre - units(y - sems))
