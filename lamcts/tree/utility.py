"""From losses to utilities: what the tree compares. Higher is better."""

import numpy as np

from lamcts.types import Floats


def ranks(y: Floats) -> Floats:
    """Return the utility of losses `y` [n] by their order alone: 1 the lowest loss, 0 the highest, equals share, [n].

    Nothing but the order of `y` enters, so the tree is the same for `a f + b`. When all are equal, all are 0.5.
    """
    if not len(y):
        return np.empty(0)
    _, place, count = np.unique(y, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count  # how many losses are lower than each distinct one
    middle = below + (count - 1) / 2  # mean place of equals, counted from 0
    return 1 - middle[place] / (len(y) - 1) if len(y) > 1 else np.full(1, 0.5)


def raw(y: Floats) -> Floats:
    """Return the utility of losses `y` [n] in the units of the objective, as in the paper: `-y`, [n]."""
    return -y


def mean(utility: Floats) -> float:
    """Return the mean of `utility` [n], which does not overflow near 1e308 as a plain sum does."""
    largest = float(np.max(np.abs(utility), initial=0.0))
    return float(np.mean(utility / largest)) * largest if largest > 0 else 0.0
