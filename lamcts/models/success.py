"""The chance that an evaluation succeeds, learned from failed evaluations nearby.

A process over 1 for success and 0 for failure. Of real parameters its length scale and noise are the most likely of a
few; where the labels are as likely without spatial order, failures are random and nothing is learned. In spaces of any
kind `mixed.py` fits its hyper-parameters. Letters: n rows in the model, m query
points, d coordinates, q numbers.
"""

import math

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper, Kernel
from lamcts.models.posterior import SIGNAL_SHAPE, Posterior, factor, profiled_signal
from lamcts.outcomes.constrained_rank import FAILED, OK
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Mask, Rows

MAX_ROWS = 150  # of the model, the nearest ones: the time of the factors (untuned)
# Of ten sets of lengths and noises, one of the best at foretelling if the next point of 30 recorded runs would fail
# (benchmarks/constrained/hidden.py of commit 7f0b6325, seeds 0 to 2; log losses from 0.323 to 0.351, here 0.324).
LENGTHS = (0.5, 1.4, 4.0)  # times the usual distance of two of the rows
NOISES = (0.03, 0.3)  # of the marks, for each of their order
MIN_EVIDENCE = 4.0  # by what the log likelihood must exceed that without order: 2 took chance for order
MIN_CHANCE = 0.65  # the chance from which on a point is worth its evaluation (0.5: less gain, in the same script)
INFEASIBLE_PENALTY = 1e6  # by what a point that is likely to fail is worse than any other: losses here are near 1
SLOPE_PENALTY = 10.0  # of likely failure on the way down, in usual differences of losses for one of the marks (untuned)
MIN_LENGTH = 1e-9  # share of the cube: length scales stay above it where all rows are one point


class Success:
    """The process of the marks of rows, of which those that are `good` [n] did not fail."""

    def __init__(self, inputs: Inputs, good: Mask, hyper: Hyper) -> None:
        self._share, self._spread = float(good.mean()), float(good.std())
        self._process = Posterior(inputs, marks(good)[:, None], hyper)

    def chance(self, inputs: Inputs) -> Floats:
        """Return the chance of success at other rows, [m]."""
        result: Floats = np.clip(self._share + self._spread * self._process.expect(inputs)[:, 0], 0.0, 1.0)
        return result

    def chance_slopes(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the chance as above [m], and its slopes along the numbers [m, q]."""
        mean, slopes = (own[:, 0] for own in self._process.mean_slopes(inputs))
        chance = self._share + self._spread * mean
        inside = (chance > 0.0) & (chance < 1.0)
        return np.clip(chance, 0.0, 1.0), np.where(inside[:, None], self._spread * slopes, 0.0)

    def shortfall(self, x: Floats) -> Floats:
        """Return by how much the chance at numbers `x` [m, d] is too low, in usual differences of marks, [m]."""
        result: Floats = np.maximum(self._least - self._process.expect(Inputs.of(x))[:, 0], 0.0)
        return result

    def slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the shortfall at `x` [m, d], [m], and its gradient [m, d]."""
        mean, gradient = self._process.mean_slopes(Inputs.of(x))
        short = np.maximum(self._least - mean[:, 0], 0.0)
        return short, np.where(short[:, None] > 0, -gradient[:, 0], 0.0)

    @property
    def _least(self) -> float:
        return (MIN_CHANCE - self._share) / self._spread


def success_near(seen: Observations, centre: Floats) -> Success | None:
    """Return what the rows nearest to `centre` [d] say of where evaluations fail; None where that is nothing."""
    failed = failed_rows(seen)
    if not len(failed):
        return None
    rows = np.concatenate([np.flatnonzero(seen.kind == OK), failed])
    far = np.square(seen.x[rows] - centre).sum(1)
    rows = rows[np.argsort(far, kind="stable")[:MAX_ROWS]]
    good = seen.kind[rows] == OK
    if good.all() or not good.any():
        return None
    hyper = _likeliest(seen.x[rows], marks(good))
    return None if hyper is None else Success(Inputs.of(seen.x[rows]), good, hyper)


def marks(good: Mask) -> Floats:
    """Return 1 for success and 0 for failure in standard units, [n]."""
    result: Floats = (good - good.mean()) / good.std()
    return result


def failed_rows(seen: Observations) -> Rows:
    """Return the rows that failed, but for those of trials that were told a value after all."""
    failed: Rows = np.flatnonzero(seen.kind == FAILED)
    if not len(failed):
        return failed
    mended = seen.trial[seen.kind == OK]
    return failed[~np.isin(seen.trial[failed], mended[mended >= 0])]


def _likeliest(x: Floats, z: Floats) -> Hyper | None:
    """Return hyper-parameters under which marks z [n] are likeliest, None where they are as likely without order."""
    n, d = x.shape
    gap = math.sqrt(2.0 * float(x.var(0).sum()))  # of two rows, root mean square
    best, found = _evidence(np.eye(n), z) + MIN_EVIDENCE, None
    for length in LENGTHS:
        lengths = np.full(d, max(length * gap, MIN_LENGTH))
        order = Kernel(Inputs.of(x), Hyper(lengths, 0.0)).matrix
        for noise in NOISES:
            evidence = _evidence((order + noise * np.eye(n)) / (1.0 + noise), z)
            if evidence > best:
                best, found = evidence, Hyper(lengths, noise)
    return found


def _evidence(correlations: Floats, z: Floats) -> float:
    """Return the log likelihood of marks z [n], mean and variance profiled out, less a constant."""
    from scipy.linalg.blas import dtrsm

    n = len(z)
    root = factor(correlations, 0.0)
    z, ones = dtrsm(1.0, root, np.column_stack([z, np.ones(n)]), lower=1).T
    z = z - (ones @ z) / (ones @ ones) * ones
    signal = profiled_signal(float(z @ z), n)
    return -(n / 2 + SIGNAL_SHAPE + 1) * math.log(signal) - float(np.log(np.diagonal(root)).sum())
