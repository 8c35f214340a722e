"""LU of Dask arrays: the ranks are row chunks, their kernels and messages the tasks and edges of a graph."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.linalg.blocks import Chosen, Part, checked
from lamcts.linalg.comm import Array, Handle, Wait
from lamcts.linalg.factorise import Piece, factorise
from lamcts.linalg.grid import Grid, checked_block
from lamcts.linalg.result import check_pivots, check_square, checked_right, growth_of, permutation, split
from lamcts.linalg.virtual import Post, run_ranks
from lamcts.types import Rows

BLOCK = 64  # columns of a step, where a chunk has as many (untuned)


class DaskComm:
    """A rank whose kernels are tasks; a message is an edge of the graph, so that no word is counted."""

    def __init__(self, post: Post, rank: int) -> None:
        self.rank, self.size, self._post = rank, post.size, post

    def at(self, step: int, kind: str) -> None:
        pass

    def run(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        from dask import delayed

        return delayed(kernel, pure=False, traverse=False)(*data)

    def send(self, data: Handle, to: int) -> None:
        self._post.put(self.rank, to, data)

    def receive(self, source: int) -> Wait:
        if not self._post.has(source, self.rank):
            yield source
        return self._post.take(source, self.rank)


@dataclass(frozen=True, eq=False)
class DaskLU:
    """The factorisation `a[perm] = L @ U` of a Dask array; nothing is computed until a result is needed.

    Parameters
    ----------
    a : dask.array.Array, shape (m, n)
        The matrix.
    perm : dask.array.Array of int, shape (m,)
        Row numbers in the order in which they are pivots; rows that are no pivots follow, ascending.
    L : dask.array.Array, shape (m, min(m, n))
        Lower triangular with a unit diagonal.
    U : dask.array.Array, shape (min(m, n), n)
        Upper triangular.
    block : int
        Width of a step.
    """

    a: Any
    perm: Any
    L: Any
    U: Any
    block: int

    @cached_property
    def growth(self) -> float:
        """The largest entry of U relative to the largest of `a`, in absolute value. Computes."""
        import dask

        return growth_of(*dask.compute(abs(self.U).max(), abs(self.a).max()))

    @cached_property
    def residual(self) -> float:
        """The Frobenius norm of `a[perm] - L @ U` relative to that of `a`. Computes, and holds all in memory."""
        import dask

        a, perm, lower, upper = dask.compute(self.a, self.perm, self.L, self.U)
        return float(np.linalg.norm(a[perm] - lower @ upper) / (np.linalg.norm(a) or 1.0))

    def solve(self, b: Any) -> Any:
        """Return x with `a @ x = b`, as a Dask array.

        Parameters
        ----------
        b : array_like or dask.array.Array, shape (n,) or (n, k)
            Right-hand sides.

        Returns
        -------
        dask.array.Array
            The solution, of the shape of `b`.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not square; when computed, if it is singular. The message names the step.
        ValueError
            If `b` has another number of rows.
        """
        import dask.array as da

        check_square(self.a.shape)
        right = checked_right(b if isinstance(b, da.Array) else np.asarray(b), len(self.a))
        chunks = (self.block, *right.shape[1:])
        diagonal = da.diagonal(self.U.rechunk(self.block))
        dtype = np.result_type(self.U.dtype, right.dtype)
        rows = _delayed(_permuted)(right, self.perm, diagonal, self.block)
        rows = da.from_delayed(rows, right.shape, dtype).rechunk(chunks)
        y = da.linalg.solve_triangular(self.L.rechunk(self.block), rows, lower=True)
        return da.linalg.solve_triangular(self.U.rechunk(self.block), y)


def dask_lu(a: Any, grid: object, block: int | None, comm: object) -> DaskLU:
    """Return the factorisation of a Dask array: see `lamcts.linalg.lu`."""
    try:
        import dask.array as da
    except ImportError as error:
        raise MissingExtra.of(str(error.name or "dask"), "dask") from None
    if grid is not None or comm is not None:
        raise ValueError("grid, comm: expected none with a Dask array, whose row chunks are the ranks; rechunk it")
    if a.ndim != 2 or not all(np.isfinite(a.shape)) or min(a.shape) == 0:
        raise ValueError(f"a: expected a matrix of known size, got {a.shape}; call a.compute_chunk_sizes()")
    dtype = np.result_type(a.dtype, float)
    width = min(BLOCK, *a.shape, max(a.chunks[1])) if block is None else checked_block(block, a.shape)
    whole = a.astype(dtype).rechunk({1: -1})
    ends = np.cumsum(whole.chunks[0])
    owner = np.searchsorted(ends, np.arange(len(a)), side="right")
    grid_of_rows = Grid(len(ends), 1, 1, width, a.shape, 1, owner)
    pieces = _pieces(grid_of_rows, whole)
    chosen = [piece.chosen for piece in pieces[0]]
    perm = da.from_delayed(_delayed(permutation)(len(a), chosen), (len(a),), int)
    return DaskLU(a, perm, _lower(grid_of_rows, pieces, perm, dtype), _upper(grid_of_rows, pieces, dtype), width)


def _pieces(grid: Grid, whole: Any) -> list[list[Piece]]:
    """Return the pieces of all ranks, as tasks."""
    post, owner = Post(grid.size), _delayed(np.asarray)(grid.owner)
    parts = [_delayed(_part)(block, grid.rows(i)) for i, block in enumerate(whole.to_delayed().ravel())]
    comms = [DaskComm(post, rank) for rank in range(grid.size)]
    return run_ranks(post, [factorise(comm, grid, parts[comm.rank], owner) for comm in comms])


def _upper(grid: Grid, pieces: list[list[Piece]], dtype: Any) -> Any:
    """Return U, a chunk of rows for each step."""
    import dask.array as da

    found = []
    for step, *ranks in zip(grid.steps(), *pieces, strict=True):
        rows = _delayed(_upper_rows)(ranks[0].chosen, ranks[0].upper, step.begin)
        found.append(da.from_delayed(rows, (step.width, grid.shape[1]), dtype))
    return da.concatenate(found)


def _lower(grid: Grid, pieces: list[list[Piece]], perm: Any, dtype: Any) -> Any:
    """Return L, a chunk of columns for each step."""
    import dask.array as da

    found, place = [], _delayed(np.argsort)(perm)
    for step, *ranks in zip(grid.steps(), *pieces, strict=True):
        columns = _delayed(_lower_columns)(place, ranks[0].chosen, step.begin, [piece.left for piece in ranks])
        found.append(da.from_delayed(columns, (grid.shape[0], step.width), dtype))
    return da.concatenate(found, axis=1)


def _delayed(kernel: Callable[..., Any]) -> Any:
    """Return a kernel as a task."""
    from dask import delayed

    return delayed(kernel, pure=False)


def _part(block: Array, rows: Rows) -> Part:
    """Return the part of a rank."""
    return checked(block), rows


def _upper_rows(chosen: Chosen, upper: Array, begin: int) -> Array:
    """Return the rows of U of a step, zeros included."""
    corner = split(chosen)[1]
    return np.hstack([np.zeros((len(corner), begin), corner.dtype), corner, upper])


def _lower_columns(place: Rows, chosen: Chosen, begin: int, lefts: list[Part]) -> Array:
    """Return the columns of L of a step, zeros included."""
    corner = split(chosen)[0]
    found = np.zeros((len(place), len(corner)), corner.dtype)
    found[begin : begin + len(corner)] = corner
    for values, rows in lefts:
        found[place[rows]] = values
    return found


def _permuted(b: Array, perm: Rows, diagonal: Array, block: int) -> Array:
    """Return right-hand sides in the order of the pivots, none of which is zero."""
    check_pivots(diagonal, block)
    return np.asarray(b)[perm]
