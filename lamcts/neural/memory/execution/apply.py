"""`apply`: carry out a memory plan on the tensors that autograd saves. Needs torch."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
from lamcts.neural.trace.recorder import Args, Kwargs, Op

ENTERED: list["Executor"] = []  # open contexts, the innermost last


@contextmanager
def apply(model: nn.Module, plan: Plan, traced: Trace) -> Iterator["Executor"]:
    """Carry out a memory plan in the training steps of a model; see `lamcts.neural.memory.apply`."""
    refuse_parallel(model)
    refuse_second_plan(model)
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
        executor.abandon()


class Executor(TorchDispatchMode):
    """Follow the steps of a model.

    held_bytes: saved bytes on the device after the last forward pass (0 before the first).
    """

    def __init__(self, model: nn.Module, schedule: PlanSchedule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.schedule, self.link = model, schedule, Link()
        self.step: ForwardPass | None = None
        self.held_bytes = 0

    def begin(self, model: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Begin a forward pass; abandon an unfinished one, such as one that raised."""
        if self.step is not None and self.step.whole:
            self.finish()
        self.abandon()
        if torch.is_grad_enabled():
            torch.clear_autocast_cache()  # each step casts its parameters, as in the trace
            named = dict(model.named_parameters(remove_duplicate=False)), dict(model.named_buffers())
            inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
            self.step = ForwardPass(self.schedule, self.link, [*(named[0] | named[1]).values(), *inputs])

    def left(self, model: nn.Module, args: object, result: object) -> None:
        """Abandon the pass if the model raised, which gives no result."""
        if result is None:
            self.abandon()

    def finish(self) -> None:
        """End the current forward pass, if any."""
        step, self.step = self.step, None
        if step is not None:
            self.link.settle()
            self.held_bytes = step.finish()

    def abandon(self) -> None:
        """Abandon the current forward pass; its saved tensors can still be unpacked."""
        self.step = None
        self.link.settle()

    def __torch_dispatch__(self, func: Op, types: object, args: Args = (), kwargs: Kwargs | None = None) -> object:
        kwargs = kwargs or {}
        if self.step is None or func is torch.ops.prim.device.default:
            return func(*args, **kwargs)
        try:
            return self.step.run(func, args, kwargs)
        except BaseException:
            self.abandon()
            raise


def pack(tensor: Tensor) -> Kept | Moved:
    """Return the object that autograd saves for a tensor, by the executor in its forward pass."""
    for executor in reversed(ENTERED):
        if executor.step is not None:
            return executor.step.pack(tensor)
    return Kept(tensor, tensor._version)


def unpack(packed: Kept | Moved) -> Tensor:
    """Return a saved tensor; the first unpack ends the forward pass."""
    for executor in ENTERED:
        executor.finish()
    return packed.unpacked()


def refuse_second_plan(model: nn.Module) -> None:
    """Raise RuntimeError for a model that has a plan already."""
    if any(executor.model is model for executor in ENTERED):
        raise RuntimeError("expected a model without a plan, got one in a context of `apply`: leave that first")


def warn_of_compiled(model: nn.Module) -> None:
    """Warn that `torch.compile` has no effect while a plan is carried out."""
    for name, one in model.named_modules():
        if "_orig_mod" in one._modules or one._compiled_call_impl is not None:
            where = name or "the model"
            warnings.warn(f"{where} is compiled: it runs uncompiled while a plan is carried out", stacklevel=4)


def refuse_parallel(model: nn.Module) -> None:
    """Raise TypeError for a model that reduces gradients during the backward pass."""
    if any(isinstance(one, nn.parallel.DistributedDataParallel) for one in model.modules()):
        raise TypeError(
            "expected a model of one process, got a DistributedDataParallel: its buckets reduce gradients during the "
            "backward pass, which plans do not support; plan the module inside it"
        )
