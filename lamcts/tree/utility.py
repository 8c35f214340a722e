"""Utilities of rows and nodes from losses. Higher is better."""

from collections.abc import Callable

import numpy as np

from lamcts.outcomes.hypervolume import hypervolume
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Rows

REFERENCE = 1.1  # of objectives that the feasible rows range over 0 to 1 in: what papers take
NodeValue = Callable[[Rows], float]


def ranks(y: Floats) -> Floats:
    """Return utilities of losses `y` [n] by rank: 1 for the lowest, 0 for the highest, ties share, [n].

    Only the order of `y` enters, so the tree is the same for `a f + b`. All 0.5 if all are equal.
    """
    if not len(y):
        return np.empty(0)
    _, inverse, count = np.unique(y, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count  # how many losses are lower than each distinct one
    middle = below + (count - 1) / 2  # mean rank of equals, counted from 0
    return 1 - middle[inverse] / (len(y) - 1) if len(y) > 1 else np.full(1, 0.5)


def raw(y: Floats) -> Floats:
    """Return utilities in the unit of the objective, as in the paper: `-y`, [n]."""
    return -y


def node_value(values: str, seen: Observations) -> NodeValue:
    """Return the function from rows of a node to its value."""
    if values == "hypervolume":
        return _dominated(seen)
    utility = np.full(len(seen), np.nan)
    utility[seen.good] = (ranks if values == "ranks" else raw)(seen.y[seen.good])
    return lambda rows: mean(utility[rows])


def _dominated(seen: Observations) -> NodeValue:
    """Return the share of hypervolume that feasible rows of a node dominate (LaMOO)."""
    kept, f = seen.feasible, np.array(seen.f)
    if kept.any():
        low, high = f[kept].min(0), f[kept].max(0)
        f = (f - low) / np.where(high > low, high - low, 1.0)
    reference = np.full(f.shape[1], REFERENCE)
    return lambda rows: hypervolume(f[rows[kept[rows]]], reference) / REFERENCE ** f.shape[1]


def mean(utility: Floats) -> float:
    """Return the mean of `utility` [n] without overflow near 1e308."""
    largest = float(np.max(np.abs(utility), initial=0.0))
    return float(np.mean(utility / largest)) * largest if largest > 0 else 0.0
