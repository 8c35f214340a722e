"""What is really there while a training step runs: bytes of storages, counted operation by operation. Needs torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


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
