"""Public `apply`, `measure`, `step_time` and `measured_machine`, which load torch when called."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Plan

if TYPE_CHECKING:
    import torch
    from torch import nn

    from lamcts.neural.memory.execution.apply import Executor
    from lamcts.neural.memory.execution.measure import MeasuredStep
    from lamcts.neural.memory.timing import StepTime
    from lamcts.neural.trace import Trace
    from lamcts.neural.trace.module import Loss


def apply(model: "nn.Module", plan: Plan, traced: "Trace") -> AbstractContextManager["Executor"]:
    """Carry out a memory plan in the training steps of a model, inside a `with` block. Needs torch.

    Gradients equal those of a step without a plan. Steps without gradients and other models are not affected; another
    model may have a plan in a nested block. Compiled modules run uncompiled, with a warning.

    Parameters
    ----------
    model : torch.nn.Module
        The model to train.
    plan : Plan
        Action of each movable storage.
    traced : Trace
        Trace of this model with the same batch shape, loss and mode.

    Returns
    -------
    context manager
        Yields the executor, whose `held_bytes` are the saved bytes on the device after the forward pass.

    Raises
    ------
    TypeError
        For a model of several processes, or one whose replicas run in other threads.
    ValueError
        For a plan that cannot be carried out.
    RuntimeError
        For a model that has a plan already, and in a step that deviates from the trace.

    Notes
    -----
    The model has to run the traced operations, and the traced loss has to follow before the backward pass. Other
    operations, such as a penalty, an auxiliary head, a loss scale or an accuracy, run without a plan: tensors that
    autograd saves for them are kept.

    The first step is compared with the trace, later ones with the first. In later steps, a deviation after the last
    tensor that the plan moves affects no gradient and is not reported. A plan that keeps everything compares only the
    shapes, modes and autocast of later steps.
    """
    from lamcts.neural.memory.execution import apply

    return apply(model, plan, traced)


def measure(
    model: "nn.Module",
    batch: object,
    plan: Plan | None = None,
    *,
    loss: "Loss | None" = None,
    traced: "Trace | None" = None,
) -> "MeasuredStep":
    """Run and measure one training step under a plan. Needs torch.

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
    from lamcts.neural.memory.execution import measure

    return measure(model, batch, plan, loss=loss, traced=traced)


def step_time(
    model: "nn.Module",
    batch: object,
    plan: Plan | None = None,
    *,
    loss: "Loss | None" = None,
    traced: "Trace | None" = None,
) -> "StepTime":
    """Measure the time of training steps under a plan. Needs torch.

    The model, its gradients and the global generators are restored afterwards. Unlike `measure`, no profiler runs.

    Parameters
    ----------
    model : torch.nn.Module
        The model to train.
    batch : tensor, tuple or dict
        Arguments of the model, see `trace`.
    plan : Plan, default None
        The plan; None runs ordinary steps.
    loss : callable, default None
        From the output to a scalar; None is the sum of all floats.
    traced : Trace, default None
        Trace of this model, batch and loss; needed for a plan.

    Returns
    -------
    StepTime
        `seconds`, the least of at most five steps, and `first_seconds` of the step before them.
    """
    from lamcts.neural.memory.timing import step_time

    return step_time(model, batch, plan, loss=loss, traced=traced)


def measured_machine(device: "torch.device | str" = "cpu") -> Machine:
    """Measure the rates of a device, and the host time of operations and plans, in about a second. Needs torch.

    The result is kept: a second call in one process, with the same number of threads, returns the same machine.

    Parameters
    ----------
    device : torch.device or str, default "cpu"
        The device.

    Returns
    -------
    Machine
        Rates with two significant digits. Other processes may measure other ones.

    Notes
    -----
    `flops_per_second` is that of a matrix product, `memory_bytes_per_second` the median of five common operations,
    `link_bytes_per_second` that of one copy from the host. Host times are differences of the least times of a training
    step: a network of 18 small layers under plans that keep everything, that recompute one storage and half of all,
    and that offload half. On CUDA the host runs ahead of the device (`runs_ahead`).

    Examples
    --------
    >>> from lamcts.neural import memory
    >>> machine = memory.measured_machine()
    >>> machine.recompute_seconds < 1  # of one operation; 0.0001 on the machine of the benchmarks
    True
    """
    from lamcts.neural.memory.calibration import measured_machine

    return measured_machine(device)
