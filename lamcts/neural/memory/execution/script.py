"""The operations of a verified step, so that later steps compare instead of analyse. Needs torch."""

from functools import lru_cache
from typing import NamedTuple

from lamcts.neural.memory.execution.schedule import PlanSchedule
from lamcts.neural.trace.recorder import Op


class Call(NamedTuple):
    """An operation and its writes: storage, and index of its result (None: modified in place)."""

    function: Op
    writes: tuple[tuple[int, int | None], ...]


class Script:
    """Operations of a verified forward pass.

    calls: its operations without views, each with the writes that a replay records. moved: storages that are not kept.
    packs: number of saved tensors until the last one that is moved. held_bytes: saved bytes on the device. repeatable:
    whether each slot begins as the result of an operation.
    """

    def __init__(self, schedule: PlanSchedule, calls: list[Call], sources: set[int], held_bytes: int) -> None:
        self.schedule, self.held_bytes = schedule, held_bytes
        self.moved = schedule.leaving | schedule.staying
        slots = self.moved | sources
        self.calls = [Call(one.function, tuple(w for w in one.writes if w[0] in slots)) for one in calls]
        first: dict[int, int | None] = {}
        for call in self.calls:
            for number, output in call.writes:
                first.setdefault(number, output)
        self.repeatable = None not in first.values()
        packed = schedule.traced.packed
        self.packs = max((i + 1 for i, number in enumerate(packed) if number in self.moved), default=0)


@lru_cache(maxsize=None)
def passes(func: Op) -> bool:
    """Return whether an operation writes nothing: it returns views, or no tensors."""
    if func._schema.is_mutable:
        return False
    return all(one.alias_info is not None or "Tensor" not in str(one.type) for one in func._schema.returns)


@lru_cache(maxsize=None)
def modifies(func: Op) -> bool:
    """Return whether an operation modifies an argument, by its schema."""
    return bool(func._schema.is_mutable)
