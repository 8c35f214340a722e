"""Sets of indices as bytes: a bitmap or Golomb-Rice gaps, whichever is shorter."""

import torch
from torch import Tensor

from lamcts.neural.compress.codecs import rice
from lamcts.neural.compress.codecs.bits import from_bytes, to_bytes, true_indices

BITMAP = 255  # the first byte: this, or the remainder bits of a Rice code


def encode(indices: Tensor, size: int) -> Tensor:
    """Return rising indices below `size` as bytes."""
    left_out = rice.gaps(indices)
    if len(indices) and int(indices[-1]) >= size:
        raise ValueError(f"expected indices below {size}, got {int(indices[-1])}")
    width = rice.best_width(left_out)
    if rice.bit_length(left_out, width) < size:
        return torch.cat([_byte(width, indices), rice.encode(left_out, width)])
    status = torch.zeros(size, dtype=torch.bool, device=indices.device)
    status[indices] = True
    return torch.cat([_byte(BITMAP, indices), to_bytes(status)])


def decode(data: Tensor, count: int, size: int) -> Tensor:
    """Return the indices, as int64."""
    if not len(data):
        raise ValueError("expected the code of a set of indices, got no bytes")
    width = int(data[0])
    if width == BITMAP:
        return true_indices(from_bytes(data[1:], size))
    return rice.decode(data[1:], width, count)


def _byte(number: int, like: Tensor) -> Tensor:
    return torch.tensor([number], dtype=torch.uint8, device=like.device)
