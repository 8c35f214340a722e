"""Peak of the bytes that a step really allocates, with the scratch memory of kernels. Needs torch.

CUDA's allocator counts for itself. On the CPU, torch's profiler records each allocation and each release.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lamcts.neural.memory.scratch import Work
from lamcts.neural.trace.recorder import Args, Kwargs, Op, work_of

LOG_LEVEL = "KINETO_LOG_LEVEL"  # else torch's profiler writes lines to stderr whenever it begins or ends
MARK = "lamcts operation "  # names of profiled ranges, each with the number of an operation


@dataclass
class AllocationPeak:
    """Peaks above the bytes that were allocated before; None if they were not measured.

    reserved_bytes: on CUDA, peak of the segments that the allocator holds, with its rounding and its free blocks.
    scratch: on the CPU, bytes that operations allocate and release while they run, by their work.
    """

    peak_bytes: int | None = None
    reserved_bytes: int | None = None
    scratch: dict[Work, int] = field(default_factory=dict)


@contextmanager
def allocation_peak(device: torch.device) -> Iterator[AllocationPeak]:
    """Measure the allocations of a block on a device; the result is filled in at its end.

    Other devices than CUDA and CPU are not measured, nor is a block inside another profiler.
    """
    found = AllocationPeak()
    if device.type == "cuda":
        with _counted_by_cuda(device, found):
            yield found
    elif device.type == "cpu" and not torch._C._autograd._profiler_enabled():
        with _profiled(found):
            yield found
    else:
        yield found


@contextmanager
def _counted_by_cuda(device: torch.device, found: AllocationPeak) -> Iterator[None]:
    torch.cuda.empty_cache()  # blocks that are free now would count as reserved
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    yield
    torch.cuda.synchronize(device)
    found.peak_bytes = torch.cuda.max_memory_allocated(device) - before
    found.reserved_bytes = torch.cuda.max_memory_reserved(device) - before


@contextmanager
def _profiled(found: AllocationPeak) -> Iterator[None]:
    marks = _Marks()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with _quiet(), torch.profiler.profile(activities=cpu, profile_memory=True) as run, marks:
        yield
    assert run.profiler is not None and run.profiler.kineto_results is not None
    events = run.profiler.kineto_results.events()
    changes = sorted((one.start_ns(), k, one.nbytes()) for k, one in enumerate(events) if _allocates(one))
    times, sizes = [time for time, _, _ in changes], [size for _, _, size in changes]
    found.peak_bytes = highest(sizes)
    for one in events:
        if one.name().startswith(MARK):
            work = marks.works[int(one.name().removeprefix(MARK))]
            inside = sizes[bisect_left(times, one.start_ns()) : bisect_left(times, one.end_ns())]
            results = max(sum(inside), 0)
            found.scratch[work] = max(found.scratch.get(work, 0), highest(inside) - results)


class _Marks(TorchDispatchMode):
    """Name a profiled range for each operation. works: their work, by number."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.works: list[Work] = []

    def __torch_dispatch__(self, func: Op, types: object, args: Args = (), kwargs: Kwargs | None = None) -> object:
        kwargs = kwargs or {}
        with torch._C._profiler._RecordFunctionFast(f"{MARK}{len(self.works)}"):
            result = func(*args, **kwargs)
        self.works.append(work_of(func, args, kwargs, result))
        return result


def highest(changes: list[int]) -> int:
    """Return the peak of allocated bytes from allocations (negative: releases) in order."""
    return max(accumulate(changes, initial=0))


def _allocates(event: Any) -> bool:
    """Return whether an event of a profile is an allocation or a release on the CPU."""
    return bool(event.name() == "[memory]" and event.device_type() == torch._C._autograd.DeviceType.CPU)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the profiler's log, which reads its level at its first use."""
    before = os.environ.get(LOG_LEVEL)
    os.environ.setdefault(LOG_LEVEL, "99")
    try:
        yield
    finally:
        if before is None:
            del os.environ[LOG_LEVEL]
