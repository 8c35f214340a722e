"""A factorisation, and what it is good for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from lamcts.movement.linalg.blocks import Chosen, back_substitution, bounds
from lamcts.movement.linalg.comm import Array, Words
from lamcts.movement.linalg.factorise import Piece
from lamcts.movement.linalg.grid import Grid
from lamcts.types import Rows


@dataclass(frozen=True, eq=False)
class LU:
    """The factorisation `a[perm] = L @ U` with the words that its ranks received.

    Parameters
    ----------
    perm : ndarray of int, shape (m,)
        Row numbers in the order in which they are pivots; rows that are no pivots follow, ascending.
    L : ndarray, shape (m, min(m, n))
        Lower triangular with a unit diagonal.
    U : ndarray, shape (min(m, n), n)
        Upper triangular.
    words : Words
        Words received, by rank, step and kind.
    grid : tuple of int
        Grid of ranks (px, py, pz).
    block : int
        Width of a step.
    """

    a: Array
    perm: Rows
    L: Array
    U: Array
    words: Words
    grid: tuple[int, int, int]
    block: int

    @cached_property
    def growth(self) -> float:
        """The largest entry of U relative to the largest of `a`, in absolute value (1.0 for a zero matrix)."""
        return growth_of(np.abs(self.U).max(), np.abs(self.a).max())

    @cached_property
    def residual(self) -> float:
        """The Frobenius norm of `a[perm] - L @ U` relative to that of `a` (0.0 for a zero matrix)."""
        return residual_of(self.a, self.perm, self.L, self.U)

    def solve(self, b: Array) -> Array:
        """Return x with `a @ x = b`, for `b` of shape (n,) or (n, k).

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not square, or is singular; the message names the step.
        """
        from scipy.linalg import solve_triangular

        check_square(self.a.shape)
        check_pivots(np.diagonal(self.U), self.block)
        right = checked_right(np.asarray(b), len(self.a))
        y = solve_triangular(self.L, right[self.perm], lower=True, unit_diagonal=True)
        return back_substitution(self.U, y)


def residual_of(a: Array, perm: Array, lower: Array, upper: Array) -> float:
    """Return the norm of `a[perm] - lower @ upper` relative to that of `a`, in units in which nothing overflows."""
    exponent = int(np.frexp(np.abs(a).max())[1])
    a, upper = (one * 2.0 ** -(exponent // 2) * 2.0 ** (exponent // 2 - exponent) for one in (a, upper))
    return float(np.linalg.norm(a[perm] - lower @ upper) / (np.linalg.norm(a) or 1.0))


def growth_of(largest: float, before: float) -> float:
    """Return the ratio of the largest entries."""
    return float(largest / before) if before else 1.0


def check_square(shape: Sequence[int]) -> None:
    """Raise LinAlgError unless the matrix is square."""
    if shape[0] != shape[1]:
        raise LinAlgError(
            f"a: expected a square matrix, got {shape[0]} x {shape[1]}; use numpy.linalg.lstsq for least squares"
        )


def check_pivots(diagonal: Array, block: int) -> None:
    """Raise LinAlgError at the first pivot that is zero."""
    zero = np.flatnonzero(diagonal == 0)
    if len(zero):
        raise LinAlgError(
            f"a: expected a regular matrix, got a zero pivot in column {zero[0]} "
            f"(step {zero[0] // block + 1} of {-(-len(diagonal) // block)}); "
            "use numpy.linalg.lstsq for a least-squares solution"
        )


def checked_right(b: Any, size: int) -> Any:
    """Return the right-hand sides."""
    if b.ndim not in (1, 2) or b.shape[0] != size:
        raise ValueError(f"b: expected the shape ({size},) or ({size}, k), got {b.shape}; one row for each row of a")
    return b


def assemble(a: Array, grid: Grid, pieces: Sequence[Sequence[Piece]], words: Words) -> LU:
    """Put L and U together from the pieces of all ranks."""
    least = min(grid.shape)
    perm = permutation(grid.shape[0], [piece.chosen for piece in pieces[0]])
    place = np.argsort(perm)
    lower, upper = np.zeros((grid.shape[0], least), a.dtype), np.zeros((least, grid.shape[1]), a.dtype)
    for rank, own in enumerate(pieces):
        for step, piece in zip(grid.steps(), own, strict=True):
            rows = slice(step.begin, step.end)
            if piece.left is not None:
                lower[rows, rows], upper[rows, rows] = split(piece.chosen)
                lower[place[piece.left[1]], rows] = piece.left[0]
            if piece.upper is not None:
                _, j, _ = grid.place(rank)
                columns, solvers = grid.columns(j, step.end), grid.column(j)[: grid.slices]
                first, last = bounds(len(columns), len(solvers))[solvers.index(rank) :][:2]
                upper[rows, columns[first:last]] = piece.upper
    return LU(a, perm, lower, upper, words, (grid.px, grid.py, grid.pz), grid.block)


def permutation(size: int, chosen: Sequence[Chosen]) -> Rows:
    """Return the rows in the order of the pivots of all steps; rows that are no pivots follow."""
    pivots = np.concatenate([rows for _, rows in chosen])
    return np.concatenate([pivots, np.setdiff1d(np.arange(size), pivots)])


def split(corner: Chosen) -> tuple[Array, Array]:
    """Return L and U of a diagonal block."""
    return np.tril(corner[0], -1) + np.eye(len(corner[0])), np.triu(corner[0])
