"""Labelling rules: which rows of a node are good, before a boundary is fitted.

Letters: n rows, d dimensions. Every rule takes z [n, d], the standardised x, and s [n], standardised utility (higher
is better), and returns a mask [n]. The boundary alone assigns rows to sides, not their labels.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from lamcts.tree.holdout import Mask
from lamcts.types import Floats

Rule = Callable[[Floats, Floats, np.random.Generator], Mask]

STARTS = 3  # more starts changed the clusters of 200 random rows in under 1 % of 400 trials
MAX_STEPS = 30  # Lloyd's; the boundary is learned from the labels, so the last few rows do not matter (untuned)
RIDGE = 0.1  # penalty of the trend under `residual`, as of `Linear` (untuned)


def kmeans(z: Floats, s: Floats, rng: np.random.Generator, weight: float | None = None) -> Mask:
    """Cluster `[z, weight * s]` in two; the cluster of higher mean utility is good (thesis 5.3).

    At weight 1 clusters separate places rather than utility in many dimensions. None is sqrt(d): all coordinates
    together weigh as much as the utility.
    """
    weight = np.sqrt(z.shape[1]) if weight is None else weight
    label = two_means(np.column_stack([z, weight * s]), rng)
    return ~label if s[label].sum() * np.count_nonzero(~label) < s[~label].sum() * np.count_nonzero(label) else label


def raw(spread: Floats, utility: Floats) -> Rule:
    """Return `kmeans` of `[x, f(x)]` as they are (thesis 5.3), of x with a `spread` [d] and a `utility` [n]."""
    most, wide = float(np.abs(utility).max()), float(np.abs(spread).max())
    weight = float((utility / most).std()) * (most / max(most, wide))  # squares of 1e300 overflow
    return lambda z, s, rng: kmeans(z * (spread / max(most, wide)), s, rng, weight)


def median(z: Floats, s: Floats, rng: np.random.Generator) -> Mask:
    """Label the better half as good."""
    return s > np.median(s) if np.any(s > np.median(s)) else s >= np.median(s)


def residual(z: Floats, s: Floats, rng: np.random.Generator) -> Mask:
    """Label rows that are better than a ridge regression of the node as good.

    Our reading of the author's remark in LaMCTS issue 3: fit a regressor R of f; the sign of R(x) - f(x) labels.
    """
    return s > z @ ridge(z, s)


def ridge(z: Floats, s: Floats, penalty: float = RIDGE) -> Floats:
    """Return w [d] that minimises `mean((z @ w - s)^2) + penalty * |w|^2`."""
    n, d = z.shape
    if d <= n:
        w = np.linalg.solve(z.T @ z + penalty * n * np.eye(d), z.T @ s)
    else:
        w = z.T @ np.linalg.solve(z @ z.T + penalty * n * np.eye(n), s)
    return np.asarray(w, np.float64)


def two_means(points: Floats, rng: np.random.Generator) -> Mask:
    """Return the best of a few runs of Lloyd's algorithm with two centres and k-means++ seeds, [n].

    Scikit-learn's KMeans takes longer to check its arguments than two centres take to converge.
    """
    best, least = np.zeros(len(points), bool), np.inf
    for _ in range(STARTS):
        label, inertia = _lloyd(points, rng)
        if inertia < least:
            best, least = label, inertia
    return best


def _lloyd(points: Floats, rng: np.random.Generator) -> tuple[Mask, float]:
    n = len(points)
    first = points[rng.integers(n)]
    far = np.square(points - first).sum(1)  # [n]
    if not far.sum() > 0:
        return np.zeros(n, bool), np.inf
    second = points[rng.choice(n, p=far / far.sum())]
    label = np.zeros(n, bool)
    for _ in range(MAX_STEPS):
        new = points @ (second - first) > (second @ second - first @ first) / 2  # nearer to the second
        if np.array_equal(new, label) or new.all() or not new.any():
            break
        label = new
        total, part = points.sum(0), label @ points
        first, second = (total - part) / np.count_nonzero(~label), part / np.count_nonzero(label)
    return label, float(np.square(points - np.where(label[:, None], second, first)).sum())


RULES: dict[str, Rule] = {"kmeans": kmeans, "median": median, "residual": residual}


def rule(name: str, weight: float | None = None) -> Rule:
    """Return the rule of a name; the weight of the utility is for "kmeans" only."""
    return partial(kmeans, weight=weight) if name == "kmeans" else RULES[name]
