"""Acquisition function of a model of all columns: expected gain times the probabilities of feasibility and success.

Before a feasible row, the gain is the decrease of the violation. The probability of feasibility alone preferred
uncertain points: Ackley in ten dimensions took some 60 evaluations to a feasible row, not 31 (median of seeds 100 to
103). Letters: m points, k objectives, f rows of the front, q numbers, c constraints.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lamcts.models.acquisition import DrawnImprovement, Gain, Improvement, Sloped, VolumeImprovement, log_feasible
from lamcts.models.coding import Inputs
from lamcts.models.multi_output import MultiOutput
from lamcts.models.success import Success
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.scalarisation import MAX_LOSSES, Chebyshev, reference_of, thinned
from lamcts.rng import stream
from lamcts.types import Floats

DRAWS = 64  # draws of the columns where there is no closed form: more cost time, fewer are less accurate
MIN_SUCCESS = 0.02  # least probability of success: with less, points near failures might never be evaluated
MIN_VARIANCE = 1e-12  # least variance of a column: keeps slopes finite at rows of the model


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Acquisition function (BoTorch's word) under `model`, given the feasible losses `front` [f, k].

    A sampler with another setting replaces a field: `dataclasses.replace(surrogate, ...)`.
    violation: least total violation of the rows, infinite where no row has all constraints. success: probability that
    evaluations succeed. least: smaller gains on the front count as none, [k] or a number; see `least_gain`. All are in
    the model's units. seed: of the draws where there is no closed form. fantasies: number of calls of `fantasize`; each
    has its draws.
    """

    model: MultiOutput
    front: Floats
    violation: float
    success: Success | None = None
    least: Floats | float = 0.0
    seed: int = 0
    fantasies: int = 0

    @property
    def is_drawn(self) -> bool:
        """Whether the gain, now or after fantasies, has no closed form and takes draws."""
        return self.model.losses > MAX_LOSSES or (not len(self.front) and self._n_constraints > 0)

    @property
    def _n_constraints(self) -> int:
        return int(sum(part.z.shape[1] for part in self.model.parts)) - self.model.losses

    @cached_property
    def gain(self) -> Gain | None:
        """Gain of the losses, or of the violation before a feasible row; None where neither is known."""
        m, c = self.model.losses, self._n_constraints
        rng = stream(self.seed, self.fantasies)
        if not len(self.front):
            if not c or not np.isfinite(self.violation):
                return None
            return DrawnImprovement(_violation, self.violation, rng.standard_normal((DRAWS, c)))
        if m == 1:
            return Improvement(float(self.front.min()))
        front = self.front[non_dominated(self.front)]
        if m <= MAX_LOSSES:
            return VolumeImprovement(cells_of(thinned(front) - self.least, reference_of(front)))
        chebyshev = Chebyshev.of_front(front, rng.dirichlet(np.ones(m)))
        return DrawnImprovement(chebyshev.slopes, float(chebyshev.of(front).min()), rng.standard_normal((DRAWS, m)))

    def value(self, inputs: Inputs) -> Floats:
        """Return the logarithm of the acquisition function at points, [m]."""
        value: Floats = np.zeros(len(inputs))
        if self.model.parts:
            mean, variance = self.model.moments(inputs)
            value = self.of(mean, np.sqrt(variance))
        if self.success is not None:
            value = value + np.log(np.maximum(self.success.chance(inputs), MIN_SUCCESS))
        return value

    def slopes(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return `value` [m], and its slopes along the numbers [m, q]."""
        value: Floats = np.zeros(len(inputs))
        gradient: Floats = np.zeros(inputs.numbers.shape)
        if self.model.parts:
            mean, variance, mean_slopes, variance_slopes = self.model.slopes(inputs)
            sd = np.sqrt(np.maximum(variance, MIN_VARIANCE))
            value, by_mean, by_sd = self._of(mean, sd, sloped=True)
            gradient = np.einsum("mk,mkq->mq", by_mean, mean_slopes)
            gradient += np.einsum("mk,mkq->mq", by_sd / (2.0 * sd), variance_slopes)
        if self.success is not None:
            chance, slopes = self.success.chance_slopes(inputs)
            is_sloped = chance > MIN_SUCCESS
            chance = np.maximum(chance, MIN_SUCCESS)
            value = value + np.log(chance)
            gradient = gradient + (is_sloped / chance)[:, None] * slopes
        return value, gradient

    def of(self, mean: Floats, sd: Floats) -> Floats:
        """Return the log acquisition function of columns with means and standard deviations [m, k], [m]."""
        return self._of(mean, np.maximum(sd, math.sqrt(MIN_VARIANCE)), sloped=False).value

    def _of(self, mean: Floats, sd: Floats, sloped: bool) -> Sloped:
        """Return the log acquisition function of columns; its slopes only if `sloped`."""
        m, gain = self.model.losses, self.gain
        result = Sloped(np.zeros(len(mean)), np.zeros(mean.shape), np.zeros(mean.shape))
        gain_columns = slice(0, m) if len(self.front) else slice(m, None)
        parts = [] if gain is None else [(gain_columns, gain.slopes if sloped else gain.value)]
        if len(self.front) or gain is None:
            parts.append((slice(m, None), log_feasible))
        for columns, function in parts:
            part = function(mean[:, columns], sd[:, columns])
            part = part if isinstance(part, Sloped) else Sloped(part, np.zeros(()), np.zeros(()))
            result.value[:] += part.value
            result.by_mean[:, columns] += part.by_mean
            result.by_sd[:, columns] += part.by_sd
        return result

    def fantasize(self, inputs: Inputs) -> "Surrogate":
        """Return the acquisition function as if pending points had their posterior means as values."""
        if not self.model.parts:  # before the first evaluation
            return self
        m = self.model.losses
        expected = self.model.expect(inputs)
        violations = np.maximum(expected[:, m:], 0.0).sum(1)
        front = np.vstack([self.front, expected[violations == 0, :m]]) if m else self.front
        violation = min(self.violation, float(violations.min()))
        model = self.model.fantasize(inputs)
        return replace(self, model=model, front=front, violation=violation, fantasies=self.fantasies + 1)


def _violation(g: Floats) -> tuple[Floats, Floats]:
    """Return the total violation of constraints [s, c], [s], and its slopes [s, c]."""
    return np.maximum(g, 0.0).sum(1), (g > 0).astype(float)


def least_gain(values: Floats) -> float:
    """Return half the least step between the values [n] of a column with few levels; 0 where most are distinct.

    A Gaussian process predicts values between two levels and beyond the last. Without this bound, points on the front
    that are predicted slightly beyond it would be preferred to new ones.
    """
    levels = np.unique(values)
    if len(levels) < 2 or 2 * len(levels) > len(values):
        return 0.0
    return float(np.diff(levels).min()) / 2
