"""Choice of parents: the Pareto front, and beyond it the smallest sums of ranks (AutoGO 3.2 and A.5.4)."""

import numpy as np

from lamcts.types import Floats, Rows


def select(losses: Floats, front: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Return the rows of the parents of the next generation."""
    if len(front) > count:
        return rng.choice(front, count, replace=False)
    others = np.setdiff1d(np.arange(len(losses)), front)
    below = losses[others][:, None] > losses[others][None]
    order = np.argsort(below.sum((1, 2)), kind="stable")
    return np.concatenate([front, others[order[: count - len(front)]]]).astype(int)
