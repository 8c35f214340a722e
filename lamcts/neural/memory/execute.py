"""`apply` and `measure` under names that need no torch until they are called."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lamcts.neural.memory.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.memory.execution.apply import Executor
    from lamcts.neural.memory.execution.measure import MeasuredStep
    from lamcts.neural.trace import Trace


def apply(model: "nn.Module", plan: Plan, traced: "Trace") -> AbstractContextManager["Executor"]:
    """While it is entered, training steps of `model` keep, recompute or offload what they save as `plan` says.

    traced: of this model, with batches of the same shape, the same loss and in the same mode. From the model's call to
    the backward pass only what was traced may run: RuntimeError where a step goes another way. Gradients are those of
    a step without a plan; steps without gradients, and other models, are left alone; these may have a plan of their
    own, in a context inside this one. Compiled modules run uncompiled, with a warning.

    TypeError for a model in a DistributedDataParallel; ValueError for a plan that cannot be carried out; RuntimeError
    for a model that has a plan already. Needs torch.
    """
    from lamcts.neural.memory.execution import apply

    return apply(model, plan, traced)


def measure(
    model: "nn.Module", batch: Any, plan: Plan | None = None, *, loss: "Callable[[Any], Tensor] | None" = None
) -> "MeasuredStep":
    """Run a training step of `model` on `batch` under a plan (None: everything is kept), and measure it.

    held_bytes: of saved storages that are on the device when the forward pass has ended; predicted_bytes: what the
    simulator says of them; on CUDA, peak_bytes of all memory and milliseconds too. The model, its gradients and the
    global generators are as before afterwards. See `trace` for `batch` and `loss`. Needs torch.
    """
    from lamcts.neural.memory.execution import measure

    return measure(model, batch, plan, loss=loss)
