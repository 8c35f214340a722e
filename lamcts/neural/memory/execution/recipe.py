"""Recipes of recomputation: the operations that wrote a storage, with their inputs. Needs torch.

Below autograd and autocast an operation is a function of its tensors, so a recomputation gives the same bits. Other
tensors that it modifies, such as running statistics of a batch norm, are copied first.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, UntypedStorage
from torch.utils._pytree import tree_leaves

from lamcts.neural.memory.execution.generators import Random, restored
from lamcts.neural.trace.recorder import SHAPED, STATISTICS, Args, Kwargs, Op, changed_by, statistics_of

if TYPE_CHECKING:
    from lamcts.neural.memory.execution.slot import StorageSlot

NO_CONTEXT = nullcontext()  # of operations without random numbers
NOTHING = torch.empty(0)  # the data of an alias without memory


class Shape(NamedTuple):
    """Layout of a tensor in its storage, with the lazy conjugate and negative flags."""

    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    conjugated: bool
    negated: bool

    def on(self, storage: UntypedStorage) -> Tensor:
        """Return the tensor with this layout in a storage."""
        empty = torch.empty(0, dtype=self.dtype, device=storage.device)
        tensor = empty.set_(storage, self.offset, self.size, self.stride)
        tensor = tensor.conj() if self.conjugated else tensor
        return torch._neg_view(tensor) if self.negated else tensor


class Read(NamedTuple):
    """A tensor that an operation reads.

    source: its slot; None is the recomputed storage itself. copied: whether the operation modifies it, so that it needs
    a copy. witness: an alias without memory, with its version at the read; None if the source is recomputed itself.
    """

    source: "StorageSlot | None"
    shape: Shape
    copied: bool
    witness: Tensor | None = None
    version: int = 0


class Outside(NamedTuple):
    """A tensor that no plan moves, such as a parameter, with its version at the read."""

    tensor: Tensor
    version: int
    copied: bool

    def taken(self) -> Tensor:
        """Return the tensor; raise RuntimeError if it was modified since the read."""
        if self.copied:
            return self.tensor.clone()
        check_version(self.tensor, self.version)
        return self.tensor


Source = Read | Outside | Shape  # of a tensor that an operation reads
SOURCES = (Read, Outside, Shape)


class Operation(NamedTuple):
    """An operation that wrote a storage.

    args, kwargs: its arguments, with the source of each tensor. sources: slots that it reads. output: index of its
    result in the storage (None: modified in place). with_grad: gradient mode of the run, since oneDNN's LSTM has
    another workspace without gradients.
    """

    function: Op
    args: Args
    kwargs: Kwargs
    sources: frozenset["StorageSlot"]
    output: int | None
    with_grad: bool
    random: Random

    def run(self, own: UntypedStorage | None, storage_of: Callable[["StorageSlot"], UntypedStorage]) -> UntypedStorage:
        """Run it again after the earlier operations on the storage; return the storage."""

        def given(leaf: Source) -> Tensor:
            return _given(leaf, own, storage_of)

        args = tuple([_replaced(one, SOURCES, given) for one in self.args])
        kwargs = {name: _replaced(one, SOURCES, given) for name, one in self.kwargs.items()}
        with torch.set_grad_enabled(self.with_grad), restored(self.random) if self.random else NO_CONTEXT:
            result = self.function(*args, **kwargs)
        if self.output is None:
            assert own is not None
            return own
        return output_of(result, self.output).untyped_storage()


def shape_of(tensor: Tensor) -> Shape:
    """Return the layout of a tensor in its storage."""
    offset = int(tensor.storage_offset())
    return Shape(tensor.dtype, tensor.shape, tensor.stride(), offset, tensor.is_conj(), tensor.is_neg())


def check_version(tensor: Tensor, version: int, name: str = "") -> None:
    """Raise RuntimeError if a tensor, or a view of it, was modified in place after a version."""
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: expected "
            f"version {version} of {name or f'a tensor {list(tensor.shape)}'}, got {tensor._version}; change a copy"
        )


def alias_of(tensor: Tensor) -> Tensor:
    """Return an alias without gradient that shares the version counter of a tensor, below autograd too."""
    with torch._C._DisableTorchDispatch(), _shared_versions():  # the alias is no operation of the step
        return tensor.detach()


def _shared_versions() -> AbstractContextManager[object]:
    """Return a context in which views share version counters: inside a dispatch mode they have their own."""
    return torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.ADInplaceOrView, False)


def witness_of(tensor: Tensor) -> Tensor:
    """Return such an alias without memory."""
    alias = alias_of(tensor)
    alias.data = NOTHING
    return alias


def operation(
    func: Op,
    args: Args,
    kwargs: Kwargs,
    output: int | None,
    random: Random,
    read: Callable[[Tensor, bool], Read | Outside],
) -> Operation:
    """Record an operation; `read` maps each input tensor, and whether it is modified, to its source."""
    if output is not None and _reads_shapes(func):
        return _shaped_operation(func, args, kwargs, output, random)
    changed = _changed(func, args, kwargs) if _may_change(func) else ()
    sources: set[StorageSlot] = set()

    def source(tensor: Tensor) -> Read | Outside:
        found = read(tensor, id(tensor) in changed)
        if isinstance(found, Read) and found.source is not None:
            sources.add(found.source)
        return found

    given = tuple([_replaced(one, Tensor, source) for one in args])
    named = {name: _replaced(one, Tensor, source) for name, one in kwargs.items()} if kwargs else kwargs
    return Operation(func, given, named, frozenset(sources), output, torch.is_grad_enabled(), random)


def _shaped_operation(func: Op, args: Args, kwargs: Kwargs, output: int, random: Random) -> Operation:
    """Record an operation that reads only shapes of its inputs."""
    device = next(one.device for one in tree_leaves(args) if isinstance(one, Tensor))
    shapes = tuple([_replaced(one, Tensor, shape_of) for one in args])
    named = kwargs | {"device": kwargs.get("device") or device}
    return Operation(func, shapes, named, frozenset(), output, torch.is_grad_enabled(), random)


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


@cache
def _reads_shapes(func: Op) -> bool:
    """Return whether an operation reads only shapes of its inputs."""
    return func._overloadpacket.__name__ in SHAPED


@cache
def _may_change(func: Op) -> bool:
    """Return whether an operation modifies arguments, declared in its schema or not."""
    return bool(func._schema.is_mutable) or any(one.name in STATISTICS for one in func._schema.arguments)


def _changed(func: Op, args: Args, kwargs: Kwargs) -> set[int]:
    """Return the ids of the tensors that an operation modifies."""
    return {id(one) for one in (*changed_by(func, args, kwargs), *statistics_of(func, args, kwargs))}


def _given(leaf: Source, own: UntypedStorage | None, storage_of: Callable[["StorageSlot"], UntypedStorage]) -> Tensor:
    if isinstance(leaf, Outside):
        return leaf.taken()
    if isinstance(leaf, Shape):  # its values are not read
        return torch.empty_strided(leaf.size, leaf.stride, dtype=leaf.dtype, device="meta")
    if leaf.witness is not None and leaf.source is not None:
        check_version(leaf.witness, leaf.version, leaf.source.name)
    storage = own if leaf.source is None else storage_of(leaf.source)
    assert storage is not None
    tensor = leaf.shape.on(storage)
    return tensor.clone() if leaf.copied and leaf.source is not None else tensor
