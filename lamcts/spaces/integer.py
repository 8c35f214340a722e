"""Integer parameters, on a linear or a logarithmic scale."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lamcts.spaces.base import EncodedSpace
from lamcts.spaces.kinds import register
from lamcts.spaces.values import brief, flag, read_when, whole
from lamcts.types import Floats, Point

FINEST = 2**50  # the most steps s for which rint((k / s) * s) == k is sure in float64: the product is off by < k 2^-51
HELD = 2**1000  # largest bound of an Int: floats hold it, and sums and differences of two bounds
BITS = 40  # significant bits of a log Int: exp(log(v)) is off by < 44 roundings, far below half of 2^-40
LISTED_VALUES = 20_000  # largest number of values to list: products of listed members multiply (`base.LISTED`)
LARGEST_LOG = 2**63  # of a log Int: bounds the error of exp above, and holds every integer of SQLite and numpy


@register("int")
@dataclass(frozen=True, eq=False, repr=False)
class Int(EncodedSpace):
    """A whole number between bounds.

    Parameters
    ----------
    low, high : int
        Bounds, both included.
    log : bool, default False
        Equal factors are equally far apart; `1 <= low <= 2**39` and `high <= 2**63`.
    step : int, optional
        Only low, low + step, low + 2 step, ... are valid, without `log`. `high` becomes the last of these values; a
        warning reports where it was larger.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    One coordinate cannot represent every integer of a very large range. Where `high - low` exceeds `2**50`,
    `2**50 + 1` evenly spaced values are used; with `log`, values above `2**40` are rounded to 40 significant bits.
    `size` still counts every integer.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.Int(1, 5).encode(2)
    array([0.25])
    >>> lamcts.Int(1, 1024, log=True).encode(32)
    array([0.5])
    >>> lamcts.Int(32, 256, step=32).size
    8.0
    """

    low: int
    high: int
    log: bool = False
    step: int | None = field(default=None, kw_only=True)
    when: Mapping[str, object] | None = field(default=None, kw_only=True)

    dim = 1

    def __post_init__(self) -> None:
        self._set(when=read_when(self.when), log=flag(self.log, "log"))
        self._set(low=whole(self.low, "low"), high=whole(self.high, "high"))
        bounds = f"low={self.low}, high={self.high}"
        if self.low > self.high:
            raise ValueError(f"expected low <= high, got {bounds}; swap the bounds")
        if self.log and not (1 <= self.low <= 2 ** (BITS - 1) and self.high <= LARGEST_LOG):
            raise ValueError(
                f"expected 1 <= low <= 2**39, high <= 2**63 where log=True, got {bounds}; leave log out, or use Float"
            )
        if max(abs(self.low), abs(self.high)) > HELD:
            raise ValueError(f"expected bounds that a float can hold, got {brief(bounds)}; search for the logarithm")
        if self.step is not None:
            self._set_step(whole(self.step, "step"))

    def _set_step(self, step: int) -> None:
        check_step(step, self.log)
        last = (self.high - self.low) // step
        if self.low < self.high and not last:
            raise ValueError(f"step: expected at most high - low = {self.high - self.low}, got {step}; make it smaller")
        high = self.low + last * step
        warn_of_end(self.high, high)
        self._set(high=high, step=None if step == 1 or not last else step)

    @property
    def size(self) -> float:
        return float(self._last + 1)

    def encode(self, point: Point) -> Floats:
        value = whole(point, "value")
        if not self.low <= value <= self.high:
            raise ValueError(
                f"expected a whole number in [{self.low}, {self.high}], got {brief(value)}; "
                "pass one inside, or widen them"
            )
        if self.log:
            return self._x(self._rounded(np.array([float(value)])))
        k, over = divmod(value - self.low, self.step or 1)
        if over:
            k = min(_nearest(value - self.low, self.step or 1), self._last)
            raise off_grid(map(self._number, (0, 1, self._last, k)), value)
        return np.array([_nearest(k * self._steps, self._last) / max(self._steps, 1)])

    def decode(self, x: Floats) -> int:
        if self.log:
            return min(max(int(self._value(np.asarray(x))[0]), self.low), self.high)
        k = round(min(max(float(x[0]), 0.0), 1.0) * self._steps)
        return self._number(_nearest(k * self._last, self._steps))

    def _number(self, k: int) -> int:
        """Return the value that is `k` steps above `low`."""
        return self.low + k * (self.step or 1)

    def snap(self, x: Floats) -> Floats:
        if self.log:
            # Contiguous, so that numpy takes the same path through log and exp as for a single value.
            return self._x(self._value(np.ascontiguousarray(x)))
        return step_of(x, self._steps) / max(self._steps, 1)

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, 1] to integers equally likely.

        With `log`, the weight of v is log(v + 1/2) - log(v - 1/2).
        """
        if self.log:
            low = self.low - 0.5
            high = self.high + 0.5
            return self._x(self._rounded(low * np.exp(u * math.log(high / low))))
        return evenly(u, self._steps + 1) / max(self._steps, 1)

    def rows(self) -> Floats | None:
        if self.size > LISTED_VALUES:
            return None
        if self.log:
            return self._x(self._rounded(np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]))
        return np.arange(self._last + 1)[:, None] / max(self._steps, 1)

    @cached_property
    def _last(self) -> int:
        """The number of steps from `low` to `high`."""
        return (self.high - self.low) // (self.step or 1)

    @cached_property
    def _steps(self) -> int:
        """The number of steps of the coordinate."""
        return min(self._last, FINEST)

    @cached_property
    def _span(self) -> float:
        return math.log(self.high / self.low)

    def _x(self, value: Floats) -> Floats:
        """Return the coordinates of valid values (log)."""
        if self._span == 0:
            return np.zeros_like(value)
        return np.clip(np.log(value / self.low) / self._span, 0.0, 1.0)

    @np.errstate(all="ignore")
    def _value(self, x: Floats) -> Floats:
        """Return the valid values nearest to the coordinates `x` in the logarithm (log)."""
        raw = self.low * np.exp(np.clip(x, 0.0, 1.0) * self._span)
        step = _step_size(raw)
        below = np.floor(raw / step) * step
        # Half-way between two values in the logarithm is their geometric mean.
        value = np.where(raw * raw > below * (below + step), below + step, below)
        # exp(log(high)) may fall nearer to another value; yet the last coordinate is the end's own.
        return np.where(x >= 1.0, float(self.high), self._with_ends(value))

    def _rounded(self, value: Floats) -> Floats:
        """Return the valid values nearest to `value` (log)."""
        step = _step_size(value)
        return self._with_ends(np.rint(value / step) * step)

    def _with_ends(self, value: Floats) -> Floats:
        """Return rounded values, clipped to the bounds."""
        high = float(self.high)
        reach = _step_size(np.array(high)) / 2
        return np.where(high - value <= reach, high, np.maximum(value, float(self.low)))


def check_step(step: float, log: bool) -> None:
    """Raise ValueError for a step that is not positive, or next to `log`."""
    if log:
        raise ValueError(f"expected no step where log=True, got step={step}; leave one of the two out")
    if not step > 0:
        raise ValueError(f"step: expected a number above 0, got {step}; give the distance of two values")


def warn_of_end(high: float, last: float) -> None:
    """Warn the caller of a kind whose upper bound is not one of its steps."""
    if last != high:
        text = f"step: expected high to be low plus a whole number of steps, got {high}; the last value is {last}"
        warnings.warn(f"{text}: change high, or the step", UserWarning, stacklevel=5)


def off_grid(values: Iterable[float], got: float) -> ValueError:
    """Return the error of a number between two steps; values: the first, the second, the last and the nearest."""
    first, second, last, nearest = values
    return ValueError(f"expected one of {first}, {second}, ..., {last}, got {got}; the nearest is {nearest}")


def step_of(x: Floats, steps: int) -> Floats:
    """Return the number, 0 to `steps`, of the step nearest to `x` in [0, 1]."""
    step: Floats = np.rint(np.clip(x, 0.0, 1.0) * steps)
    return step


def evenly(u: Floats, count: int) -> Floats:
    """Return numbers 0 to `count - 1`, equally likely where `u` is uniform in [0, 1]."""
    number: Floats = np.minimum(np.floor(u * count), count - 1)
    return number


def _nearest(top: int, bottom: int) -> int:
    """Return top / bottom rounded to the nearest whole number, exactly; 0 where bottom is 0."""
    return (2 * top + bottom) // (2 * bottom) if bottom else 0


def _step_size(value: Floats) -> Floats:
    """Return the distance of numbers with BITS significant bits near `value`."""
    _, exponent = np.frexp(np.nextafter(value, 0.0))
    step: Floats = np.ldexp(1.0, np.maximum(exponent - BITS, 0))
    return step
