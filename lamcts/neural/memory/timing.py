"""Measure the time of training steps under a plan. Needs torch."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch import nn

from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.plan import Plan
from lamcts.neural.trace import Trace
from lamcts.neural.trace.module import Loss, arguments, scalar

STEPS = 5  # most steps after the first (untuned)
SECONDS = 1.0  # no further step begins after this time


class StepTime(NamedTuple):
    """Seconds of a step, the least of several, and of the first one, which is compared with the trace."""

    seconds: float
    first_seconds: float


def step_time(
    model: nn.Module, batch: object, plan: Plan | None, *, loss: Loss | None = None, traced: Trace | None = None
) -> StepTime:
    """Return the time of training steps under a plan; see `lamcts.neural.memory.step_time`."""
    device = next((one.device for one in model.parameters()), torch.device("cpu"))
    if plan is not None and traced is None:
        raise ValueError(
            "traced: expected the trace of the plan, got None: pass `traced=trace(model, batch, loss=loss)`"
        )
    under = nullcontext() if plan is None or traced is None else apply(model, plan, traced)
    with restored(model), torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad(), under:
        first = _seconds(model, batch, loss, device)
        took = [_seconds(model, batch, loss, device)]
        while len(took) < STEPS and sum(took) < SECONDS:
            took.append(_seconds(model, batch, loss, device))
    return StepTime(min(took), first)


def _seconds(model: nn.Module, batch: object, loss: Loss | None, device: torch.device) -> float:
    """Return the seconds of one step."""
    args, kwargs = arguments(batch)
    for one in model.parameters():
        one.grad = None
    began = _now(device)
    scalar(model(*args, **kwargs), loss).backward()  # type: ignore[no-untyped-call]
    return _now(device) - began


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Restore gradients and buffers of a model at the end."""
    before = {name: one.detach().clone() for name, one in model.named_buffers()}
    gradients = [(one, one.grad) for one in model.parameters()]
    try:
        yield
    finally:
        for one, gradient in gradients:
            one.grad = gradient
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
