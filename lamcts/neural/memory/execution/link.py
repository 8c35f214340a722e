"""Transfers between device and host: on a separate stream on CUDA, plain copies elsewhere. Needs torch.

Memory is allocated and freed on the computing stream only. The copying stream waits for it before each copy, and it
waits for the copy before source or target are used again.
"""

from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, UntypedStorage


class Streams(Protocol):
    """Copying and computing streams of a device."""

    def side(self, device: torch.device) -> torch.Stream:
        """Return a new stream with `wait_stream` and `wait_event`."""

    def current(self, device: torch.device) -> torch.Stream:
        """Return the computing stream."""

    def host(self, size: int) -> Tensor:
        """Return a host buffer of `size` bytes that supports asynchronous copies."""

    def copy(self, target: Tensor, source: Tensor, stream: torch.Stream) -> torch.Event:
        """Copy on a stream; return the event of its end."""

    def uses(self, tensor: Tensor, stream: torch.Stream) -> None:
        """Record that a stream uses a tensor, so that its memory is not reused before the stream is done."""


class Cuda:
    """CUDA streams, with pinned memory from torch's pool, which waits for pending copies."""

    def side(self, device: torch.device) -> torch.Stream:
        return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def current(self, device: torch.device) -> torch.Stream:
        return torch.cuda.current_stream(device)

    def host(self, size: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def copy(self, target: Tensor, source: Tensor, stream: torch.Stream) -> torch.Event:
        with torch.cuda.stream(stream):  # type: ignore[arg-type]
            target.copy_(source, non_blocking=True)
            return stream.record_event()

    def uses(self, tensor: Tensor, stream: torch.Stream) -> None:
        tensor.record_stream(stream)


STREAMS: dict[str, Streams] = {"cuda": Cuda()}  # by device type; others copy synchronously


class Sent(NamedTuple):
    """The bytes of a storage on the host, and its device."""

    host: Tensor
    device: torch.device


class Transfer(NamedTuple):
    """Bytes in transfer to the device; event: the end of the copy (None: it has ended)."""

    flat: Tensor
    event: torch.Event | None


class Link:
    """Copy storages to the host and back, on one extra stream for each device with streams.

    The link holds storages during a copy: the last one sent, as in the simulator, and all fetched ones that are not
    used yet.
    """

    def __init__(self) -> None:
        self._sides: dict[torch.device, torch.Stream] = {}
        self._leaving: list[Transfer] = []
        self._coming: dict[int, Transfer] = {}  # by id of their tensors

    def send(self, storage: UntypedStorage) -> Sent:
        """Begin to copy a storage to the host; its memory is freed at the next send, or by `settle`."""
        flat = flat_bytes(storage)
        streams = STREAMS.get(flat.device.type)
        if streams is None:
            return Sent(_on_host(flat), flat.device)
        self._left()
        host = streams.host(flat.numel())
        self._leaving.append(Transfer(flat, streams.copy(host, flat, self._side(flat.device))))
        return Sent(host, flat.device)

    def fetch(self, sent: Sent) -> Transfer:
        """Begin to copy a storage back to the device."""
        streams = STREAMS.get(sent.device.type)
        if streams is None:
            return Transfer(sent.host.to(sent.device, copy=True), None)
        flat = torch.empty(sent.host.shape, dtype=torch.uint8, device=sent.device)
        coming = Transfer(flat, streams.copy(flat, sent.host, self._side(sent.device)))
        self._coming[id(flat)] = coming
        return coming

    def arrived(self, coming: Transfer) -> UntypedStorage:
        """Return a fetched storage; later computation waits for its copy."""
        if coming.event is not None:
            self._coming.pop(id(coming.flat), None)
            self._wait(coming)
        return coming.flat.untyped_storage()

    def settle(self) -> None:
        """Let later computation wait for all transfers; forget unused fetches."""
        self._left()
        while self._coming:
            self._wait(self._coming.popitem()[1])

    def _left(self) -> None:
        while self._leaving:
            self._wait(self._leaving.pop())

    def _wait(self, copied: Transfer) -> None:
        device = copied.flat.device
        streams = STREAMS[device.type]
        current = streams.current(device)
        if copied.event is not None:
            current.wait_event(copied.event)
        streams.uses(copied.flat, current)  # no effect unless it was allocated on another stream

    def _side(self, device: torch.device) -> torch.Stream:
        """Return the copying stream, which first waits for the computation so far."""
        if device not in self._sides:
            self._sides[device] = STREAMS[device.type].side(device)
        self._sides[device].wait_stream(STREAMS[device.type].current(device))
        return self._sides[device]


def flat_bytes(storage: UntypedStorage) -> Tensor:
    """Return a storage as a tensor of its bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _on_host(flat: Tensor) -> Tensor:
    """Copy bytes to memory of numpy, which a measurement of the device's allocations leaves out."""
    return torch.from_numpy(np.empty(flat.numel(), np.uint8)).copy_(flat)
