"""Cost model of compressed gradient exchange (thesis, 7.3.3, equations 7.1 to 7.4), with the collective."""

import math
from dataclasses import dataclass

FULL = 32  # bits of an uncompressed number


@dataclass(frozen=True)
class Throughput:
    """Rates of the stages of the thesis's compression, in bytes of uncompressed gradient a second.

    Parameters
    ----------
    conversion : float, default inf
        Rate T_m of one conversion, to half precision or to the range float; the scheme has two.
    fft : float, default inf
        Rate T_f of the Fourier transform.
    packing : float, default inf
        Rate T_p of packing the kept values.
    selection : float, default inf
        Rate T_s of selecting the largest values.

    Notes
    -----
    A stage of infinite rate takes no time: a scheme without that stage.

    Examples
    --------
    >>> from lamcts.neural.compress.cost_model import Throughput
    >>> Throughput(conversion=10e9, selection=1e9).seconds(1e9)
    1.2
    """

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
    """Return the compression ratio above which compression saves time: (7.4), infinite where no ratio does.

    Parameters
    ----------
    link : float
        Bytes a second.
    cost : float
        Seconds of compressing one byte, `Throughput(...).seconds(1)`; decompression takes as long.
    factor : float, default 1.0
        Received bytes for each byte of gradient without compression: 1 as printed, 2 (W - 1) / W by ring all-reduce.

    Examples
    --------
    Section 7.3.3 finds no ratio that pays from 22 Gbit/s on, which fixes the cost: 0.18 s for a gigabyte. Equation
    (7.4) then needs a ratio of 1.83 at 10 Gbit/s; the text has 2.

    >>> from lamcts.neural.compress.cost_model import least_ratio
    >>> from lamcts.movement.sizes import rate_of
    >>> cost = 1 / (2 * rate_of("22 Gbit/s"))
    >>> round(cost * 1e9, 4), round(least_ratio(rate_of("10 Gbit/s"), cost), 2)
    (0.1818, 1.83)
    """
    left = 1 - 2 * link * cost / factor
    return 1 / left if left > 0 else math.inf


def ring_bytes(size: float, workers: int) -> float:
    """Return the bytes that a rank receives in a ring all-reduce of `size` bytes: 2 (W - 1) / W of them."""
    return 2 * (workers - 1) / workers * size


def gathered_bytes(size: float, workers: int) -> float:
    """Return the bytes that a rank receives in an all-gather of `size` bytes a rank: those of all other ranks."""
    return (workers - 1) * size


def sparse_ratio(keep: float, bits: float = FULL, bitmap: float = 1.0) -> float:
    """Return the compression ratio of a payload of kept values and a bitmap of their positions.

    Parameters
    ----------
    keep : float
        Kept share of the values.
    bits : float, default 32
        Bits of a kept value.
    bitmap : float, default 1.0
        Bits of the bitmap for each number of the gradient; 0.5 where it marks the bins of a real Fourier transform.

    Notes
    -----
    Section 7.4 claims 21.3 for 15 % at 10 bits, and 6.67 for 15 % at 32 bits. Both leave out the bitmap that section
    7.3.2 sends. With it the ratio is 12.8 (or 16 with a bit for each bin), and 5.5.

    Examples
    --------
    >>> from lamcts.neural.compress.cost_model import sparse_ratio
    >>> [round(sparse_ratio(0.15, 10, bitmap), 1) for bitmap in (0, 1, 0.5)]
    [21.3, 12.8, 16.0]
    >>> round(sparse_ratio(0.15), 2)
    5.52
    """
    return FULL / (keep * bits + bitmap)
