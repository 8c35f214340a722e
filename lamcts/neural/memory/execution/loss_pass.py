"""Follow the operations between the model's call and the backward pass: the traced loss, and others. Needs torch.

Training loops also compute accuracies, penalties and auxiliary losses. An operation belongs to the traced loss if it is
the next one of the trace by kind, gradient mode and known storages that it reads. All others run without a plan, and
tensors that autograd saves for them are kept.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from lamcts.neural.memory.execution.aliases import shape_of, witness_of
from lamcts.neural.memory.execution.generators import Random, check_result, drawn
from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.recipe import Outside, Read, address_of, index_of, operation, tensors_of
from lamcts.neural.memory.execution.schedule import AGAIN, PlanSchedule
from lamcts.neural.memory.execution.script import ModelEnd, Script
from lamcts.neural.memory.execution.slot import Kept, Moved, StorageSlot, kept, read_of
from lamcts.neural.memory.plan import RECOMPUTED, Action
from lamcts.neural.trace.recorder import KINDS, SHAPED, Args, Kwargs, Op, changed_by

SHOWN = 4  # operations in an error


class Pass(Protocol):
    """A forward pass, by its trace or its script."""

    first: bool
    schedule: PlanSchedule
    link: Link
    slots: dict[int, StorageSlot]
    same: dict[int, int]

    def end(self) -> int:
        """Begin to prefetch; return the saved bytes on the device."""

    def script(self, held_bytes: int) -> Script | None:
        """Return the script of a first pass."""


class ModelPart(NamedTuple):
    """A pass whose model has returned."""

    run: Pass
    end: ModelEnd
    until: tuple[int, int]  # operations and saved tensors of the trace after which the plan needs none
    kept: dict[int, int]  # bytes of kept storages
    numbers: dict[int, int]  # and refs: known storages by address
    refs: list[StorageWeakRef]


class LossPass:
    """The rest of a forward pass after the model's call; raise RuntimeError if the traced loss is not computed."""

    def __init__(self, model: ModelPart) -> None:
        self.model, self.schedule, self.slots = model, model.run.schedule, model.run.slots
        self.graph, self.first = self.schedule.traced.graph, model.run.first
        self.ran, self.packed = model.end.ran, model.end.packed
        self.unplanned: list[str] = []  # operations since the last one of the trace
        self._known = set(model.numbers.values())

    @property
    def whole(self) -> bool:
        """Whether all that the plan needs has run."""
        return self.ran >= self.model.until[0] and self.packed >= self.model.until[1]

    def run(self, func: Op, args: Args, kwargs: Kwargs) -> object:
        """Run an operation; record its writes if it belongs to the traced loss."""
        if self.whole:
            return func(*args, **kwargs)
        expected = self._is_next(func, args, kwargs)
        result, random = drawn(func, args, kwargs) if expected else (func(*args, **kwargs), ())
        if not expected or not self._note(func, args, kwargs, result, random):
            self._check_unplanned(func, changed_by(func, args, kwargs))
        return result

    def pack(self, tensor: Tensor) -> Kept | Moved:
        """Return the object that autograd saves for a tensor: by the plan if the trace saves it next, else kept."""
        if self.whole or not self._saves_next(tensor):
            return kept(tensor)
        number = self.schedule.traced.packed[self.packed]
        self.packed += 1
        if number in self.slots and number in self.schedule.moved:
            return Moved(self.slots[number], shape_of(tensor), witness_of(tensor), tensor._version)
        self.model.kept[number] = self.graph.storages[number].bytes
        return kept(tensor)

    def finish(self) -> int:
        """End the pass; return the saved bytes on the device, without those of operations that are not traced."""
        if self.whole:
            return self.model.run.end()
        steps = self.graph.steps[self.ran : self.graph.forward_count]
        expected = f"{steps[0].name} of the traced loss" if steps else "all tensors that the traced loss saves"
        unplanned = [one for one in self.unplanned if one != "ones_like"]  # with which a backward pass begins
        got = ", ".join(unplanned[:SHOWN]) or "no further one"
        raise RuntimeError(
            f"operation {self.ran} of the forward pass: expected {expected}, got {got} before the backward pass: "
            f"{AGAIN}. Other numbers of the output can be computed under torch.no_grad() or after backward()"
        )

    def script(self, held_bytes: int) -> Script | None:
        """Return the script of a first pass."""
        return self.model.run.script(held_bytes)

    def _is_next(self, func: Op, args: Args, kwargs: Kwargs) -> bool:
        """Return whether an operation may be the next one of the trace."""
        if self.ran >= self.graph.forward_count:
            return False
        op, step = func._overloadpacket.__name__, self.graph.steps[self.ran]
        without_grad = self.ran in self.schedule.traced.without_grad
        if step.kind != KINDS.get(op, op) or torch.is_grad_enabled() == without_grad:
            return False
        given = [] if op in SHAPED else [self._number(one) for one in tensors_of((args, kwargs))]
        return self._sized(given) == self._sized([one for one in step.reads if one in self._known])

    def _sized(self, numbers: Sequence[int | None]) -> set[int]:
        """Return the storages with bytes; parameters, labels and others outside the step have none."""
        return {one for one in numbers if one is not None and self.graph.storages[one].bytes}

    def _note(self, func: Op, args: Args, kwargs: Kwargs, result: object, random: Random) -> bool:
        """Record the writes of the next operation; return False if it writes other storages than the trace."""
        changed = changed_by(func, args, kwargs)
        read, modified = ({address_of(one) for one in many} for many in (tensors_of((args, kwargs)), changed))
        found = {address_of(one): one for one in (*tensors_of(result), *changed)}
        written = [one for key, one in found.items() if key not in read or key in modified]
        numbers = self.graph.steps[self.ran].writes
        call = func, args, kwargs, result
        if len(written) != len(numbers) or not all(map(partial(self._fits, call), numbers, written)):
            return False
        self.ran += 1
        self.unplanned.clear()
        for number, tensor in zip(numbers, written, strict=True):
            self.model.numbers[address_of(tensor)] = number
            self._known.add(number)
            self.model.refs.append(StorageWeakRef(tensor.untyped_storage()))  # type: ignore[no-untyped-call]
        for number, tensor in zip(numbers, written, strict=True):
            if number in self.schedule.actions:
                output = None if address_of(tensor) in modified else index_of(result, tensor)
                if number not in self.slots:
                    name, order = self.graph.storages[number].name, self.graph.makers[number][-1]
                    self.slots[number] = StorageSlot(name, order, self.schedule.actions[number], self.model.run.link)
                slot = self.slots[number]
                if slot.action in RECOMPUTED:
                    check_result(random, result, slot.name)
                how = partial(operation, func, args, kwargs, output, random, self._read, number)
                slot.wrote(tensor.untyped_storage(), how, slot.writes + 1 == self.schedule.writes[number])
        return True

    def _fits(self, call: tuple[Op, Args, Kwargs, object], number: int, tensor: Tensor) -> bool:
        """Return whether a tensor that an operation wrote can be a storage of the trace."""
        return self._number(tensor) in (None, number) and self.schedule.is_size(number, tensor, call)

    def _read(self, made: int, tensor: Tensor, changed: bool) -> Read | Outside:
        """Return the source of a tensor that the recomputation of storage `made` reads."""
        number = self._number(tensor)
        return read_of(None if number is None else self.slots.get(number), number == made, tensor, changed)

    def _saves_next(self, tensor: Tensor) -> bool:
        """Return whether a tensor is the next one that autograd saves in the trace."""
        if self.packed >= len(self.schedule.traced.packed):
            return False
        expected, number = self.schedule.traced.packed[self.packed], self._number(tensor)
        expected = self.model.run.same.get(expected, expected)
        if expected in self._known:
            return number == expected
        later = any(step >= self.model.end.ran for step in self.graph.makers.get(expected, ()))
        return number is None and not later  # such as labels, or what only the model knows

    def _check_unplanned(self, func: Op, changed: list[Tensor]) -> None:
        """Raise RuntimeError if an operation that is not traced modifies a storage that the plan moves."""
        self.unplanned.append(func._overloadpacket.__name__)
        for slot in [self.slots[n] for one in changed if (n := self._number(one)) in self.slots]:
            if slot.action != Action.KEEP:
                raise RuntimeError(
                    f"{func}: expected an operation of the traced loss, got one that modifies {slot.name}, which the "
                    f"plan moves: change a copy, or do it in the model or in the loss, and {AGAIN}"
                )

    def _number(self, tensor: Tensor) -> int | None:
        """Return the number of a tensor's storage; None if it is not known."""
        return self.model.numbers.get(address_of(tensor))
