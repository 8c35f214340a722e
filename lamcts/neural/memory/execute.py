"""Public `apply` and `measure`, which load torch when called."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from lamcts.neural.memory.plan import Plan

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.memory.execution.apply import Executor
    from lamcts.neural.memory.execution.measure import MeasuredStep
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
        For a model in a DistributedDataParallel.
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
