"""Layouts, versions and aliases of tensors. Needs torch."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, UntypedStorage

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
        tensor = _empty(self.dtype, storage.device).new().set_(storage, self.offset, self.size, self.stride)
        tensor = tensor.conj() if self.conjugated else tensor
        return torch._neg_view(tensor) if self.negated else tensor


@cache
def _empty(dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return a tensor whose `new` is the quickest way to an empty one."""
    return torch.empty(0, dtype=dtype, device=device)


def shape_of(tensor: Tensor) -> Shape:
    """Return the layout of a tensor in its storage."""
    offset = int(tensor.storage_offset())
    return Shape(tensor.dtype, tensor.shape, tensor.stride(), offset, tensor.is_conj(), tensor.is_neg())


def shape_like(last: Shape | None, tensor: Tensor) -> Shape:
    """Return the layout of a tensor: `last`, which an earlier tensor had, if it is equal."""
    if (
        last is not None
        and last.size == tensor.shape
        and last.stride == tensor.stride()
        and last.offset == tensor.storage_offset()
        and last.dtype is tensor.dtype
        and last.negated == tensor.is_neg()
        and last.conjugated == tensor.is_conj()
    ):
        return last
    return shape_of(tensor)


def check_version(tensor: Tensor, version: int, name: str = "") -> None:
    """Raise RuntimeError if a tensor, or a view of it, was modified in place after a version."""
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: expected "
            f"version {version} of {name or f'a tensor {list(tensor.shape)}'}, got {tensor._version}; change a copy"
        )


def alias_of(tensor: Tensor) -> Tensor:
    """Return an alias without gradient that shares the version counter; as an operation no dispatch mode sees it."""
    if not torch._C._len_torch_dispatch_stack():
        return tensor.detach()
    with torch._C._DisableTorchDispatch():
        return tensor.detach()


def witness_of(tensor: Tensor) -> Tensor:
    """Return such an alias without memory."""
    alias = alias_of(tensor)
    alias.data = NOTHING
    return alias


def read_witness_of(tensor: Tensor) -> Tensor:
    """Return such an alias inside a dispatch mode, where views have version counters of their own."""
    with torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.ADInplaceOrView, False):
        return witness_of(tensor)
