"""Kernels on a panel of columns: candidates of the tournament, its last match, triangular solves.

A pivot that is exactly zero leaves its column of L empty, so that singular matrices have a factorisation too.
"""

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from lamcts.linalg.comm import Array

Candidates = tuple[Array, Array]  # rows of the panel as they were before this step, and their numbers


def candidates(values: Array, rows: Array) -> Candidates:
    """Return the first pivot rows by partial pivoting, at most one a column."""
    first = eliminate(values)[0][: values.shape[1]]
    return values[first], rows[first]


def match(values: Array, rows: Array, other_values: Array, other_rows: Array) -> Candidates:
    """Return the winners among the candidates of two ranks."""
    return candidates(np.concatenate([values, other_values]), np.concatenate([rows, other_rows]))


def last_match(values: Array, rows: Array) -> tuple[Array, Array]:
    """Return L and U of the winners in one array, and the pivots in their order."""
    order, packed = eliminate(values)
    return packed, rows[order]


def eliminate(values: Array) -> tuple[Array, Array]:
    """Return the row order of Gaussian elimination with partial pivoting, and L below U."""
    if min(values.shape) == 0:
        return np.arange(len(values)), values
    (getrf,) = get_lapack_funcs(("getrf",), (values,))
    packed, swaps, zero = getrf(values)
    if zero > 0:
        return _echelon(values)
    order = np.arange(len(values))
    for i, other in enumerate(swaps):
        order[[i, other]] = order[[other, i]]
    return order, packed


def _echelon(values: Array) -> tuple[Array, Array]:
    """Eliminate as above, but let a zero column use no row up: all other rows depend on the pivot rows."""
    upper, order, row = values.copy(), np.arange(len(values)), 0
    lower = np.zeros((len(values), min(values.shape)), values.dtype)
    for column in range(values.shape[1]):
        best = row + int(np.argmax(np.abs(upper[row:, column]))) if row < len(upper) else row
        if row >= lower.shape[1] or upper[best, column] == 0:
            continue
        for array in (upper, lower, order):
            array[[row, best]] = array[[best, row]]
        lower[row + 1 :, row] = upper[row + 1 :, column] / upper[row, column]
        upper[row + 1 :] -= np.outer(lower[row + 1 :, row], upper[row])
        upper[row + 1 :, column] = 0
        row += 1
    upper[:, : lower.shape[1]] += np.tril(lower, -1)
    return order, upper


def lower_of(packed: Array) -> Array:
    """Return the entries below the diagonal, row by row: what ranks need that solve for U alone."""
    return packed[np.tril_indices(len(packed), -1)]


def unpack_lower(entries: Array, pivots: Array) -> Array:
    """Return L with its unit diagonal from the entries below."""
    lower = np.eye(len(pivots), dtype=entries.dtype)
    lower[np.tril_indices(len(pivots), -1)] = entries
    return lower


def solve_upper_rows(lower: Array, rows: Array) -> Array:
    """Return the rows of U right of the diagonal block."""
    found: Array = solve_triangular(lower, rows, lower=True, unit_diagonal=True, check_finite=False)
    return found


def solve_left(packed: Array, values: Array) -> Array:
    """Return the rows of L below the diagonal block."""
    if np.all(np.diagonal(packed)):
        found: Array = solve_triangular(packed, values.T, trans="T", check_finite=False).T
        return found
    return _solve_echelon(np.triu(packed), values)


def _solve_echelon(upper: Array, values: Array) -> Array:
    """Solve X U = values where U is in row echelon form and the rows of values depend on those of U."""
    rest, found = values.copy(), np.zeros_like(values)
    for row in range(len(upper)):
        if upper[row].any():
            lead = int(np.flatnonzero(upper[row])[0])
            found[:, row] = rest[:, lead] / upper[row, lead]
            rest -= np.outer(found[:, row], upper[row])
    return found
