"""What is really there while a training step runs: bytes of storages, counted operation by operation. Needs torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lamcts.neural.trace.module import whole_step
from lamcts.neural.trace.recorder import ModuleNames, Recorder


class Held:
    """What autograd holds of a tensor; it is told when autograd lets it go."""

    def __init__(self, packed: Any, owner: "Counted") -> None:
        self.packed, self.owner = packed, owner
        owner.count(packed.storage, 1)

    def __del__(self) -> None:
        self.owner.count(self.packed.storage, -1)


class Counted(Recorder):
    """Records real steps as a trace does, and counts: saved [S], storages that autograd holds; alive [S], all."""

    def __init__(self, outside: list[Tensor]) -> None:
        super().__init__(outside)
        self.saved: list[frozenset[int]] = []
        self.alive: list[frozenset[int]] = []
        self._held: dict[int, int] = {}

    def count(self, storage: int, by: int) -> None:
        self._held[storage] = self._held.get(storage, 0) + by

    def pack(self, tensor: Tensor) -> Any:
        return Held(super().pack(tensor), self)

    def unpack(self, held: Any) -> Tensor:
        return super().unpack(held.packed)

    def _record(self, *given: Any) -> None:
        super()._record(*given)
        if len(self.steps) > len(self.saved):
            self.saved.append(frozenset(one for one, times in self._held.items() if times))
            self.alive.append(frozenset(i for i, one in enumerate(self._refs) if not one.expired()))


def counted_step(module: nn.Module, batch: Tensor) -> Counted:
    """Run a step of a module on a batch, on copies of its buffers, and count."""
    held = {name: one.detach().requires_grad_(one.requires_grad) for name, one in module.named_parameters()}
    held |= {name: one.clone() for name, one in module.named_buffers()}
    counted = Counted([*held.values(), batch])
    hooks = torch.autograd.graph.saved_tensors_hooks(counted.pack, counted.unpack)
    with hooks, ModuleNames(module, counted), counted:
        whole_step(module, held, ((batch,), {}), None, counted.turn)
    return counted


class Lives(TorchDispatchMode):
    """When each storage that operations make comes and goes. Peaks leave out what is `outside`, by address."""

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.away = 0, False
        self.born: list[int] = []
        self.died: list[int] = []
        self.sizes: list[int] = []
        self._numbers: dict[int, int] = {}
        self._refs: list[StorageWeakRef] = []  # while they are there, no other storage has the same address
        self._living: dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.away:
            self.see([one for one in tree_leaves(result) if isinstance(one, Tensor)])
        return result

    def see(self, tensors: list[Tensor]) -> None:
        """Note an operation that made tensors."""
        for tensor in (one for one in tensors if one.device.type != "meta"):
            storage = tensor.untyped_storage()
            if storage._cdata not in self._numbers:
                self._numbers[storage._cdata] = len(self.sizes)
                self._refs.append(StorageWeakRef(storage))
                self._living[len(self.sizes)] = self._refs[-1]
                self.born.append(self.clock)
                self.died.append(-1)
                self.sizes.append(storage.nbytes())
        for number in [number for number, ref in self._living.items() if ref.expired()]:
            self.died[number] = self.clock
            del self._living[number]
        self.clock += 1

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Leave out what is made meanwhile: it is on the host."""
        self.away = True
        try:
            yield
        finally:
            self.away = False

    def peak(self, outside: list[Tensor], since: int = 0) -> int:
        """Return the most bytes that were there at once, beside those of tensors, from an operation on."""
        left_out = {self._numbers.get(one.untyped_storage()._cdata) for one in outside}
        change = np.zeros(self.clock + 1, np.int64)
        for number, size in enumerate(self.sizes):
            if number not in left_out:
                change[self.born[number]] += size
                change[self.died[number] if self.died[number] >= 0 else self.clock] -= size
        return int(change.cumsum()[since:].max())


def left_out(lives: Lives, send: Any, storage: Any) -> Any:
    """Send a storage to the host, as `send` does; what is there does not count."""
    with lives.elsewhere():
        return send(storage)
