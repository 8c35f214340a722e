"""Transfers between device and host: on a separate stream on CUDA, plain copies elsewhere. Needs torch.

Memory is allocated and freed on the computing stream only. The copying stream waits before each copy for the work that
is queued on it then: until the operation that wrote a storage to send, or until the last use of memory that a fetch
allocates. Later work is not waited for. The computing stream waits for the copy before source or target are used again.
"""

from collections.abc import Callable
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

    def empty(self, size: int, device: torch.device, stream: torch.Stream) -> Tensor:
        """Return `size` bytes of a device, allocated on a stream."""

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

    def empty(self, size: int, device: torch.device, stream: torch.Stream) -> Tensor:
        with torch.cuda.stream(stream):  # type: ignore[arg-type]
            return torch.empty(size, dtype=torch.uint8, device=device)

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
    """Copy storages to the host and back, on one extra stream for each device with streams."""

    def __init__(self) -> None:
        self._sides: dict[torch.device, torch.Stream] = {}
        self._leaving: list[Transfer] = []
        self._coming: dict[int, Transfer] = {}  # by id of their tensors
        self._failed: Exception | None = None  # of a fetch ahead
        self.drop_ahead: Callable[[], None] = lambda: None  # the last fetch ahead, if it is not used yet

    def send(self, storage: UntypedStorage) -> Sent:
        """Begin to copy a storage to the host; its memory is freed at the next send, or by `settle`."""
        flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
        streams = STREAMS.get(flat.device.type)
        if streams is None:
            # memory of numpy, which a measurement of the device's allocations leaves out
            return Sent(torch.from_numpy(np.empty(flat.numel(), np.uint8)).copy_(flat), flat.device)
        self._left()
        host, side = streams.host(flat.numel()), self._side(flat.device, streams.current(flat.device))
        self._leaving.append(Transfer(flat, streams.copy(host, flat, side)))
        return Sent(host, flat.device)

    def stream(self, device: torch.device) -> torch.Stream | None:
        """Return the computing stream of this thread; None without streams."""
        streams = STREAMS.get(device.type)
        return None if streams is None else streams.current(device)

    def fetch_ahead(self, sent: Sent, stream: torch.Stream | None) -> Transfer | None:
        """Begin to fetch behind the work of a stream; return None if that fails."""
        try:
            return self.fetch(sent, stream)
        except torch.OutOfMemoryError:
            return None
        except Exception as error:
            self._failed = error
            return None

    def raise_failure(self) -> None:
        """Raise the error of an earlier fetch ahead, if any."""
        error, self._failed = self._failed, None
        if error is not None:
            raise error

    def fetch(self, sent: Sent, stream: torch.Stream | None = None) -> Transfer:
        """Begin to copy a storage back to the device, behind the work of a stream, by default that of this thread."""
        streams = STREAMS.get(sent.device.type)
        if streams is None:
            return Transfer(sent.host.to(sent.device, copy=True), None)
        stream = stream or streams.current(sent.device)
        flat = streams.empty(sent.host.numel(), sent.device, stream)
        coming = Transfer(flat, streams.copy(flat, sent.host, self._side(sent.device, stream)))
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

    def _side(self, device: torch.device, stream: torch.Stream) -> torch.Stream:
        """Return the copying stream, which first waits for the work of a stream so far."""
        if device not in self._sides:
            self._sides[device] = STREAMS[device.type].side(device)
        self._sides[device].wait_stream(stream)
        return self._sides[device]
