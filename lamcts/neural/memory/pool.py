"""A first-fit memory pool of blocks, and its fragmentation (thesis 8.3.2)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from lamcts.neural.graphs import liveness
from lamcts.neural.memory.report import Event, Report

BLOCK_BYTES = 1024  # the thesis's basic unit of storage


class Extent(NamedTuple):
    """Size of a pool and its peak use, in bytes of whole blocks."""

    pool_bytes: int
    used_bytes: int

    @property
    def lost(self) -> float:
        """Fragmentation: the share of the pool above its peak use."""
        return 1 - self.used_bytes / self.pool_bytes if self.pool_bytes else 0.0


@dataclass
class FirstFit:
    """A growing pool in which each request gets the first gap that fits."""

    block_bytes: int = BLOCK_BYTES
    taken: dict[int, tuple[int, int]] = field(default_factory=dict)  # begin and end by storage
    top: int = 0
    used: int = 0
    most: int = 0

    def allocate(self, storage: int, size: int) -> int:
        """Allocate `size` bytes for a storage and return the offset; raise ValueError if it is allocated already."""
        if storage in self.taken:
            raise ValueError(f"expected a storage without memory, got {storage}: free it first")
        width = -(-size // self.block_bytes) * self.block_bytes
        begin = 0
        for low, high in sorted(self.taken.values()):
            if low - begin >= width:
                break
            begin = max(begin, high)
        self.taken[storage] = (begin, begin + width)
        self.used += width
        self.top, self.most = max(self.top, begin + width), max(self.most, self.used)
        return begin

    def free(self, storage: int) -> None:
        """Free the memory of a storage."""
        low, high = self.taken.pop(storage)
        self.used -= high - low


def extent(report: Report, block_bytes: int = BLOCK_BYTES) -> Extent:
    """Return the pool size that a simulated step needs.

    Parameters
    ----------
    report : Report
        A simulated plan, see `Simulator.report`.
    block_bytes : int, default 1024
        Block size in bytes.
    """
    pool, sizes = FirstFit(block_bytes), [storage.bytes for storage in report.graph.storages]
    live, movable = liveness(report.graph), set(report.graph.movable if report.plan.frees else ())
    found = []
    for one in range(len(report.graph.storages)):
        if one not in movable and live.first[one] >= 0:
            found.append(Event(int(live.first[one]), 1, one, True))
            if report.plan.frees:
                found.append(Event(int(live.last[one]), 2, one, False))
    for event in sorted((*report.events, *found), key=lambda event: (event.step, event.order)):
        if event.allocates:
            pool.allocate(event.storage, sizes[event.storage])
        else:
            pool.free(event.storage)
    return Extent(pool.top, pool.most)
