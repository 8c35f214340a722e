"""Golomb-Rice codes of the gaps in a set of indices (Rice and Plaunt 1971)."""

import torch
from torch import Tensor

from lamcts.neural.compress.codecs.bits import (
    bytes_of,
    codes_from_bytes,
    codes_to_bytes,
    from_bytes,
    to_bytes,
    true_indices,
)

WIDEST = 30  # remainder bits


def gaps(indices: Tensor) -> Tensor:
    """Return how many indices are left out before each one; ValueError if they do not rise."""
    left_out = torch.diff(indices, prepend=indices.new_tensor([-1])) - 1
    if len(left_out) and int(left_out.min()) < 0:
        raise ValueError("expected indices of 0 or more that rise, got some that do not: sort them, each once")
    return left_out


def best_width(left_out: Tensor) -> int:
    """Return the number of remainder bits that makes the code shortest."""
    if not len(left_out):
        return 0
    guess = max(0, int(float(left_out.float().mean()) * 0.69 + 1).bit_length() - 1)
    near = range(max(0, guess - 1), min(WIDEST, guess + 1) + 1)
    return min(near, key=lambda width: bit_length(left_out, width))


def bit_length(left_out: Tensor, width: int) -> int:
    """Return the bits of a code: a unary quotient and `width` remainder bits a gap."""
    return int((left_out >> width).sum()) + len(left_out) * (1 + width)


def encode(left_out: Tensor, width: int) -> Tensor:
    """Return the code of gaps as bytes: all remainders, then all quotients in unary."""
    if not 0 <= width <= WIDEST:
        raise ValueError(f"expected 0 to {WIDEST} remainder bits, got {width}")
    ends = torch.cumsum((left_out >> width) + 1, 0)
    unary = torch.zeros(int(ends[-1]) if len(ends) else 0, dtype=torch.bool, device=left_out.device)
    unary[ends - 1] = True
    return torch.cat([codes_to_bytes(left_out & ((1 << width) - 1), width), to_bytes(unary)])


def decode(data: Tensor, width: int, count: int) -> Tensor:
    """Return the indices whose `count` gaps were encoded."""
    head = bytes_of(count, width)
    remainders = codes_from_bytes(data[:head], width, count)
    ends = true_indices(from_bytes(data[head:], 8 * max(0, len(data) - head)))
    if len(ends) < count:
        raise ValueError(f"expected the code of {count} gaps, got one of {len(ends)}: cut short?")
    before = torch.arange(count, device=data.device)
    quotients = ends[:count] - before  # their sums: each 1 in the unary part ends a quotient
    return (quotients << width) + torch.cumsum(remainders, 0) + before
