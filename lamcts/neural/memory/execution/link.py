"""Storages on their way to the host and back: on a stream of its own on CUDA, plain copies elsewhere. Needs torch."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, UntypedStorage


class Sent(NamedTuple):
    """The bytes of a storage on the host, and the device that they are of."""

    host: Tensor
    device: torch.device


class Coming(NamedTuple):
    """Bytes on their way to the device; event: after which they are there (None: they are)."""

    flat: Tensor
    event: Any


class Link:
    """Copies storages away and back. On CUDA one stream a device does so, beside the one that computes."""

    def __init__(self) -> None:
        self._streams: dict[torch.device, Any] = {}

    def send(self, storage: UntypedStorage) -> Sent:
        """Begin to copy a storage to the host; its memory may be given back as soon as nobody holds it."""
        flat = flat_bytes(storage)
        if flat.device.type != "cuda":
            return Sent(flat.clone(), flat.device)
        stream = self._stream(flat.device)
        stream.wait_stream(torch.cuda.current_stream(flat.device))
        host = torch.empty(flat.shape, dtype=torch.uint8, pin_memory=True)
        with torch.cuda.stream(stream):
            host.copy_(flat, non_blocking=True)
        flat.record_stream(stream)  # else its memory is used again before it is copied
        return Sent(host, flat.device)

    def fetch(self, sent: Sent) -> Coming:
        """Begin to copy a storage back."""
        if sent.device.type != "cuda":
            return Coming(sent.host.clone(), None)
        stream = self._stream(sent.device)
        with torch.cuda.stream(stream):
            flat = torch.empty(sent.host.shape, dtype=torch.uint8, device=sent.device)
            flat.copy_(sent.host, non_blocking=True)
            return Coming(flat, stream.record_event())

    def arrived(self, coming: Coming) -> UntypedStorage:
        """Let what is computed from now on wait for a storage, and return it."""
        if coming.event is not None:
            current = torch.cuda.current_stream(coming.flat.device)
            current.wait_event(coming.event)
            coming.flat.record_stream(current)
        return coming.flat.untyped_storage()

    def _stream(self, device: torch.device) -> Any:
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        return self._streams[device]


def flat_bytes(storage: UntypedStorage) -> Tensor:
    """Return a storage as a tensor of its bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
