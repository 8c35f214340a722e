"""Features of a permutation: adjacency, succession, position and precedence of its items.

Each feature is a group of columns in which every order has norm 1. The product of two orders in a group is the share
that they have in common. For adjacency, that is the share of pairs that are neighbours in both orders, on a circle, in
either direction. A kernel over these groups has one weight a group. It contains the Mallows kernel (precedence alone),
and, for small weights, sums over neighbours, successors or positions: lengths of tours and costs of assignments.
Letters: n rows, k items, e entries of a row.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.permutation import orders_of
from lamcts.types import Floats

Whole = NDArray[np.int64]
MAX_COLUMNS = 2048  # columns of a group: more cost time and memory; with fewer, more entries share a column
MAX_PAIRS = 1024  # pairs of items with a column each: more cost time and memory; beyond, positions replace pairs


def widths(k: int) -> list[int]:
    """Return the number of columns of each group; the last column of each marks an inactive order."""
    pairs = k * (k - 1) // 2
    return [*[min(k * k, MAX_COLUMNS) + 1] * 3, (pairs if pairs <= MAX_PAIRS else k) + 2]


def features(positions: Floats, active: NDArray[np.bool_]) -> Floats:
    """Return the columns [n, sum of widths] of orders with `positions` [n, k]; `active` [n]."""
    k = positions.shape[1]
    orders = orders_of(positions)
    after = np.roll(orders, -1, axis=1)
    first, second = np.minimum(orders, after), np.maximum(orders, after)
    entries = [first * k + second, orders * k + after, orders * k + np.arange(k)]
    group_widths = widths(k)
    groups = [_spread(group_entries, width) for group_entries, width in zip(entries, group_widths, strict=False)]
    groups.append(_before(positions, group_widths[-1]))
    for group in groups:
        group[~active] = 0.0
        group[~active, -1] = 1.0
    return np.hstack(groups)


def _spread(entries: Whole, width: int) -> Floats:
    """Return rows of norm 1 with equal values in the columns of the entries [n, e], and 0 elsewhere."""
    columns = np.zeros((len(entries), width))
    np.put_along_axis(columns, entries % (width - 1), 1.0, axis=1)
    result: Floats = columns / np.sqrt(columns.sum(1, keepdims=True))
    return result


def _before(positions: Floats, width: int) -> Floats:
    """Return rows of norm 1 whose products are 1 minus Kendall's distance, or with many items Spearman's."""
    n, k = positions.shape
    if width - 2 == k * (k - 1) // 2:
        first, second = np.triu_indices(k, 1)
        signs = np.where(positions[:, first] < positions[:, second], 1.0, -1.0)
    else:
        signs = positions - 0.5
    norm = np.sqrt(2.0 * np.square(signs).sum(1, keepdims=True))
    half = np.full((n, 1), 0.5**0.5 if signs.shape[1] else 1.0)
    return np.hstack([signs / np.where(norm > 0, norm, 1.0), half, np.zeros((n, 1))])
