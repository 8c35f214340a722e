"""Stand-ins for the CUDA streams of memory plans: they time copies, or delay them to provoke races. Needs torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from lamcts.neural.memory.execution.link import STREAMS, Cuda

POISON = 255  # of all bytes: floats of these bytes are NaN


@contextmanager
def streams(stand_in: Cuda) -> Iterator[None]:
    """Use other streams for the copies of memory plans inside a `with` block."""
    before = STREAMS["cuda"]
    STREAMS["cuda"] = stand_in
    try:
        yield
    finally:
        STREAMS["cuda"] = before


class Delayed(Cuda):
    """Copies that begin or end late, or computation that is late when a copy begins; fetched memory is poisoned.

    before, after, computing: cycles of the device.
    """

    def __init__(self, before: int = 0, after: int = 0, computing: int = 0) -> None:
        self.before, self.after, self.computing = before, after, computing

    def empty(self, size: int, device: torch.device, stream: Any) -> Tensor:
        made = super().empty(size, device, stream)
        with torch.cuda.stream(stream):
            return made.fill_(POISON)

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        if self.computing:
            torch.cuda._sleep(self.computing)
        with torch.cuda.stream(stream):
            if self.before:
                torch.cuda._sleep(self.before)
            target.copy_(source, non_blocking=True)
            if self.after:
                torch.cuda._sleep(self.after)
            return stream.record_event()


class Copies(Cuda):
    """CUDA streams whose copies, and the waits of the computing stream, are timed by events.

    pairs: begin and end of each copy. waits: of each wait.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self.waits: list[tuple[Any, Any]] = []

    def current(self, device: torch.device) -> Any:
        return Waiting(super().current(device), self.waits)

    def empty(self, size: int, device: torch.device, stream: Any) -> Tensor:
        return super().empty(size, device, unwrapped(stream))

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        begin = stream.record_event(torch.cuda.Event(enable_timing=True))
        done = super().copy(target, source, stream)
        self.pairs.append((begin, stream.record_event(torch.cuda.Event(enable_timing=True))))
        return done

    def uses(self, tensor: Tensor, stream: Any) -> None:
        super().uses(tensor, unwrapped(stream))

    def hidden(self) -> float:
        """Return the share of the copying time without waits."""
        copied, waited = (sum(a.elapsed_time(b) for a, b in pairs) for pairs in (self.pairs, self.waits))
        return 1 - min(waited / copied, 1) if copied else 1.0


class Waiting:
    """A stream that records its waits."""

    def __init__(self, stream: Any, waits: list[tuple[Any, Any]]) -> None:
        self.stream, self.waits = stream, waits

    def record_event(self) -> Any:
        return self.stream.record_event()

    def wait_event(self, event: Any) -> None:
        begin = self.stream.record_event(torch.cuda.Event(enable_timing=True))
        self.stream.wait_event(event)
        self.waits.append((begin, self.stream.record_event(torch.cuda.Event(enable_timing=True))))


def unwrapped(stream: Any) -> Any:
    """Return the stream of torch, which alone may be entered or recorded."""
    return stream.stream if isinstance(stream, Waiting) else stream
