"""The categorical part of the kernel: `exp(-sum_c w_c [z_c != t_c])`, one weight for each category.

It is the transformed overlap kernel of Casmopolitan (Wan et al. 2021, arXiv 2102.07188, eq. 3) with a product over
categories. Letters: n rows of the model, m other rows, c categories, w options of all categories, v columns of
permutations, u options in use.
"""

from typing import Any

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.types import Floats, Rows

MAX_DENSE_OPTIONS = 512  # options of all categories, up to which products are dense (untuned: either is quick there)


class Overlap:
    """The categorical part of the kernel between the model's rows and others."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs, self._kinds = inputs, len(inputs.owner) - inputs.orders.shape[1]
        self._options = OptionColumns(inputs.options, self._kinds)

    def __call__(self, others: Inputs, weights: Floats) -> Floats:
        """Return `exp(-sum_c w_c [a_c != b_c])` [m, n]; `weights` [c].

        All rows have the norm 1 in each category, so that the sum of weights is the same for all.
        """
        columns = weights[self._inputs.owner]
        of_options, of_orders = columns[: self._kinds], columns[self._kinds :]
        equal, orders = self._options.shared(others.options, of_options), self._inputs.orders
        first = self._inputs.options[:1].ravel()
        total = float(np.bincount(first, of_options[first], len(of_options)).sum())
        if len(of_orders):
            equal += others.orders @ (orders * of_orders).T
            total += float((of_orders * orders[:1] * orders[:1]).sum())
        equal -= total
        np.minimum(equal, 0.0, out=equal)
        result: Floats = np.exp(equal, out=equal)
        return result

    def sums(self, pairs: Floats) -> Floats:
        """Return for each category the sum of symmetric `pairs` [n, n] over what two rows share in it, [c]."""
        used, shared = self._options.sums(pairs)
        orders, owner = self._inputs.orders, self._inputs.owner
        if orders.shape[1]:
            shared = np.concatenate([shared, np.einsum("ij,ij->j", pairs @ orders, orders)])
            used = np.concatenate([used, np.arange(self._kinds, len(owner))])
        return np.asarray(np.bincount(owner[used], shared, self._inputs.categories), np.float64)


class OptionColumns:
    """Options of the model's rows [n, c], each as its number among the `count` options of all categories."""

    def __init__(self, rows: Rows, count: int) -> None:
        taken = np.zeros(count, bool)
        taken[rows] = True
        self._dense = count <= MAX_DENSE_OPTIONS
        self._used: Rows = np.arange(count) if self._dense else np.flatnonzero(taken)
        self._column = np.full(count, len(self._used))
        self._column[self._used] = np.arange(len(self._used))
        self._own = self._ones(rows)

    def shared(self, rows: Rows, weights: Floats) -> Floats:
        """Return the weights [w] of the options that others [m, c] share with the model's rows, summed, [m, n]."""
        columns, ones = weights[self._used], self._ones(rows)
        if self._dense:
            return np.asarray(ones @ (self._own * columns).T)
        return np.ascontiguousarray(ones @ (self._own * columns).toarray().T)

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
