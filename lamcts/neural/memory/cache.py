"""The tensor cache: storages go to the host only where the device is full, the least recently used first (8.3.3)."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from lamcts.graphs import StepGraph, liveness


class Traffic(NamedTuple):
    """What a cache moved: bytes each way, how often it sent something away, and the most bytes that it held."""

    sent_bytes: int
    fetched_bytes: int
    evictions: int
    held_bytes: int


@dataclass
class TensorCache:
    """Storages on the device, most recently used last, and which of them are locked (algorithm 9).

    capacity_bytes: of the device. What has a copy on the host that is still good is not sent again, which the algorithm
    as printed does.
    """

    capacity_bytes: int
    resident: OrderedDict[int, int] = field(default_factory=OrderedDict)  # bytes by storage
    locked: set[int] = field(default_factory=set)
    copies: set[int] = field(default_factory=set)  # on the host
    used_bytes: int = 0
    sent_bytes: int = 0
    fetched_bytes: int = 0
    evictions: int = 0
    held_bytes: int = 0

    def check(self, storage: int, size: int) -> bool:
        """Bring a storage of `size` bytes onto the device and lock it; return whether it was there (`Check`).

        ValueError where all that is there is locked and leaves no room.
        """
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
        """Note that a storage was written: its copy on the host is no good any more."""
        self.copies.discard(storage)

    def unlock(self) -> None:
        """Unlock everything: a step has ended."""
        self.locked.clear()

    def free(self, storage: int) -> None:
        """Forget a storage that nobody needs any more, here and on the host."""
        self.used_bytes -= self.resident.pop(storage, 0)
        self.copies.discard(storage)

    def _make_room(self, size: int) -> None:
        """Send away the least recently used that is not locked, until `size` bytes are free (`LRU.out`)."""
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
    """Return what a tensor cache moves in one training step on a device of `capacity_bytes`.

    Each step locks what it reads and writes. ValueError where these alone do not fit.
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
