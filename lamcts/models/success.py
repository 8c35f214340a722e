"""Probability that an evaluation succeeds, by a Gaussian process over 1 for success and 0 for failure.

Searches that weigh points by the probability use it from the first failure on. Searches that avoid likely failures
first test whether failures depend on the point at all (`unless_chance`).
Letters: n rows in the model, m query points, d coordinates, q numbers.
"""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.fit import fit
from lamcts.models.kernel import Hyper
from lamcts.models.posterior import Posterior, profiled_signal
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.constrained_rank import FAILED, OK
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Mask, Rows

MAX_ROWS = 150  # nearest rows in the model: more cost time of the factors, fewer miss the border of failures
PRIOR = KernelPrior(noise=0.1, noise_spread=1.0)  # marks change abruptly at borders, which acts as noise
# Without categories, one length and one noise of these: a fit with a length for each parameter ranked worse after 50
# evaluations, 1.65 : 1.35 (-0.50 to -0.10; benchmarks/optimizer/gates.py, suite halfspace, 113bb833 against 49180ff6).
LENGTHS, NOISES = (0.5, 1.4, 4.0), (0.03, 0.3)  # root mean square distances of two rows; over the signal
MIN_LENGTH = 1e-9  # share of the cube: length scales stay above it where all rows are one point
MIN_EVIDENCE = 4.0  # least difference of log likelihoods to a model without dependence: 2 took chance for dependence
MIN_CHANCE = 0.65  # least probability of success of points worth evaluating (0.5 gained less)
INFEASIBLE_PENALTY = 1e6  # penalty of points likely to fail: far above losses, which are near 1 here
SLOPE_PENALTY = 10.0  # loss units for a unit of the marks: more keeps farther from failures, less enters them


class Success:
    """Process of the marks of rows; `good` [n]: rows that did not fail."""

    def __init__(self, inputs: Inputs, good: Mask, hyper: Hyper) -> None:
        self._share = float(good.mean())
        self._spread = float(good.std())
        self._process = Posterior.of(inputs, marks(good)[:, None], hyper)

    def chance(self, inputs: Inputs) -> Floats:
        """Return the probability of success at query rows, [m]."""
        result: Floats = np.clip(self._share + self._spread * self._process.expect(inputs)[:, 0], 0.0, 1.0)
        return result

    def chance_slopes(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return `chance` [m], and its slopes along the numbers [m, q]."""
        mean, slopes = (column[:, 0] for column in self._process.mean_slopes(inputs))
        chance = self._share + self._spread * mean
        inside = (chance > 0.0) & (chance < 1.0)
        return np.clip(chance, 0.0, 1.0), np.where(inside[:, None], self._spread * slopes, 0.0)

    def shortfall(self, x: Floats) -> Floats:
        """Return by how much the mark at numbers `x` [m, d] is below that of MIN_CHANCE, [m]."""
        result: Floats = np.maximum(self._least_mark - self._process.expect(Inputs.of(x))[:, 0], 0.0)
        return result

    def slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the shortfall at `x` [m, d], [m], and its gradient [m, d]."""
        mean, gradient = self._process.mean_slopes(Inputs.of(x))
        shortfall = np.maximum(self._least_mark - mean[:, 0], 0.0)
        return shortfall, np.where(shortfall[:, None] > 0, -gradient[:, 0], 0.0)

    @property
    def hyper(self) -> Hyper:
        return self._process.hyper

    @property
    def evidence(self) -> float:
        """Log likelihood of the marks less that of independent marks."""
        n = len(self._process.z)
        return n / 2 * math.log(profiled_signal(float(n), n)) - self._process.misfit()

    @property
    def _least_mark(self) -> float:
        return (MIN_CHANCE - self._share) / self._spread


def success_near(
    seen: Observations,
    centre: Floats,
    inputs_of: Callable[[Floats], Inputs] = Inputs.of,
    hyper: Hyper | None = None,
) -> Success | None:
    """Return the process of the rows nearest to `centre` [d]; None before a failure and a success.

    inputs_of: returns the inputs of points [n, d]. hyper: hyper-parameters; None: the most likely ones.
    """
    failed = failed_rows(seen)
    if not len(failed):
        return None
    rows = np.concatenate([np.flatnonzero(seen.kind == OK), failed])
    square_distances = np.square(seen.x[rows] - centre).sum(1)
    rows = rows[np.argsort(square_distances, kind="stable")[:MAX_ROWS]]
    good = seen.kind[rows] == OK
    if good.all() or not good.any():
        return None
    inputs = inputs_of(seen.x[rows])
    return Success(inputs, good, _likeliest(inputs, marks(good)[:, None]) if hyper is None else hyper)


def _likeliest(inputs: Inputs, z: Floats) -> Hyper:
    """Return the hyper-parameters of marks `z` [n, 1]: the best of a grid, or with categories a fit."""
    if inputs.n_categories:
        return fit(inputs, z, PRIOR.suited(inputs))[0]
    x = inputs.numbers
    scale = math.sqrt(2.0 * float(x.var(0).sum()))
    grid = [
        Hyper(np.full(x.shape[1], max(length * scale, MIN_LENGTH)), noise) for length, noise in product(LENGTHS, NOISES)
    ]
    return min(grid, key=lambda hyper: Posterior.of(inputs, z, hyper).misfit())


def unless_chance(success: Success | None) -> Success | None:
    """Return `success` if failures depend on the point; None where that is no more likely than chance."""
    return success if success is not None and success.evidence > MIN_EVIDENCE else None


def marks(good: Mask) -> Floats:
    """Return 1 for success and 0 for failure in standard units, [n]."""
    result: Floats = (good - good.mean()) / good.std()
    return result


def failed_rows(seen: Observations) -> Rows:
    """Return the failed rows, except those of trials that have a value by now."""
    failed: Rows = np.flatnonzero(seen.kind == FAILED)
    if not len(failed):
        return failed
    corrected = seen.trial[seen.kind == OK]
    return failed[~np.isin(seen.trial[failed], corrected[corrected >= 0])]
