"""The chance that an evaluation succeeds, learned from failed evaluations nearby.

A process over 1 for success and 0 for failure. Searches that weigh points by the chance learn from the first failure.
Those that keep away from likely failures ask whether the failures have an order in space at all (`unless_chance`).
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

MAX_ROWS = 150  # of the model, the nearest ones: the time of the factors (untuned)
PRIOR = KernelPrior(noise=0.1, noise_spread=1.0)  # of marks, which are noisy (untuned)
# Without categories one length and one noise of these: a fit of a length for each parameter was behind after 50
# evaluations, 1.65 : 1.35 (-0.50 to -0.10; benchmarks/optimizer/gates.py, suite halfspace, 113bb833 against 49180ff6).
LENGTHS, NOISES = (0.5, 1.4, 4.0), (0.03, 0.3)  # times the root mean square distance of two rows; share of the signal
MIN_LENGTH = 1e-9  # share of the cube: length scales stay above it where all rows are one point
MIN_EVIDENCE = 4.0  # by what the log likelihood must exceed that without order: 2 took chance for order
MIN_CHANCE = 0.65  # the chance from which on a point is worth its evaluation (0.5 gained less)
INFEASIBLE_PENALTY = 1e6  # by what a point that is likely to fail is worse than any other: losses here are near 1
SLOPE_PENALTY = 10.0  # of likely failure on the way down, in usual differences of losses for one of the marks (untuned)


class Success:
    """The process of the marks of rows, of which those that are `good` [n] did not fail."""

    def __init__(self, inputs: Inputs, good: Mask, hyper: Hyper) -> None:
        self._share, self._spread = float(good.mean()), float(good.std())
        self._process = Posterior.of(inputs, marks(good)[:, None], hyper)

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
    def hyper(self) -> Hyper:
        return self._process.hyper

    @property
    def evidence(self) -> float:
        """By how much the log likelihood of the marks exceeds that of marks without order in space."""
        n = len(self._process.z)
        return n / 2 * math.log(profiled_signal(float(n), n)) - self._process.misfit()

    @property
    def _least(self) -> float:
        return (MIN_CHANCE - self._share) / self._spread


def success_near(
    seen: Observations,
    centre: Floats,
    inputs_of: Callable[[Floats], Inputs] = Inputs.of,
    hyper: Hyper | None = None,
) -> Success | None:
    """Return what the rows nearest to `centre` [d] say of where evaluations fail; None before a failure and a success.

    inputs_of: points [n, d] as the kernel takes them. hyper: hyper-parameters, the most likely ones unless given.
    """
    failed = failed_rows(seen)
    if not len(failed):
        return None
    rows = np.concatenate([np.flatnonzero(seen.kind == OK), failed])
    far = np.square(seen.x[rows] - centre).sum(1)
    rows = rows[np.argsort(far, kind="stable")[:MAX_ROWS]]
    good = seen.kind[rows] == OK
    if good.all() or not good.any():
        return None
    inputs = inputs_of(seen.x[rows])
    return Success(inputs, good, _likeliest(inputs, marks(good)[:, None]) if hyper is None else hyper)


def _likeliest(inputs: Inputs, z: Floats) -> Hyper:
    """Return the hyper-parameters of marks z [n, 1]: the best of a few, or with categories a fit."""
    if inputs.categories:
        return fit(inputs, z, PRIOR.suited(inputs))[0]
    x = inputs.numbers
    gap = math.sqrt(2.0 * float(x.var(0).sum()))
    some = [
        Hyper(np.full(x.shape[1], max(length * gap, MIN_LENGTH)), noise) for length, noise in product(LENGTHS, NOISES)
    ]
    return min(some, key=lambda hyper: Posterior.of(inputs, z, hyper).misfit())


def unless_chance(success: Success | None) -> Success | None:
    """Return the same where failures have an order in space; None where they are as likely without."""
    return success if success is not None and success.evidence > MIN_EVIDENCE else None


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
