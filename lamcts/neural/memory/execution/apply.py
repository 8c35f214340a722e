"""`apply`: carry out a memory plan on the tensors that autograd saves. Needs torch."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)

from lamcts.neural.memory.execution.link import Link
from lamcts.neural.memory.execution.loss_pass import LossPass
from lamcts.neural.memory.execution.recipe import tensors_of
from lamcts.neural.memory.execution.replay import Replay
from lamcts.neural.memory.execution.schedule import PlanSchedule, schedule
from lamcts.neural.memory.execution.script import Script
from lamcts.neural.memory.execution.slot import Kept, Moved, kept
from lamcts.neural.memory.execution.step import ForwardPass
from lamcts.neural.memory.plan import Plan
from lamcts.neural.memory.wrappers import in_compiled_call, refuse_parallel, uncompiled, warn_of_compiled
from lamcts.neural.trace import Trace
from lamcts.neural.trace.recorder import Args, Kwargs, Op

QUERY = torch.ops.prim.device.default  # has no effect
PLANNED: list["Executor"] = []  # open contexts of all threads


class _Open(threading.local):
    """The executors whose contexts a thread has entered, the innermost first."""

    def __init__(self) -> None:
        self.executors: list[Executor] = []


OPEN = _Open()


@contextmanager
def apply(model: nn.Module, plan: Plan, traced: Trace) -> Iterator["Executor"]:
    """Carry out a memory plan in the training steps of a model, inside a `with` block.

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
    model = uncompiled(model)
    refuse_parallel(model)
    if any(executor.model is model for executor in PLANNED):
        raise RuntimeError("expected a model without a plan, got one in a context of `apply`: leave that first")
    warn_of_compiled(model)
    executor = Executor(model, schedule(traced, plan))
    before = model.register_forward_pre_hook(executor.begin, with_kwargs=True, prepend=False)
    after = model.register_forward_hook(executor.left, always_call=True)
    saved = SavedTensors([executor, *OPEN.executors])
    PLANNED.append(executor)
    OPEN.executors.insert(0, executor)
    try:
        eager = torch.compiler.set_stance("force_eager")  # a wrapper that is compiled later may call the model
        with eager, torch.autograd.graph.saved_tensors_hooks(saved.pack, saved.unpack), executor:
            yield executor
    finally:
        PLANNED.remove(executor)
        OPEN.executors.remove(executor)
        before.remove()
        after.remove()
        executor.abandon()


class Executor(TorchDispatchMode):
    """Follow the steps of a model: the first one by its trace, later ones of the same form by its script."""

    def __init__(self, model: nn.Module, schedule: PlanSchedule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.schedule, self.link = model, schedule, Link()
        self.step: ForwardPass | Replay | LossPass | None = None
        self.held_bytes = 0  # saved bytes on the device after the last forward pass
        self._below: list[TorchDispatchMode] = []  # modes that were entered before
        self._thread, self._sees, self._inside = threading.get_ident(), False, 0  # sees what the plan needs
        self._compiled = False  # whether the model was called inside what torch.compile returned
        self._form: object = None  # of the current step
        self._script: tuple[object, Script] | None = None  # of a form
        self._modules = list(model.modules())

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out torch's wrapper of `__torch_dispatch__`, which takes microseconds an operation."""
        return False

    def __enter__(self) -> "Executor":
        if not self._inside:
            self._below = [
                *_get_current_dispatch_mode_stack(),
                *(one for one in reversed(OPEN.executors) if one is not self),
            ]
            self._sees = True
        self._inside += 1
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        self._inside -= 1
        if not self._inside:
            self._compiled = False
            self.sees(True)
        super().__exit__(*raised)  # type: ignore[no-untyped-call]

    def sees(self, operations: bool) -> None:
        """Begin or cease to see operations; not in compiled calls, which restore the keys of dispatch at their end."""
        if operations != self._sees and threading.get_ident() == self._thread:
            self._compiled = self._compiled or in_compiled_call()
            if self._compiled and operations:
                raise RuntimeError(
                    "expected all steps through the compiled module, or none, got both inside one block of a plan: "
                    "call the model in one way"
                )
            if self._compiled:
                return
            self._sees = operations
            if operations:
                insert(self, self._below)
            else:
                remove(self)

    def begin(self, model: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Begin a forward pass; abandon an unfinished one, such as one that raised."""
        if self.step is not None and self.step.whole:
            self.finish()
        self.abandon()
        if torch.is_grad_enabled():
            self._compiled = self._compiled or in_compiled_call()
            torch.clear_autocast_cache()  # each step casts its parameters, as in the trace
            inputs = tensors_of((args, kwargs))
            given = [(one.shape, one.stride(), one.dtype, one.device, one.requires_grad) for one in inputs]
            cast = [(torch.is_autocast_enabled(one), torch.get_autocast_dtype(one)) for one in ("cpu", "cuda")]
            self._form = given, cast, [one.training for one in self._modules]  # equal in steps of one script
            self.step = self._started(inputs)
        self.sees(self.step is not None)

    def _started(self, inputs: list[Tensor]) -> ForwardPass | Replay | None:
        """Return a new pass; None if a verified step keeps everything."""
        if self._script is not None and self._script[0] == self._form:
            script = self._script[1]
            if script.packs:
                return Replay(script, self.link)
            self.held_bytes = script.held_bytes
            return None
        named = dict(self.model.named_parameters(remove_duplicate=False)), dict(self.model.named_buffers())
        return ForwardPass(self.schedule, self.link, [*(named[0] | named[1]).values(), *inputs])

    def left(self, model: nn.Module, args: object, result: object) -> None:
        """Go on to the loss; abandon the pass if the model raised, which gives no result."""
        if result is None:
            self.abandon()
        elif self.step is not None and not self.step.whole and not isinstance(self.step, LossPass):
            self.step = LossPass(self.step.left(tensors_of(result)))

    def finish(self) -> None:
        """End the current forward pass, if any."""
        step, self.step = self.step, None
        if step is not None:
            self.link.settle()
            self.held_bytes = step.finish()
            script = step.script(self.held_bytes)
            if script is not None:
                self._script = (self._form, script) if script.repeatable else None

    def abandon(self) -> None:
        """Abandon the current forward pass; its saved tensors can still be unpacked."""
        self.step = None
        self.link.settle()

    def __torch_dispatch__(self, func: Op, types: object, args: Args = (), kwargs: Kwargs | None = None) -> object:
        kwargs = kwargs or {}
        if self.step is None or func is QUERY:
            return func(*args, **kwargs)
        try:
            return self.step.run(func, args, kwargs)
        except BaseException:
            self.abandon()
            raise


class SavedTensors:
    """What autograd saves of a thread and gets back, whichever thread runs the backward pass."""

    def __init__(self, executors: list[Executor]) -> None:
        self.executors = executors

    def pack(self, tensor: Tensor) -> Kept | Moved:
        """Return the object that autograd saves for a tensor, by the executor in its forward pass."""
        for executor in self.executors:
            if executor.step is not None:
                packed = executor.step.pack(tensor)
                if executor.step.whole and not executor.step.first:
                    executor.sees(False)
                return packed
        return kept(tensor)

    def unpack(self, packed: Kept | Moved) -> Tensor:
        """Return a saved tensor; the first unpack ends the forward pass."""
        for executor in reversed(self.executors):
            executor.finish()
        return packed.unpacked()


def insert(mode: TorchDispatchMode, below: Sequence[TorchDispatchMode]) -> None:
    """Put a mode above the modes `below` and under all others, which may then exit before or after it is taken off."""
    lifted = []
    while (top := _get_current_dispatch_mode()) is not None and not any(one is top for one in below):
        lifted.append(top)
        _pop_mode()
    for one in (mode, *reversed(lifted)):
        _push_mode(one)


def remove(mode: TorchDispatchMode) -> None:
    """Take a mode off the stack; the others stay."""
    lifted = []
    while (top := _get_current_dispatch_mode()) is not mode and top is not None:
        lifted.append(top)
        _pop_mode()
    if top is mode:
        _pop_mode()
    for one in reversed(lifted):
        _push_mode(one)
