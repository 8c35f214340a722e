"""Kernels on the part of the matrix that a rank has: rows never move between ranks, a mask takes pivots out."""

from typing import Any

import numpy as np

from lamcts.movement.linalg.comm import Array
from lamcts.types import Rows

TINY = np.finfo(float).tiny  # BLAS and LAPACK go wrong at smaller pivots, whose reciprocals may overflow
Part = tuple[Array, Rows]  # values, and the numbers of their rows, ascending
Chosen = tuple[Array, Rows]  # L and U of the diagonal block, or L alone; pivots


def bounds(size: int, parts: int) -> list[int]:
    """Return where contiguous parts of nearly equal sizes begin and end."""
    return [size * part // parts for part in range(parts + 1)]


def slice_of(array: Array, part: int, parts: int, axis: int) -> Array:
    """Return one of `parts` contiguous parts along an axis."""
    begin, end = bounds(array.shape[axis], parts)[part : part + 2]
    return array[begin:end] if axis == 0 else array[:, begin:end]


def left_slice(left: Part, part: int, parts: int) -> Array:
    """Return one of `parts` contiguous parts of the columns of L."""
    return slice_of(left[0], part, parts, 1)


def add(first: Array, *others: Array) -> Array:
    """Add arrays from left to right."""
    for other in others:
        first = first + other
    return first


def checked(block: Array) -> Array:
    """Return a block of finite numbers."""
    if not np.isfinite(block).all():
        raise ValueError("a: expected finite numbers, got nan or infinity; remove or replace these entries")
    return block


def columns_of(own: Part, width: int, part: int, parts: int) -> Array:
    """Return the first columns of one of `parts` parts of the rows."""
    return slice_of(own[0][:, :width], part, parts, 0)


def with_rows(values: Array, own: Part, part: int, parts: int) -> Part:
    """Return values with the numbers of their rows, one of `parts` parts of all."""
    return values, slice_of(own[1], part, parts, 0)


def pick(own: Part, skip: int, chosen: Chosen, part: int, parts: int) -> Array:
    """Return the pivot rows that are here, in the pivots' order: one of `parts` parts of the columns after `skip`."""
    (values, rows), (_, pivots) = own, chosen
    here = pivots[np.isin(pivots, rows)]
    return slice_of(values[np.searchsorted(rows, here), skip:], part, parts, 1)


def stack(axis: int, *pieces: Array) -> Array:
    """Concatenate pieces."""
    return np.concatenate(pieces, axis=axis)


def update(own: Part, skip: int, chosen: Chosen, left: Array, upper: Array) -> Part:
    """Return the Schur complement of the rows that are no pivots, in the columns after `skip`."""
    (values, rows), (_, pivots) = own, chosen
    keep = np.isin(rows, pivots, invert=True)
    rest = values[keep, skip:]
    if left.shape[1]:
        rest -= left @ upper
    return rest, rows[keep]


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
    if zero > 0 or not has_normal_pivots(packed):
        return _echelon(values)
    order = list(range(len(values)))
    for i, other in enumerate(swaps):
        order[i], order[other] = order[other], order[i]
    return np.array(order), packed


def has_normal_pivots(upper: Array) -> bool:
    """Return whether no entry of the diagonal is zero or subnormal."""
    return bool((np.abs(np.diagonal(upper)) >= TINY).all())


def _quotient(x: Array, pivot: Any) -> Array:
    """Return `x / pivot`; with subnormal complex pivots, NumPy's own overflows."""
    scale = 2.0**600 if abs(pivot) < TINY else 1.0
    return np.asarray(x * scale / (pivot * scale))


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
        lower[row + 1 :, row] = _quotient(upper[row + 1 :, column], upper[row, column])
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
    rows = np.empty((len(pivots), pieces[0].shape[1]), pieces[0].dtype)
    for place in range(len(pieces) // layers):
        rows[owner[pivots] == place] = add(*pieces[place * layers : (place + 1) * layers])
    return np.asarray(solve_triangular(lower, rows, lower=True, unit_diagonal=True, check_finite=False))


def solve_left(corner: Chosen, part: Part) -> Part:
    """Return the rows of L below the diagonal block, and their numbers."""
    from scipy.linalg import solve_triangular

    (packed, pivots), (values, rows) = corner, part
    keep = np.isin(rows, pivots, invert=True)
    if has_normal_pivots(packed):
        return solve_triangular(packed, values[keep].T, trans="T", check_finite=False).T, rows[keep]
    return _solve_echelon(np.triu(packed), values[keep]), rows[keep]


def _solve_echelon(upper: Array, values: Array) -> Array:
    """Solve X U = values where U is in row echelon form and the rows of values depend on those of U."""
    rest = values.astype(np.result_type(upper, values))
    found = np.zeros_like(rest)
    for row in range(len(upper)):
        if upper[row].any():
            lead = int(np.flatnonzero(upper[row])[0])
            found[:, row] = _quotient(rest[:, lead], upper[row, lead])
            rest -= np.outer(found[:, row], upper[row])
    return found


def back_substitution(upper: Array, right: Array) -> Array:
    """Return x with `upper @ x = right`, for one or several right-hand sides."""
    from scipy.linalg import solve_triangular

    if has_normal_pivots(upper):
        return np.asarray(solve_triangular(upper, right))
    found = _solve_echelon(upper.T[::-1, ::-1], right.reshape(len(right), -1).T[:, ::-1])  # all turned: x.T U.T = b.T
    return found.T[::-1].reshape(right.shape)
