"""Record operations of torch as steps that read and write storages. Needs torch.

Storages are identified by address; a held weak reference keeps the address unique. So real tensors can be recorded too,
and are freed as usual.
"""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry
from torch.utils.hooks import RemovableHandle

from lamcts.neural.graphs import Step, StepGraph, Storage
from lamcts.neural.graphs import Tensor as Named
from lamcts.neural.graphs.steps import Role

Op = OpOverload[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]

STATISTICS = ("running_mean", "running_var")  # modified in place without a declaration in the schema

KINDS = {"convolution": "conv", "addmm": "fc", "mm": "fc", "bmm": "fc", "linear": "fc"}  # names of layer kinds

SHAPED = {f"{what}_like" for what in ("empty", "zeros", "ones", "full", "rand", "randn")}  # these read only shapes
SHAPED |= {f"new_{what}" for what in ("empty", "zeros", "ones", "full", "empty_strided")}


@dataclass(eq=False)
class Packed:
    """A tensor that autograd saved, with its storage and step, held until its node has run."""

    storage: int
    place: str
    tensor: Tensor


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Record the steps of a forward and a backward pass, with tensors `outside` that exist before and after."""

    def __init__(self, outside: list[Tensor], fake: Callable[[Tensor], Tensor] = lambda one: one) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fake = fake  # converts other real tensors, such as labels, whose views would get separate storages
        self.steps: list[Step] = []
        self.storages: list[Storage] = []
        self.packed: list[int] = []  # storages of the saved tensors, in order
        self.without_grad: set[int] = set()  # steps of the forward pass under no_grad
        self.place: list[str] = []
        self.forward = True
        self._seen: dict[int, int] = {}
        self._refs: list[StorageWeakRef] = []
        self._unpacked: list[weakref.ref[Packed]] = []  # of the running node
        self._wanted: list[int] = []  # storages of these
        self._before = 0  # number of them unpacked for an earlier step
        self._unread: set[int] = set()
        self._loss: int | None = None
        self._alive: list[int] = []  # gradients and intermediate results
        self._until: dict[int, int] = {}  # last step at which these were alive
        self._names: tuple[dict[str, int], dict[str, int]] = ({}, {})  # use counts of names: steps, storages
        self.outside = tuple(self._number(tensor, "outside", "outside") for tensor in outside)

    def __torch_dispatch__(self, func: Op, types: object, args: Args = (), kwargs: Kwargs | None = None) -> object:
        kwargs = kwargs or {}
        if func is torch.ops.prim.device.default:  # queries without effect
            return func(*args, **kwargs)
        args, kwargs = tree_map_only(Tensor, self.fake, (args, kwargs))
        result = as_run(func, args, func(*args, **kwargs))
        made = _tensors(result)
        given = _tensors((args, kwargs))
        if made:
            self._record(func, given, [*made, *changed_by(func, args, kwargs)], (args, kwargs, result))
        return result

    def turn(self, loss: Tensor) -> None:
        """End the forward pass; return the loss, which the caller of `backward` holds until the end."""
        self._loss = self._number(self.fake(loss), "temporary", "loss")
        self.forward = False
        self.place.clear()

    def pack(self, tensor: Tensor) -> Packed:
        """Record a saved tensor; its step may come later."""
        tensor, place = self.fake(tensor), self.place[-1] if self.place else ""
        storage = self._number(tensor, "activation", place or "saved")
        if self.forward:  # else a checkpoint recomputes it, which no plan decides
            self.packed.append(storage)
        self._unread.add(storage)
        return Packed(storage, place, tensor)

    def unpack(self, packed: Packed) -> Tensor:
        """Record that the next step needs a saved tensor, whether an operation reads it or not."""
        self._wanted.append(packed.storage)
        self._unpacked.append(weakref.ref(packed))
        self._unread.discard(packed.storage)
        self.place[:] = [packed.place]
        return packed.tensor

    def graph(self, returned: list[Tensor], outside_bytes: int, added: bool = False) -> StepGraph:
        """Return the recorded graph; `returned` tensors, such as gradients of parameters, live until its end."""
        numbers = [self._number(tensor, "gradient", "gradient") for tensor in returned]
        for number in numbers if added else ():
            self.storages[number] = self.storages[number]._replace(bytes=0, role="outside")
        self._hold_on([] if added else numbers)
        self._fix_held()
        self._lengthen()
        tensors = tuple(Named(storage.name, i) for i, storage in enumerate(self.storages))
        return StepGraph(tuple(self.steps), tuple(self.storages), tensors, "traced", outside_bytes)

    def _hold_on(self, returned: list[int]) -> None:
        """Let the last step read what lives until the end: results, the loss, and saved tensors without a use."""
        held = returned if self._loss is None else [*returned, self._loss]
        for number in held:  # and is not movable
            if self.storages[number].role == "activation":
                self.storages[number] = self.storages[number]._replace(role="temporary")
        if self.steps:
            last = self.steps[-1]
            self.steps[-1] = last._replace(reads=tuple(dict.fromkeys((*last.reads, *held, *sorted(self._unread)))))

    def _fix_held(self) -> None:
        """Make storages temporary that the backward pass reads but autograd did not save, such as in a checkpoint."""
        read = {one for step in self.steps if not step.forward for one in step.reads}
        for number in read - set(self.packed):
            if self.storages[number].role == "activation":
                self.storages[number] = self.storages[number]._replace(role="temporary")

    def _lengthen(self) -> None:
        """Extend storages to the last step at which they were alive: a formula of several operations holds them."""
        for number, t in self._until.items():
            step = self.steps[t]
            if number not in (*step.reads, *step.writes) and self.storages[number].role == "gradient":
                self.steps[t] = step._replace(reads=(*step.reads, number))

    def _record(self, func: Op, given: list[Tensor], made: list[Tensor], call: tuple[Args, Kwargs, object]) -> None:
        op = func._overloadpacket.__name__
        given = [] if op in SHAPED else given
        name = ".".join(filter(None, (*self.place[-1:], op)))
        role: Role = "activation" if self.forward else "gradient"
        held = [one for k, one in enumerate(self._wanted) if k >= self._before or self._unpacked[k]() is not None]
        reads = tuple(dict.fromkeys((*held, *(self._number(one, "outside", name) for one in given))))
        writes = tuple(dict.fromkeys(self._number(one, role, name) for one in made))
        changed = {self._number(one, role, name) for one in changed_by(func, *call[:2])}
        writes = tuple(one for one in writes if one not in reads or one in changed)  # views write nothing
        if not any(self.storages[one].bytes for one in writes) and not changed:
            return
        kind, flops, moved = work_of(func, *call)
        if self.forward and not torch.is_grad_enabled():
            self.without_grad.add(len(self.steps))
        label = _named(self._names[0], name if self.forward else f"d {name}")
        done = Step(label, kind, self.forward, reads, writes, flops, moved, flops > 0)
        self.steps.append(done._replace(node=self._node(), copied_bytes=self._copied(func, *call[:2])))
        self._hold()
        self._alive = [one for one in self._alive if not self._refs[one].expired()]  # type: ignore[no-untyped-call]
        self._until.update(dict.fromkeys(self._alive, len(self.steps) - 1))

    def _node(self) -> int:
        """Return the node of a step: the previous one's while its unpacked tensors are held."""
        if self.forward:
            return -1
        again = any(one() is not None for one in self._unpacked[: self._before])
        return self.steps[-1].node if again else len(self.steps)

    def _hold(self) -> None:
        """Go to the next step, with the unpacked tensors that are still held."""
        held = [] if self.forward else [one for one in self._unpacked if one() is not None]
        self._wanted = [packed.storage for one in held if (packed := one()) is not None]
        self._unpacked, self._before = held, len(held)

    def _copied(self, func: Op, args: Args, kwargs: Kwargs) -> int:
        """Return the bytes of modified outside storages, which a repeated operation copies."""
        changed = [*changed_by(func, args, kwargs), *statistics_of(func, args, kwargs)]
        outside = [one for one in changed if self.storages[self._number(one, "outside", "")].role == "outside"]
        return sum(one.numel() * one.element_size() for one in outside)

    def _number(self, tensor: Tensor, role: Role, name: str) -> int:
        """Return the number of a tensor's storage; a new one gets `role`, and no bytes if that is "outside"."""
        if tensor.layout != torch.strided:
            raise ValueError(f"{name}: expected tensors that are strided, got {tensor.layout}: pass sparse=False, say")
        memory = tensor.untyped_storage()
        key = memory._cdata
        if key not in self._seen:
            self._seen[key] = len(self.storages)
            self._refs.append(StorageWeakRef(memory))  # type: ignore[no-untyped-call]
            size = 0 if role == "outside" else memory.nbytes()
            self.storages.append(Storage(_named(self._names[1], name), size, role))
            if role == "gradient":
                self._alive.append(self._seen[key])
        return self._seen[key]


class ModuleNames:
    """Tell a recorder which module runs, inside a `with` block."""

    def __init__(self, module: nn.Module, recorder: Recorder) -> None:
        self.module, self.recorder = module, recorder
        self.handles: list[RemovableHandle] = []

    def __enter__(self) -> None:
        for name, module in self.module.named_modules():
            self.handles.append(module.register_forward_pre_hook(self._enter(name)))
            self.handles.append(module.register_forward_hook(self._leave, always_call=True))

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()

    def _enter(self, name: str) -> Callable[..., None]:
        return lambda *_: self.recorder.place.append(name)

    def _leave(self, *_: object) -> None:
        self.recorder.place.pop()


def _named(given: dict[str, int], name: str) -> str:
    """Return a name, with a number from its second use on."""
    given[name] = given.get(name, 0) + 1
    return name if given[name] == 1 else f"{name}:{given[name]}"


def _once(made: list[Tensor]) -> list[Tensor]:
    """Return the tensors, with in-place results once."""
    return list({(one.untyped_storage()._cdata, one.storage_offset(), one.numel()): one for one in made}.values())


def _tensors(values: object) -> list[Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, Tensor)]


def work_of(func: Op, args: Args, kwargs: Kwargs, result: object) -> tuple[str, int, int]:
    """Return the kind of an operation, its floating-point operations, and the bytes that it reads and writes."""
    op = func._overloadpacket.__name__
    given = [] if op in SHAPED else _tensors((args, kwargs))
    made = _once([*_tensors(result), *changed_by(func, args, kwargs)])
    moved = sum(one.numel() * one.element_size() for one in (*given, *made))
    counted = flop_registry.get(func._overloadpacket)
    flops = 0 if counted is None else int(counted(*args, **kwargs, out_val=result))
    return KINDS.get(op, op), flops, moved


def changed_by(func: Op, args: Args, kwargs: Kwargs) -> list[Tensor]:
    """Return the tensors that an operation modifies, by its schema."""
    return _given(_written_arguments(func), args, kwargs)


def statistics_of(func: Op, args: Args, kwargs: Kwargs) -> list[Tensor]:
    """Return the tensors that an operation modifies without a declaration in its schema."""
    return _given(_statistics_arguments(func), args, kwargs)


@cache
def _written_arguments(func: Op) -> tuple[tuple[int, str], ...]:
    """Return index and name of the arguments that an operation modifies, by its schema."""
    arguments = enumerate(func._schema.arguments)
    return tuple((i, one.name) for i, one in arguments if one.alias_info is not None and one.alias_info.is_write)


@cache
def _statistics_arguments(func: Op) -> tuple[tuple[int, str], ...]:
    """Return index and name of the running statistics among the arguments."""
    return tuple((i, one.name) for i, one in enumerate(func._schema.arguments) if one.name in STATISTICS)


def _given(wanted: tuple[tuple[int, str], ...], args: Args, kwargs: Kwargs) -> list[Tensor]:
    if not wanted:
        return []
    found = [args[i] if i < len(args) else kwargs.get(name) for i, name in wanted]
    tensors = [one for one in found if isinstance(one, Tensor)]
    return tensors if len(tensors) == len(found) else _tensors(found)  # which also looks into lists


def on_device(tensors: Iterator[Tensor]) -> int:
    """Return the bytes of tensors, each storage once."""
    return sum({one.untyped_storage()._cdata: one.untyped_storage().nbytes() for one in tensors}.values())


aten = torch.ops.aten
NORMALISED = 3  # outputs: the result, means, and inverse deviations
WEIGHT = {aten.native_batch_norm: 1, aten.native_layer_norm: 2, aten.native_group_norm: 1}  # its position
ROOMY = {aten.mse_loss, aten.smooth_l1_loss, aten.soft_margin_loss, aten.binary_cross_entropy}


def as_run(func: OpOverload[..., Any], args: tuple[Any, ...], result: Any) -> Any:
    """Correct the types and storage sizes of a fake result.

    A norm of half inputs with float32 weights, as under autocast, saves float32 statistics on the CPU too; torch 2.13
    predicts halves. Some losses compute one number for each element and store the mean in the same storage.
    """
    weight = WEIGHT.get(func.overloadpacket)
    if weight is not None and args[weight] is not None and len(result) == NORMALISED:
        out, *statistics = result
        return out, *(one.to(args[weight].dtype) for one in statistics)
    if func.overloadpacket in ROOMY and result.dim() == 0:
        output, target = args[:2]
        shape = torch.broadcast_shapes(output.shape, target.shape)  # type: ignore[no-untyped-call]
        return output.new_empty(shape).as_strided((), ())
    return result


def predicted_bytes(func: OpOverload[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    """Return the storage sizes that a trace has for the results of an operation on real arguments; None: no tensor."""
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    fake.cache_enabled = False
    with torch.no_grad(), _disable_current_modes():
        args, kwargs = tree_map_only(Tensor, lambda one: fake.from_tensor(one.detach()), (args, kwargs))
        with fake:
            made = as_run(func, args, func(*args, **kwargs))
    return [one.untyped_storage().nbytes() if isinstance(one, Tensor) else None for one in tree_leaves(made)]
