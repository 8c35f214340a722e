"""LU with tournament pivoting and row masks: the program of one rank (COnfLUX; Kwasniewski et al. 2021).

The steps of Algorithm 1 of the paper, for each block of columns:

1. sum the columns over the layers, each layer a part of the rows (`columns`);
2. choose pivot rows by a tournament of the ranks that have a part (`tournament`);
3. broadcast L and U of the diagonal block where both are needed, and L alone elsewhere (`pivots`);
4. solve for the rows of L where the columns were summed;
5. send the pivot rows, summed over the layers, to the ranks that solve for U (`rows`);
6. send each layer the columns of L and rows of U of its update (`panels`); a mask takes the pivot rows out.

The paper scatters L and U over all ranks before it solves. Here the ranks that summed them solve, which saves that.
"""

from typing import NamedTuple

from lamcts.linalg import blocks, panel
from lamcts.linalg.collectives import all_to_all, broadcast, reduce, reduce_scatter
from lamcts.linalg.comm import Comm, Handle, Wait
from lamcts.linalg.grid import Grid, Step

KINDS = ("columns", "tournament", "pivots", "rows", "panels")


class Piece(NamedTuple):
    """What a rank keeps of a step; None where another rank has it."""

    pivots: Handle
    corner: Handle  # L and U of the diagonal block
    left: Handle  # rows of L below it, with their numbers
    left_rows: Handle
    upper: Handle  # columns of U right of it


def factorise(comm: Comm, grid: Grid, block: Handle, rows: Handle, owner: Handle) -> Wait:
    """Factorise the matrix of which `block` is this rank's part; return its pieces of L and U, one a step.

    rows: the numbers of the block's rows, ascending. owner: the grid row of each row of the matrix.
    """
    pieces = []
    for step in grid.steps():
        columns = None
        if step.number % grid.py == grid.place(comm.rank)[1]:
            columns, block = comm.run(blocks.cut, block, step.width, parts=2)
        found = yield from _pivots(comm, grid, step, columns, rows)
        packed, lower, pivots, left, left_rows = found
        comm.at(step.number, "rows")
        upper = yield from _upper_rows(comm, grid, step, block, rows, owner, lower, pivots)
        comm.at(step.number, "panels")
        own_left, own_upper = yield from _panels(comm, grid, step, left, upper)
        block, rows = comm.run(blocks.update, block, rows, pivots, own_left, own_upper, parts=2)
        pieces.append(Piece(pivots, packed, left, left_rows, upper))
    return pieces


def _pivots(comm: Comm, grid: Grid, step: Step, columns: Handle, rows: Handle) -> Wait:
    """Return the diagonal block or None, its L, the pivots, and this rank's rows of L with their numbers or None."""
    (i, j, k), turn = grid.place(comm.rank), step.number % grid.py
    packed = left = left_rows = pivots = entries = None
    if j == turn:
        comm.at(step.number, "columns")
        parts = [comm.run(blocks.part_of, columns, layer, grid.pz) for layer in range(grid.pz)]
        values = yield from reduce_scatter(comm, parts, grid.layers(i, j))
        rows = comm.run(blocks.part_of, rows, k, grid.pz)
        packed, pivots = yield from _tournament(comm, grid, step, values, rows)
        values, left_rows = comm.run(blocks.without, values, rows, pivots, parts=2)
        left = comm.run(panel.solve_left, packed, values)
        entries = comm.run(panel.lower_of, packed)
    comm.at(step.number, "pivots")
    along = [grid.rank(i, (turn + other) % grid.py, k) for other in range(grid.py)]
    entries, pivots = yield from _broadcast_pair(comm, entries, pivots, along)
    return packed, comm.run(panel.unpack_lower, entries, pivots), pivots, left, left_rows


def _tournament(comm: Comm, grid: Grid, step: Step, values: Handle, rows: Handle) -> Wait:
    """Return L and U of the winners, and the pivots, to all ranks of the grid column."""
    group = grid.column(step.number % grid.py)
    first = step.number // grid.py % len(group)
    group = group[first:] + group[:first]
    comm.at(step.number, "tournament")
    chosen = comm.run(panel.candidates, values, rows, parts=2)
    chosen = yield from reduce(comm, tuple(chosen), group, lambda one, two: _match(comm, one, two))
    packed = pivots = None
    if chosen is not None:
        packed, pivots = comm.run(panel.last_match, *chosen, parts=2)
    comm.at(step.number, "pivots")
    return (yield from _broadcast_pair(comm, packed, pivots, group))


def _match(comm: Comm, one: Handle, two: Handle) -> Handle:
    """Return the winners of two sets of candidates."""
    return tuple(comm.run(panel.match, *one, *two, parts=2))


def _broadcast_pair(comm: Comm, one: Handle, two: Handle, group: list[int]) -> Wait:
    """Broadcast two arrays in one message."""
    return (yield from broadcast(comm, (one, two), group))


def _upper_rows(
    comm: Comm, grid: Grid, step: Step, block: Handle, rows: Handle, owner: Handle, lower: Handle, pivots: Handle
) -> Wait:
    """Return this rank's columns of U right of the diagonal block, or None where it solves for none."""
    group = grid.column(grid.place(comm.rank)[1])
    solvers = group[: grid.slices]
    own = comm.run(blocks.pick, block, rows, pivots)
    outgoing = {to: _slice(comm, own, part, len(solvers), 1) for part, to in enumerate(solvers)}
    received = yield from all_to_all(comm, outgoing, group if comm.rank in solvers else [])
    if not received:
        return None
    whole = comm.run(blocks.interleave, pivots, owner, grid.pz, *received)
    return comm.run(panel.solve_upper_rows, lower, whole)


def _panels(comm: Comm, grid: Grid, step: Step, left: Handle, upper: Handle) -> Wait:
    """Return the columns of L and the rows of U that this rank's update needs."""
    (i, j, k), turn = grid.place(comm.rank), step.number % grid.py
    layers = range(grid.pz)
    outgoing = {}
    if j == turn:
        parts = [_slice(comm, left, layer, grid.pz, 1) for layer in layers]
        outgoing = {grid.rank(i, other, layer): parts[layer] for other in range(grid.py) for layer in layers}
    lefts = yield from all_to_all(comm, outgoing, grid.layers(i, turn))
    outgoing, column = {}, grid.column(j)
    if upper is not None:
        parts = [_slice(comm, upper, layer, grid.pz, 0) for layer in layers]
        outgoing = {rank: parts[grid.place(rank)[2]] for rank in column}
    uppers = yield from all_to_all(comm, outgoing, column[: grid.slices])
    return comm.run(blocks.stack, 0, *lefts), comm.run(blocks.stack, 1, *uppers)


def _slice(comm: Comm, data: Handle, part: int, parts: int, axis: int) -> Handle:
    """Return one of several parts along an axis."""
    return data if parts == 1 else comm.run(blocks.part_of, data, part, parts, axis)
