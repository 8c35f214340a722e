"""What `Link` asks of a device that copies beside computing. Needs torch."""

from typing import Any, Protocol

import torch
from torch import Tensor


class Streams(Protocol):
    """Queues of a device: copies on one of them, while another computes."""

    def side(self, device: torch.device) -> Any:
        """Return a new queue; it has `wait_stream` and `wait_event`."""

    def current(self, device: torch.device) -> Any:
        """Return the queue that computes."""

    def host(self, size: int) -> Tensor:
        """Return so many bytes of the host, from where and to where the device copies beside computing."""

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        """Let a queue copy, after all that it was given before, and return the event that it is done."""

    def uses(self, tensor: Tensor, stream: Any) -> None:
        """Note that a queue uses a tensor: once dropped, its memory is not given to others before the queue is done."""


class Cuda:
    """Streams of CUDA. Pinned memory comes from torch's pool, which waits for copies before it gives any out again."""

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


STREAMS: dict[str, Streams] = {"cuda": Cuda()}  # by type of device; the others copy at once
