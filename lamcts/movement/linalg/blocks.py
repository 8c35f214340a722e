"""Kernels on the part of the matrix that a rank has: rows never move between ranks, a mask takes pivots out."""

import numpy as np

from lamcts.movement.linalg.comm import Array
from lamcts.types import Rows

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


def interleave(pivots: Rows, owner: Rows, layers: int, pieces: tuple[Array, ...]) -> Array:
    """Return all pivot rows from the pieces of each grid row, summed over its layers."""
    whole = np.empty((len(pivots), pieces[0].shape[1]), pieces[0].dtype)
    for place in range(len(pieces) // layers):
        whole[owner[pivots] == place] = add(*pieces[place * layers : (place + 1) * layers])
    return whole


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
