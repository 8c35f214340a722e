"""The acquisition of a model of all columns: the expected gain, times the chance of being feasible and of success.

Before a feasible row, the gain is by how much less the constraints are violated. The chance of feasibility alone sought
what is least known: Ackley in ten dimensions took some 60 evaluations to a feasible row, not 31 (median of seeds 100 to
103). Letters: m points, k objectives, f rows of the front, q numbers, c constraints.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lamcts.models.acquisition import (
    DrawnImprovement,
    Gain,
    Improvement,
    Sloped,
    VolumeImprovement,
    log_feasible,
)
from lamcts.models.coding import Inputs
from lamcts.models.multi_output import MultiOutput
from lamcts.models.success import Success
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.scalarisation import MAX_LOSSES, Chebyshev, reference_of, thinned
from lamcts.rng import stream
from lamcts.types import Floats

DRAWS = 64  # of columns at each point, where nothing is known in closed form (untuned)
MIN_SUCCESS = 0.02  # chance of success, where the model gives less: no point is written off for good (untuned)
MIN_VARIANCE = 1e-12  # of a column: slopes at a row of the model stay finite (untuned)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The acquisition under `model`, given the feasible losses `front` [f, k] that count as known.

    violation: the least sum of constraints above 0 of all rows, infinite where no row has all constraints. success: of
    evaluations. least: what an objective must gain on the front to gain at all, [k] or a number; see `least_gain`. All
    are in the model's units. seed: of the draws where nothing is known in closed form; fantasies: how often some points
    were taken as evaluated, each with draws of its own.
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
        """Whether the gain, now or of a fantasy, has no closed form and takes draws."""
        return self.model.losses > MAX_LOSSES or (not len(self.front) and self._constraints > 0)

    @property
    def _constraints(self) -> int:
        return int(sum(part.z.shape[1] for part in self.model.parts)) - self.model.losses

    @cached_property
    def gain(self) -> Gain | None:
        """What the losses gain, or the constraints before a feasible row; None where neither is known yet."""
        m, c, rng = self.model.losses, self._constraints, stream(self.seed, self.fantasies)
        if not len(self.front):
            if not c or not np.isfinite(self.violation):
                return None
            return DrawnImprovement(_violation, self.violation, rng.standard_normal((DRAWS, c)))
        if m == 1:
            return Improvement(float(self.front.min()))
        front = self.front[non_dominated(self.front)]
        if m <= MAX_LOSSES:
            return VolumeImprovement(cells_of(thinned(front) - self.least, reference_of(front)))
        aim = Chebyshev.of_front(front, rng.dirichlet(np.ones(m)))
        return DrawnImprovement(aim.slopes, float(aim.of(front).min()), rng.standard_normal((DRAWS, m)))

    def value(self, inputs: Inputs) -> Floats:
        """Return the logarithm of what points are worth, [m]."""
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
            mean, variance, way, widening = self.model.slopes(inputs)
            sd = np.sqrt(np.maximum(variance, MIN_VARIANCE))
            value, by_mean, by_sd = self._of(mean, sd, sloped=True)
            gradient = np.einsum("mk,mkq->mq", by_mean, way) + np.einsum("mk,mkq->mq", by_sd / (2.0 * sd), widening)
        if self.success is not None:
            chance, way = self.success.chance_slopes(inputs)
            sloped, chance = chance > MIN_SUCCESS, np.maximum(chance, MIN_SUCCESS)
            value, gradient = value + np.log(chance), gradient + (sloped / chance)[:, None] * way
        return value, gradient

    def of(self, mean: Floats, sd: Floats) -> Floats:
        """Return the logarithm of what columns with means and standard deviations [m, k] are worth, [m]."""
        return self._of(mean, np.maximum(sd, math.sqrt(MIN_VARIANCE)), sloped=False).value

    def _of(self, mean: Floats, sd: Floats, sloped: bool) -> Sloped:
        """Return the acquisition of columns with means and standard deviations; its slopes only if `sloped`."""
        m, gain = self.model.losses, self.gain
        result = Sloped(np.zeros(len(mean)), np.zeros(mean.shape), np.zeros(mean.shape))
        where = slice(0, m) if len(self.front) else slice(m, None)
        parts = [] if gain is None else [(where, gain.slopes if sloped else gain.value)]
        if len(self.front) or gain is None:
            parts.append((slice(m, None), log_feasible))
        for columns, of in parts:
            found = of(mean[:, columns], sd[:, columns])
            found = found if isinstance(found, Sloped) else Sloped(found, np.zeros(()), np.zeros(()))
            result.value[:] += found.value
            result.by_mean[:, columns] += found.by_mean
            result.by_sd[:, columns] += found.by_sd
        return result

    def fantasize(self, inputs: Inputs) -> "Surrogate":
        """Return the same with some points out for evaluation, as if they had come out as expected."""
        if not self.model.parts:  # nothing was evaluated yet
            return self
        m, expected = self.model.losses, self.model.expect(inputs)
        over = np.maximum(expected[:, m:], 0.0).sum(1)
        front = np.vstack([self.front, expected[over == 0, :m]]) if m else self.front
        violation = min(self.violation, float(over.min()))
        model, fantasies = self.model.fantasize(inputs), self.fantasies + 1
        return replace(self, model=model, front=front, violation=violation, fantasies=fantasies)


def _violation(g: Floats) -> tuple[Floats, Floats]:
    """Return by how much constraints [s, c] are violated in all, [s], and the slopes of that, [s, c]."""
    return np.maximum(g, 0.0).sum(1), (g > 0).astype(float)


def least_gain(values: Floats) -> float:
    """Return half the least step between the values [n] of a column that takes few; 0 where most are distinct.

    A process does not know that there is nothing between two levels, or beyond the last: without this, points that are
    level with the front, and predicted a little beyond it, are worth more than those that are new.
    """
    levels = np.unique(values)
    if len(levels) < 2 or 2 * len(levels) > len(values):
        return 0.0
    return float(np.diff(levels).min()) / 2
