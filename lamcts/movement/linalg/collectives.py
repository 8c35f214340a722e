"""Collective operations, written once over send and receive, so that every word passes a communicator."""

from collections.abc import Callable, Mapping, Sequence

from lamcts.movement.linalg.blocks import add
from lamcts.movement.linalg.comm import Comm, Handle, Wait


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
