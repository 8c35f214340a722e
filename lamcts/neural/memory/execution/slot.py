"""A movable storage while a plan is carried out: there, on the host, or to be made anew. Needs torch.

Nobody counts uses: what autograd saved and what others are made of hold a slot, and with the last of them it goes, as
the plan's storage does after its last need.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import torch
from torch import Tensor, UntypedStorage
from torch.multiprocessing.reductions import StorageWeakRef

from lamcts.neural.memory.execution.link import Coming, Link, Sent
from lamcts.neural.memory.execution.recipe import Operation, Shape, check_version
from lamcts.neural.memory.plan import MOVED, RECOMPUTED, Action

HELD = (Action.RECOMPUTE, Action.OFFLOAD)  # once it is back, it stays for all that is made of it
EACH = (Action.RECOMPUTE_EACH, Action.OFFLOAD_EACH)


class StorageSlot:
    """A storage by what becomes of it.

    order: of what is made of it, it is higher. writes: how many operations wrote it so far. next: what to fetch ahead,
    once this one came back, or never left, and goes.
    """

    def __init__(self, name: str, order: int, action: Action, link: Link) -> None:
        self.name, self.order, self.action, self.link = name, order, action, link
        self.storage: UntypedStorage | None = None
        self.recipe: list[Operation] = []
        self.writes = 0
        self.next: Callable[[], StorageSlot | None] = lambda: None
        self._sent: Sent | None = None
        self._coming: Coming | None = None
        self.came = False
        self._brought: StorageWeakRef | None = None

    def wrote(self, storage: UntypedStorage, how: Callable[[], Operation], last: bool) -> None:
        """Note that an operation wrote the storage; the `last` one ends its time on the device, if it shall go."""
        self.writes += 1
        if self.action in RECOMPUTED:
            self.recipe.append(how())
        elif self._sent is None:  # written again after that: found out when it is asked for
            self.storage = storage
            if last and self.action in MOVED:
                self._sent, self.storage = self.link.send(storage), None

    @property
    def sources(self) -> set["StorageSlot"]:
        """What it is made of, if it has to be made."""
        made = self.storage is None and self.action in RECOMPUTED and self._still_there() is None
        return {source for one in self.recipe for source in one.sources} if made else set()

    def bring(self, there: dict[str, UntypedStorage], helper: bool) -> UntypedStorage:
        """Return the storage, fetched or made of what is `there`; as a `helper` for others it may go at once."""
        storage = self.storage or self._still_there()
        if storage is not None:
            return storage
        storage = self._fetched() if self.action in MOVED else self._made(there)
        if self.action in HELD or not (helper or self.action in EACH):
            self.storage = storage
            self.recipe, self._sent = [], None
        self._brought = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        return storage

    def _still_there(self) -> UntypedStorage | None:
        """Return the storage if whoever asked before still has it: one formula may ask for several tensors in it."""
        if self._brought is None or self._brought.expired():  # type: ignore[no-untyped-call]
            return None
        found: UntypedStorage | None = UntypedStorage._new_with_weak_ptr(self._brought.cdata)
        return found

    def prefetch(self) -> None:
        """Begin to fetch what will be needed next."""
        if self._sent is not None and self._coming is None and self.storage is None:
            self._coming = self.link.fetch(self._sent)

    def __del__(self) -> None:
        """Fetch the next one as soon as this one is not needed more; in a graph that is thrown away, nothing."""
        self.storage = None
        following = self.next() if self.came else None
        if following is not None:
            following.prefetch()

    def _fetched(self) -> UntypedStorage:
        assert self._sent is not None
        coming, self._coming, self.came = self._coming or self.link.fetch(self._sent), None, True
        return self.link.arrived(coming)

    def _made(self, there: dict[str, UntypedStorage]) -> UntypedStorage:
        storage: UntypedStorage | None = None
        with ExitStack() as stack:
            stack.enter_context(torch._C._AutoDispatchBelowAutograd())
            for device in ("cpu", "cuda"):  # it was cast before: below autocast an operation has its types
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            for one in self.recipe:
                storage = one.run(storage, lambda source: there[source.name])
        assert storage is not None
        return storage


class Kept(NamedTuple):
    """A saved tensor that stays as it is."""

    tensor: Tensor
    version: int

    def unpacked(self) -> Tensor:
        """Return the tensor; RuntimeError where it was changed in place since, as torch itself says."""
        check_version(self.tensor, self.version)
        return self.tensor


class Moved(NamedTuple):
    """A saved tensor that is brought back from its slot. witness: has its version, and no memory."""

    slot: StorageSlot
    shape: Shape
    witness: Tensor
    version: int

    def unpacked(self) -> Tensor:
        """Return a tensor of the same bits; RuntimeError where the saved one was changed in place since."""
        check_version(self.witness, self.version, self.slot.name)
        return self.shape.on(taken(self.slot))


def taken(wanted: StorageSlot) -> UntypedStorage:
    """Return a slot's storage, and all that it is made of on the way: each once, until its last use for that.

    Nothing here holds a slot longer than that: with the last that holds it, its storage goes.
    """
    missing = _closure(wanted)[::-1]
    uses = Counter(source.name for slot in missing for source in slot.sources)
    there: dict[str, UntypedStorage] = {}
    while missing:
        slot = missing.pop()
        sources = {source.name for source in slot.sources}
        there[slot.name] = slot.bring(there, helper=slot is not wanted)
        uses.subtract(sources)
        for source in sources:
            if not uses[source]:
                del there[source]
    return there[wanted.name]


def _closure(wanted: StorageSlot) -> list[StorageSlot]:
    """Return a slot and all that it is made of, in an order in which nothing comes before what it is made of."""
    found, stack = {wanted}, [wanted]
    while stack:
        new = stack.pop().sources - found
        found |= new
        stack += new
    return sorted(found, key=lambda slot: slot.order)
