"""Choice of parents: the Pareto front, and beyond it the smallest sums of ranks (AutoGO 3.2 and A.5.4)."""

import numpy as np

from lamcts.types import Floats, Rows


def select(losses: Floats, front: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Return the rows of the parents of the next generation.

    Parameters
    ----------
    losses : ndarray of shape (n, m)
        Of all networks; lower is better.
    front : ndarray of int
        Rows of the Pareto front.
    count : int
        Number of parents.
    rng : numpy.random.Generator
        Draws from a front that is larger.

    Returns
    -------
    ndarray of int
        Rows: of the front at random, or all of it with the rows of the smallest sums of ranks, where a rank is the
        number of networks that are better in one objective. Ties go to the earlier row.

    Examples
    --------
    >>> accuracy = [91.21, 91.10, 91.02, 90.75, 90.35, 89.05]
    >>> losses = np.column_stack([-np.array(accuracy), [260, 215, 200, 210, 220, 250]])
    >>> select(losses, np.array([], dtype=int), 3, np.random.default_rng(0))  # Table 8
    array([2, 1, 3])
    """
    if len(front) > count:
        return rng.choice(front, count, replace=False)
    others = np.setdiff1d(np.arange(len(losses)), front)
    below = losses[others][:, None] > losses[others][None]
    order = np.argsort(below.sum((1, 2)), kind="stable")
    return np.concatenate([front, others[order[: count - len(front)]]]).astype(int)
