"""Storages on their way to the host and back: on a stream of its own on CUDA, plain copies elsewhere. Needs torch.

Memory is allocated and freed on the stream that computes alone, in the order of its work: the other one waits for it
before it copies, and it waits for the other one before anybody uses what was copied, or where it was copied from.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, UntypedStorage

from lamcts.neural.memory.execution.streams import STREAMS


class Sent(NamedTuple):
    """The bytes of a storage on the host, and the device that they are of."""

    host: Tensor
    device: torch.device


class Coming(NamedTuple):
    """Bytes on their way to the device; event: after which they are there (None: they are)."""

    flat: Tensor
    event: Any


class Link:
    """Copies storages away and back. Where the device has streams, one a device does so, beside the one that computes.

    What is copied is held here meanwhile: of storages on their way to the host the last one, as in the simulator, where
    the next one has to wait for that; of those on their way back all that nobody asked for yet.
    """

    def __init__(self) -> None:
        self._sides: dict[torch.device, Any] = {}
        self._leaving: list[Coming] = []
        self._coming: dict[int, Coming] = {}  # by identity of their tensors

    def send(self, storage: UntypedStorage) -> Sent:
        """Begin to copy a storage to the host. Its memory is free at the next one, or once this is settled."""
        flat = flat_bytes(storage)
        streams = STREAMS.get(flat.device.type)
        if streams is None:
            return Sent(flat.clone(), flat.device)
        self._left()
        host = streams.host(flat.numel())
        self._leaving.append(Coming(flat, streams.copy(host, flat, self._side(flat.device))))
        return Sent(host, flat.device)

    def fetch(self, sent: Sent) -> Coming:
        """Begin to copy a storage back."""
        streams = STREAMS.get(sent.device.type)
        if streams is None:
            return Coming(sent.host.clone(), None)
        flat = torch.empty(sent.host.shape, dtype=torch.uint8, device=sent.device)
        coming = Coming(flat, streams.copy(flat, sent.host, self._side(sent.device)))
        self._coming[id(flat)] = coming
        return coming

    def arrived(self, coming: Coming) -> UntypedStorage:
        """Let what is computed from now on wait for a storage, and return it."""
        if coming.event is not None:
            self._coming.pop(id(coming.flat), None)
            self._wait(coming)
        return coming.flat.untyped_storage()

    def settle(self) -> None:
        """Let what is computed from now on wait for all that is on its way; what nobody asked for is forgotten."""
        self._left()
        while self._coming:
            self._wait(self._coming.popitem()[1])

    def _left(self) -> None:
        while self._leaving:
            self._wait(self._leaving.pop())

    def _wait(self, copied: Coming) -> None:
        device = copied.flat.device
        streams = STREAMS[device.type]
        current = streams.current(device)
        current.wait_event(copied.event)
        streams.uses(copied.flat, current)  # nothing, unless it was allocated on a further stream

    def _side(self, device: torch.device) -> Any:
        """Return the stream that copies, when it has all that computes behind it until now."""
        if device not in self._sides:
            self._sides[device] = STREAMS[device.type].side(device)
        self._sides[device].wait_stream(STREAMS[device.type].current(device))
        return self._sides[device]


def flat_bytes(storage: UntypedStorage) -> Tensor:
    """Return a storage as a tensor of its bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
