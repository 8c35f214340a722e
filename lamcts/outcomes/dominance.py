"""Pareto dominance between rows of losses [n, m]: lower is better in every column.

A row dominates another if it is nowhere worse and somewhere better, so equal rows do not dominate each other. A row
with nan dominates no row and is dominated by none. Its number is `UNKNOWN_NUMBER`, and it is on no front.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats, Rows

Mask = NDArray[np.bool_]
UNKNOWN_NUMBER = -1  # the number of a row with nan, so that `numbers == 0` selects the front alone
MAX_PAIRS = 2**20  # pairs compared at once, a few megabytes in a cache; 2^16 to 2^22 took the same time
BLOCK = 32  # rows of the front compared with all others at once; 8 to 1,000 took about the same time


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
        self._columns = np.empty((m, 16))  # [m, capacity], which doubles
        self._numbers = np.empty(16, np.int64)
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    @property
    def numbers(self) -> Rows:
        """Number of rows that dominate each row, [n]: a view, which the next `append` changes."""
        numbers = self._numbers[: self._n_rows]
        numbers.flags.writeable = False
        return numbers

    def append(self, f: Floats) -> None:
        """Add rows f [k, m] and update all numbers."""
        rows = np.asarray(f, float)
        if rows.ndim != 2 or rows.shape[1] != len(self._columns):
            raise ValueError(f"f: expected rows of {len(self._columns)} numbers, got the shape {rows.shape}")
        first = self._n_rows
        self._n_rows += len(rows)
        self._make_room()
        self._columns[:, first : self._n_rows] = rows.T
        self._numbers[first : self._n_rows] = np.where(np.isnan(rows).any(1), UNKNOWN_NUMBER, 0)
        while first < self._n_rows:
            last = min(self._n_rows, first + max(1, MAX_PAIRS // self._n_rows))
            self._compare(first, last)
            first = last

    def _compare(self, first: int, last: int) -> None:
        """Compare the rows from `first` to `last` with each other and with all earlier rows."""
        better, worse = _compared(self._columns[:, first:last], self._columns[:, :last])  # [new, last] each
        self._numbers[first:last] += worse.sum(1)
        self._numbers[:first] += better[:, :first].sum(0)

    def _make_room(self) -> None:
        capacity = len(self._numbers)
        if self._n_rows > capacity:
            n_more = max(self._n_rows, 2 * capacity) - capacity
            self._columns = np.concatenate([self._columns, np.empty((len(self._columns), n_more))], axis=1)
            self._numbers = np.concatenate([self._numbers, np.empty(n_more, np.int64)])


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
    complete_rows = np.flatnonzero(~np.isnan(f).any(1))
    is_front = np.zeros(len(f), bool)
    if len(complete_rows):
        front = _staircase if f.shape[1] == 2 else _front
        is_front[complete_rows] = front(f[complete_rows])
    return is_front


def _compared(new: Floats | Rows, old: Floats | Rows) -> tuple[Mask, Mask]:
    """Return whether columns of `new` [m, k] dominate those of `old` [m, n], and are dominated by them, [k, n] each."""
    shape = (new.shape[1], old.shape[1])
    is_no_worse = np.ones(shape, bool)
    is_no_better = np.ones(shape, bool)
    for new_column, old_column in zip(new[:, :, None], old, strict=True):  # [k, 1], [n]
        is_no_worse &= new_column <= old_column
        is_no_better &= new_column >= old_column
    return is_no_worse & ~is_no_better, is_no_better & ~is_no_worse


def _staircase(f: Floats) -> Mask:
    """Return the front of f [n, 2] without nan: the second column falls in the order of the first."""
    order = np.lexsort((f[:, 1], f[:, 0]))
    f1, f2 = f[order].T
    first = np.flatnonzero(np.r_[True, f1[1:] > f1[:-1]])  # rows of a new first loss
    lowest_f2 = f2[first]
    is_falling = np.r_[True, lowest_f2[1:] < np.minimum.accumulate(lowest_f2)[:-1]]
    group = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(f)]))
    is_front = np.empty(len(f), bool)
    is_front[order] = is_falling[group] & (f2 == lowest_f2[group])
    return is_front


def _front(f: Floats) -> Mask:
    """Return the front of f [n, m] without nan, block by block; the rows that a block dominates are dropped."""
    distinct, inverse = np.unique(f, axis=0, return_inverse=True)
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in distinct.T])  # [m, distinct]
    candidates = np.argsort(ranks.sum(0), kind="stable")  # a row comes before all rows that it dominates
    is_front = np.zeros(len(distinct), bool)
    while len(candidates):
        block = candidates[: max(1, min(BLOCK, MAX_PAIRS // len(candidates)))]
        better, _ = _compared(ranks[:, block], ranks[:, candidates])
        is_kept: Mask = ~np.any(better, axis=0)
        is_front[block[is_kept[: len(block)]]] = True
        candidates = candidates[len(block) :][is_kept[len(block) :]]
    return is_front[inverse.ravel()]
