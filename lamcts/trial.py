"""A trial: one point handed out for evaluation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trial:
    """One point to evaluate, numbered in the order of issue.

    `point` is in the user's units (array or dict), `x` the same point encoded to the unit cube, shape [d].
    `seed` is for the objective's own noise: it depends on the run's seed and `id` alone, so a resumed
    run or another worker draws the same noise. `session` says which search asked
    (-1: none, the point came from the initial design or from the user), and `note` is what it noted beside it.
    """

    id: int
    point: Any = field(compare=False)
    x: NDArray[np.float64] = field(repr=False, compare=False)
    seed: int = field(default=0, repr=False)
    session: int = field(default=-1, repr=False)
    note: Any = field(default=None, repr=False, compare=False)
