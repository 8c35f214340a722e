"""The step graph of a module from an example batch, on fake tensors without allocation. Needs torch."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils._pytree import tree_leaves, tree_map

from lamcts.neural.graphs import StepGraph
from lamcts.neural.trace.data_dependence import data_dependence
from lamcts.neural.trace.recorder import Args, Kwargs, ModuleNames, Recorder, on_device

Loss = Callable[[Any], Tensor]  # from the output of a module

STATES = {"none": 0, "sgd": 0, "momentum": 1, "adam": 2}  # numbers that an optimizer keeps for each parameter


@dataclass(frozen=True, eq=False)
class Trace:
    """A traced training step of a module."""

    graph: StepGraph
    packed: tuple[int, ...]  # storage of each tensor that autograd saved, in order
    outside: tuple[int, ...]  # storages of parameters, buffers and inputs, in order
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    without_grad: frozenset[int] = frozenset()
    gradient_bytes: int = 0  # of earlier steps, to which those of this step are added

    @property
    def saved_bytes(self) -> int:
        """Bytes that autograd holds after the forward pass, each storage once, without parameters and inputs."""
        return sum(self.graph.storages[one].bytes for one in set(self.packed))


def trace(
    module: nn.Module,
    batch: object,
    *,
    loss: Loss | None = None,
    optimizer: str = "none",
    accumulate: bool = False,
) -> Trace:
    """Trace a training step of a module, which is not changed.

    Parameters
    ----------
    module : torch.nn.Module
        The module, in training mode or not.
    batch : tensor, tuple or dict
        Its arguments; a dict has them by name.
    loss : callable, default None
        From the output to a scalar; None is the sum of all floats.
    optimizer : {"none", "sgd", "momentum", "adam"}, default "none"
        Optimizer whose state counts in `outside_bytes`.
    accumulate : bool, default False
        Whether gradients of earlier steps are kept, to which those of this step are added. They then live from the
        beginning; else each lives from its operation of the backward pass on, as after `zero_grad()`.

    Raises
    ------
    ValueError
        If the output has no gradient, or if operations depend on values of tensors; the message has the line.
    """
    if optimizer not in STATES:
        raise ValueError(f"optimizer: expected one of {', '.join(STATES)}, got {optimizer!r}")
    fake = FakeTensorMode(allow_non_fake_inputs=True)  # a loss may hold real tensors, such as labels
    fake.cache_enabled = False  # what it returns for an operation the second time may share memory otherwise
    held, args, kwargs = faked(fake, module, batch)
    inputs = _floats(tree_leaves((args, kwargs)), any_type=True)
    recorder = Recorder([*held.values(), *inputs], lambda one: one if fake.is_our_fake(one) else fake.from_tensor(one))
    hooks = torch.autograd.graph.saved_tensors_hooks(recorder.pack, recorder.unpack)
    with data_dependence(module), fake, hooks, ModuleNames(module, recorder), recorder, torch.enable_grad():
        whole_step(module, held, (args, kwargs), loss, recorder.turn)
    states = STATES[optimizer]
    names = dict(module.named_parameters())
    parameters, buffers = (on_device(held[one] for one in held if (one in names) == own) for own in (True, False))
    gradients = [one.grad for one in (*held.values(), *inputs) if one.grad is not None]
    given = on_device(iter(inputs))
    before = on_device(iter(gradients)) if accumulate else 0
    outside = (1 + states) * parameters + buffers + given + before
    graph = recorder.graph(gradients, outside, accumulate)
    packed, without_grad = tuple(recorder.packed), frozenset(recorder.without_grad)
    return Trace(graph, packed, recorder.outside, parameters, buffers, given, without_grad, before)


def faked(fake: FakeTensorMode, module: nn.Module, batch: object) -> tuple[dict[str, Tensor], Args, Kwargs]:
    """Return parameters and buffers by name, and the arguments, as fake tensors; tied ones stay one."""
    for name, one in module.named_modules():
        if isinstance(one, LazyModuleMixin) and one.has_uninitialized_params():  # type: ignore[misc]
            got = f"a {type(one).__name__} before its first call"
            raise ValueError(f"{name or 'model'}: expected parameters, got {got}: call the model once with a batch")
    real = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
    made = {id(one): fake.from_tensor(one.detach()).requires_grad_(one.requires_grad) for one in real.values()}
    numbers = [one for one in module.buffers() if _is_number(one)]
    convert = fake.fake_tensor_converter.from_real_tensor
    made |= {id(one): convert(fake, one.detach().clone(), make_constant=True) for one in numbers}
    args, kwargs = arguments(batch)
    args, kwargs = tree_map(lambda one: fake.from_tensor(one) if isinstance(one, Tensor) else one, (args, kwargs))
    return {name: made[id(one)] for name, one in real.items()}, args, kwargs


def _is_number(buffer: Tensor) -> bool:
    """Return whether a buffer has one element, known and without an alias."""
    if type(buffer) is not Tensor or buffer.layout != torch.strided or buffer.is_meta or buffer.requires_grad:
        return False
    return buffer.untyped_storage().nbytes() == buffer.element_size()


def whole_step(
    module: nn.Module,
    held: dict[str, Tensor],
    call: tuple[Args, Kwargs],
    loss: Loss | None,
    turn: Callable[[Tensor], None],
) -> None:
    """Run a step of `module` on the arguments `call`, with `held` as parameters and buffers."""
    args, kwargs = call
    functional_call(_Step(module, loss, turn), {f"module.{name}": one for name, one in held.items()}, args, kwargs)


class _Step(nn.Module):
    """A forward and a backward pass as one call."""

    def __init__(self, module: nn.Module, loss: Loss | None, turn: Callable[[Tensor], None]) -> None:
        super().__init__()
        self.module, self.loss, self.turn = module, loss, turn

    def forward(self, *args: object, **kwargs: object) -> None:
        number = scalar(self.module(*args, **kwargs), self.loss)
        self.turn(number)
        number.backward()  # type: ignore[no-untyped-call]


def arguments(batch: object) -> tuple[Args, Kwargs]:
    """Return the arguments of a module for `batch`."""
    if isinstance(batch, Mapping):
        return (), dict(batch)
    return (tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)), {}


def scalar(output: object, loss: Loss | None) -> Tensor:
    """Return the loss; raise ValueError if it has no gradient."""
    found = [loss(output)] if loss else [one.sum() for one in _floats(tree_leaves(output)) if one.requires_grad]
    if not found or not found[0].requires_grad:
        raise ValueError("expected a module whose output depends on parameters that require gradients, got none such")
    return sum(found[1:], found[0])


def _floats(values: list[object], any_type: bool = False) -> list[Tensor]:
    return [one for one in values if isinstance(one, Tensor) and (any_type or one.is_floating_point())]


TRACES = 8  # of a model that draws from the global generators of Python or NumPy (untuned)


def repeatable_trace(
    module: nn.Module, batch: object, *, loss: Loss | None = None, optimizer: str = "none", accumulate: bool = False
) -> Trace:
    """Trace a step at least twice and compare the traces."""
    traced = partial(trace, module, batch, loss=loss, optimizer=optimizer, accumulate=accumulate)
    before, found = _global_states(), traced()
    draws = _global_states() != before
    for _ in range((TRACES if draws else 2) - 1):
        _compare(found, traced(), draws)
    return found


def _compare(first: Trace, other: Trace, draws: bool) -> None:
    """Raise ValueError if two traces differ."""
    for number, pair in enumerate(zip_longest(first.graph.steps, other.graph.steps)):
        if pair[0] != pair[1]:
            one, two = ("its end" if step is None else step.name for step in pair)
            two = f"{two} with other inputs" if one == two else two
            cause = "draws from Python's or NumPy's random numbers" if draws else "may count its calls, or draw itself"
            raise ValueError(
                f"model: expected the same operations in each step, got two traces that differ: operation {number} is "
                f"{one}, then {two}. The model {cause}: draw a mask with torch and multiply by it, or fix the branch"
            )


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002  # type: ignore[call-overload]
    return random.getstate(), legacy["pos"], legacy["key"].tobytes()
