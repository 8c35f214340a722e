"""The prior mean of a process: the forecasts of Gaussian processes fitted to related tasks.

As in RGPE (Feurer et al. 2018), the weight of a task depends on how well its forecasts rank the evaluations of this
task. The weight is 0 where chance ranks them as well.

Letters: n rows, m points, t tasks, q numbers.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.fit import fit, spread_over_ranks
from lamcts.models.output_transforms import half_rank, rank_correlation
from lamcts.models.posterior import Posterior
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.related import RelatedTask, RelatedTasks
from lamcts.types import Floats

CHANCE_LEVEL = 1.645  # standard errors of a rank correlation that chance exceeds once in twenty


class PriorMean(NamedTuple):
    """A weighted sum of the forecasts of related tasks."""

    processes: list[Posterior]
    weights: Floats  # [t]

    def __call__(self, inputs: Inputs) -> Floats:
        """Return the forecasts at rows, [m]."""
        result: Floats = self.weights @ np.array([process.expect(inputs)[:, 0] for process in self.processes])
        return result

    def slopes(self, inputs: Inputs) -> Floats:
        """Return the slopes of the forecasts along the numbers, [m, q]."""
        slopes = np.array([process.mean_slopes(inputs)[1][:, 0] for process in self.processes])
        result: Floats = np.tensordot(self.weights, slopes, 1)
        return result


class RelatedModels:
    """Processes of related tasks, fitted once: they do not depend on the run."""

    def __init__(self, tasks: RelatedTasks, inputs_of: Callable[[Floats], Inputs], prior: KernelPrior) -> None:
        self._processes = [_process(task, inputs_of, prior) for task in tasks]

    def mean(self, inputs: Inputs, z: Floats) -> PriorMean | None:
        """Return the prior mean of losses `z` [n] in standard units; None where no task ranks them better than chance.

        The weight of a task is the square of its rank correlation. The slope of `z` over the weighted sum is at most 1.
        """
        weights = np.square(self.rank_correlations(inputs, z))
        related = np.flatnonzero(weights)
        if not len(related):
            return None
        weights = weights[related] / weights[related].sum()
        processes = [self._processes[i] for i in related]
        sums = PriorMean(processes, weights)(inputs)
        deviation = sums - sums.mean()
        square = float(deviation @ deviation)
        slope = min(float(deviation @ z) / square, 1.0) if square > 0 else 0.0
        return PriorMean(processes, slope * weights) if slope > 0 else None

    def rank_correlations(self, inputs: Inputs, z: Floats) -> Floats:
        """Return the rank correlation of each task with losses `z` [n], 0 where chance reaches it, [t]."""
        correlations = np.array([rank_correlation(process.expect(inputs)[:, 0], z) for process in self._processes])
        return np.where(correlations > CHANCE_LEVEL / np.sqrt(max(len(z) - 1, 1)), correlations, 0.0)


def _process(task: RelatedTask, inputs_of: Callable[[Floats], Inputs], prior: KernelPrior) -> Posterior:
    rows = spread_over_ranks(task.y)
    inputs, z = inputs_of(task.x[rows]), half_rank(task.y[rows])
    hyper, _ = fit(inputs, z[:, None], prior.suited(inputs))
    return Posterior.of(inputs, z[:, None], hyper)
