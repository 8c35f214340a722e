"""A memory pool of blocks, the first gap that fits: how much is lost to gaps too small (thesis 8.3.2)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from lamcts.graphs import liveness
from lamcts.neural.memory.events import Event
from lamcts.neural.memory.report import Report

BLOCK_BYTES = 1024  # the thesis's basic unit of storage


class Extent(NamedTuple):
    """What a pool had to be: its size, and the most bytes in use at once, in whole blocks."""

    pool_bytes: int
    used_bytes: int

    @property
    def lost(self) -> float:
        """The share of the pool that was never used at once: its fragmentation."""
        return 1 - self.used_bytes / self.pool_bytes if self.pool_bytes else 0.0


@dataclass
class FirstFit:
    """Memory that grows as needed: each request gets the first gap that is wide enough.

    block_bytes: requests are rounded up to whole blocks (1024; bytes); thesis 8.3.2.
    """

    block_bytes: int = BLOCK_BYTES
    taken: dict[int, tuple[int, int]] = field(default_factory=dict)  # begin and end by storage
    top: int = 0
    used: int = 0
    most: int = 0

    def allocate(self, storage: int, size: int) -> int:
        """Return where `size` bytes for a storage begin; ValueError where it has memory already."""
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
        """Give a storage's memory back."""
        low, high = self.taken.pop(storage)
        self.used -= high - low


def extent(report: Report, block_bytes: int = BLOCK_BYTES) -> Extent:
    """Return how large a pool must be for a simulated step, if all its storages come out of it."""
    pool, sizes = FirstFit(block_bytes), [storage.bytes for storage in report.graph.storages]
    for event in sorted((*report.events, *_fixed(report)), key=lambda event: (event.step, event.order)):
        if event.allocates:
            pool.allocate(event.storage, sizes[event.storage])
        else:
            pool.free(event.storage)
    return Extent(pool.top, pool.most)


def _fixed(report: Report) -> list[Event]:
    """Return what comes and goes beside what a plan decides on; under a plan that frees nothing, all that comes."""
    live, movable = liveness(report.graph), set(report.graph.movable if report.plan.frees else ())
    found = []
    for one in range(len(report.graph.storages)):
        if one not in movable and live.first[one] >= 0:
            found.append(Event(int(live.first[one]), 1, one, True))
            if report.plan.frees:
                found.append(Event(int(live.last[one]), 2, one, False))
    return found
