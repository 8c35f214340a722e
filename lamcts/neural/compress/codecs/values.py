"""Values of gradients as bytes: fp32, fp16 with a shared scale, or range floats."""

import math
import re

import torch
from torch import Tensor

from lamcts.neural.compress.codecs.bits import bytes_of, codes_from_bytes, codes_to_bytes
from lamcts.neural.compress.codecs.range_float import RangeFloat


def bits_of(values: str) -> int:
    """Return the bits of a number in a format; ValueError if there is no such format."""
    if values in ("fp32", "fp16"):
        return int(values[2:])
    found = re.fullmatch(r"range(\d+)", values)
    if found is None or not 2 <= int(found[1]) <= 16:
        raise ValueError(f"expected values 'fp32', 'fp16' or 'range2' to 'range16', got {values!r}")
    return int(found[1])


def encode(x: Tensor, values: str, top: float) -> Tensor:
    """Return float32 numbers of magnitude up to `top` as bytes."""
    if values == "fp32":
        return x.contiguous().view(torch.uint8)
    if values == "fp16":
        return to_half(x, top).view(torch.uint8)
    bits = bits_of(values)
    return codes_to_bytes(RangeFloat(bits, top).encode(x), bits)


def decode(data: Tensor, values: str, top: float, count: int) -> Tensor:
    """Return `count` float32 numbers."""
    if values == "fp32":
        return data.clone().view(torch.float32)  # a copy starts at an address that floats may have
    if values == "fp16":
        return from_half(data.clone().view(torch.float16), top)
    bits = bits_of(values)
    return RangeFloat(bits, top).decode(codes_from_bytes(data, bits, count))


def to_half(x: Tensor, top: float) -> Tensor:
    """Return numbers as float16, divided by the power of two above `top`, so that small gradients keep their bits."""
    return (x * math.ldexp(1, -_exponent(top))).half()


def from_half(x: Tensor, top: float) -> Tensor:
    """Return the float32 numbers that `to_half` was given, rounded."""
    return x.float() * math.ldexp(1, _exponent(top))


def size_of(values: str, count: int) -> int:
    """Return the bytes of `count` numbers."""
    return bytes_of(count, bits_of(values))


def _exponent(top: float) -> int:
    """Return the exponent of the power of two above `top`, within what float32 can multiply by."""
    return min(126, max(-126, math.frexp(top)[1]))
