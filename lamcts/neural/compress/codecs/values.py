"""Values of gradients as bytes: fp32, fp16 with a shared scale, or range floats."""

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from lamcts.neural.compress.codecs.bits import bytes_of, codes_from_bytes, codes_to_bytes

LARGEST = 0x7F7FFFFF  # the bits of the largest finite float32
FLOAT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class RangeFloat:
    """Numbers of `bits` bits from -top to top: a sign, a short exponent, a mantissa; `eps` has a closed form."""

    bits: int
    top: float

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= 16:
            raise ValueError(f"expected 2 to 16 bits, got {self.bits}")
        if not 0 <= self.top < float("inf"):
            raise ValueError(f"expected a finite largest magnitude of 0 or more, got top={self.top}")

    @property
    def shift(self) -> int:
        """Bits of a float32's mantissa that are cut off."""
        return 23 - max(0, self.bits - 5)

    @property
    def codes(self) -> int:
        """Number of magnitudes, zero included: 2^(bits - 1)."""
        return 1 << (self.bits - 1)

    @cached_property
    def base(self) -> int:
        """The bits of the smallest positive number, without those cut off ("pbase" in the thesis)."""
        return max(1, self._last - self.codes + 2)

    @property
    def eps(self) -> float:
        """The smallest positive number."""
        return float(np.int32(self.base << self.shift).view(np.float32))

    @cached_property
    def _last(self) -> int:
        return min(int(np.float32(self.top).view(np.int32)) + self._half, LARGEST) >> self.shift

    @property
    def _half(self) -> int:
        return (1 << self.shift) >> 1

    def encode(self, x: Tensor) -> Tensor:
        """Return the codes of float32 numbers, as int32; larger magnitudes than `top` become `top`."""
        if x.dtype != torch.float32:
            raise TypeError(f"expected float32 numbers, got {x.dtype}")
        bits = x.view(torch.int32)
        magnitude = (bits & 0x7FFFFFFF).clamp_(max=LARGEST - self._half).add_(self._half)
        code = (magnitude >> self.shift).clamp_(max=self._last).sub_(self.base - 1).clamp_(min=0)
        code.masked_fill_((code == 0) & (x.abs() >= self.eps / 2), 1)  # below eps the neighbours are 0 and eps
        return code.add_((bits < 0).int(), alpha=self.codes)

    def decode(self, codes: Tensor) -> Tensor:
        """Return the float32 numbers of codes."""
        code = (codes & (self.codes - 1)).int()
        number = ((code + (self.base - 1)) << self.shift).masked_fill_(code == 0, 0).view(torch.float32)
        return torch.where(codes >= self.codes, -number, number)


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


def to_half(x: Tensor, top: float, most: float = math.inf) -> Tensor:
    """Return numbers as float16, divided by the power of two above `top`, so that small gradients keep their bits."""
    return (x * math.ldexp(1, -_exponent(top))).clamp_(-most, most).half()


def from_half(x: Tensor, top: float) -> Tensor:
    """Return the float32 numbers that `to_half` was given, rounded, or divided by a number of workers since."""
    return (x.float() * math.ldexp(1, _exponent(top))).clamp_(-FLOAT_MAX, FLOAT_MAX)  # rounding up may overflow


def size_of(values: str, count: int) -> int:
    """Return the bytes of `count` numbers."""
    return bytes_of(count, bits_of(values))


def _exponent(top: float) -> int:
    """Return the exponent of the power of two above `top`, within what float32 can multiply by."""
    return min(126, max(-126, math.frexp(top)[1]))
