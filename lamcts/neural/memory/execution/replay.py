"""Replay of a verified forward pass: later steps compare with it instead of analysing operations. Needs torch."""

from functools import partial

from torch import Tensor, UntypedStorage
from torch.multiprocessing.reductions import StorageWeakRef

from lamcts.neural.memory.execution.aliases import shape_like, shape_of, witness_of
from lamcts.neural.memory.execution.generators import Random, drawn
from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.loss_pass import ModelPart
from lamcts.neural.memory.execution.recipe import (
    Outside,
    Read,
    address_of,
    operation,
    output_of,
    outside_of,
)
from lamcts.neural.memory.execution.schedule import AGAIN
from lamcts.neural.memory.execution.script import END, NO_SLOT, Call, Script, modifies, passes
from lamcts.neural.memory.execution.slot import Kept, Moved, StorageSlot, kept, read_of
from lamcts.neural.memory.execution.step import chain_prefetches
from lamcts.neural.trace.recorder import Args, Kwargs, Op, changed_by


class Replay:
    """A forward pass that repeats a script; raise RuntimeError if it deviates."""

    first, same = False, dict[int, int]()  # as in `ForwardPass`

    def __init__(self, script: Script, link: Link) -> None:
        self.verified, self.link, self.schedule = script, link, script.schedule
        self.graph = script.schedule.traced.graph
        self.whole = not script.packs  # whether the last saved tensor that the plan moves is packed
        self.ran = self.packed = self._read_count = 0
        self._calls = iter(script.calls)
        self._call = next(self._calls, END)
        self.slots: dict[int, StorageSlot] = {}
        self._numbers: dict[int, int] = {}  # of the storages of slots, by address
        self._refs: list[StorageWeakRef] = []  # while these live, no other storage has the same address

    def run(self, func: Op, args: Args, kwargs: Kwargs) -> object:
        """Run an operation and record its writes of slots."""
        call = self._call
        if call.function is not func:
            if id(func) in self.verified.views or self.whole:
                return func(*args, **kwargs)
            if passes(func):
                self.verified.views.add(id(func))
                return func(*args, **kwargs)
            expected = "no further one" if call is END else call.function
            raise RuntimeError(f"operation {self.ran} of the forward pass: expected {expected}, got {func}: {AGAIN}")
        self._call = next(self._calls, END)
        self.ran += 1
        if call.plain or self.whole:
            return func(*args, **kwargs)
        result, random = drawn(func, args, kwargs) if call.random else (func(*args, **kwargs), ())
        self._note(call, args, kwargs, result, random)
        return result

    def pack(self, tensor: Tensor) -> Kept | Moved:
        """Return the object that autograd saves for a tensor, by the plan."""
        if self.whole:
            return kept(tensor)
        number = self.verified.packed[self.packed]
        self.packed += 1
        self.whole = self.packed == self.verified.packs
        if number == NO_SLOT:
            return kept(tensor)
        if self._number(tensor) != number:
            name = self.graph.storages[number].name
            raise RuntimeError(f"tensor {self.packed - 1} that autograd saves: expected {name}, got another: {AGAIN}")
        return Moved(self.slots[number], shape_of(tensor), witness_of(tensor), tensor._version)

    def finish(self) -> int:
        """End the pass; return the saved bytes on the device."""
        if not self.whole:
            expected = f"{len(self.verified.calls)} operations and {self.verified.packs} saved tensors"
            raise RuntimeError(f"expected {expected} in a forward pass, got {self.ran} and {self.packed}: {AGAIN}")
        return self.end()

    def left(self, outputs: list[Tensor]) -> ModelPart:
        """Return what has happened when the model returns its outputs; raise RuntimeError if operations are missing."""
        end = self.verified.end
        if end is None or self.ran < len(self.verified.calls) or self.packed != end.packed:
            calls = self.verified.calls[self.ran :]
            expected = str(calls[0].function) if calls else "as many saved tensors as in the first step"
            raise RuntimeError(f"operation {self.ran} of the model: expected {expected}, got its end: {AGAIN}")
        for number, tensor in zip(end.outputs, outputs, strict=False):
            if number is not None and address_of(tensor) not in self._numbers:
                self._learn(number, tensor.untyped_storage())
        until = end.ran, self.verified.packs
        return ModelPart(self, end, until, {}, self._numbers, self._refs)

    def end(self) -> int:
        """Begin to prefetch; return the saved bytes on the device."""
        chain_prefetches(self.verified.schedule, self.slots)
        self.slots = {}
        return self.verified.held_bytes

    def script(self, held_bytes: int) -> None:
        """Return None: only a first pass makes a script."""

    def _note(self, call: Call, args: Args, kwargs: Kwargs, result: object, random: Random) -> None:
        """Record the writes of slots; raise RuntimeError for an operation that modifies another slot."""
        func = call.function
        changed = self._changed(call, args, kwargs) if modifies(func) else {}
        for number, output in call.writes:
            tensor = changed[number] if output is None else output_of(result, output)
            storage = tensor.untyped_storage()
            slot = self.slots[number] if output is None else self._new_slot(number, storage)
            how = partial(operation, func, args, kwargs, output, random, self._read, number)
            slot.wrote(storage, how, slot.writes + 1 == self.verified.schedule.writes[number])

    def _changed(self, call: Call, args: Args, kwargs: Kwargs) -> dict[int, Tensor]:
        """Return the tensors of slots that an operation modifies; raise RuntimeError for unexpected ones."""
        pairs = [(self._number(one), one) for one in changed_by(call.function, args, kwargs)]
        changed = {number: one for number, one in pairs if number != NO_SLOT}
        if changed.keys() != {number for number, output in call.writes if output is None}:
            names = [self.graph.storages[number].name for number in changed]
            where = f"operation {self.ran - 1} of the forward pass, {call.function}"
            raise RuntimeError(f"{where}: expected to modify other storages than {names}: {AGAIN}")
        return changed

    def _new_slot(self, number: int, storage: UntypedStorage) -> StorageSlot:
        """Return the slot of a new storage; raise RuntimeError if it has another size or is not new."""
        expected, got = self.verified.new_slots[number], storage.nbytes()
        if expected.bytes not in (0, got) or storage._cdata in self._numbers or number in self.slots:
            raise RuntimeError(f"{expected.name}: expected {expected.bytes} new bytes, got {got}: {AGAIN}")
        self._learn(number, storage)
        self.slots[number] = slot = StorageSlot(expected.name, expected.order, expected.action, self.link)
        return slot

    def _learn(self, number: int, storage: UntypedStorage) -> None:
        memory = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        self._numbers[memory.cdata] = number
        self._refs.append(memory)

    def _read(self, made: int, tensor: Tensor, changed: bool) -> Read | Outside:
        """Return the source of a tensor that the recomputation of storage `made` reads."""
        number, i = self._number(tensor), self._read_count
        self._read_count += 1
        if i >= len(self.verified.reads) or self.verified.reads[i] != number:
            name = self.graph.storages[made].name
            raise RuntimeError(f"{name}: expected the inputs of the first step, got others: {AGAIN}")
        if number == NO_SLOT:
            return outside_of(tensor, changed)
        self.verified.shapes[i] = shape = shape_like(self.verified.shapes[i], tensor)
        return read_of(self.slots.get(number), number == made, tensor, changed, shape)

    def _number(self, tensor: Tensor) -> int:
        """Return the number of a tensor's storage; -1 if it has no slot."""
        return self._numbers.get(tensor.untyped_storage()._cdata, NO_SLOT)
