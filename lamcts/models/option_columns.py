"""Which options rows have in common, at a cost that does not grow with the number of options.

Rows are matrices of ones, one a category. Of few options each has a column, and products are dense; of many only those
that a row of the model has, the others share one, and products are sparse.

Letters: n rows of the model, m rows asked about, c categories, w options of all categories, u columns.
"""

from typing import Any

import numpy as np

from lamcts.types import Floats, Rows

DENSE = 512  # options of all categories, up to which products are dense (untuned: either is quick there)


class OptionColumns:
    """Options of the model's rows [n, c], each as its number among the `count` options of all categories."""

    def __init__(self, rows: Rows, count: int) -> None:
        taken = np.zeros(count, bool)
        taken[rows] = True
        self._dense = count <= DENSE
        self._used: Rows = np.arange(count) if self._dense else np.flatnonzero(taken)
        self._column = np.full(count, len(self._used))
        self._column[self._used] = np.arange(len(self._used))
        self._own = self._ones(rows)

    def shared(self, rows: Rows, weights: Floats) -> Floats:
        """Return the weights [w] of the options that the model's rows share with others [m, c], summed, [n, m]."""
        columns, ones = weights[self._used], self._ones(rows)
        if self._dense:
            return np.asarray((self._own * columns) @ ones.T)
        return np.ascontiguousarray((ones @ (self._own * columns).toarray().T).T)

    def sums(self, pairs: Floats) -> tuple[Rows, Floats]:
        """Return the options in use, and the sum of symmetric `pairs` [n, n] over the rows that share each, [u]."""
        if self._dense:
            return self._used, np.einsum("ij,ij->j", pairs @ self._own, self._own)
        return self._used, np.asarray((self._own * (self._own.T @ pairs).T).sum(0))

    def _ones(self, rows: Rows) -> Any:
        """Return rows [m, c] as ones in the columns of their options, [m, u]; nothing where an option has none."""
        from scipy.sparse import csr_array

        column = self._column[rows]
        if self._dense:
            ones = np.zeros((len(rows), len(self._used)))
            ones[np.arange(len(rows))[:, None], column] = 1.0
            return ones
        there = column < len(self._used)
        ends = np.concatenate([[0], np.cumsum(there.sum(1))])
        return csr_array((np.ones(ends[-1]), column[there], ends), shape=(len(rows), len(self._used)))
