"""Unbiased schemes: every number is rounded up or down at random to one of few levels."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.codecs.bits import codes_from_bytes, codes_to_bytes
from lamcts.neural.compress.schemes.base import Gathered, Part

FLOAT = 4  # bytes of a scale
PLACES = (1, 3, 9, 27, 81)  # values of the five digits of a byte


@dataclass(frozen=True)
class Qsgd(Gathered):
    """Every worker sends numbers of few bits, in blocks with a scale each (all-gather).

    The scale is the largest magnitude of a block, and codes have a fixed length. The paper also has the 2-norm as a
    scale, which needs more bits for the same error, and a code of varying length.

    Parameters
    ----------
    bits : int, default 4
        Bits of a number, 2 to 8: 2^(bits - 1) - 1 levels, zero and the sign.
    block : int, default 512
        Numbers that share a scale.

    References
    ----------
    Alistarh et al. (2017), "QSGD: communication-efficient SGD via gradient quantization and encoding", NeurIPS.
    """

    bits: int = 4
    block: int = 512
    name: ClassVar[str] = "qsgd"
    feedback: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= 8:
            raise ValueError(f"expected bits from 2 to 8, got {self.bits}")
        if self.block < 1:
            raise ValueError(f"expected a block of 1 number or more, got {self.block}")

    @property
    def levels(self) -> int:
        """Levels above 0."""
        return (1 << (self.bits - 1)) - 1

    def encode(self, x: Tensor, bucket: Bucket, generator: torch.Generator) -> Tensor:
        """Return the scales of all blocks, then the codes."""
        blocks = torch.nn.functional.pad(x, (0, -len(x) % self.block)).view(-1, self.block)
        scales = blocks.abs().amax(1)
        codes = rounded(blocks, scales[:, None], self.levels, generator).reshape(-1)[: len(x)]
        return torch.cat([scales.view(torch.uint8), codes_to_bytes(codes, self.bits)])

    def decode(self, data: Tensor, like: Tensor, bucket: Bucket) -> Part:
        """Return the numbers that were sent."""
        size = len(like)
        count = -(-size // self.block)
        scales = data[: FLOAT * count].clone().view(torch.float32)
        codes = codes_from_bytes(data[FLOAT * count :], self.bits, size)
        blocks = torch.nn.functional.pad(codes - self.levels, (0, -size % self.block)).view(-1, self.block)
        return None, (blocks * (scales[:, None] / self.levels)).reshape(-1)[:size]


@dataclass(frozen=True)
class TernGrad(Gathered):
    """Every worker sends -1, 0 or 1 times the largest magnitude of each parameter's gradient (all-gather).

    Parameters
    ----------
    clip : float, default 2.5
        Magnitudes above this multiple of the root mean square are clipped; inf clips nothing.

    References
    ----------
    Wen et al. (2017), "TernGrad: ternary gradients to reduce communication in distributed deep learning", NeurIPS.
    """

    clip: float = 2.5
    name: ClassVar[str] = "terngrad"
    feedback: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.clip > 0:
            raise ValueError(f"expected clip above 0, in standard deviations, got {self.clip}")

    def encode(self, x: Tensor, bucket: Bucket, generator: torch.Generator) -> Tensor:
        """Return the scale of each parameter, then five ternary digits a byte."""
        scales = torch.stack([self._scale(part) for part in torch.split(x, bucket.sizes)])
        spread = bucket.spread(scales)
        codes = rounded(torch.minimum(torch.maximum(x, -spread), spread), spread, 1, generator)
        return torch.cat([scales.view(torch.uint8), trits_to_bytes(codes)])

    def _scale(self, part: Tensor) -> Tensor:
        """Return the largest magnitude that is left after clipping."""
        if not len(part):
            return part.new_zeros(())
        top = part.abs().amax()
        share = (part / top).square().mean().sqrt()  # around 0: equal numbers have no standard deviation
        return torch.where(top == 0, top, top * (self.clip * share).clamp(max=1.0)) if len(part) > 1 else top

    def decode(self, data: Tensor, like: Tensor, bucket: Bucket) -> Part:
        """Return the numbers that were sent."""
        head = FLOAT * len(bucket.keys)
        scales = data[:head].clone().view(torch.float32)
        return None, (trits_from_bytes(data[head:], len(like)).float() - 1) * bucket.spread(scales)


def rounded(x: Tensor, scale: Tensor, levels: int, generator: torch.Generator) -> Tensor:
    """Return codes from 0 to 2 * levels: x / scale * levels, rounded at random so that its mean is kept."""
    ratio = torch.where(scale > 0, x / scale * levels, 0.0)  # x * levels may overflow
    noise = torch.rand(ratio.shape, generator=generator, device=x.device)
    return (ratio + noise).floor_().clamp_(-levels, levels).int() + levels


def trits_to_bytes(digits: Tensor) -> Tensor:
    """Return digits 0, 1 and 2 as bytes; ones fill the last byte."""
    if len(digits) and not 0 <= int(digits.min()) <= int(digits.max()) <= 2:
        raise ValueError(f"expected digits 0, 1 and 2, got {int(digits.min())} to {int(digits.max())}")
    padded = torch.nn.functional.pad(digits.to(torch.uint8), (0, -len(digits) % 5), value=1).view(-1, 5)
    return sum((padded[:, i] * place for i, place in enumerate(PLACES)), torch.zeros_like(padded[:, 0]))


def trits_from_bytes(data: Tensor, count: int) -> Tensor:
    """Return `count` digits, as uint8."""
    if 5 * len(data) < count:
        raise ValueError(f"expected {-(-count // 5)} bytes for {count} digits, got {len(data)}: cut short?")
    places = torch.tensor(PLACES, dtype=torch.uint8, device=data.device)
    table = torch.arange(256, device=data.device).to(torch.uint8)[:, None] // places % 3  # [256, 5]
    return table[data.long()].reshape(-1)[:count]
