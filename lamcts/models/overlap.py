"""Categorical part of the kernel: `exp(-sum_c w_c [z_c != t_c])`, one weight for each category.

It is the transformed overlap kernel of Casmopolitan (Wan et al. 2021, arXiv 2102.07188, eq. 3) with a product over
categories. Letters: n rows of the model, m other rows, c categories, w options of all categories, v columns of
permutations, u options in use.
"""

from typing import Any

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.types import Floats, Rows

MAX_DENSE_OPTIONS = 512  # options up to which products are dense: either kind is quick there, beyond sparse save memory


class Overlap:
    """The categorical part of the kernel between the model's rows and others."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._n_options = len(inputs.owner) - inputs.orders.shape[1]
        self._options = OptionColumns(inputs.options, self._n_options)

    def __call__(self, others: Inputs, weights: Floats) -> Floats:
        """Return `exp(-sum_c w_c [a_c != b_c])` [m, n]; `weights` [c].

        All rows have norm 1 in each category, so the sum of weights is the same for all rows.
        """
        column_weights = weights[self._inputs.owner]
        option_weights, order_weights = column_weights[: self._n_options], column_weights[self._n_options :]
        equal = self._options.shared(others.options, option_weights)
        orders = self._inputs.orders
        first = self._inputs.options[:1].ravel()
        total = float(np.bincount(first, option_weights[first], len(option_weights)).sum())
        if len(order_weights):
            equal += others.orders @ (orders * order_weights).T
            total += float((order_weights * orders[:1] * orders[:1]).sum())
        equal -= total
        np.minimum(equal, 0.0, out=equal)
        result: Floats = np.exp(equal, out=equal)
        return result

    def sums(self, pairs: Floats) -> Floats:
        """Return for each category the sum of symmetric `pairs` [n, n] times the share common to two rows, [c]."""
        used, shared = self._options.sums(pairs)
        orders, owner = self._inputs.orders, self._inputs.owner
        if orders.shape[1]:
            shared = np.concatenate([shared, np.einsum("ij,ij->j", pairs @ orders, orders)])
            used = np.concatenate([used, np.arange(self._n_options, len(owner))])
        return np.asarray(np.bincount(owner[used], shared, self._inputs.n_categories), np.float64)


class OptionColumns:
    """Options of the model's rows [n, c], coded by their positions among the `count` options of all categories."""

    def __init__(self, rows: Rows, count: int) -> None:
        is_taken = np.zeros(count, bool)
        is_taken[rows] = True
        self._dense = count <= MAX_DENSE_OPTIONS
        self._used: Rows = np.arange(count) if self._dense else np.flatnonzero(is_taken)
        self._column = np.full(count, len(self._used))
        self._column[self._used] = np.arange(len(self._used))
        self._indicators = self._indicator(rows)

    def shared(self, rows: Rows, weights: Floats) -> Floats:
        """Return the sums of the weights [w] of options that other rows [m, c] share with the model's rows, [m, n]."""
        used_weights = weights[self._used]
        others = self._indicator(rows)
        if self._dense:
            return np.asarray(others @ (self._indicators * used_weights).T)
        return np.ascontiguousarray(others @ (self._indicators * used_weights).toarray().T)

    def sums(self, pairs: Floats) -> tuple[Rows, Floats]:
        """Return the options in use, and for each the sum of symmetric `pairs` [n, n] over its rows, [u]."""
        if self._dense:
            return self._used, np.einsum("ij,ij->j", pairs @ self._indicators, self._indicators)
        return self._used, np.asarray((self._indicators * (self._indicators.T @ pairs).T).sum(0))

    def _indicator(self, rows: Rows) -> Any:
        """Return rows [m, c] with 1 in the columns of their options, [m, u]; options without a column are left out."""
        from scipy.sparse import csr_array

        column = self._column[rows]
        if self._dense:
            indicator = np.zeros((len(rows), len(self._used)))
            indicator[np.arange(len(rows))[:, None], column] = 1.0
            return indicator
        has_column = column < len(self._used)
        ends = np.concatenate([[0], np.cumsum(has_column.sum(1))])
        return csr_array((np.ones(ends[-1]), column[has_column], ends), shape=(len(rows), len(self._used)))
