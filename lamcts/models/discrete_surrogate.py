"""The acquisition of a search over discrete parameters: every column has a process of its own.

A point is worth the log expected improvement, of the hypervolume where there are several objectives, times the chance
that every constraint is kept; before anything is feasible, that chance alone.

Letters: m points asked about, k objectives, q numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import TINY, log_expected_hypervolume, log_expected_improvement, slopes
from lamcts.models.hamming import HammingPosterior, Inputs
from lamcts.outcomes.cells import Cells, cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.spaces.parameters import Mask
from lamcts.types import Floats

MIN_VALID = 0.02  # chance of being valid, where the model says less: no point is written off for good (untuned)
MIN_VARIANCE = 1e-12  # where slopes are taken: at a row of the model they have none (untuned)
ROOT_2PI = math.sqrt(2.0 * math.pi)  # of the normal density
STEP = 1e-6  # of a number, for slopes by differences


class DiscreteSurrogate(NamedTuple):
    """The processes of the objectives and of the constraints, that of what fails (None: nothing has), and the front.

    `objectives` is empty until a point has been evaluated (before, only constraints were).

    front: the feasible losses that none dominates, in the units of the processes, [f, k]; none before the first.
    reference: where hypervolumes are measured from, [k]: the worst losses seen, so that the ends of a front gain too.
    least: what an objective must gain on the front to gain at all, [k]: half a step of one that takes few values.
    cells: what is left to gain, in pieces; of one objective none.
    """

    objectives: list[HammingPosterior]
    constraints: list[HammingPosterior]
    valid: HammingPosterior | None
    front: Floats
    reference: Floats
    least: Floats
    cells: Cells

    @property
    def best(self) -> float:
        """The lowest of the losses on the front."""
        return float(self.front.min())

    def value(self, inputs: Inputs) -> Floats:
        """Return the logarithm of what points are worth, [m]."""
        from scipy.special import log_ndtr

        value = self._improvement(inputs) if len(self.front) else np.zeros(len(inputs))
        for process in self.constraints:
            mean, variance = process.moments(inputs)
            value += log_ndtr(-mean / np.sqrt(np.maximum(variance, TINY)))
        if self.valid is not None:
            value += np.log(np.clip(self.valid.moments(inputs)[0], MIN_VALID, 1.0))
        return value

    def _improvement(self, inputs: Inputs) -> Floats:
        moments = [process.moments(inputs) for process in self.objectives]
        if len(moments) == 1:
            mean, variance = moments[0]
            return log_expected_improvement(mean, np.sqrt(variance), self.best)
        means: Floats = np.stack([own for own, _ in moments], axis=1)  # [m, k]
        sds: Floats = np.stack([np.sqrt(variance) for _, variance in moments], axis=1)
        return log_expected_hypervolume(means, sds, self.cells)

    def slope(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the negative of `value` [m], and its slope along the numbers [m, q]."""
        value, gradient = np.zeros(len(inputs)), np.zeros(inputs.numbers.shape)
        if len(self.front):
            value, gradient = self._improvement_slope(inputs)
        for process in self.constraints:
            more, way = _kept_slope(process, inputs)
            value, gradient = value + more, gradient + way
        if self.valid is not None:
            chance, _, by_chance, _ = self.valid.slopes(inputs)
            sloped = (chance > MIN_VALID) & (chance < 1.0)
            chance = np.clip(chance, MIN_VALID, 1.0)
            value, gradient = value + np.log(chance), gradient + (sloped / chance)[:, None] * by_chance
        return -value, -gradient

    def _improvement_slope(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the logarithm of the gain [m], and its slope along the numbers [m, q]; of volumes by differences."""
        if len(self.objectives) == 1:
            mean, variance, by_mean, by_variance = self.objectives[0].slopes(inputs)
            sd = np.sqrt(np.maximum(variance, MIN_VARIANCE))
            per_mean, per_sd = slopes(mean, sd, self.best)
            gradient = per_mean[:, None] * by_mean + (per_sd / (2.0 * sd))[:, None] * by_variance
            return log_expected_improvement(mean, sd, self.best), gradient
        m, q = inputs.numbers.shape
        steps = np.vstack([np.zeros(q), STEP * np.eye(q)])  # nowhere, then along each number
        moved = (inputs.numbers + steps[:, None]).reshape(-1, q)
        rows = np.tile(np.arange(m), q + 1)
        value = self._improvement(Inputs(inputs.options[rows], inputs.orders[rows], moved)).reshape(q + 1, m)
        return value[0], (value[1:] - value[0]).T / STEP

    def same(self, inputs: Inputs, share: float) -> Mask:
        """Return which rows are all but known, [m]: they differ from one by less than a share of all that counts.

        Of several objectives none is: each tells rows apart by other parameters.
        """
        if len(self.objectives) != 1:
            return np.zeros(len(inputs), bool)
        losses = self.objectives[0]
        alike: Mask = -np.log(losses.likeness(inputs)) < share * float(losses.hyper.weights.sum())
        return alike

    def fantasize(self, inputs: Inputs) -> "DiscreteSurrogate":
        """Return the same with some points out for evaluation, as if they had come out as expected."""
        objectives = [process.fantasize(inputs) for process in self.objectives]
        constraints = [process.fantasize(inputs) for process in self.constraints]
        if not len(objectives):  # nothing was run yet
            return self._replace(constraints=constraints)
        expected = np.stack([process.y[-len(inputs) :] for process in objectives], axis=1)  # [m, k]
        kept = np.array([process.y[-len(inputs) :] for process in constraints]).reshape(-1, len(inputs)) <= 0
        front = np.vstack([self.front, expected[kept.all(0)]])
        front = front[non_dominated(front)]
        cells = left(front - self.least, self.reference)
        return self._replace(objectives=objectives, constraints=constraints, front=front, cells=cells)


def _kept_slope(process: HammingPosterior, inputs: Inputs) -> tuple[Floats, Floats]:
    """Return the logarithm of the chance that a constraint is kept, [m], and its slope along the numbers [m, q]."""
    from scipy.special import log_ndtr

    mean, variance, by_mean, by_variance = process.slopes(inputs)
    sd = np.sqrt(np.maximum(variance, MIN_VARIANCE))
    z = -mean / sd
    log = log_ndtr(z)
    steep = np.exp(-z * z / 2 - log) / ROOT_2PI / sd
    return log, -steep[:, None] * by_mean - (steep * z / (2.0 * sd))[:, None] * by_variance


def left(front: Floats, reference: Floats) -> Cells:
    """Return the cells that a front of several objectives leaves; none without one: no reference need be finite."""
    return cells_of(front, reference) if len(front) and front.shape[1] > 1 else Cells(front, front)


def least_gain(values: Floats) -> float:
    """Return half the least step between the values [n] of a column that takes few; 0 where most are distinct.

    A process does not know that there is nothing between two levels, or beyond the last: without this, points that are
    level with the front, and predicted a little beyond it, are worth more than those that are new.
    """
    levels = np.unique(values)
    if len(levels) < 2 or 2 * len(levels) > len(values):
        return 0.0
    return float(np.diff(levels).min()) / 2
