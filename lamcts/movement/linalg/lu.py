"""LU that pivots across blocks: of arrays on virtual ranks or on MPI, and of Dask arrays."""

from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from lamcts.movement.linalg import blocks
from lamcts.movement.linalg.comm import Array, MpiComm, Post, VirtualComm, Words, run_rank, run_ranks
from lamcts.movement.linalg.dask_lu import DaskLU, dask_lu
from lamcts.movement.linalg.factorise import factorise
from lamcts.movement.linalg.grid import Grid, checked_block, checked_grid, cyclic
from lamcts.movement.linalg.result import LU, assemble
from lamcts.movement.linalg.volume import best_grid
from lamcts.utils.threads import one_blas_thread

BLOCK = 32  # columns of a step, where the matrix has as many (untuned)
Shape = tuple[int, int, int]


class DaskArray(Protocol):
    """What Dask's own protocol asks of a collection."""

    def __dask_graph__(self) -> Any: ...


@overload
def lu(a: DaskArray, grid: None = None, block: int | None = None, comm: None = None) -> DaskLU: ...


@overload
def lu(a: ArrayLike, grid: Shape | None = None, block: int | None = None, comm: Any = None) -> LU: ...


def lu(a: Any, grid: Shape | None = None, block: int | None = None, comm: Any = None) -> LU | DaskLU:
    """Factorise a matrix with tournament pivoting over its block rows.

    Parameters
    ----------
    a : array_like or dask.array.Array, shape (m, n)
        The matrix, real or complex. Of a Dask array nothing is computed until a result is needed.
    grid : tuple of int, optional
        Ranks along the rows, along the columns, and layers of partial sums (px, py, pz). None: one rank; with `comm`,
        the grid of all processes that receives the fewest words. Not for Dask arrays: their row chunks are the ranks.
    block : int, default 32
        Columns of a step, and rows and columns of a block of the layout; at most the smaller side of the matrix. The
        default for Dask arrays is the largest chunk of columns, at most 128.
    comm : mpi4py.MPI.Comm, optional
        Runs the factorisation on MPI processes, each of which passes the same `a`, an array or a memory map.
        None: all ranks are in this process.

    Returns
    -------
    LU or DaskLU
        With `solve`, `perm`, `L`, `U`, `growth` and `residual`; `LU` also has `words`. With `comm`, every process
        gets all of it. Singular matrices are factorised too; `solve` raises.

    References
    ----------
    Kwasniewski et al., SC 2021, section 7 (COnfLUX); Grigori, Demmel, Xiang 2011 (tournament pivoting).

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.movement import linalg
    >>> a = np.random.default_rng(0).normal(size=(64, 64))
    >>> lu = linalg.lu(a, grid=(2, 2, 2), block=8)
    >>> bool(lu.residual < 1e-14), bool(np.allclose(lu.solve(a @ np.ones(64)), 1))
    (True, True)
    """
    if hasattr(a, "__dask_graph__"):
        return dask_lu(a, grid, block, comm)
    matrix = _matrix(a)
    if comm is None:
        layout = cyclic(matrix.shape, checked_grid(grid or (1, 1, 1)), _block(block, matrix))
        steps, post = len(list(layout.steps())), Post(layout.size)
        comms = [VirtualComm(post, rank, steps) for rank in range(layout.size)]
        programs = [factorise(comm, layout, _own(matrix, layout, comm.rank), layout.owner) for comm in comms]
        with one_blas_thread():
            pieces = run_ranks(post, programs)
        return assemble(matrix, layout, pieces, Words(np.array([comm.counter.counts for comm in comms])))
    if not hasattr(comm, "Get_size"):
        raise ValueError(f"comm: expected a communicator of mpi4py, such as MPI.COMM_WORLD, got {comm!r:.60}")
    ranks = int(comm.Get_size())
    shape = checked_grid(grid or best_grid(max(matrix.shape), ranks, all_ranks=True), ranks)
    layout = cyclic(matrix.shape, shape, _block(block, matrix))
    return _mpi(matrix, layout, comm)


def _matrix(a: Any) -> Array:
    """Return a matrix of floats or complex numbers."""
    if np.ma.isMaskedArray(a):
        raise ValueError("a: expected a matrix without a mask, got a masked array; fill it, as with a.filled(0)")
    if hasattr(a, "tocsc"):
        raise ValueError("a: expected a dense matrix, got a sparse one; take scipy.sparse.linalg.splu, or a.toarray()")
    matrix = np.asarray(a)
    if matrix.ndim != 2 or min(matrix.shape) == 0:
        raise ValueError(f"a: expected a matrix of one row and column or more, got the shape {matrix.shape}")
    if matrix.dtype.kind not in "biufc":
        raise ValueError(f"a: expected numbers, got {matrix.dtype}")
    matrix = matrix.astype(complex if matrix.dtype.kind == "c" else float, copy=False)
    return blocks.checked(matrix)


def _block(block: int | None, matrix: Array) -> int:
    """Return the width of a step."""
    return min(BLOCK, *matrix.shape) if block is None else checked_block(block, matrix.shape)


def _own(matrix: Array, grid: Grid, rank: int) -> blocks.Part:
    """Return the part of a rank; only the first layer begins with the matrix."""
    i, j, k = grid.place(rank)
    rows, columns = grid.rows(i), grid.columns(j)
    block = matrix[np.ix_(rows, columns)] if k == 0 else np.zeros((len(rows), len(columns)), matrix.dtype)
    return block, rows


def _mpi(matrix: Array, grid: Grid, mpi: Any) -> LU:
    """Factorise on the processes of MPI."""
    comm = MpiComm(mpi, len(list(grid.steps())))
    with one_blas_thread():
        pieces = run_rank(factorise(comm, grid, _own(matrix, grid, comm.rank), grid.owner))
    comm.finish()
    found = mpi.allgather((pieces, comm.counter.counts))
    return assemble(matrix, grid, [own for own, _ in found], Words(np.array([counts for _, counts in found])))
