"""Recipes of recomputation: the operations that wrote a storage, with their inputs. Needs torch.

Below autograd and autocast an operation is a function of its tensors, so a recomputation gives the same bits. Other
tensors that it modifies, such as running statistics of a batch norm, are copied first.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, UntypedStorage
from torch.utils._pytree import tree_leaves

from lamcts.neural.memory.execution.aliases import Shape, check_version, shape_of
from lamcts.neural.memory.execution.generators import Random, restored
from lamcts.neural.trace.recorder import SHAPED, STATISTICS, Args, Kwargs, Op, changed_by, statistics_of

if TYPE_CHECKING:
    from lamcts.neural.memory.execution.slot import StorageSlot

Resident = Mapping[str, UntypedStorage]  # inputs of a recomputation, by the names of their slots
EMPTY_LIKE, EMPTY_STRIDED = torch.ops.aten.empty_like.default, torch.ops.aten.empty_strided.default


class Read(NamedTuple):
    """A tensor that an operation reads."""

    source: "StorageSlot | None"  # its slot; None: the recomputed storage itself
    shape: Shape
    copied: bool  # whether the operation modifies it, so that it needs a copy
    witness: Tensor | None = None  # an alias without memory; None if the source is recomputed itself
    version: int = 0  # of the witness at the read

    def taken(self, own: UntypedStorage | None, resident: Resident) -> Tensor:
        """Return the tensor; raise RuntimeError if it was modified since the read."""
        if self.source is None:
            assert own is not None
            return self.shape.on(own)
        if self.witness is not None:
            check_version(self.witness, self.version, self.source.name)
        tensor = self.shape.on(resident[self.source.name])
        return tensor.clone() if self.copied else tensor


class Outside(NamedTuple):
    """A tensor that no plan moves, such as a parameter, with its version and its address at the read."""

    tensor: Tensor
    version: int
    address: int
    copied: bool

    def taken(self, own: UntypedStorage | None, resident: Resident) -> Tensor:
        """Return the tensor; raise RuntimeError if it was modified since the read."""
        if self.copied:
            return self.tensor.clone()
        check_version(self.tensor, self.version)
        if self.tensor.data_ptr() != self.address:
            shape = list(self.tensor.shape)
            raise RuntimeError(
                f"expected the data of a tensor {shape} until the backward pass, got other data: copy it"
            )
        return self.tensor


def outside_of(tensor: Tensor, changed: bool) -> Outside:
    """Return the source of a tensor that no plan moves; `changed`: whether the operation that reads it modifies it."""
    return Outside(tensor, tensor._version, tensor.data_ptr(), changed)


class Unread(NamedTuple):
    """A tensor of which an operation reads the shape alone."""

    shape: Shape

    def taken(self, own: UntypedStorage | None, resident: Resident) -> Tensor:
        """Return a tensor of this shape without memory."""
        layout = self.shape
        return torch.empty_strided(layout.size, layout.stride, dtype=layout.dtype, device="meta")


SOURCES = (Read, Outside, Unread)  # of tensors that an operation reads


class Operation(NamedTuple):
    """An operation that wrote a storage."""

    function: Op
    args: list[Any]  # and kwargs: its arguments, with the source of each tensor
    kwargs: Kwargs
    sources: frozenset["StorageSlot"]  # slots that it reads
    output: int | None  # index of its result in the storage (None: modified in place)
    with_grad: bool  # gradient mode of the run, since oneDNN's LSTM has another workspace without gradients
    random: Random

    def run(self, own: UntypedStorage | None, resident: Resident) -> UntypedStorage:
        """Run it again after the earlier operations on the storage, in its gradient mode; return the storage."""
        result = self._drawn(own, resident) if self.random else self._result(own, resident)
        if self.output is None:
            assert own is not None
            return own
        return output_of(result, self.output).untyped_storage()

    def _drawn(self, own: UntypedStorage | None, resident: Resident) -> object:
        with restored(self.random):
            return self._result(own, resident)

    def _result(self, own: UntypedStorage | None, resident: Resident) -> object:
        def taken(source: Any) -> Tensor:
            found: Tensor = source.taken(own, resident)
            return found

        kwargs = {name: _replaced(one, SOURCES, taken) for name, one in self.kwargs.items()} if self.kwargs else {}
        return self.function(*_with_sources(signature_of(self.function), self.args, SOURCES, taken), **kwargs)


class Signature(NamedTuple):
    """Positions of tensors among the arguments of an operation, by its schema."""

    tensors: tuple[int, ...]  # and lists: positions of tensors and of lists of tensors, either of which may be None
    lists: tuple[int, ...]
    reads_shapes: bool  # whether only shapes of its inputs are read
    changes: bool  # whether it modifies arguments, declared in the schema or not


@cache
def signature_of(func: Op) -> Signature:
    """Return the signature of an operation."""
    arguments = func._schema.arguments
    kinds = [str(one.type) for one in arguments]
    single = tuple(i for i, kind in enumerate(kinds) if kind in ("Tensor", "Optional[Tensor]"))
    lists = tuple(i for i, kind in enumerate(kinds) if "Tensor" in kind and i not in single)
    changes = bool(func._schema.is_mutable) or any(one.name in STATISTICS for one in arguments)
    return Signature(single, lists, func._overloadpacket.__name__ in SHAPED, changes)


def operation(
    func: Op,
    args: Args,
    kwargs: Kwargs,
    output: int | None,
    random: Random,
    read: Callable[[int, Tensor, bool], Read | Outside],
    made: int,
) -> Operation:
    """Record an operation that wrote storage `made`."""
    signature = signature_of(func)
    if output is not None and signature.reads_shapes:
        return _shaped_operation(func, args, kwargs, output, random)
    changed = _changed(func, args, kwargs) if signature.changes else ()
    read_slots: list[StorageSlot] = []

    def source(tensor: Tensor) -> Read | Outside:
        found = read(made, tensor, id(tensor) in changed)
        if type(found) is Read and found.source is not None:
            read_slots.append(found.source)
        return found

    given = _with_sources(signature, args, Tensor, source)
    named = {name: _replaced(one, Tensor, source) for name, one in kwargs.items()} if kwargs else kwargs
    return Operation(func, given, named, frozenset(read_slots), output, torch.is_grad_enabled(), random)


def _shaped_operation(func: Op, args: Args, kwargs: Kwargs, output: int, random: Random) -> Operation:
    """Record an operation that reads only shapes of its inputs."""
    signature = signature_of(func)
    device = next(args[i].device for i in signature.tensors)
    named = kwargs | {"device": kwargs.get("device") or device}
    if func is EMPTY_LIKE and not named.get("pin_memory"):
        layout = _layout_like(shape_of(args[0]), tuple(kwargs.items()))
        given, named = list(layout[:2]), {"dtype": layout[2], "device": named["device"]}
        return Operation(EMPTY_STRIDED, given, named, frozenset(), output, torch.is_grad_enabled(), random)
    shapes = _with_sources(signature, args, Tensor, lambda one: Unread(shape_of(one)))
    return Operation(func, shapes, named, frozenset(), output, torch.is_grad_enabled(), random)


@cache
def _layout_like(shape: Shape, kwargs: tuple[tuple[str, Any], ...]) -> tuple[torch.Size, tuple[int, ...], torch.dtype]:
    """Return size, strides and type of an empty tensor like another; asked of torch once, as that takes long."""
    found = EMPTY_LIKE(Unread(shape).taken(None, {}), **(dict(kwargs) | {"device": "meta"}))
    return found.shape, found.stride(), found.dtype


def _with_sources(
    signature: Signature, args: Sequence[Any], kind: type | tuple[type, ...], to: Callable[[Any], object]
) -> list[Any]:
    """Map the positional arguments of some kind, at the positions of tensors."""
    given = list(args)
    for i in signature.tensors:
        if i < len(given) and isinstance(given[i], kind):
            given[i] = to(given[i])
    for i in signature.lists:
        if i < len(given):
            given[i] = _replaced(given[i], kind, to)
    return given


def output_of(result: object, index: int) -> Tensor:
    """Return the tensor at an index of the leaves of a result."""
    if isinstance(result, Tensor):
        return result
    flat = type(result) is tuple and not any(isinstance(one, (list, tuple)) for one in result)
    found: Tensor = result[index] if flat else tree_leaves(result)[index]  # type: ignore[index]
    return found


def tensors_of(values: object) -> list[Tensor]:
    """Return the tensors among nested values."""
    return [one for one in tree_leaves(values) if isinstance(one, Tensor)]


def address_of(tensor: Tensor) -> int:
    """Return the address of a tensor's storage."""
    return int(tensor.untyped_storage()._cdata)


def index_of(result: object, tensor: Tensor) -> int:
    """Return the index of the result that shares the storage of `tensor`."""
    lies = [isinstance(one, Tensor) and address_of(one) == address_of(tensor) for one in tree_leaves(result)]
    return lies.index(True)


def _replaced(value: object, kind: type | tuple[type, ...], to: Callable[[Any], object]) -> object:
    """Map an argument of some kind, or those in a list."""
    if isinstance(value, kind):
        return to(value)
    if type(value) in (list, tuple) and any(isinstance(one, kind) for one in value):  # type: ignore[attr-defined]
        return [_replaced(one, kind, to) for one in value]  # type: ignore[attr-defined]
    return value


def _changed(func: Op, args: Args, kwargs: Kwargs) -> set[int]:
    """Return the ids of the tensors that an operation modifies."""
    return {id(one) for one in (*changed_by(func, args, kwargs), *statistics_of(func, args, kwargs))}
