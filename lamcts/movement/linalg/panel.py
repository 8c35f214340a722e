"""Kernels on a panel of columns: candidates of the tournament, its last match, triangular solves.

A pivot that is exactly zero leaves its column of L empty, so that singular matrices have a factorisation too.
"""

from typing import Any

import numpy as np

from lamcts.movement.linalg.blocks import Chosen, Part, interleave
from lamcts.movement.linalg.comm import Array
from lamcts.types import Rows


def candidates(part: Part) -> Part:
    """Return the first pivot rows by partial pivoting, at most one a column, with the values before elimination."""
    values, rows = part
    first = eliminate(values)[0][: values.shape[1]]
    return values[first], rows[first]


def match(one: Part, two: Part) -> Part:
    """Return the winners among the candidates of two ranks."""
    return candidates((np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]])))


def last_match(winners: Part) -> Chosen:
    """Return L and U of the winners in one array, and the pivots in their order."""
    order, packed = eliminate(winners[0])
    return packed, winners[1][order]


def eliminate(values: Array) -> tuple[Rows, Array]:
    """Return the row order of Gaussian elimination with partial pivoting, and L below U."""
    from scipy.linalg import get_lapack_funcs

    if min(values.shape) == 0:
        return np.arange(len(values)), values
    getrf: Any = get_lapack_funcs("getrf", (values,))
    packed, swaps, zero = getrf(values)
    if zero > 0:
        return _echelon(values)
    order = list(range(len(values)))
    for i, other in enumerate(swaps):
        order[i], order[other] = order[other], order[i]
    return np.array(order), packed


def _echelon(values: Array) -> tuple[Rows, Array]:
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


def lower_of(corner: Chosen) -> Chosen:
    """Return the entries of L below its diagonal, row by row: all that ranks need that solve for U."""
    packed, pivots = corner
    return packed[np.tril_indices(len(packed), -1)], pivots


def solve_upper(chosen: Chosen, owner: Rows, layers: int, *pieces: Array) -> Array:
    """Return rows of U right of the diagonal block, from the pieces of the pivot rows."""
    from scipy.linalg import solve_triangular

    entries, pivots = chosen
    lower = entries
    if entries.ndim == 1:
        lower = np.zeros((len(pivots), len(pivots)), entries.dtype)
        lower[np.tril_indices(len(pivots), -1)] = entries
    rows = interleave(pivots, owner, layers, pieces)
    return np.asarray(solve_triangular(lower, rows, lower=True, unit_diagonal=True, check_finite=False))


def solve_left(corner: Chosen, part: Part) -> Part:
    """Return the rows of L below the diagonal block, and their numbers."""
    from scipy.linalg import solve_triangular

    (packed, pivots), (values, rows) = corner, part
    keep = np.isin(rows, pivots, invert=True)
    if np.all(np.diagonal(packed)):
        return solve_triangular(packed, values[keep].T, trans="T", check_finite=False).T, rows[keep]
    return _solve_echelon(np.triu(packed), values[keep]), rows[keep]


def _solve_echelon(upper: Array, values: Array) -> Array:
    """Solve X U = values where U is in row echelon form and the rows of values depend on those of U."""
    rest, found = values.copy(), np.zeros_like(values)
    for row in range(len(upper)):
        if upper[row].any():
            lead = int(np.flatnonzero(upper[row])[0])
            found[:, row] = rest[:, lead] / upper[row, lead]
            rest -= np.outer(found[:, row], upper[row])
    return found
