"""The best points of related tasks, proposed once these rank the evaluations of this task better than chance."""

import numpy as np

from lamcts.models.hamming import Coding
from lamcts.models.hamming_fit import HammingPrior
from lamcts.models.prior_mean import RelatedModels
from lamcts.observations import Observations
from lamcts.related import RelatedTasks
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats


class WarmStart:
    """Proposes the best point of each related task. Nothing but the evaluations decides when: it has no state."""

    def __init__(self, tasks: RelatedTasks, space: SearchSpace) -> None:
        self._space, self._tasks = space, tasks
        self._models: RelatedModels | None = None  # fitted when they are first asked

    def fresh(self, seen: Observations, n: int) -> Floats:
        """Return the best points of at most `n` tasks that rank the evaluations well, unless they are seen, [k, d]."""
        x = np.array([task.x[np.argmin(task.y)] for task in self._tasks]).reshape(-1, seen.dim)
        new = seen.unseen(x) if len(x) else np.zeros(0, bool)
        if new.any():
            parameters = Parameters(self._space)
            coding = Coding(parameters)
            self._models = self._models or RelatedModels(self._tasks, parameters, coding, HammingPrior())
            new &= self._models.skills(coding(parameters.codes(seen.x[seen.good])), seen.y[seen.good]) > 0
        return x[new][:n]
