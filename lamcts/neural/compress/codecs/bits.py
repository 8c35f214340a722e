"""Bit vectors as bytes, the first bit lowest in its byte."""

import numpy as np
import torch
from torch import Tensor


def to_bytes(bits: Tensor) -> Tensor:
    """Return bits as bytes; zeros fill the last byte.

    Examples
    --------
    >>> to_bytes(torch.tensor([1, 0, 1, 0, 0, 0, 0, 0, 1], dtype=torch.bool)).tolist()
    [5, 1]
    """
    if bits.device.type == "cpu":
        return torch.from_numpy(np.packbits(bits.numpy(), bitorder="little"))
    padded = torch.nn.functional.pad(bits.to(torch.uint8), (0, -len(bits) % 8)).view(-1, 8)
    return (padded << torch.arange(8, dtype=torch.uint8, device=bits.device)).sum(1, dtype=torch.uint8)


def from_bytes(data: Tensor, count: int) -> Tensor:
    """Return the first `count` bits of bytes, as booleans.

    Examples
    --------
    >>> from_bytes(torch.tensor([5, 1], dtype=torch.uint8), 9).int().tolist()
    [1, 0, 1, 0, 0, 0, 0, 0, 1]
    """
    if 8 * len(data) < count:
        raise ValueError(f"expected at least {-(-count // 8)} bytes for {count} bits, got {len(data)}: cut short?")
    if data.device.type == "cpu":
        return torch.from_numpy(np.unpackbits(data.numpy(), count=count, bitorder="little")).view(torch.bool)
    shifts = torch.arange(8, dtype=torch.uint8, device=data.device)
    return ((data[:, None] >> shifts) & 1).reshape(-1)[:count].bool()


def codes_to_bytes(codes: Tensor, width: int) -> Tensor:
    """Return integers of `width` bits each as bytes.

    Examples
    --------
    >>> codes_to_bytes(torch.tensor([1, 2, 3]), 4).tolist()
    [33, 3]
    """
    if width == 8:
        return codes.to(torch.uint8)
    shifts = torch.arange(width, dtype=torch.int32, device=codes.device)
    return to_bytes(((codes.int()[:, None] >> shifts) & 1).reshape(-1).bool())


def codes_from_bytes(data: Tensor, width: int, count: int) -> Tensor:
    """Return `count` integers of `width` bits each, as int32.

    Examples
    --------
    >>> codes_from_bytes(torch.tensor([33, 3], dtype=torch.uint8), 4, 3).tolist()
    [1, 2, 3]
    """
    if width == 8:
        return data[:count].int()
    shifts = torch.arange(width, dtype=torch.int32, device=data.device)
    bits = from_bytes(data, count * width).view(count, width)
    return (bits.int() << shifts).sum(1, dtype=torch.int32)
