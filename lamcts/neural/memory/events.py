"""Allocations and frees of storages in a simulated step, and the number of live storages."""

from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple

from lamcts.neural.memory.forward import Forward
from lamcts.neural.memory.graph_tables import GraphTables


class Event(NamedTuple):
    """An allocation or free of a movable storage.

    order: 0 before the step writes, 1 as it writes, 2 when it ends.
    """

    step: int
    order: int
    storage: int
    allocates: bool


def forward_events(tables: GraphTables, start: Forward) -> list[Event]:
    """Return the events of the forward pass."""
    movable = tables.graph.movable
    allocations = [Event(made, 1, one, True) for made, one in zip(tables.first_write, movable, strict=True)]
    ends = zip(start.resident_until, movable, start.resident, strict=True)
    return allocations + [Event(end, 2, one, False) for end, one, resident in ends if not resident]


def live_counts(tables: GraphTables, events: Sequence[Event]) -> list[int]:
    """Return the number of live storages of each step."""
    change = [0] * (len(tables.graph.steps) + 1)
    for event in events:  # a free at the end of a step counts from the next
        change[event.step + (event.order == 2)] += 1 if event.allocates else -1
    return list(map(add, accumulate(change), tables.fixed_count))
