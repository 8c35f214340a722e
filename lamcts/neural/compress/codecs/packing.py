"""Packing of sparse vectors by status and prefix sum (thesis, 7.3.2)."""

import torch
from torch import Tensor

from lamcts.neural.compress.codecs.bits import from_bytes, to_bytes


def locations(status: Tensor) -> Tensor:
    """Return where each element goes in the packed vector, from 1, by a prefix sum.

    Examples
    --------
    >>> locations(torch.tensor([1, 0, 1, 0, 1, 0, 0])).tolist()
    [1, 1, 2, 2, 3, 3, 3]
    """
    return torch.cumsum(status, 0)


def pack(sparse: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bitmap of non-zero elements, as bytes, and these elements.

    Examples
    --------
    >>> bitmap, dense = pack(torch.tensor([7.0, 0, 8, 0, 9, 0, 0]))
    >>> bitmap.tolist(), dense.tolist()
    ([21], [7.0, 8.0, 9.0])
    """
    status = sparse != 0
    at = locations(status)
    dense = sparse.new_empty(int(at[-1]) if len(at) else 0)
    dense[at[status] - 1] = sparse[status]
    return to_bytes(status), dense


def unpack(bitmap: Tensor, dense: Tensor, size: int) -> Tensor:
    """Return the sparse vector of `size` elements; ValueError if the bitmap counts others than `dense` has.

    Examples
    --------
    >>> unpack(torch.tensor([21], dtype=torch.uint8), torch.tensor([7.0, 8.0, 9.0]), 7).tolist()
    [7.0, 0.0, 8.0, 0.0, 9.0, 0.0, 0.0]
    """
    status = from_bytes(bitmap, size)
    if int(status.sum()) != len(dense):
        raise ValueError(f"expected {int(status.sum())} elements, one for each bit, got {len(dense)}")
    sparse = dense.new_zeros(size)
    sparse[status] = dense
    return sparse
