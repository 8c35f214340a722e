"""Bit vectors as bytes, the first bit lowest in its byte."""

import numpy as np
import torch
from torch import Tensor


def to_bytes(bits: Tensor) -> Tensor:
    """Return bits as bytes; zeros fill the last byte."""
    if bits.device.type == "cpu":
        return torch.from_numpy(np.packbits(bits.numpy(), bitorder="little"))
    return codes_to_bytes(bits, 1)


def from_bytes(data: Tensor, count: int) -> Tensor:
    """Return the first `count` bits of bytes, as booleans."""
    if 8 * len(data) < count:
        raise ValueError(f"expected at least {-(-count // 8)} bytes for {count} bits, got {len(data)}: cut short?")
    if data.device.type == "cpu":
        return torch.from_numpy(np.unpackbits(data.numpy(), count=count, bitorder="little")).view(torch.bool)
    return codes_from_bytes(data, 1, count).bool()


def true_indices(bits: Tensor) -> Tensor:
    """Return the indices of the bits that are set, rising."""
    if bits.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(bits.numpy()))  # twice as fast
    return torch.nonzero(bits).reshape(-1)


def codes_to_bytes(codes: Tensor, width: int) -> Tensor:
    """Return integers of `width` bits each as bytes: of every 8 bits of the width a stream, the low ones first."""
    if width > 8:
        return torch.cat([codes_to_bytes(codes & 255, 8), codes_to_bytes(codes >> 8, width - 8)])
    if width == 8:
        return codes.to(torch.uint8)
    padded = torch.nn.functional.pad(codes.long(), (0, -len(codes) % 8)).view(-1, 8)
    words = (padded << _shifts(width, codes.device)).sum(1)  # eight codes in a word of 64 bits
    return words.view(torch.uint8).view(-1, 8)[:, :width].reshape(-1)[: bytes_of(len(codes), width)]


def codes_from_bytes(data: Tensor, width: int, count: int) -> Tensor:
    """Return `count` integers of `width` bits each, as int64."""
    if len(data) < bytes_of(count, width):
        raise ValueError(f"expected {bytes_of(count, width)} bytes for {count} codes, got {len(data)}: cut short?")
    if width > 8:
        return codes_from_bytes(data[:count], 8, count) | codes_from_bytes(data[count:], width - 8, count) << 8
    if width in (0, 8):
        return data[:count].long() if width else torch.zeros(count, dtype=torch.long, device=data.device)
    data = data[: bytes_of(count, width)]
    rows = torch.nn.functional.pad(data, (0, -len(data) % width)).view(-1, width)
    words = torch.nn.functional.pad(rows, (0, 8 - width)).view(torch.int64)
    return ((words >> _shifts(width, data.device)) & ((1 << width) - 1)).reshape(-1)[:count]


def bytes_of(count: int, width: int) -> int:
    """Return the number of bytes of `count` codes."""
    return count * (width // 8) + -(-count * (width % 8) // 8)


def _shifts(width: int, device: torch.device) -> Tensor:
    return torch.arange(8, device=device) * width
