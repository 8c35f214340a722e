"""Pareto dominance between rows of losses [n, m]: lower is better in every column.

A row dominates another if it is nowhere worse and somewhere better; so equal rows do not dominate each other. A row
with nan takes no part: it dominates none, none dominates it, its number is `UNKNOWN_NUMBER`, and it is on no front.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats, Rows

Mask = NDArray[np.bool_]
UNKNOWN_NUMBER = -1  # the number of a row with nan: no count, so that `numbers == 0` is the front alone
MAX_PAIRS = 2**20  # compared at once: a few megabytes, which stay in a cache; 2^16 to 2^22 took the same time
BLOCK = 32  # rows whose victims are thrown out at once; 8 to 1,000 took about the same time


def dominance_numbers(f: Floats) -> Rows:
    """Return how many rows dominate each row.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses; a row dominates another if it is nowhere worse and somewhere better.

    Returns
    -------
    array of int of shape (n,)
        0 for the front; `UNKNOWN_NUMBER`, -1, for a row with nan.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.dominance import dominance_numbers
    >>> dominance_numbers(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])).tolist()
    [0, 0, 2]
    """
    table = DominanceNumbers(np.shape(f)[1])
    table.append(f)
    return table.numbers.copy()


class DominanceNumbers:
    """The dominance numbers of rows that arrive one after another; each pair of rows is compared once.

    Parameters
    ----------
    m : int
        Number of columns of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.dominance import DominanceNumbers
    >>> table = DominanceNumbers(m=2)
    >>> table.append(np.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> table.append(np.array([[2.0, 1.0]]))
    >>> table.numbers.tolist()
    [0, 2, 0]
    """

    def __init__(self, m: int):
        self._columns = np.empty((m, 16))  # [m, room]; rows lie along it, as they are compared; room doubles
        self._numbers = np.empty(16, np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def numbers(self) -> Rows:
        """How many rows dominate each row, [n]: a view, so copy what has to outlive the next `append`."""
        seen = self._numbers[: self._n]
        seen.flags.writeable = False
        return seen

    def append(self, f: Floats) -> None:
        """Take rows f [k, m], and count whom they dominate and who dominates them."""
        rows = np.asarray(f, float)
        if rows.ndim != 2 or rows.shape[1] != len(self._columns):
            raise ValueError(f"f: expected rows of {len(self._columns)} numbers, got the shape {rows.shape}")
        first, self._n = self._n, self._n + len(rows)
        self._make_room()
        self._columns[:, first : self._n] = rows.T
        self._numbers[first : self._n] = np.where(np.isnan(rows).any(1), UNKNOWN_NUMBER, 0)
        while first < self._n:  # rows that come later in the batch wait: each pair is compared once
            last = min(self._n, first + max(1, MAX_PAIRS // self._n))
            self._compare(first, last)
            first = last

    def _compare(self, first: int, last: int) -> None:
        """Count the rows from `first` to `last` against themselves and all before them."""
        better, worse = _compared(self._columns[:, first:last], self._columns[:, :last])  # [new, last] each
        self._numbers[first:last] += worse.sum(1)
        self._numbers[:first] += better[:, :first].sum(0)

    def _make_room(self) -> None:
        room = len(self._numbers)
        if self._n > room:
            more = max(self._n, 2 * room) - room
            self._columns = np.concatenate([self._columns, np.empty((len(self._columns), more))], axis=1)
            self._numbers = np.concatenate([self._numbers, np.empty(more, np.int64)])


def non_dominated(f: Floats) -> Mask:
    """Return which rows no other row dominates.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses.

    Returns
    -------
    array of bool of shape (n,)
        True for all rows of the front, equal ones included; False for a row with nan.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.dominance import non_dominated
    >>> non_dominated(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])).tolist()
    [True, True, False]
    """
    f = np.asarray(f, float)
    known = np.flatnonzero(~np.isnan(f).any(1))
    on = np.zeros(len(f), bool)
    if len(known):
        front = _staircase if f.shape[1] == 2 else _front
        on[known] = front(f[known])
    return on


def _compared(new: Floats | Rows, old: Floats | Rows) -> tuple[Mask, Mask]:
    """Return which of `new` [m, k] dominate which of `old` [m, n], [k, n], and by which they are dominated, [k, n]."""
    shape = (new.shape[1], old.shape[1])
    no_worse, no_better = np.ones(shape, bool), np.ones(shape, bool)
    for mine, theirs in zip(new[:, :, None], old, strict=True):  # [k, 1], [n]
        no_worse &= mine <= theirs
        no_better &= mine >= theirs
    return no_worse & ~no_better, no_better & ~no_worse


def _staircase(f: Floats) -> Mask:
    """Return the front of f [n, 2] without nan: in order of the first column, the second has to fall."""
    order = np.lexsort((f[:, 1], f[:, 0]))
    across, up = f[order].T
    first = np.flatnonzero(np.r_[True, across[1:] > across[:-1]])  # of those that are equal in the first column
    lowest = up[first]
    falls = np.r_[True, lowest[1:] < np.minimum.accumulate(lowest)[:-1]]
    group = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(f)]))
    on = np.empty(len(f), bool)
    on[order] = falls[group] & (up == lowest[group])
    return on


def _front(f: Floats) -> Mask:
    """Return the front of f [n, m] without nan, block by block: what a block dominates is thrown out."""
    distinct, which = np.unique(f, axis=0, return_inverse=True)
    places = np.stack([np.unique(column, return_inverse=True)[1] for column in distinct.T])  # [m, distinct]
    left = np.argsort(places.sum(0), kind="stable")  # who dominates comes before whom it dominates
    on = np.zeros(len(distinct), bool)
    while len(left):
        block = left[: max(1, min(BLOCK, MAX_PAIRS // len(left)))]
        better, _ = _compared(places[:, block], places[:, left])
        kept: Mask = ~np.any(better, axis=0)
        on[block[kept[: len(block)]]] = True
        left = left[len(block) :][kept[len(block) :]]
    return on[which.ravel()]
