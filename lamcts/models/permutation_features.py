"""Features of a permutation: adjacency, succession, position and precedence of its items.

Each is a group of columns in which every order has the norm 1. The product of two orders in a group is what they share:
of neighbours, say, the share of pairs that stand side by side in both, in a circle, whichever way round. A kernel that
falls with what is not shared, by a weight for each group, holds the usual ones: that of Mallows (the last group alone),
and sums over neighbours, successors or positions where a weight is small, as the lengths of tours and the costs of
assignments are. Letters: n rows, k items, e entries of a row.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.permutation import orders_of
from lamcts.types import Floats

Whole = NDArray[np.int64]
MAX_COLUMNS = 2048  # columns of a group: of more, several share one (untuned)
MAX_PAIRS = 1024  # of items whose order is looked at; beyond, how far each is to the front (untuned)


def widths(k: int) -> list[int]:
    """Return the number of columns of each group; the last of each is for an inactive order."""
    pairs = k * (k - 1) // 2
    return [*[min(k * k, MAX_COLUMNS) + 1] * 3, (pairs if pairs <= MAX_PAIRS else k) + 2]


def features(positions: Floats, active: NDArray[np.bool_]) -> Floats:
    """Return the groups' columns [n, sum of widths] of orders with `positions` [n, k] that are active [n]."""
    k = positions.shape[1]
    orders = orders_of(positions)
    after = np.roll(orders, -1, axis=1)
    first, second = np.minimum(orders, after), np.maximum(orders, after)
    entries = [first * k + second, orders * k + after, orders * k + np.arange(k)]
    wide = widths(k)
    groups = [_spread(own, width) for own, width in zip(entries, wide, strict=False)]
    groups.append(_before(positions, wide[-1]))
    for group in groups:
        group[~active] = 0.0
        group[~active, -1] = 1.0
    return np.hstack(groups)


def _spread(entries: Whole, width: int) -> Floats:
    """Return rows of the norm 1 that are alike in all columns that the entries [n, e] name, and 0 elsewhere."""
    columns = np.zeros((len(entries), width))
    np.put_along_axis(columns, entries % (width - 1), 1.0, axis=1)
    result: Floats = columns / np.sqrt(columns.sum(1, keepdims=True))
    return result


def _before(positions: Floats, width: int) -> Floats:
    """Return rows of the norm 1 whose products are one less Kendall's distance, or by Spearman's of many items."""
    n, k = positions.shape
    if width - 2 == k * (k - 1) // 2:
        first, second = np.triu_indices(k, 1)
        signs = np.where(positions[:, first] < positions[:, second], 1.0, -1.0)
    else:
        signs = positions - 0.5
    size = np.sqrt(2.0 * np.square(signs).sum(1, keepdims=True))
    half = np.full((n, 1), 0.5**0.5 if signs.shape[1] else 1.0)
    return np.hstack([signs / np.where(size > 0, size, 1.0), half, np.zeros((n, 1))])
