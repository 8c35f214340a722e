"""LU with tournament pivoting and row masks: the program of one rank (COnfLUX; Kwasniewski et al. 2021).

Here the ranks that summed a part of L or U solve for it; the paper scatters both over all ranks first.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from lamcts.movement.linalg import blocks
from lamcts.movement.linalg.blocks import add
from lamcts.movement.linalg.comm import Comm, Handle, Wait
from lamcts.movement.linalg.grid import Grid, Step


class Piece(NamedTuple):
    """What a rank has after a step."""

    chosen: Handle  # L of the diagonal block, and U where `left` is not None; pivots
    left: Handle  # rows of L below the block and their numbers; None where another grid column has them
    upper: Handle  # columns of U right of the block; None where another rank has them


def factorise(comm: Comm, grid: Grid, own: Handle, owner: Handle) -> Wait:
    """Return the pieces of L and U, one a step, of a rank with the part `own`; `owner` has the grid row of each row."""
    pieces = []
    _, j, _ = grid.place(comm.rank)
    for step in grid.steps():
        skip = step.width if step.number % grid.py == j else 0  # columns of the panel, which come first
        chosen, left = yield from _choose(comm, grid, step, own)
        comm.at(step.number, "rows")
        upper = yield from _solve_upper(comm, grid, own, skip, chosen[1], owner)
        comm.at(step.number, "panels")
        own_left, own_upper = yield from _panels(comm, grid, step, left, upper)
        own = comm.run(blocks.update, own, skip, chosen[1], own_left, own_upper)
        pieces.append(Piece(chosen[0], left, upper))
    return pieces


def _choose(comm: Comm, grid: Grid, step: Step, own: Handle) -> Wait:
    """Return the diagonal block with the pivots, the same with L alone, and this rank's rows of L or None."""
    (i, j, k), turn = grid.place(comm.rank), step.number % grid.py
    corner = lower = left = None
    if j == turn:
        comm.at(step.number, "columns")
        parts = [comm.run(blocks.columns_of, own, step.width, layer, grid.pz) for layer in range(grid.pz)]
        values = yield from reduce_scatter(comm, parts, grid.layers(i, j))
        part = comm.run(blocks.with_rows, values, own, k, grid.pz)
        corner = yield from _tournament(comm, grid, step, part)
        left = comm.run(blocks.solve_left, corner, part)
        lower = corner if grid.py == 1 else comm.run(blocks.lower_of, corner)
    comm.at(step.number, "pivots")
    along = [grid.rank(i, (turn + other) % grid.py, k) for other in range(grid.py)]
    lower = yield from broadcast(comm, lower, along)
    return (lower if corner is None else corner, lower), left


def _tournament(comm: Comm, grid: Grid, step: Step, part: Handle) -> Wait:
    """Return L and U of the winners, and the pivots, to all ranks of the grid column."""
    group = grid.column(step.number % grid.py)
    first = step.number // grid.py % len(group)  # the winner takes turns, so that its words spread
    group = group[first:] + group[:first]
    comm.at(step.number, "tournament")
    winners = comm.run(blocks.candidates, part)
    winners = yield from reduce(comm, winners, group, partial(comm.run, blocks.match))
    corner = None if winners is None else comm.run(blocks.last_match, winners)
    comm.at(step.number, "pivots")
    return (yield from broadcast(comm, corner, group))


def _solve_upper(comm: Comm, grid: Grid, own: Handle, skip: int, lower: Handle, owner: Handle) -> Wait:
    """Return this rank's columns of U right of the diagonal block, or None where it solves for none."""
    group = grid.column(grid.place(comm.rank)[1])
    solvers = group[: grid.slices]
    outgoing = {to: comm.run(blocks.pick, own, skip, lower, n, len(solvers)) for n, to in enumerate(solvers)}
    received = yield from all_to_all(comm, outgoing, group if comm.rank in solvers else [])
    return comm.run(blocks.solve_upper, lower, owner, grid.pz, *received) if received else None


def _panels(comm: Comm, grid: Grid, step: Step, left: Handle, upper: Handle) -> Wait:
    """Return the columns of L and the rows of U that this rank's update needs."""
    (i, j, _), turn = grid.place(comm.rank), step.number % grid.py
    layers, column = range(grid.pz), grid.column(j)
    outgoing = {}
    if left is not None:
        parts = [comm.run(blocks.left_slice, left, layer, grid.pz) for layer in layers]
        outgoing = {grid.rank(i, other, layer): parts[layer] for other in range(grid.py) for layer in layers}
    lefts = yield from all_to_all(comm, outgoing, grid.layers(i, turn))
    outgoing = {}
    if upper is not None:
        parts = [comm.run(blocks.slice_of, upper, layer, grid.pz, 0) for layer in layers] if grid.pz > 1 else [upper]
        outgoing = {rank: parts[grid.place(rank)[2]] for rank in column}
    uppers = yield from all_to_all(comm, outgoing, column[: grid.slices])
    return _stacked(comm, 0, lefts), _stacked(comm, 1, uppers)


def _stacked(comm: Comm, axis: int, pieces: list[Handle]) -> Handle:
    """Return the pieces as one array."""
    return pieces[0] if len(pieces) == 1 else comm.run(blocks.stack, axis, *pieces)


def all_to_all(comm: Comm, outgoing: Mapping[int, Handle], sources: Sequence[int]) -> Wait:
    """Send a part to each rank of `outgoing`; return what `sources` sent, in their order."""
    for to, data in outgoing.items():
        if to != comm.rank:
            comm.send(data, to)
    received = []
    for source in sources:
        own = source == comm.rank
        received.append(outgoing[source] if own else (yield from comm.receive(source)))
    return received


def reduce_scatter(comm: Comm, parts: Sequence[Handle], group: Sequence[int]) -> Wait:
    """Return the sum over the group of the part that belongs to this rank, added in the group's order."""
    received = yield from all_to_all(comm, dict(zip(group, parts, strict=True)), group)
    return received[0] if len(received) == 1 else comm.run(add, *received)


def reduce(comm: Comm, data: Handle, group: Sequence[int], merge: Callable[..., Handle]) -> Wait:
    """Merge along a binary tree; the result is that of the group's first rank, and None elsewhere."""
    me, step = group.index(comm.rank), 1
    while step < len(group):
        if me % (2 * step):
            comm.send(data, group[me - step])
            return None
        if me + step < len(group):
            data = merge(data, (yield from comm.receive(group[me + step])))
        step *= 2
    return data


def broadcast(comm: Comm, data: Handle, group: Sequence[int]) -> Wait:
    """Return the data of the group's first rank, along a binary tree."""
    me, step = group.index(comm.rank), 1
    while step < len(group):
        step *= 2
    while step > 1:
        half = step // 2
        if me % step == half:
            data = yield from comm.receive(group[me - half])
        elif me % step == 0 and me + half < len(group):
            comm.send(data, group[me + half])
        step = half
    return data
