"""Measure the time of training steps under a plan. Needs torch."""

from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import nn

from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.execution.measure import reset_gradients, restored, run_step, synchronised_time
from lamcts.neural.memory.plan import Plan
from lamcts.neural.trace import Trace
from lamcts.neural.trace.module import Loss

STEPS = 5  # most steps after the first (untuned)
SECONDS = 1.0  # no further step begins after this time


class StepTime(NamedTuple):
    """Seconds of a step, the least of several, and of the first one, which is compared with the trace."""

    seconds: float
    first_seconds: float


def step_time(
    model: nn.Module, batch: object, plan: Plan | None = None, *, loss: Loss | None = None, traced: Trace | None = None
) -> StepTime:
    """Measure the time of training steps under a plan.

    The model, its gradients and the global generators are restored afterwards. Unlike `measure`, no profiler runs.

    Parameters
    ----------
    model, batch, loss
        As of `measure`.
    plan : Plan, default None
        The plan; None runs ordinary steps.
    traced : Trace, default None
        Trace of this model, batch and loss; needed for a plan.

    Returns
    -------
    StepTime
        `seconds`, the least of at most five steps, and `first_seconds` of the step before them.
    """
    if plan is not None and traced is None:
        raise ValueError(
            "traced: expected the trace of the plan, got None: pass `traced=trace(model, batch, loss=loss)`"
        )
    under = nullcontext() if plan is None or traced is None else apply(model, plan, traced)
    with restored(model) as device, under:
        first = _seconds(model, batch, loss, device)
        took = [_seconds(model, batch, loss, device)]
        while len(took) < STEPS and sum(took) < SECONDS:
            took.append(_seconds(model, batch, loss, device))
    return StepTime(min(took), first)


def _seconds(model: nn.Module, batch: object, loss: Loss | None, device: torch.device) -> float:
    """Return the seconds of one step."""
    reset_gradients(model, added=False)
    began = synchronised_time(device)
    run_step(model, batch, loss)
    return synchronised_time(device) - began
