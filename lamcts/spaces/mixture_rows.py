"""Rows of mixtures: projection, draws in steps, and how many there are. Letters: n rows, d ingredients."""

import numpy as np

from lamcts.types import Floats, Rows

ROUNDED_UP = 1e-6  # of a step: what a proportion may miss a whole number of steps by
TINY = 1e-300  # instead of the sum of a row of zeros
CORRECTIONS = 3  # of the number that coordinates lose; the first is exact up to rounding


def projected(x: Floats, most: Floats, total: Floats) -> Floats:
    """Return the rows nearest to `x` [n, d] that are from 0 to `most` [d] and have the sums `total` [n, 1]."""
    high = -np.sort(-x, axis=1)
    over = (np.cumsum(high, axis=1) - total) / np.arange(1, x.shape[1] + 1)  # reduction by number of positive ones
    n_positive = np.maximum((high > over).sum(1, keepdims=True), 1)
    result: Floats = np.maximum(x - np.take_along_axis(over, n_positive - 1, axis=1), 0.0)
    result *= total / np.maximum(result.sum(1, keepdims=True), TINY)
    if len(above := np.flatnonzero((result > most).any(1))):
        result[above] = _capped(x[above], most, total[above])
    return result


def _capped(x: Floats, most: Floats, total: Floats) -> Floats:
    """Return what `projected` does where upper bounds matter."""
    ends = np.concatenate([x - most, x], axis=1)  # of what a coordinate may lose without being cut
    order = np.argsort(ends, axis=1, kind="stable")
    free = np.cumsum(np.where(order < x.shape[1], 1, -1), axis=1)  # coordinates that are not cut, [n, 2d]
    ends = np.take_along_axis(ends, order, axis=1)
    sums = most.sum() - np.cumsum(free[:, :-1] * np.diff(ends, axis=1), axis=1)  # at the second end, and so on
    lost = np.take_along_axis(ends, (sums >= total).sum(1, keepdims=True), axis=1)
    for _ in range(CORRECTIONS):
        result: Floats = np.clip(x - lost, 0.0, most)
        between = ((lost >= x - most) & (lost < x)).sum(1, keepdims=True)
        lost += (result.sum(1, keepdims=True) - total) / np.maximum(between, 1)
    return result


def counted(most: Rows, total: int) -> int:
    """Return how many vectors of whole numbers from 0 to `most` [d] have the sum `total`."""
    ways = np.zeros(total + 1, dtype=object)
    ways[0] = 1
    for limit in most.tolist():
        sums = np.cumsum(ways)
        ways = sums.copy()
        ways[limit + 1 :] -= sums[: max(total - limit, 0)]
    return int(ways[total])


def lots(u: Floats, steps: int) -> Floats:
    """Map uniform `u` [n, d] to whole numbers [n, d] whose sum is `steps`, each combination as likely as any other.

    Of r steps that are left for m + 1 ingredients, one gets more than k with probability C(r - k - 1 + m, m) /
    C(r + m, m); k is found by bisection.
    """
    from scipy.special import gammaln

    result = np.zeros(u.shape)
    r = np.full(len(u), float(steps))
    for j in range(u.shape[1] - 1):
        m = u.shape[1] - 1 - j
        low = np.zeros(len(u))
        high = r.copy()
        while (low < high).any():
            k = np.floor((low + high) / 2)
            log_chance = gammaln(r - k + m) - gammaln(r - k) - gammaln(r + m + 1) + gammaln(r + 1)
            is_below = np.exp(log_chance) <= 1 - u[:, j]
            low = np.where(is_below, low, np.minimum(k + 1, high))
            high = np.where(is_below, k, high)
        result[:, j] = low
        r = r - low
    result[:, -1] = r
    return result


def stepped(x: Floats, steps: int) -> Floats:
    """Return proportions [n, d] in whole numbers of `steps`: rounded down, and the largest rests up (Hamilton)."""
    floors = np.floor(x * steps + ROUNDED_UP)
    missing = np.round(steps - floors.sum(1)).astype(np.int64)  # [n], below d
    rest = np.argsort(np.argsort(floors - x * steps, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray((floors + (rest < missing[:, None])) / steps)
