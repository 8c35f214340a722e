"""Follow a training step along its trace, and number its storages as the recorder does. Needs torch."""

import weakref
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from lamcts.neural.memory.execution.aliases import shape_of, witness_of
from lamcts.neural.memory.execution.generators import Random, check_result, drawn
from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.loss_pass import ModelPart
from lamcts.neural.memory.execution.recipe import Outside, Read, address_of, index_of, operation, tensors_of
from lamcts.neural.memory.execution.schedule import AGAIN, PlanSchedule
from lamcts.neural.memory.execution.script import Call, ModelEnd, Script, passes
from lamcts.neural.memory.execution.slot import Kept, Moved, StorageSlot, kept, read_of
from lamcts.neural.memory.plan import RECOMPUTED
from lamcts.neural.trace.recorder import KINDS, SHAPED, Args, Kwargs, Op, changed_by


class ForwardPass:
    """The forward pass of a step; raise RuntimeError if it deviates from the trace."""

    first = True

    def __init__(self, schedule: PlanSchedule, link: Link, outside: Sequence[Tensor]) -> None:
        self.schedule, self.link = schedule, link
        self.graph = schedule.traced.graph
        self.ran = self.packed = 0
        self.slots: dict[int, StorageSlot] = {}
        self.kept: dict[int, int] = {}  # bytes by storage
        self.same: dict[int, int] = {}  # storages outside by those of the trace, where one tensor may be two inputs
        self.calls: list[Call] = []
        self.reads: list[int] = []  # storages that recomputations read, in order; -1 for those without a slot
        self._end: ModelEnd | None = None
        self._numbers: dict[int, int] = {}
        self._refs: list[StorageWeakRef] = []  # while these live, no other storage has the same address
        for number, tensor in zip(schedule.traced.outside, outside, strict=False):  # another count is noticed later
            memory = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
            self.same[number] = self._numbers.setdefault(memory.cdata, number)
            self._refs.append(memory)
        self._count = max(schedule.traced.outside) + 1  # of the storages of the trace that are known

    def run(self, func: Op, args: Args, kwargs: Kwargs) -> object:
        """Run an operation and record its writes."""
        if self.whole:
            return func(*args, **kwargs)
        result, random = drawn(func, args, kwargs)
        made = tensors_of(result)
        changed = changed_by(func, args, kwargs)
        writes = self._note(func, args, kwargs, (result, made, changed, random)) if made else ()
        if not passes(func):
            self.calls.append(Call(func, writes))
        return result

    def _note(
        self, func: Op, args: Args, kwargs: Kwargs, did: tuple[object, list[Tensor], list[Tensor], Random]
    ) -> tuple[tuple[int, int | None], ...]:
        """Match an operation with the trace and record writes of slots; return these, each with its output."""
        result, made, changed, random = did
        op = func._overloadpacket.__name__
        reads = {self._number(one) for one in ([] if op in SHAPED else tensors_of((args, kwargs)))}
        written = {self._number(one): one for one in (*made, *changed)}
        changes = {self._number(one) for one in changed}
        written = {n: one for n, one in written.items() if n not in reads or n in changes}
        if not changes and not any(self.graph.storages[n].bytes for n in written):
            return ()
        self._follow(KINDS.get(op, op), written)
        for n, tensor in written.items():
            self._check_bytes(n, tensor, (func, args, kwargs, result))
        writes = []
        for n in [n for n in written if n in self.schedule.actions]:
            output = None if n in changes else index_of(result, written[n])
            how = partial(operation, func, args, kwargs, output, random, self._read, n)
            if n not in self.slots:
                name, order = self.graph.storages[n].name, self.graph.makers[n][-1]
                self.slots[n] = StorageSlot(name, order, self.schedule.actions[n], self.link)
            slot = self.slots[n]
            if slot.action in RECOMPUTED:
                check_result(random, result, slot.name)
            slot.wrote(written[n].untyped_storage(), how, slot.writes + 1 == self.schedule.writes[n])
            writes.append((n, output))
        return tuple(writes)

    def script(self, held_bytes: int) -> Script:
        """Return the script of this pass, after it is finished."""
        return Script(self.schedule, self.calls, self.reads, held_bytes, self._end)

    def left(self, outputs: list[Tensor]) -> ModelPart:
        """Return what has happened when the model returns its outputs."""
        numbers = tuple(self._numbers.get(address_of(one)) for one in outputs)
        self._end = ModelEnd(self.ran, self.packed, numbers)
        until = self.graph.forward_count, len(self.schedule.traced.packed)
        return ModelPart(self, self._end, until, self.kept, self._numbers, self._refs)

    @property
    def whole(self) -> bool:
        """Whether all traced operations have run."""
        return (self.ran, self.packed) == (self.graph.forward_count, len(self.schedule.traced.packed))

    def pack(self, tensor: Tensor) -> Kept | Moved:
        """Return the object that autograd saves for a tensor, by the plan."""
        if self.whole:
            return kept(tensor)
        number, expected = self._number(tensor), self.schedule.traced.packed[self.packed : self.packed + 1]
        if [self.same.get(one, one) for one in expected] != [number]:
            raise RuntimeError(
                f"tensor {self.packed} that autograd saves: expected storage {expected}, got {number}: {AGAIN}"
            )
        self.packed += 1
        self._check_bytes(number, tensor)
        if number in self.schedule.moved:
            return Moved(self.slots[number], shape_of(tensor), witness_of(tensor), tensor._version)
        self.kept[number] = self.graph.storages[number].bytes
        return kept(tensor)

    def finish(self) -> int:
        """End the pass; return the saved bytes on the device."""
        if not self.whole:
            expected = f"{self.graph.forward_count} operations and {len(self.schedule.traced.packed)} saved tensors"
            raise RuntimeError(f"expected {expected} in a forward pass, got {self.ran} and {self.packed}: {AGAIN}")
        return self.end()

    def end(self) -> int:
        """Begin to prefetch; return the saved bytes on the device."""
        resident = {n: self.graph.storages[n].bytes for n, slot in self.slots.items() if slot.storage is not None}
        chain_prefetches(self.schedule, self.slots)
        self.slots = {}
        return sum((self.kept | resident).values())

    def _read(self, made: int, tensor: Tensor, changed: bool) -> Read | Outside:
        """Return the source of a tensor that the recomputation of storage `made` reads."""
        number = self._number(tensor)
        self.reads.append(number if number == made or number in self.slots else -1)
        return read_of(self.slots.get(number), number == made, tensor, changed)

    def _follow(self, kind: str, written: dict[int, Tensor]) -> None:
        """Check that an operation is the next one of the trace."""
        steps = self.graph.steps[: self.graph.forward_count]
        if self.ran >= len(steps) or (steps[self.ran].kind, set(steps[self.ran].writes)) != (kind, set(written)):
            expected = steps[self.ran].name if self.ran < len(steps) else "no further one"
            raise RuntimeError(f"operation {self.ran} of the forward pass: expected {expected}, got {kind}: {AGAIN}")
        self.ran += 1

    def _check_bytes(self, number: int, tensor: Tensor, call: tuple[Op, Args, Kwargs, object] | None = None) -> None:
        if not self.schedule.is_size(number, tensor, call):
            storage, got = self.graph.storages[number], tensor.untyped_storage().nbytes()
            raise RuntimeError(f"{storage.name}: expected {storage.bytes} bytes, got {got}: {AGAIN}")

    def _number(self, tensor: Tensor) -> int:
        memory = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
        if memory.cdata not in self._numbers:
            if self._count == len(self.graph.storages):
                raise RuntimeError(f"expected {self._count} storages, got a further one: {AGAIN}")
            self._numbers[memory.cdata] = self._count
            self._count += 1
            self._refs.append(memory)
        return self._numbers[memory.cdata]


def chain_prefetches(schedule: PlanSchedule, slots: dict[int, StorageSlot]) -> None:
    """Link prefetched slots in order of need, and begin to fetch the first."""
    prefetched = [n for n in schedule.fetched if n in slots]
    for before, after in pairwise(prefetched):
        slots[before].next = weakref.ref(slots[after])
    for n in prefetched:
        slots[n].came = n in schedule.staying
    for first in prefetched[:1]:
        slots[first].prefetch()
