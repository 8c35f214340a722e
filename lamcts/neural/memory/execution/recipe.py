"""Recipes of recomputation: the operations that wrote a storage, with their inputs. Needs torch.

Below autograd and autocast an operation is a function of its tensors, so a recomputation gives the same bits. Other
tensors that it modifies, such as running statistics of a batch norm, are copied first.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, UntypedStorage
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from lamcts.neural.memory.execution.generators import Random, restored
from lamcts.neural.trace.recorder import Args, Kwargs, Op, changed_by, statistics_of

if TYPE_CHECKING:
    from lamcts.neural.memory.execution.slot import StorageSlot

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
    a copy.
    """

    source: "StorageSlot | None"
    shape: Shape
    copied: bool


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


class Operation(NamedTuple):
    """An operation that wrote a storage.

    output: index of its result in the storage (None: modified in place). with_grad: gradient mode of the run, since
    oneDNN's LSTM has another workspace without gradients.
    """

    function: Op
    leaves: list[object]
    spec: TreeSpec
    output: int | None
    with_grad: bool
    random: Random

    @property
    def sources(self) -> set["StorageSlot"]:
        """Slots that it reads."""
        return {leaf.source for leaf in self.leaves if isinstance(leaf, Read) and leaf.source is not None}

    def run(self, own: UntypedStorage | None, storage_of: Callable[["StorageSlot"], UntypedStorage]) -> UntypedStorage:
        """Run it again after the earlier operations on the storage; return the storage."""
        args, kwargs = tree_unflatten([_given(leaf, own, storage_of) for leaf in self.leaves], self.spec)
        with torch.set_grad_enabled(self.with_grad), restored(self.random):
            result = self.function(*args, **kwargs)
        if self.output is None:
            assert own is not None
            return own
        made: UntypedStorage = tree_leaves(result)[self.output].untyped_storage()
        return made


def shape_of(tensor: Tensor) -> Shape:
    """Return the layout of a tensor in its storage."""
    lies = tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
    return Shape(tensor.dtype, *lies, tensor.is_conj(), tensor.is_neg())


def check_version(tensor: Tensor, version: int, name: str = "") -> None:
    """Raise RuntimeError if a tensor, or a view of it, was modified in place after a version."""
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: expected "
            f"version {version} of {name or f'a tensor {list(tensor.shape)}'}, got {tensor._version}; change a copy"
        )


def witness_of(tensor: Tensor) -> Tensor:
    """Return an alias without memory that shares the version counter of a tensor."""
    alias = tensor.detach()
    alias.data = NOTHING
    return alias


def operation(
    func: Op, args: Args, kwargs: Kwargs, output: int | None, read: Callable[[Tensor, bool], Read | Outside]
) -> Operation:
    """Record an operation; `read` maps each input tensor, and whether it is modified, to its source."""
    changed = _changed(func, args, kwargs)
    leaves, spec = tree_flatten((args, kwargs))
    leaves = [read(leaf, id(leaf) in changed) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return Operation(func, leaves, spec, output, torch.is_grad_enabled(), ())


def shaped_operation(func: Op, args: Args, kwargs: Kwargs, output: int) -> Operation:
    """Record an operation that reads only shapes of its inputs."""
    device = next(one.device for one in tree_leaves(args) if isinstance(one, Tensor))
    leaves, spec = tree_flatten((args, kwargs | {"device": kwargs.get("device") or device}))
    leaves = [shape_of(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return Operation(func, leaves, spec, output, torch.is_grad_enabled(), ())


def _changed(func: Op, args: Args, kwargs: Kwargs) -> set[int]:
    """Return the ids of the tensors that an operation modifies."""
    return {id(one) for one in (*changed_by(func, args, kwargs), *statistics_of(func, args, kwargs))}


def _given(leaf: object, own: UntypedStorage | None, storage_of: Callable[["StorageSlot"], UntypedStorage]) -> object:
    if isinstance(leaf, Outside):
        return leaf.taken()
    if isinstance(leaf, Shape):  # its values are not read
        return torch.empty_strided(leaf.size, leaf.stride, dtype=leaf.dtype, device="meta")
    if not isinstance(leaf, Read):
        return leaf
    storage = own if leaf.source is None else storage_of(leaf.source)
    assert storage is not None
    tensor = leaf.shape.on(storage)
    return tensor.clone() if leaf.copied and leaf.source is not None else tensor
