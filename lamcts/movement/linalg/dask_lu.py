"""LU of Dask arrays: the ranks are row chunks, their kernels and messages the tasks and edges of a graph."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.movement.linalg.blocks import Chosen, Part, back_substitution, checked
from lamcts.movement.linalg.comm import Array, Handle, Post, Wait, run_ranks
from lamcts.movement.linalg.factorise import Piece, factorise
from lamcts.movement.linalg.grid import Grid, checked_block
from lamcts.movement.linalg.result import (
    check_pivots,
    check_square,
    checked_right,
    growth_of,
    permutation,
    residual_of,
    split,
)
from lamcts.types import Rows

BLOCK = 128  # columns of a step, where a chunk has as many (untuned)


class Tasks:
    """The tasks of a factorisation, in one dictionary: a graph for each would take quadratic time."""

    def __init__(self, name: str) -> None:
        self.name, self.graph = name, dict[Handle, Any]()

    def add(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        """Return the key of a new task; `data` may be keys, and lists of keys."""
        key = (self.name, len(self.graph))
        self.graph[key] = (kernel, *data)
        return key

    def array(
        self, kind: str, after: list[Any], chunks: tuple[tuple[int, ...], ...], keys: list[Handle], dtype: Any
    ) -> Any:
        """Return the array whose chunks are the results of tasks, in the order of `numpy.ndindex`."""
        import dask.array as da
        from dask.highlevelgraph import HighLevelGraph

        name = f"{self.name}-{kind}"
        places = np.ndindex(*map(len, chunks))
        layer = {(name, *place): key for place, key in zip(places, keys, strict=True)}
        below = HighLevelGraph.from_collections(self.name, self.graph, dependencies=after)
        graph = HighLevelGraph({**below.layers, name: layer}, {**below.dependencies, name: {self.name}})
        return da.Array(graph, name, chunks, dtype=dtype)


class DaskComm:
    """A rank whose kernels are tasks; a message is an edge of the graph, so that no word is counted."""

    def __init__(self, tasks: Tasks, post: Post, rank: int) -> None:
        self.rank, self.size, self._tasks, self._post = rank, post.size, tasks, post

    def at(self, step: int, kind: str) -> None:
        pass

    def run(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        return self._tasks.add(kernel, *data)

    def send(self, data: Handle, to: int) -> None:
        self._post.put(self.rank, to, data)

    def receive(self, source: int) -> Wait:
        if not self._post.has(source, self.rank):
            yield source
        return self._post.take(source, self.rank)


@dataclass(frozen=True, eq=False)
class DaskLU:
    """The factorisation `a[perm] = L @ U` of a Dask array; nothing is computed until a result is needed."""

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
        return residual_of(a, perm, lower, upper)

    def solve(self, b: Any) -> Any:
        """Return x with `a @ x = b`, as a Dask array."""
        import dask.array as da

        check_square(self.a.shape)
        right: Any = b if isinstance(b, da.Array) else da.from_array(np.asarray(b))
        permuted = self._permuted(checked_right(right, self.a.shape[0]).rechunk(-1)).rechunk({0: self.block})
        y = da.linalg.solve_triangular(self.L.rechunk(self.block), permuted, lower=True)
        return self._solved(y)

    def _solved(self, y: Any) -> Any:
        """Return x with `U @ x = y`, block row by block row from the last: Dask's own fails at subnormal pivots."""
        import dask.array as da

        upper, letters = self.U.rechunk(self.block), "ik"[: y.ndim]
        found: list[Any] = []
        for row in reversed(range(upper.numblocks[0])):
            rest = y.blocks[row]
            for column, x in enumerate(found, row + 1):
                rest = rest - upper.blocks[row, column] @ x
            pair = (upper.blocks[row, row], "ji", rest, letters.replace("i", "j"))
            found.insert(0, da.blockwise(back_substitution, letters, *pair, concatenate=True, dtype=rest.dtype))
        return da.concatenate(found)

    def _permuted(self, right: Any) -> Any:
        """Return right-hand sides in the order of the pivots."""
        tasks = Tasks(f"{self.perm.name}-{right.name}")
        uppers = [(self.U.name, step, 0) for step in range(len(self.U.chunks[0]))]
        key = tasks.add(_permuted, (right.name, *(0,) * right.ndim), (self.perm.name, 0), uppers, self.block)
        return tasks.array("b", [right, self.perm, self.U], right.chunks, [key], np.result_type(self.U, right))


def dask_lu(a: Any, grid: object, block: int | None, comm: object) -> DaskLU:
    """Return the factorisation of a Dask array: see `lamcts.movement.linalg.lu`."""
    from dask.base import tokenize

    if grid is not None or comm is not None:
        raise ValueError("grid, comm: expected none with a Dask array, whose row chunks are the ranks; rechunk it")
    if a.ndim != 2 or not all(np.isfinite(a.shape)) or min(a.shape) == 0:
        raise ValueError(f"a: expected a matrix of known size, got {a.shape}; call a.compute_chunk_sizes()")
    width = min(BLOCK, *a.shape, max(a.chunks[1])) if block is None else checked_block(block, a.shape)
    whole = a.astype(np.result_type(a.dtype, float)).rechunk({1: -1})
    owner = np.repeat(np.arange(len(whole.chunks[0])), whole.chunks[0])
    layout = Grid(len(whole.chunks[0]), 1, 1, width, a.shape, 1, owner)
    tasks = Tasks(f"lu-{tokenize(whole, width)}")
    rows, columns = layout.shape
    steps, pieces = list(layout.steps()), _pieces(layout, whole, tasks)
    first = pieces[0]
    perm = tasks.add(permutation, rows, [piece.chosen for piece in first])
    place = tasks.add(np.argsort, perm)
    upper = [
        tasks.add(_upper_rows, mine.chosen, mine.upper, step.begin) for step, mine in zip(steps, first, strict=True)
    ]
    lower = [
        tasks.add(_lower_columns, place, ranks[0].chosen, step.begin, [piece.left for piece in ranks])
        for step, *ranks in zip(steps, *pieces, strict=True)
    ]
    widths = tuple(step.width for step in steps)
    return DaskLU(
        a=a,
        perm=tasks.array("perm", [whole], ((rows,),), [perm], np.dtype(int)),
        L=tasks.array("L", [whole], ((rows,), widths), lower, whole.dtype),
        U=tasks.array("U", [whole], (widths, (columns,)), upper, whole.dtype),
        block=layout.block,
    )


def _pieces(grid: Grid, whole: Any, tasks: Tasks) -> list[list[Piece]]:
    """Return the pieces of all ranks, as tasks."""
    post, owner = Post(grid.size), tasks.add(np.asarray, grid.owner)
    parts = [tasks.add(_part, (whole.name, i, 0), grid.rows(i)) for i in range(grid.size)]
    comms = [DaskComm(tasks, post, rank) for rank in range(grid.size)]
    return run_ranks(post, [factorise(comm, grid, parts[comm.rank], owner) for comm in comms])


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


def _permuted(b: Array, perm: Rows, uppers: list[Array], block: int) -> Array:
    """Return right-hand sides in the order of the pivots, none of which is zero."""
    check_pivots(np.concatenate([np.diagonal(rows, step * block) for step, rows in enumerate(uppers)]), block)
    return np.asarray(b)[perm]
