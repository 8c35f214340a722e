"""Which compression scheme saves time on a link, by rates that are measured on this machine."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from lamcts.movement.sizes import BITS, rate_of
from lamcts.neural.compress.workers import SimulatedWorkers
from lamcts.text import safe_repr
from lamcts.types import number_of, whole_number

BASELINE = "none"  # fp32 by ring all-reduce
FULL = 32  # bits of an uncompressed number
DEFAULTS = ("topk", "shared-topk", "fft", "qsgd", "terngrad", "powersgd")  # with their default options
SAMPLE = 2**23  # numbers of all workers at most that are compressed to measure rates: seconds, and about 100 MB
FEW = 8  # workers up to which a worker has a million numbers
CACHES = 2**24  # numbers written before a timed step, more than caches hold, as a training writes between exchanges
REPEATS = 4  # timed steps of a scheme after the first; the least counts


@dataclass(frozen=True)
class Rate:
    """Measured costs of a scheme for each number of a gradient."""

    seconds: float
    bits: float


@dataclass(frozen=True)
class SchemeTime:
    """Exchange of one gradient by one scheme."""

    scheme: str  # name of the scheme; "none" is fp32 by ring all-reduce
    compute: float
    exchange: float
    bits: float  # bits received for each number
    below: float  # rate of the link in bytes a second below which the scheme saves time; 0 if it never does

    @property
    def seconds(self) -> float:
        """Seconds of the whole exchange."""
        return self.compute + self.exchange


@dataclass(frozen=True)
class Worth:
    """Time of exchanging a gradient by scheme: what `worth` returns. Printed, it is a table."""

    link: float  # rate of the link in bytes a second
    workers: int
    numbers: float
    times: tuple[SchemeTime, ...]  # the schemes, "none" first, then by time

    @property
    def best(self) -> str | None:
        """Scheme of least time, None if no scheme takes less time than fp32."""
        first = min(self.times, key=lambda one: one.seconds)
        return None if first.scheme == BASELINE else first.scheme

    def __str__(self) -> str:
        title = f"{self.numbers:,.0f} numbers, {self.workers} workers, {self.link * BITS / 1e9:g} Gbit/s"
        header = ("scheme", "compute s", "exchange s", "total s", "bits/number", "pays below Gbit/s")
        table = [header, *(_cells(one) for one in self.times)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        rows = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([title, *rows, f"best: {self.best or 'none pays, keep fp32'}"])


def worth(
    link: str = "1Gbit/s",
    workers: int = 8,
    numbers: float = 25e6,
    *,
    schemes: Sequence[str] = DEFAULTS,
    rates: Mapping[str, Rate] | None = None,
) -> Worth:
    """Return which compression scheme saves time on a link, if any.

    Parameters
    ----------
    link : str, default "1Gbit/s"
        Rate at which a worker receives, with its unit: "1Gbit/s", "10 Gbps", "125 MB/s".
    workers : int, default 8
        Number of workers, 2 or more.
    numbers : float, default 25e6
        Numbers of the gradient, as many as parameters.
    schemes : sequence of str, default ("topk", "shared-topk", "fft", "qsgd", "terngrad", "powersgd")
        Schemes to compare, with their default options.
    rates : mapping of str to Rate, optional
        Measured rates by scheme, of which none is measured again. By default `measured_rates` measures all.

    Returns
    -------
    Worth
        `best` is the scheme of least time, or None. `print` shows a table.

    Notes
    -----
    A scheme pays if compression, decompression and receiving take less time than a ring all-reduce in fp32, of which
    a worker receives 2 (W - 1) / W times the gradient. This is condition (7.4) of the thesis with the collective: an
    all-gather receives W - 1 payloads and decompresses W. Bits are those of payloads. Latency, headers of messages, and
    communication during the backward pass, are left out: with an overlap, fp32 is better than here.

    Rates come from one square matrix of random numbers for each worker on the CPU, with torch's threads: the lesser of
    wall and CPU time, so that other processes disturb little. Caches are cold, as in a training. The matrix has as many
    numbers as the gradient; above a million numbers of eight workers, time is taken as proportional. PowerSGD sends
    more bits of several small or narrow matrices. Accuracy is left out: a scheme that pays may train worse.

    Examples
    --------
    >>> from lamcts.neural import compress
    >>> rates = {"topk": compress.Rate(seconds=20e-9, bits=1.2), "qsgd": compress.Rate(seconds=8e-9, bits=28)}
    >>> print(compress.worth("1Gbit/s", workers=8, numbers=25e6, rates=rates))
    25,000,000 numbers, 8 workers, 1 Gbit/s
    scheme  compute s  exchange s  total s  bits/number  pays below Gbit/s
    none    0          1.4         1.4      56           -
    topk    0.5        0.03        0.53     1.2          2.74
    qsgd    0.2        0.7         0.9      28           3.5
    best: topk
    >>> compress.worth("10Gbit/s", rates=rates).best is None
    True
    """
    speed = rate_of(link)
    whole_number(workers, "workers", 2)
    count = _count(numbers)
    found = rates if rates is not None else measured_rates(workers, schemes, count)
    full = 2 * (workers - 1) / workers * FULL  # of a ring all-reduce
    base = SchemeTime(BASELINE, 0.0, count * full / BITS / speed, full, 0.0)
    times = [_time_of(name, rate, count, speed, full) for name, rate in found.items()]
    return Worth(speed, workers, count, (base, *sorted(times, key=lambda one: one.seconds)))


def measured_rates(
    workers: int = 8, schemes: Sequence[str] = DEFAULTS, numbers: float = SAMPLE // FEW
) -> dict[str, Rate]:
    """Measure schemes on this machine.

    Parameters
    ----------
    workers : int, default 8
        Number of workers; an all-gather decompresses the payloads of all.
    schemes : sequence of str, default ("topk", "shared-topk", "fft", "qsgd", "terngrad", "powersgd")
        Names of schemes, with their default options.
    numbers : float, default 2**20
        Numbers of the gradient; of a larger one than the default (fewer from 9 workers on), a part is compressed.
    """
    whole_number(workers, "workers", 2)
    side = math.isqrt(min(SAMPLE // max(FEW, workers), int(_count(numbers))))
    generator = torch.Generator().manual_seed(0)
    gradients = [[torch.randn(side, side, generator=generator)] for _ in range(workers)]
    return {name: _measured(name, workers, gradients) for name in schemes}


def _measured(name: str, workers: int, gradients: list[list[torch.Tensor]]) -> Rate:
    """Return the rate of a scheme: the least time of some steps after the first."""
    exchange, seconds = SimulatedWorkers(name, workers=workers), list[float]()
    others = torch.zeros(CACHES)
    for _ in range(1 + REPEATS):
        others += 1
        before, cpu, began = exchange.report().seconds, time.process_time(), time.perf_counter()
        exchange.step(gradients)
        whole, busy, after = time.perf_counter() - began, time.process_time() - cpu, exchange.report().seconds
        stages = ("send", "pick", "decode")
        send, pick, decode = (after.get(stage, 0.0) - before.get(stage, 0.0) for stage in stages)
        own = (whole - send - pick - decode) / workers + pick + decode  # all wait for a pick, and decode all payloads
        seconds.append(own * min(1.0, busy / whole))  # less than the wall time where other processes had the CPU
    return Rate(min(seconds[1:]) / gradients[0][0].numel(), exchange.report().bits)


def _time_of(name: str, rate: Rate, count: float, link: float, full: float) -> SchemeTime:
    """Return the times of a scheme; `full` are the bits that fp32 receives for a number."""
    saved = max(0.0, full - rate.bits) / BITS  # bytes a number
    below = saved / rate.seconds if rate.seconds > 0 else math.inf if saved else 0.0
    return SchemeTime(name, count * rate.seconds, count * rate.bits / BITS / link, rate.bits, below)


def _cells(one: SchemeTime) -> tuple[str, ...]:
    """Return a row of the table."""
    below = "-" if one.scheme == BASELINE else f"{one.below * BITS / 1e9:.3g}" if one.below else "never"
    times = (f"{each:.3g}" for each in (one.compute, one.exchange, one.seconds))
    return (one.scheme, *times, f"{one.bits:.3g}", below)


def _count(numbers: object) -> float:
    """Return how many numbers a gradient has."""
    try:
        count = number_of(numbers)
    except TypeError:
        count = math.nan
    if not 1 <= count < math.inf or isinstance(numbers, bool):
        raise ValueError(f"numbers: expected how many numbers a gradient has, 1 or more, got {safe_repr(numbers):.60}")
    return count
