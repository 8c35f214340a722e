"""`apply`: a plan carried out on what autograd saves, while a model trains. Needs torch."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.schedule import PlanSchedule, schedule
from lamcts.neural.memory.execution.slot import Kept, Moved
from lamcts.neural.memory.execution.step import ForwardPass
from lamcts.neural.memory.plan import Plan
from lamcts.neural.trace import Trace

ENTERED: list["Executor"] = []  # the contexts that are open, the innermost last


@contextmanager
def apply(model: nn.Module, plan: Plan, traced: Trace) -> Iterator["Executor"]:
    """While it is entered, training steps of `model` keep, recompute or offload what they save as `plan` says.

    traced: of this model, with batches of the same shape, the same loss and in the same mode. From the model's call to
    the backward pass only what was traced may run: RuntimeError where a step goes another way. Gradients are those of
    a step without a plan. Steps without gradients, and other models, are left alone; these may have a plan of their
    own, in a context inside this one. Compiled modules run uncompiled, with a warning.

    TypeError for a model in a DistributedDataParallel; ValueError for a plan that cannot be carried out; RuntimeError
    for a model that has a plan already.
    """
    refuse_parallel(model)
    refuse_second(model)
    warn_of_compiled(model)
    executor = Executor(model, schedule(traced, plan))
    before = model.register_forward_pre_hook(executor.begin, with_kwargs=True, prepend=False)
    after = model.register_forward_hook(executor.left, always_call=True)
    ENTERED.append(executor)
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack), executor:
            yield executor
    finally:
        ENTERED.remove(executor)
        before.remove()
        after.remove()
        executor.give_up()


class Executor(TorchDispatchMode):
    """Follows the steps of a model. held_bytes: what stayed on the device after the last forward pass (0 before)."""

    def __init__(self, model: nn.Module, schedule: PlanSchedule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.schedule, self.link = model, schedule, Link()
        self.step: ForwardPass | None = None
        self.held_bytes = 0

    def begin(self, model: nn.Module, args: Any, kwargs: Any) -> None:
        """Begin a forward pass. One before it that never came to its end, such as one that raised, is given up."""
        if self.step is not None and self.step.whole:
            self.finish()
        self.give_up()
        if torch.is_grad_enabled():
            torch.clear_autocast_cache()  # each step casts its parameters, as the traced one did
            named = dict(model.named_parameters(remove_duplicate=False)), dict(model.named_buffers())
            inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
            self.step = ForwardPass(self.schedule, self.link, [*(named[0] | named[1]).values(), *inputs])

    def left(self, model: nn.Module, args: Any, result: Any) -> None:
        """Note that the model returned, or raised: then there is no result."""
        if result is None:
            self.give_up()

    def finish(self) -> None:
        """End a forward pass, if there is one."""
        step, self.step = self.step, None
        if step is not None:
            self.link.settle()
            self.held_bytes = step.finish()

    def give_up(self) -> None:
        """Forget a forward pass; what autograd holds of it can still be asked for."""
        self.step = None
        self.link.settle()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.step is None or func is torch.ops.prim.device.default:
            return func(*args, **kwargs)
        try:
            return self.step.run(func, args, kwargs)
        except BaseException:
            self.give_up()
            raise


def pack(tensor: Tensor) -> Kept | Moved:
    """Return what autograd is to hold of a tensor: as the model says that is in its forward pass."""
    for executor in reversed(ENTERED):
        if executor.step is not None:
            return executor.step.pack(tensor)
    return Kept(tensor, tensor._version)


def unpack(packed: Kept | Moved) -> Tensor:
    """Return a saved tensor; the first that is asked for ends the forward pass."""
    for executor in ENTERED:
        executor.finish()
    return packed.unpacked()


def refuse_second(model: nn.Module) -> None:
    """RuntimeError for a model whose steps follow a plan already."""
    if any(executor.model is model for executor in ENTERED):
        raise RuntimeError("expected a model without a plan, got one in a context of `apply`: leave that first")


def warn_of_compiled(model: nn.Module) -> None:
    """Warn where `torch.compile` will have no effect: it steps back while operations are followed."""
    for name, one in model.named_modules():
        if "_orig_mod" in one._modules or one._compiled_call_impl is not None:
            where = name or "the model"
            warnings.warn(f"{where} is compiled: it runs uncompiled while a plan is carried out", stacklevel=4)


def refuse_parallel(model: nn.Module) -> None:
    """TypeError for a model that exchanges gradients while the backward pass runs."""
    if any(isinstance(one, nn.parallel.DistributedDataParallel) for one in model.modules()):
        raise TypeError(
            "expected a model of one process, got a DistributedDataParallel: its buckets reduce gradients during the "
            "backward pass, which plans do not know of; plan the module inside it without that"
        )
