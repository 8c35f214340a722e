"""Most likely hyper-parameters of the process in `learning_curves.py`: L-BFGS on the analytic gradient, under priors.

Letters: n trials, N reports of them, d coordinates.
"""

import math
from dataclasses import dataclass

import numpy as np

from lamcts.models.fit import EVALUATIONS, NO_FACTOR
from lamcts.models.kernel import fall, matern, squares
from lamcts.models.lbfgsb import Limits, lowest
from lamcts.types import Floats, Rows

ITERATIONS = 20  # steps of L-BFGS in a fit (untuned)
# Medians and deviations of log-normal priors: lengths (times sqrt(d), as in Hvarfner et al. 2024), variances in the
# order of the kernel, in units of the spread of ends, and b as a share of the longest curve (untuned)
LENGTH, LENGTH_SPREAD = math.exp(math.sqrt(2) - 3), math.sqrt(3)
VARIANCES = (1.0, 1.0, 0.3, 0.1, 0.1, 1e-3)  # limit, common, shape, own limit, own shape, noise
DECAY = 0.1  # median of b (untuned)
SPREAD = 1.5  # deviation of the logarithms of variances and of b (untuned)
BOUND = 7.0  # of logarithms about their prior medians: three to five deviations


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of trials: points x [n, d] of trials, and by report its trial's place in x [N] and its step [N]."""

    x: Floats
    trial: Rows
    step: Floats


def most_likely(reports: Reports, z: Floats) -> Floats:
    """Return the most likely hyper-parameters [d + 7] found from the medians of their priors."""
    d = reports.x.shape[1]
    medians = np.log([LENGTH * math.sqrt(d)] * d + [*VARIANCES, DECAY])
    spreads = np.append(np.full(d, LENGTH_SPREAD), np.full(7, SPREAD))
    loss = CurveLoss(reports, z, medians, spreads)
    limits = Limits(ITERATIONS, evaluations=EVALUATIONS * ITERATIONS)
    return lowest(loss, medians.copy(), medians - BOUND, medians + BOUND, limits)[0]


class CurveLoss:
    """The negative log posterior of `theta` [d + 7], with its gradient; the mean of the losses is profiled out.

    With `a = K^-1 (z - mean)` and `W = K^-1 - a a^T` the derivative along any parameter of K is `sum(W * dK) / 2`.
    """

    def __init__(self, reports: Reports, z: Floats, medians: Floats, spreads: Floats) -> None:
        self._x, self._trial, self._z = reports.x, reports.trial, z
        self._sum = (reports.step[:, None] + reports.step) / max(reports.step.max(), 1.0)  # [N, N]
        self._same = (reports.trial[:, None] == reports.trial).astype(float)
        self._medians, self._spreads = medians, spreads

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        from scipy.linalg.lapack import dpotrf, dpotri

        d, n, pairs = self._x.shape[1], len(self._z), np.ix_(self._trial, self._trial)
        limit, common, shape, own_limit, own_shape, noise = np.exp(theta[d:-1])
        scaled = self._x / np.exp(theta[:d])
        near, decay = matern(scaled, scaled)[pairs], 1.0 / (1.0 + self._sum * math.exp(-theta[-1]))
        shared, own = common + shape * near, self._same * own_shape
        kernel = limit * near + own_limit * self._same + (shared + own) * decay
        kernel.flat[:: n + 1] += noise
        root, info = dpotrf(kernel.T, lower=1, clean=1)
        if info:
            return NO_FACTOR, np.zeros(len(theta))
        inverse, _ = dpotri(root, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        ones = inverse.sum(0)
        a = inverse @ self._z - ones * float(ones @ self._z) / float(ones.sum())
        w = inverse - np.outer(a, a)
        value = float(a @ self._z) / 2 + float(np.log(root.flat[:: n + 1]).sum())
        faded, together = w * decay, w * self._same
        gradient = np.empty(len(theta))
        gradient[:d] = self._along_lengths(w * limit + faded * shape, scaled)
        gradient[d:-2] = [
            limit * np.vdot(w, near),
            common * faded.sum(),
            shape * np.vdot(faded, near),
            own_limit * together.sum(),
            own_shape * np.vdot(together, decay),
        ]
        gradient[-2], gradient[-1] = noise * np.trace(w), np.vdot(faded * (1.0 - decay), shared + own)
        away = (theta - self._medians) / self._spreads
        return value + float(away @ away) / 2, gradient / 2 + away / self._spreads

    def _along_lengths(self, w: Floats, scaled: Floats) -> Floats:
        """Return `sum(w * dM)` for each log length, [d]; w [N, N] is summed over the reports of trials first."""
        n = len(scaled)
        by_trial = np.zeros((n, len(w)))
        np.add.at(by_trial, self._trial, w)
        both = np.zeros((n, n))
        np.add.at(both.T, self._trial, by_trial.T)
        both *= fall(np.sqrt(squares(scaled, scaled)))
        result: Floats = 2 * ((scaled * scaled).T @ both.sum(1) - np.einsum("nd,nd->d", scaled, both @ scaled))
        return result
