"""Streams of a device for copies that overlap computing. Needs torch."""

from typing import Any, Protocol

import torch
from torch import Tensor


class Streams(Protocol):
    """Copying and computing streams of a device."""

    def side(self, device: torch.device) -> Any:
        """Return a new stream with `wait_stream` and `wait_event`."""

    def current(self, device: torch.device) -> Any:
        """Return the computing stream."""

    def host(self, size: int) -> Tensor:
        """Return a host buffer of `size` bytes that supports asynchronous copies."""

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        """Copy on a stream; return the event of its end."""

    def uses(self, tensor: Tensor, stream: Any) -> None:
        """Record that a stream uses a tensor, so that its memory is not reused before the stream is done."""


class Cuda:
    """CUDA streams, with pinned memory from torch's pool, which waits for pending copies."""

    def side(self, device: torch.device) -> Any:
        return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def current(self, device: torch.device) -> Any:
        return torch.cuda.current_stream(device)

    def host(self, size: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        with torch.cuda.stream(stream):
            target.copy_(source, non_blocking=True)
            return stream.record_event()

    def uses(self, tensor: Tensor, stream: Any) -> None:
        tensor.record_stream(stream)


STREAMS: dict[str, Streams] = {"cuda": Cuda()}  # by device type; others copy synchronously
