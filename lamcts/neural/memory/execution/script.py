"""The operations of a verified step, so that later steps compare instead of analyse. Needs torch."""

from functools import cache
from typing import NamedTuple

import torch

from lamcts.neural.memory.execution.aliases import Shape
from lamcts.neural.memory.execution.schedule import PlanSchedule
from lamcts.neural.memory.plan import RECOMPUTED, Action
from lamcts.neural.trace.recorder import Op

NO_SLOT = -1  # the number of storages without a slot


class Call(NamedTuple):
    """An operation and its writes: storage, and index of its result (None: modified in place)."""

    function: Op
    writes: tuple[tuple[int, int | None], ...]
    plain: bool = False  # whether a replay records nothing
    random: bool = False  # whether a recomputation repeats it with its random numbers


END = Call(None, ())  # type: ignore[arg-type]  # follows the last operation, and equals none


class NewSlot(NamedTuple):
    """What a replay checks of a storage, and passes to its slot."""

    bytes: int
    name: str
    order: int
    action: Action


class ModelEnd(NamedTuple):
    """Numbers of traced operations and of saved tensors when the model returned, and storages of its outputs."""

    ran: int
    packed: int
    outputs: tuple[int | None, ...]


class Script:
    """Operations of a verified forward pass."""

    def __init__(
        self, schedule: PlanSchedule, calls: list[Call], reads: list[int], held_bytes: int, end: ModelEnd | None
    ) -> None:
        self.schedule, self.reads, self.held_bytes, self.end = schedule, reads, held_bytes, end
        self.moved = schedule.moved  # storages that are not kept
        slots = self.moved.union(reads)
        self.calls = [self._reduced(one, slots) for one in calls]  # each with the writes that a replay records
        graph, actions = schedule.traced.graph, schedule.actions
        known = {n: graph.storages[n].bytes for n in slots.intersection(actions)}
        self.new_slots = {
            n: NewSlot(size and schedule.sizes.get(n, size), graph.storages[n].name, graph.makers[n][-1], actions[n])
            for n, size in known.items()
        }
        self.views: set[int] = set()  # ids of operations that write nothing, as far as seen
        self.shapes: list[Shape | None] = [None] * len(reads)  # layouts of `reads` in the last step
        first: dict[int, int | None] = {}
        for call in self.calls:
            for number, output in call.writes:
                first.setdefault(number, output)
        self.repeatable = None not in first.values()
        packed = schedule.traced.packed
        self.packs = max((i + 1 for i, number in enumerate(packed) if number in self.moved), default=0)
        self.packed = [number if number in self.moved else NO_SLOT for number in packed[: self.packs]]

    def _reduced(self, call: Call, slots: frozenset[int]) -> Call:
        """Return a call with its writes of slots."""
        func, writes = call.function, tuple(one for one in call.writes if one[0] in slots)
        remade = any(self.schedule.actions[number] in RECOMPUTED for number, _ in writes)
        random = remade and torch.Tag.nondeterministic_seeded in func.tags
        return Call(func, writes, not (writes or modifies(func)), random)


@cache
def passes(func: Op) -> bool:
    """Return whether an operation writes nothing: it returns views, or no tensors."""
    if func._schema.is_mutable:
        return False
    return all(one.alias_info is not None or "Tensor" not in str(one.type) for one in func._schema.returns)


@cache
def modifies(func: Op) -> bool:
    """Return whether an operation modifies an argument, by its schema."""
    return bool(func._schema.is_mutable)
