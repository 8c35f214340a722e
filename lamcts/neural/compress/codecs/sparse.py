"""Sparse vectors as bytes: a head, indices, values."""

import math
import struct

import numpy as np
import torch
from torch import Tensor

from lamcts.neural.compress.codecs import indices as index_codec
from lamcts.neural.compress.codecs import values as value_codec

HEAD = struct.Struct("<If")  # the number of indices, and the largest magnitude


def encode(indices: Tensor, x: Tensor, size: int, values: str) -> Tensor:
    """Return rising indices below `size` and their values as bytes; a head alone if a value is not finite."""
    top = float(x.abs().max()) if x.numel() else 0.0
    head = encode_indices(indices, top, size)
    return torch.cat([head, value_codec.encode(x.reshape(-1), values, top)]) if math.isfinite(top) else head


def decode(data: Tensor, size: int, values: str, each: int = 1) -> tuple[Tensor, Tensor]:
    """Return the indices and values, `each` values an index; all indices with nan if the values were not finite."""
    count, top = _head(data)
    if math.isnan(top):
        indices, x = _everywhere(data, size), torch.full((size * each,), math.nan, device=data.device)
    else:
        split = len(data) - value_codec.size_of(values, count * each)
        indices = index_codec.decode(data[HEAD.size : split], count, size)
        x = value_codec.decode(data[split:], values, top, count * each)
    return indices, x if each == 1 else x.view(-1, each)


def encode_indices(indices: Tensor, top: float, size: int) -> Tensor:
    """Return rising indices and the largest magnitude of their values as bytes; no indices if it is not finite."""
    finite = math.isfinite(top)
    head = HEAD.pack(len(indices) * finite, top if finite else math.nan)
    data = torch.from_numpy(np.frombuffer(head, np.uint8).copy()).to(indices.device)
    return torch.cat([data, index_codec.encode(indices, size)]) if finite else data


def decode_indices(data: Tensor, size: int) -> tuple[Tensor, float]:
    """Return the indices and the largest magnitude; all indices and nan if it was not finite."""
    count, top = _head(data)
    if math.isnan(top):
        return _everywhere(data, size), top
    return index_codec.decode(data[HEAD.size :], count, size), top


def _everywhere(data: Tensor, size: int) -> Tensor:
    return torch.arange(size, device=data.device)


def _head(data: Tensor) -> tuple[int, float]:
    """Return the number of indices and the largest magnitude."""
    if len(data) < HEAD.size:
        raise ValueError(f"expected at least {HEAD.size} bytes of a sparse vector, got {len(data)}")
    count, top = HEAD.unpack(data[: HEAD.size].cpu().numpy().tobytes())
    return count, top
