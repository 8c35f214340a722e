"""Labels of a node's rows, good or bad, before a boundary is fitted.

Letters: n rows, d dimensions; z [n, d], the standardised x, and s [n], standardised utility (higher is better). A
fitted boundary, not the labels, assigns rows to sides.
"""

import numpy as np

from lamcts.types import Floats, Mask

STARTS = 3  # runs of Lloyd's algorithm; more changed the clusters of 200 random rows in under 1 % of 400 trials
MAX_STEPS = 30  # of Lloyd's algorithm: more cost time, and the boundary smooths labels that have not converged


def kmeans(z: Floats, s: Floats, rng: np.random.Generator, weight: float) -> Mask:
    """Cluster `[z, weight * s]` in two; the cluster of higher mean utility is good (thesis 5.3)."""
    label = two_means(np.column_stack([z, weight * s]), rng)
    return ~label if s[label].sum() * np.count_nonzero(~label) < s[~label].sum() * np.count_nonzero(label) else label


def raw_scales(spread: Floats, utility: Floats) -> tuple[Floats, float]:
    """Return the scales of z [d] and s that restore `[x, f(x)]` up to a factor, for x with a `spread` [d]."""
    largest = float(np.abs(utility).max())
    unit = max(largest, float(np.abs(spread).max()))
    weight = float((utility / largest).std()) * (largest / unit)  # squares of 1e300 overflow
    return spread / unit, weight


def median(s: Floats) -> Mask:
    """Return the better half as good rows, [n]."""
    return s > np.median(s) if np.any(s > np.median(s)) else s >= np.median(s)


def two_means(points: Floats, rng: np.random.Generator) -> Mask:
    """Return the best of a few runs of Lloyd's algorithm with two centres and k-means++ seeds, [n]."""
    best = np.zeros(len(points), bool)
    least_inertia = np.inf
    for _ in range(STARTS):
        label, inertia = _lloyd(points, rng)
        if inertia < least_inertia:
            best = label
            least_inertia = inertia
    return best


def _lloyd(points: Floats, rng: np.random.Generator) -> tuple[Mask, float]:
    n = len(points)
    first = points[rng.integers(n)]
    squares = np.square(points - first).sum(1)  # [n]
    if not squares.sum() > 0:
        return np.zeros(n, bool), np.inf
    second = points[rng.choice(n, p=squares / squares.sum())]
    label = np.zeros(n, bool)
    for _ in range(MAX_STEPS):
        new_label = points @ (second - first) > (second @ second - first @ first) / 2  # nearer to the second
        if np.array_equal(new_label, label) or new_label.all() or not new_label.any():
            break
        label = new_label
        second_sum = label @ points
        first = (points.sum(0) - second_sum) / np.count_nonzero(~label)
        second = second_sum / np.count_nonzero(label)
    return label, float(np.square(points - np.where(label[:, None], second, first)).sum())
