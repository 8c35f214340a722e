"""`apply`: a plan carried out on what autograd saves, while a model trains. Needs torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.schedule import Schedule, schedule
from lamcts.neural.memory.execution.slot import Kept, Moved
from lamcts.neural.memory.execution.step import ForwardPass
from lamcts.neural.memory.plan import Plan
from lamcts.neural.trace import Trace


@contextmanager
def apply(model: nn.Module, plan: Plan, traced: Trace) -> Iterator["Executor"]:
    """While it is entered, training steps of `model` keep, recompute or offload what they save as `plan` says.

    traced: of this model, with batches of the same shape, the same loss and in the same mode. From the model's call to
    the backward pass only what was traced may run: RuntimeError where a step goes another way. Gradients are those of
    a step without a plan. Steps without gradients, and other models, are left alone.

    TypeError for a model in a DistributedDataParallel; ValueError for a plan that cannot be carried out.
    """
    refuse_parallel(model)
    executor = Executor(model, schedule(traced, plan))
    handle = model.register_forward_pre_hook(executor.begin, with_kwargs=True, prepend=False)
    try:
        with torch.autograd.graph.saved_tensors_hooks(executor.pack, executor.unpack), executor:
            yield executor
    finally:
        handle.remove()
        executor.step = None


class Executor(TorchDispatchMode):
    """Follows the steps of a model. held_bytes: what stayed on the device after the last forward pass (0 before)."""

    def __init__(self, model: nn.Module, schedule: Schedule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.schedule, self.link = model, schedule, Link()
        self.step: ForwardPass | None = None
        self.held_bytes = 0

    def begin(self, model: nn.Module, args: Any, kwargs: Any) -> None:
        """Begin a forward pass."""
        self.finish()
        if torch.is_grad_enabled():
            named = dict(model.named_parameters(remove_duplicate=False)), dict(model.named_buffers())
            inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
            self.step = ForwardPass(self.schedule, self.link, [*(named[0] | named[1]).values(), *inputs])

    def finish(self) -> None:
        """End a forward pass, if there is one."""
        step, self.step = self.step, None
        if step is not None:
            self.held_bytes = step.finish()

    def pack(self, tensor: Tensor) -> Kept | Moved:
        """Return what autograd is to hold of a tensor."""
        return Kept(tensor, tensor._version) if self.step is None else self.step.pack(tensor)

    def unpack(self, packed: Kept | Moved) -> Tensor:
        """Return a saved tensor; the first that is asked for ends the forward pass."""
        self.finish()
        return packed.unpacked()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.step is None or func is torch.ops.prim.device.default:
            return func(*args, **kwargs)
        return self.step.run(func, args, kwargs)


def refuse_parallel(model: nn.Module) -> None:
    """TypeError for a model that exchanges gradients while the backward pass runs."""
    if any(isinstance(one, nn.parallel.DistributedDataParallel) for one in model.modules()):
        raise TypeError(
            "expected a model of one process, got a DistributedDataParallel: its buckets reduce gradients during the "
            "backward pass, which plans do not know of; plan the module inside it without that"
        )
