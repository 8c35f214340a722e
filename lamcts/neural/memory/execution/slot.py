"""A movable storage during execution: resident, on the host, or to be recomputed. Needs torch.

Python references count the uses: tensors saved by autograd and recipes of other slots hold a slot, which is freed with
the last of them, as in the plan.
"""

import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, UntypedStorage
from torch.multiprocessing.reductions import StorageWeakRef

from lamcts.neural.memory.execution.aliases import Shape, alias_of, check_version, read_witness_of, shape_of
from lamcts.neural.memory.execution.link import Link, Sent, Transfer
from lamcts.neural.memory.execution.recipe import Operation, Outside, Read, Resident, outside_of
from lamcts.neural.memory.plan import MOVED, RECOMPUTED, Action

HELD = (Action.RECOMPUTE, Action.OFFLOAD)  # once materialised, it stays for its dependents
EACH = (Action.RECOMPUTE_EACH, Action.OFFLOAD_EACH)
NOTHING_TO_DO = nullcontext()


class StorageSlot:
    """One movable storage and its action; the order is higher for its dependents."""

    def __init__(self, name: str, order: int, action: Action, link: Link) -> None:
        self.name, self.order, self.action, self.link = name, order, action, link
        self.recomputed = action in RECOMPUTED
        self.storage: UntypedStorage | None = None
        self.recipe: list[Operation] = []
        self.writes = 0  # operations that wrote it so far
        self.next: Callable[[], StorageSlot | None] = lambda: None  # to prefetch when this one is freed after use
        self._sent: Sent | None = None
        self._coming: Transfer | None = None
        self.came = False  # whether its end begins the next fetch
        self._stream: torch.Stream | None = None  # of its last use
        self._materialised: StorageWeakRef | None = None

    def wrote(self, storage: UntypedStorage, how: Callable[[], Operation], last: bool) -> None:
        """Record a write of the storage; offload it after the `last` write if the plan says so."""
        self.writes += 1
        if self.recomputed:
            self.recipe.append(how())
        elif self._sent is None:  # later writes are detected when it is unpacked
            self.storage = storage
            if last and self.action in MOVED:
                self._sent, self.storage = self.link.send(storage), None

    @property
    def sources(self) -> frozenset["StorageSlot"]:
        """Slots that its recomputation reads; empty if it is not recomputed."""
        if not self.recomputed or self.alive() is not None:
            return frozenset()
        if len(self.recipe) == 1:
            return self.recipe[0].sources
        return frozenset().union(*[one.sources for one in self.recipe])

    def materialise(self, resident: Resident, helper: bool) -> UntypedStorage:
        """Return the storage, fetched or recomputed from `resident` ones; a `helper` may be freed at once."""
        storage = self.alive()
        if storage is not None:
            return storage
        storage = retried(lambda: self._recomputed(resident) if self.recomputed else self._fetched(), self.link)
        if self.action in HELD or not (helper or self.action in EACH):
            self.storage = storage
            self.recipe, self._sent = [], None
        self._materialised = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        return storage

    def alive(self) -> UntypedStorage | None:
        """Return the storage if it is resident, or if an earlier result holds it: formulas unpack several tensors."""
        if self.storage is not None or self._materialised is None:
            return self.storage
        if self._materialised.expired():  # type: ignore[no-untyped-call]
            return None
        found: UntypedStorage | None = UntypedStorage._new_with_weak_ptr(self._materialised.cdata)
        return found

    def used(self) -> None:
        """Remember the stream that uses this storage, for the next fetch."""
        if self.came and self.storage is not None:
            self._stream = self.link.stream(self.storage.device)

    def prefetch(self, stream: torch.Stream | None = None) -> None:
        """Begin to fetch this storage ahead of its use, behind the work of a stream."""
        if self._sent is not None and self._coming is None and self.storage is None:
            self._coming = self.link.fetch_ahead(self._sent, stream)
            self.link.drop_ahead = partial(_drop, weakref.ref(self))

    def __del__(self) -> None:
        """Prefetch the next slot when this one is freed after use; do nothing in a discarded graph."""
        self.storage = None
        following = self.next() if self.came else None
        if following is not None:
            following.prefetch(self._stream)

    def _fetched(self) -> UntypedStorage:
        assert self._sent is not None
        coming, self._coming, self.came = self._coming or self.link.fetch(self._sent), None, True
        self._stream = self.link.stream(self._sent.device)
        return self.link.arrived(coming)

    def _recomputed(self, resident: Resident) -> UntypedStorage:
        storage: UntypedStorage | None = None
        with torch._C._AutoDispatchBelowAutograd(), _without_autocast(), torch.set_grad_enabled(False):
            for one in self.recipe:
                torch._C._set_grad_enabled(one.with_grad)  # until the end of the block
                storage = one.run(storage, resident)
        assert storage is not None
        return storage


def _drop(ahead: Callable[[], StorageSlot | None]) -> None:
    """Free what was fetched ahead; it is fetched again when it is needed."""
    slot = ahead()
    if slot is not None:
        slot._coming = None


def retried(make: Callable[[], UntypedStorage], link: Link) -> UntypedStorage:
    """Return a storage; if memory is short, release what is in transfer, fetched ahead or cached, and try once more."""
    try:
        return make()
    except torch.OutOfMemoryError:
        pass  # the traceback, which holds tensors, ends here
    link.settle()
    link.drop_ahead()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()
    return make()


def _without_autocast() -> AbstractContextManager[object]:
    """Return a context without autocast: inputs are cast already, as the recorded operations ran below it."""
    cast = [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]
    if not cast:
        return NOTHING_TO_DO
    stack = ExitStack()
    for device in cast:
        stack.enter_context(torch.autocast(device, enabled=False))
    return stack


class Kept(NamedTuple):
    """A saved tensor that is kept."""

    tensor: Tensor
    version: int

    def unpacked(self) -> Tensor:
        """Return the tensor; raise RuntimeError if it was modified in place, as torch does."""
        check_version(self.tensor, self.version)
        return self.tensor


class Moved(NamedTuple):
    """A saved tensor that its slot materialises. witness: an alias with its version and without memory."""

    slot: StorageSlot
    shape: Shape
    witness: Tensor
    version: int

    def unpacked(self) -> Tensor:
        """Return an equal tensor; raise RuntimeError if the saved one was modified in place."""
        check_version(self.witness, self.version, self.slot.name)
        return self.shape.on(storage_of(self.slot))


def kept(tensor: Tensor) -> Kept:
    """Return a saved tensor that is kept; an alias, since the tensor may be of the graph node that holds it."""
    return Kept(tensor if tensor.is_leaf else alias_of(tensor), tensor._version)


def read_of(
    slot: StorageSlot | None, own: bool, tensor: Tensor, changed: bool, shape: Shape | None = None
) -> Read | Outside:
    """Return the source of a tensor that a recomputation reads, from its slot; `own` is the recomputed storage."""
    if own:
        return Read(None, shape or shape_of(tensor), changed)
    if slot is None:
        return outside_of(tensor, changed)
    if slot.recomputed:
        return Read(slot, shape or shape_of(tensor), changed)
    return Read(slot, shape or shape_of(tensor), changed, read_witness_of(tensor), tensor._version)


def storage_of(wanted: StorageSlot) -> UntypedStorage:
    """Return a slot's storage; each input of a recomputation is materialised once and held until its last use."""
    wanted.link.raise_failure()
    if wanted.storage is not None:
        wanted.used()
        return wanted.storage
    inputs = wanted.sources
    there = {source.name: source.storage for source in inputs if source.storage is not None}
    if len(there) == len(inputs):
        return wanted.materialise(there, helper=False)
    closure = _closure(wanted)
    missing = sorted(closure, key=lambda slot: -slot.order)
    uses = Counter(source.name for sources in closure.values() for source in sources)
    resident: dict[str, UntypedStorage] = {}
    while missing:
        slot = missing.pop()
        sources = [source.name for source in closure.pop(slot)]
        resident[slot.name] = slot.materialise(resident, helper=slot is not wanted)
        for source in sources:
            uses[source] -= 1
            if not uses[source]:
                del resident[source]
        del slot
    return resident[wanted.name]


def _closure(wanted: StorageSlot) -> dict[StorageSlot, frozenset[StorageSlot]]:
    """Return a slot and the inputs of its recomputation, each with the slots that it reads."""
    found, stack = {}, [wanted]
    while stack:
        slot = stack.pop()
        if slot not in found:
            found[slot] = slot.sources
            stack += found[slot]
    return found
