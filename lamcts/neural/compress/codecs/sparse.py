"""Sparse vectors as bytes: a head, indices, values."""

import math
import struct

import numpy as np
import torch
from torch import Tensor

from lamcts.neural.compress.codecs import indices as index_codec
from lamcts.neural.compress.codecs import values as value_codec

HEAD = struct.Struct("<If")  # the number of values, and the largest magnitude


def encode(indices: Tensor, x: Tensor, size: int, values: str) -> Tensor:
    """Return rising indices below `size` and their values as bytes; a head alone if a value is not finite.

    Examples
    --------
    >>> data = encode(torch.tensor([3, 7]), torch.tensor([0.5, -1.0]), 100, "fp16")
    >>> [part.tolist() for part in decode(data, 100, "fp16")]
    [[3, 7], [0.5, -1.0]]
    """
    top = float(torch.linalg.vector_norm(x, math.inf)) if x.numel() else 0.0
    if not math.isfinite(top):
        return _bytes(HEAD.pack(0, math.nan), x.device)
    head = _bytes(HEAD.pack(x.numel(), top), x.device)
    return torch.cat([head, index_codec.encode(indices, size), value_codec.encode(x.reshape(-1), values, top)])


def decode(data: Tensor, size: int, values: str, each: int = 1) -> tuple[Tensor, Tensor]:
    """Return the indices and values, `each` values an index; all indices with nan if the values were not finite."""
    count, top = HEAD.unpack(data[: HEAD.size].cpu().numpy().tobytes())
    if math.isnan(top):
        shape = (size,) if each == 1 else (size, each)
        return torch.arange(size, device=data.device), torch.full(shape, math.nan, device=data.device)
    split = len(data) - value_codec.size_of(values, count)
    indices = index_codec.decode(data[HEAD.size : split], count // each, size)
    x = value_codec.decode(data[split:], values, top, count)
    return indices, x if each == 1 else x.view(-1, each)


def _bytes(data: bytes, device: torch.device) -> Tensor:
    return torch.from_numpy(np.frombuffer(data, np.uint8).copy()).to(device)
