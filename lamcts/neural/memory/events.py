"""What comes and goes in a simulated step, and how many storages that leaves."""

from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple

from lamcts.neural.memory.forward import Forward
from lamcts.neural.memory.scheme import Scheme


class Event(NamedTuple):
    """A movable storage that comes or goes: at `order` 0 before a step writes, 1 as it does, 2 when it ends."""

    step: int
    order: int
    storage: int
    comes: bool


def came_and_went(scheme: Scheme, start: Forward) -> list[Event]:
    """Return what comes and goes in the forward pass."""
    movable = scheme.graph.movable
    came = [Event(made, 1, one, True) for made, one in zip(scheme.made, movable, strict=True)]
    ends = zip(start.until, movable, start.there, strict=True)
    return came + [Event(end, 2, one, False) for end, one, there in ends if not there]


def counted(scheme: Scheme, events: Sequence[Event]) -> list[int]:
    """Return how many storages there are while each step runs."""
    change = [0] * (len(scheme.graph.steps) + 1)
    for event in events:  # what goes when a step ends is not there at the next
        change[event.step + (event.order == 2)] += 1 if event.comes else -1
    return list(map(add, accumulate(change), scheme.fixed_count))
