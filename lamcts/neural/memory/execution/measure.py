"""Measure a training step under a plan: held bytes, peak of real allocations, and on CUDA the time. Needs torch."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import nn

from lamcts.neural.memory.execution.allocations import allocation_peak
from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.execution.schedule import schedule
from lamcts.neural.memory.plan import Plan, keep_all
from lamcts.neural.memory.scratch import Work
from lamcts.neural.trace import Trace, trace
from lamcts.neural.trace.module import Loss, arguments, scalar

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
    run, by kind, floating-point operations and moved bytes.
    """

    held_bytes: int
    predicted_bytes: int
    peak_bytes: int | None = None
    milliseconds: float | None = None
    reserved_bytes: int | None = None
    scratch: dict[Work, int] = field(default_factory=dict, repr=False, compare=False)


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
    """Run and measure one training step under a plan; see `lamcts.neural.memory.measure`."""
    traced = traced or trace(model, batch, loss=loss)
    plan = plan or keep_all(traced.graph)
    before = {name: one.detach().clone() for name, one in model.named_buffers()}
    gradients = [(one, one.grad) for one in model.parameters()]
    device = next((one.device for one in model.parameters()), torch.device("cpu"))
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
            return _measured(model, batch, plan, traced, loss, device)
    finally:
        for one, gradient in gradients:
            one.grad = gradient
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])


def _measured(
    model: nn.Module,
    batch: object,
    plan: Plan,
    traced: Trace,
    loss: Loss | None,
    device: torch.device,
) -> MeasuredStep:
    args, kwargs = arguments(batch)
    cuda = device.type == "cuda"
    for one in model.parameters():
        one.grad = None
    with (
        torch.cuda.device(device) if cuda else nullcontext(),
        allocation_peak(device) as found,  # its mode comes first: it also sees what the executor runs
        apply(model, plan, traced) as executor,
    ):
        for _ in range(STEPS if cuda else 1):
            for one in model.parameters():
                one.grad = None
            begin = _now(device)
            scalar(model(*args, **kwargs), loss).backward()  # type: ignore[no-untyped-call]
            took = _now(device) - begin
    held, predicted = executor.held_bytes, executor.schedule.held_bytes
    peaks = found.peak_bytes, 1e3 * took if cuda else None, found.reserved_bytes
    return MeasuredStep(held, predicted, *peaks, {work: size for work, size in found.scratch.items() if size})


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
