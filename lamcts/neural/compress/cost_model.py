"""Cost model of compressed gradient exchange (thesis, 7.3.3, equations 7.1 to 7.4), with the collective."""

import math
from dataclasses import dataclass

FULL = 32  # bits of an uncompressed number


@dataclass(frozen=True)
class Throughput:
    """Rates of the stages of the thesis's compression, in bytes of uncompressed gradient a second."""

    conversion: float = math.inf
    fft: float = math.inf
    packing: float = math.inf
    selection: float = math.inf

    def seconds(self, size: float) -> float:
        """Return the seconds of compressing `size` bytes, equation (7.1); decompression takes as long."""
        return size * (2 / self.conversion + 1 / self.fft + 1 / self.packing + 1 / self.selection)


def exchange_seconds(size: float, link: float, ratio: float = 1.0) -> float:
    """Return the seconds of sending `size` bytes, compressed `ratio` times, at `link` bytes a second: (7.2)."""
    return size / (link * ratio)


def saved_seconds(size: float, link: float, ratio: float) -> float:
    """Return the seconds of communication that compression saves, before its own time is subtracted: (7.3)."""
    return exchange_seconds(size, link) - exchange_seconds(size, link, ratio)


def least_ratio(link: float, cost: float, factor: float = 1.0) -> float:
    """Return the compression ratio above which compression saves time: (7.4), infinite where no ratio does."""
    left = 1 - 2 * link * cost / factor
    return 1 / left if left > 0 else math.inf


def ring_bytes(size: float, workers: int) -> float:
    """Return the bytes that a rank receives in a ring all-reduce of `size` bytes: 2 (W - 1) / W of them."""
    return 2 * (workers - 1) / workers * size


def gathered_bytes(size: float, workers: int) -> float:
    """Return the bytes that a rank receives in an all-gather of `size` bytes a rank: those of all other ranks."""
    return (workers - 1) * size


def sparse_ratio(keep: float, bits: float = FULL, bitmap: float = 1.0) -> float:
    """Return the compression ratio of a payload of kept values and a bitmap of their positions."""
    return FULL / (keep * bits + bitmap)
