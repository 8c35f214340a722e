"""The tensor cache: an LRU cache that evicts storages to the host when the device is full (thesis 8.3.3)."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from lamcts.neural.graphs import StepGraph, liveness


class Traffic(NamedTuple):
    """Traffic of a cache: bytes sent and fetched, evictions, and the largest number of bytes held."""

    sent_bytes: int
    fetched_bytes: int
    evictions: int
    held_bytes: int


@dataclass
class TensorCache:
    """An LRU cache of storages on the device (algorithm 9).

    Unlike the printed algorithm, a storage with a valid copy on the host is not sent again.

    Parameters
    ----------
    capacity_bytes : int
        Capacity of the device in bytes.
    """

    capacity_bytes: int
    resident: OrderedDict[int, int] = field(default_factory=OrderedDict)  # bytes by storage, most recently used last
    locked: set[int] = field(default_factory=set)
    copies: set[int] = field(default_factory=set)  # on the host
    used_bytes: int = 0
    sent_bytes: int = 0
    fetched_bytes: int = 0
    evictions: int = 0
    held_bytes: int = 0

    def check(self, storage: int, size: int) -> bool:
        """Load and lock a storage of `size` bytes; return whether it was resident (`Check` of algorithm 9)."""
        self.locked.add(storage)
        if storage in self.resident:
            self.resident.move_to_end(storage)
            return True
        self._make_room(size)
        self.fetched_bytes += size if storage in self.copies else 0
        self.resident[storage] = size
        self.used_bytes += size
        self.held_bytes = max(self.held_bytes, self.used_bytes)
        return False

    def changed(self, storage: int) -> None:
        """Invalidate the host copy of a storage that was written."""
        self.copies.discard(storage)

    def unlock(self) -> None:
        """Unlock all storages at the end of a step."""
        self.locked.clear()

    def free(self, storage: int) -> None:
        """Free a storage and its copy on the host."""
        self.used_bytes -= self.resident.pop(storage, 0)
        self.copies.discard(storage)

    def _make_room(self, size: int) -> None:
        """Evict unlocked storages, least recently used first, until `size` bytes are free (`LRU.out`)."""
        while self.used_bytes + size > self.capacity_bytes:
            last = next((one for one in self.resident if one not in self.locked), None)
            if last is None:
                wanted = self.used_bytes + size
                raise ValueError(f"capacity_bytes: expected at least {wanted} for one step, got {self.capacity_bytes}")
            freed = self.resident.pop(last)
            self.used_bytes -= freed
            self.evictions += 1
            if last not in self.copies:
                self.copies.add(last)
                self.sent_bytes += freed


def traffic(graph: StepGraph, capacity_bytes: int) -> Traffic:
    """Simulate one training step with a tensor cache; each step locks the storages it reads and writes.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    capacity_bytes : int
        Capacity of the device in bytes.
    """
    cache, live = TensorCache(capacity_bytes), liveness(graph)
    for t, step in enumerate(graph.steps):
        used = [one for one in dict.fromkeys((*step.reads, *step.writes)) if graph.storages[one].role != "outside"]
        for one in used:
            cache.check(one, graph.storages[one].bytes)
        for one in step.writes:
            cache.changed(one)
        cache.unlock()
        for one in used:
            if live.last[one] == t:
                cache.free(one)
    return Traffic(cache.sent_bytes, cache.fetched_bytes, cache.evictions, cache.held_bytes)
