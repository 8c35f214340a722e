"""Peak of the bytes that a step really allocates, with the scratch memory of kernels. Needs torch.

CUDA's allocator counts for itself. On the CPU, torch's profiler records each allocation and each release.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

LOG_LEVEL = "KINETO_LOG_LEVEL"  # else torch's profiler writes lines to stderr whenever it begins or ends


@dataclass
class AllocationPeak:
    """Peaks above the bytes that were allocated before; None if they were not measured.

    reserved_bytes: on CUDA, peak of the segments that the allocator holds, with its rounding and its free blocks.
    """

    peak_bytes: int | None = None
    reserved_bytes: int | None = None


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
    with _quiet(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as run:
        yield
    found.peak_bytes = highest([(one.start_ns(), one.nbytes()) for one in _allocations(run)])


def highest(changes: list[tuple[int, int]]) -> int:
    """Return the peak of allocated bytes from pairs of time and bytes (negative: released)."""
    return max(accumulate((size for _, size in sorted(changes, key=lambda one: one[0])), initial=0))


def _allocations(run: torch.profiler.profile) -> list[Any]:
    """Return the memory events of a profile on the CPU."""
    assert run.profiler is not None and run.profiler.kineto_results is not None
    cpu = torch.autograd.DeviceType.CPU
    return [
        one for one in run.profiler.kineto_results.events() if one.name() == "[memory]" and one.device_type() == cpu
    ]


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
