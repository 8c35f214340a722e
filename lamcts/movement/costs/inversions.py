"""Inversions of each element of a permutation, by counting blocks of 64 in numpy."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
BITS = 6  # of a digit; measured: 5 and 7 take 5 to 40 % longer at 2^16 to 2^20 elements
BLOCK = 2**BITS  # elements that are compared with each other one by one, and values of a digit


def larger_before(ranks: Ints) -> Ints:
    """Return for each element of a permutation of 0, ..., n-1 how many earlier elements are larger, [n].

    Elements are compared by their digits of 6 bits, the highest first. Each digit counts the pairs that agree in all
    higher digits: in other blocks of 64 elements by a table of counts, inside a block by 63 shifted comparisons. The
    cost is O(n log n) operations on arrays, and about 40 bytes an element.
    """
    n, low = len(ranks), 0
    while n > BLOCK << low:
        low += BITS
    full = -(-n >> low) << low  # the digits below the highest one take all their values equally often
    padded = np.concatenate([ranks, np.arange(n, full, dtype=np.int32)]) if low else ranks
    found = _larger_digit(padded >> low, full, full >> low) if low else np.zeros(full, np.int32)
    for shift in range(low - BITS, -1, -BITS):
        order = stable_order(padded >> shift + BITS)
        found[order] += _larger_digit(padded[order] >> shift & BLOCK - 1, BLOCK << shift, BLOCK)
    return found[:n] if low else _larger_in_block(ranks)


def stable_order(values: Ints) -> NDArray[np.intp]:
    """Return the stable order of whole numbers from 0: two radix sorts of 16 bits in numpy."""
    highest = int(values.max(initial=0))
    low = np.argsort(values.astype(np.uint8 if highest < 2**8 else np.uint16), kind="stable")
    if highest < 2**16:
        return low
    return low[np.argsort((values >> 16).astype(np.uint8 if highest < 2**24 else np.uint16)[low], kind="stable")]


def _larger_digit(digits: Ints, run: int, values: int) -> Ints:
    """Return how many earlier elements of the same run have a larger digit below `values`, [n]."""
    small = digits.astype(np.uint8)
    found = _larger_in_block(small)
    if run == BLOCK:
        return found
    cells = np.arange(len(small)) // BLOCK * values + small
    table = np.bincount(cells, minlength=len(small) // BLOCK * values).astype(np.int32)
    table = table.reshape(-1, run // BLOCK, values)  # of [run, block of 64 in it, digit]
    upto = np.zeros_like(table)
    np.cumsum(table[:, :-1], axis=1, out=upto[:, 1:])  # in earlier blocks of the run
    np.cumsum(upto, axis=2, out=upto)  # with a digit up to this one
    before = np.arange(run // BLOCK, dtype=np.int32) * BLOCK
    found += (before[:, None] - upto).reshape(-1)[cells]
    return found


def _larger_in_block(digits: NDArray[np.uint8] | Ints) -> Ints:
    """Return how many earlier elements of the same block of 64 are larger, [n]."""
    n = len(digits)
    columns = np.full(-(-n // BLOCK) * BLOCK, 0, np.uint8)
    columns[:n] = digits
    columns = np.ascontiguousarray(columns.reshape(-1, BLOCK).T)  # [64, blocks]: shifts are long rows
    found = np.zeros(columns.shape, np.uint8)
    for shift in range(1, min(n, BLOCK)):
        found[shift:] += columns[:-shift] > columns[shift:]
    return found.T.reshape(-1)[:n].astype(np.int32)
