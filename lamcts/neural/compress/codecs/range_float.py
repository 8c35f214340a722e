"""Range float: floats of few bits that end at the largest magnitude of the data (thesis, 7.3.2)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

LARGEST = 0x7F7FFFFF  # the bits of the largest finite float32


@dataclass(frozen=True)
class RangeFloat:
    """Numbers of `bits` bits between -top and top: a sign, and a short exponent and mantissa.

    The thesis searches for the smallest number, `eps`, by iteration. It has a closed form: the code of `top` is the
    last one. Numbers are rounded to the nearest, where the thesis cuts bits off, which doubles the error.
    """

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
