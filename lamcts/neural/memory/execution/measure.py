"""Measure a training step under a plan: held bytes, peak of real allocations, and on CUDA the time. Needs torch."""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.execution.schedule import schedule
from lamcts.neural.memory.plan import Plan, keep_all
from lamcts.neural.memory.seen import Work
from lamcts.neural.trace import Trace, trace
from lamcts.neural.trace.module import Loss, arguments, scalar
from lamcts.neural.trace.recorder import Args, Kwargs, Op, work_of

STEPS = 3  # on CUDA; the time is that of the last, after kernels are loaded and memory is pinned (untuned)


@dataclass(frozen=True)
class MeasuredStep:
    """Measurement of a training step under a plan.

    held_bytes: saved storages on the device after the forward pass, without parameters and inputs. predicted_bytes: the
    simulated number of these bytes. peak_bytes: most bytes that the step really had allocated at once, above those
    before it: activations, gradients, temporary results and the scratch memory of kernels. Copies on the host are left
    out. On CUDA the highest of three steps, since the first one may try out kernels. None on other devices, and while
    another profiler runs. milliseconds: on CUDA, the time of the last step. reserved_bytes: on CUDA, the same peak of
    the segments that the allocator reserves. scratch: on the CPU, bytes that operations allocate and release while they
    run, by kind, floating-point operations and moved bytes; seconds: the least that they took. sizes: bytes of storages
    that the trace does not know.
    """

    held_bytes: int
    predicted_bytes: int
    peak_bytes: int | None = None
    milliseconds: float | None = None
    reserved_bytes: int | None = None
    scratch: dict[Work, int] = field(default_factory=dict, repr=False, compare=False)
    seconds: dict[Work, float] = field(default_factory=dict, repr=False, compare=False)
    sizes: dict[int, int] = field(default_factory=dict, repr=False, compare=False)


def held_bytes(traced: Trace, plan: Plan) -> int:
    """Return the saved bytes that `plan` leaves on the device after the forward pass."""
    return schedule(traced, plan).held_bytes


def measure(
    model: nn.Module,
    batch: object,
    plan: Plan | None = None,
    *,
    loss: Loss | None = None,
    traced: Trace | None = None,
) -> MeasuredStep:
    """Run and measure one training step under a plan.

    The model, its gradients and the global generators are restored afterwards.

    Parameters
    ----------
    model : torch.nn.Module
        The model to train.
    batch : tensor, tuple or dict
        Arguments of the model, see `trace`.
    plan : Plan, default None
        The plan; None keeps everything.
    loss : callable, default None
        From the output to a scalar; None is the sum of all floats.
    traced : Trace, default None
        Trace of this model, batch and loss; None traces them.

    Returns
    -------
    MeasuredStep
        `held_bytes`, the saved bytes on the device after the forward pass, and `predicted_bytes`, their simulated
        number. `peak_bytes`, the most that the step really had allocated. On CUDA also `milliseconds`.
    """
    traced = traced or trace(model, batch, loss=loss)
    plan = plan or keep_all(traced.graph)
    with restored(model) as device:
        cuda, added = device.type == "cuda", bool(traced.gradient_bytes)
        reset_gradients(model, added)
        with (
            torch.cuda.device(device) if cuda else nullcontext(),
            allocation_peak(device) as found,  # its mode comes first: it also sees what the executor runs
            apply(model, plan, traced) as executor,
        ):
            for _ in range(STEPS if cuda else 1):
                reset_gradients(model, added)
                begin = synchronised_time(device)
                run_step(model, batch, loss)
                took = synchronised_time(device) - begin
        held, predicted = executor.held_bytes, executor.schedule.held_bytes
        peaks = found.peak_bytes, 1e3 * took if cuda else None, found.reserved_bytes
        scratch = {work: size for work, size in found.scratch.items() if size}
        return MeasuredStep(held, predicted, *peaks, scratch, found.seconds, executor.schedule.sizes)


def measured_peak(
    model: nn.Module, call: Callable[..., Any], batch: object, loss: Loss | None, added: bool
) -> int | None:
    """Return the most bytes that a step allocates, after others that compile it; None if they cannot be measured."""
    with restored(model) as device, torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        for _ in range(STEPS - 1):
            reset_gradients(model, added)
            run_step(call, batch, loss)
        reset_gradients(model, added)
        with allocation_peak(device, by_operation=False) as found:
            run_step(call, batch, loss)
    return found.peak_bytes


def synchronised_time(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


LOG_LEVEL = "KINETO_LOG_LEVEL"  # else torch's profiler writes lines to stderr whenever it begins or ends
MARK = "lamcts operation "  # names of profiled ranges, each with the number of an operation


@dataclass
class AllocationPeak:
    """Peaks above the bytes that were allocated before; None if they were not measured."""

    peak_bytes: int | None = None
    reserved_bytes: int | None = None  # on CUDA, of the allocator's segments, with its rounding and free blocks
    scratch: dict[Work, int] = field(default_factory=dict)  # on the CPU, bytes that operations release while they run
    seconds: dict[Work, float] = field(default_factory=dict)  # on the CPU, the least that operations took


@contextmanager
def allocation_peak(device: torch.device, by_operation: bool = True) -> Iterator[AllocationPeak]:
    """Measure the allocations of a block on a device; the result is filled in at its end."""
    found = AllocationPeak()
    if device.type == "cuda":
        with _counted_by_cuda(device, found):
            yield found
    elif device.type == "cpu" and not torch._C._autograd._profiler_enabled():
        with _profiled(found, _Marks() if by_operation else None):
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
def _profiled(found: AllocationPeak, marks: "_Marks | None") -> Iterator[None]:
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with _quiet(), torch.profiler.profile(activities=cpu, profile_memory=True) as run, marks or nullcontext():
        yield
    assert run.profiler is not None and run.profiler.kineto_results is not None
    events = run.profiler.kineto_results.events()
    changes = sorted((one.start_ns(), k, one.nbytes()) for k, one in enumerate(events) if _allocates(one))
    times, sizes = [time for time, _, _ in changes], [size for _, _, size in changes]
    found.peak_bytes = highest(sizes)
    for one in events:
        if marks is not None and one.name().startswith(MARK):
            work = marks.works[int(one.name().removeprefix(MARK))]
            inside = sizes[bisect_left(times, one.start_ns()) : bisect_left(times, one.end_ns())]
            results = max(sum(inside), 0)
            found.scratch[work] = max(found.scratch.get(work, 0), highest(inside) - results)
            took = one.duration_ns() / 1e9
            found.seconds[work] = min(took, found.seconds.get(work, took))


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


def reset_gradients(model: nn.Module, added: bool) -> None:
    """Delete the gradients; where those of steps are added up, set them to 0."""
    for one in model.parameters():
        one.grad = torch.zeros_like(one) if added and one.requires_grad else None


def run_step(call: Callable[..., Any], batch: object, loss: Loss | None) -> None:
    """Run a forward and a backward pass of a model, called by `call`; under autocast parameters are cast in it."""
    args, kwargs = arguments(batch)
    torch.clear_autocast_cache()
    scalar(call(*args, **kwargs), loss).backward()  # type: ignore[no-untyped-call]


@contextmanager
def restored(model: nn.Module) -> Iterator[torch.device]:
    """Restore gradients and buffers of a model, and the global generators, at the end; yield the model's device."""
    device = next((one.device for one in model.parameters()), torch.device("cpu"))
    before = {name: one.detach().clone() for name, one in _modified(model)}
    gradients = [(one, one.grad) for one in model.parameters()]
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
            yield device
    finally:
        for one, gradient in gradients:
            one.grad = gradient
        with torch.no_grad():
            for name, tensor in _modified(model):
                tensor.copy_(before[name])


def _modified(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Return by name what forward passes modify: buffers, and weights of embeddings with `max_norm`."""
    embeddings = [
        (name, one) for name, one in model.named_modules() if isinstance(one, (nn.Embedding, nn.EmbeddingBag))
    ]
    scaled = [(f"{name}.weight", one.weight) for name, one in embeddings if one.max_norm is not None]
    return [*model.named_buffers(), *scaled]
