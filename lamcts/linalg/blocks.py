"""Kernels on the block of a rank: rows that are left are kept, rows never move between ranks."""

import numpy as np

from lamcts.linalg.comm import Array


def bounds(size: int, parts: int) -> list[int]:
    """Return where contiguous parts of nearly equal sizes begin and end."""
    return [size * part // parts for part in range(parts + 1)]


def part_of(array: Array, part: int, parts: int, axis: int = 0) -> Array:
    """Return one of `parts` contiguous parts along an axis."""
    begin, end = bounds(array.shape[axis], parts)[part : part + 2]
    return array[begin:end] if axis == 0 else array[:, begin:end]


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


def cut(block: Array, width: int) -> tuple[Array, Array]:
    """Split the next columns off."""
    return block[:, :width], block[:, width:]


def without(values: Array, rows: Array, pivots: Array) -> tuple[Array, Array]:
    """Return the rows that are no pivots, with their numbers."""
    keep = ~np.isin(rows, pivots)
    return values[keep], rows[keep]


def pick(block: Array, rows: Array, pivots: Array) -> Array:
    """Return the pivot rows that are in this block, in the pivots' order. `rows` ascend."""
    own = pivots[np.isin(pivots, rows)]
    return block[np.searchsorted(rows, own)]


def interleave(pivots: Array, owner: Array, layers: int, *pieces: Array) -> Array:
    """Return all pivot rows from the pieces of each grid row, summed over its layers."""
    whole = np.empty((len(pivots), pieces[0].shape[1]), pieces[0].dtype)
    for place in range(len(pieces) // layers):
        whole[owner[pivots] == place] = add(*pieces[place * layers : (place + 1) * layers])
    return whole


def stack(axis: int, *pieces: Array) -> Array:
    """Concatenate pieces."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=axis)


def update(block: Array, rows: Array, pivots: Array, left: Array, upper: Array) -> tuple[Array, Array]:
    """Return the Schur complement of the rows that are left, and their numbers."""
    kept, others = without(block, rows, pivots)
    if left.shape[1]:
        kept -= left @ upper
    return kept, others

