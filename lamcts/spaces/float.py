"""Real numbers between bounds, with equal steps or without."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from lamcts.spaces.base import EncodedSpace, Identity, Mask, text_of
from lamcts.spaces.integer import FINEST, Int
from lamcts.spaces.values import flag, read_when, real, steps_between
from lamcts.types import Floats, Json, Point

COARSE = 2**40  # floats in a range; with fewer, different x may decode to the same value (untuned)
NEAR = 1e-6  # of a step: the tolerance of a value on the grid, for sums of floats (untuned)


class StepGrid:
    """The values `low + k step` up to `high`; `grid` is the space of the numbers k."""

    def __init__(self, low: float, high: float, step: float) -> None:
        self._low, self._step = Fraction(repr(low)), Fraction(repr(step))
        if not step > 0:
            raise ValueError(f"step: expected a number above 0, got {step}; give the distance of two values")
        last = (Fraction(repr(high)) - self._low) // self._step
        if not 1 <= last <= FINEST:
            raise ValueError(
                f"step: expected at most 2**50 steps from {low} to {high}, and one at least, got {step}; "
                + ("make it smaller" if last < 1 else "leave it out")
            )
        self.grid = Int(0, last)

    def value(self, k: int) -> float:
        return float(self._low + k * self._step)

    @cached_property
    def high(self) -> float:
        return self.value(self.grid.high)

    def number(self, value: float) -> int:
        """Return the k of a value; ValueError if it is not on the grid."""
        k = min(max(round((Fraction(repr(value)) - self._low) / self._step), 0), self.grid.high)
        if abs(value - self.value(k)) > NEAR * float(self._step):
            raise ValueError(
                f"expected one of {self.value(0)}, {self.value(1)}, ..., {self.high}, got {value}; "
                f"the nearest is {self.value(k)}"
            )
        return k


@dataclass(frozen=True, eq=False)
class Float(EncodedSpace):
    """A real number between bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included, `low < high`.
    log : bool, default False
        Equal factors are equally far apart; `low` must be positive.
    step : float, optional
        Only low, low + step, low + 2 step, ... are valid; `high` becomes the last of these values.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values, such as
        `{"solver": "sgd"}`. All conditions must hold; a list means any of its values. Where the parameter, or a
        parameter that it depends on, is inactive, points do not contain it.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.Float(1e-5, 1e-1, log=True).encode(1e-3)
    array([0.5])
    >>> lamcts.Float(0, 1, step=0.3)
    Float(low=0.0, high=0.9, log=False, step=0.3)
    """

    low: float
    high: float
    log: bool = False
    step: float | None = field(default=None, kw_only=True)
    when: Mapping[str, object] | None = field(default=None, kw_only=True)
    _steps: StepGrid | None = field(default=None, init=False, repr=False)

    dim = 1
    __repr__ = text_of

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", read_when(self.when))
        object.__setattr__(self, "log", flag(self.log, "log"))
        low, high = real(self.low, "low"), real(self.high, "high")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not low < high or math.isinf(high - low):
            refuse_bounds("Float", low, high)
        if self.log and low <= 0:
            raise ValueError(f"expected 0 < low where log=True, got low={low}; raise low, or leave log out")
        if self.log and math.isinf(high / low):
            raise ValueError(
                f"expected high / low below 1.8e308, got [{low}, {high}]; bring the bounds closer together"
            )
        if self.step is not None:
            self._set_steps(real(self.step, "step"))

    def _set_steps(self, step: float) -> None:
        if self.log:
            raise ValueError(f"expected no step where log=True, got step={step}; leave one of the two out")
        steps = StepGrid(self.low, self.high, step)
        for name, value in (("step", step), ("_steps", steps), ("high", steps.high)):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> float:
        return math.inf if self._steps is None else self._steps.grid.size

    @property
    def continuous(self) -> Mask:
        return np.array([self._steps is None])

    def encode(self, point: Point) -> Floats:
        value = real(point, "value")
        if self._steps is not None:
            return self._steps.grid.encode(self._steps.number(value))
        if not self.low <= value <= self.high:
            raise ValueError(
                f"expected a number in [{self.low}, {self.high}], got {value}; move it inside, or widen the bounds"
            )
        # The quotient of the ends, not a difference of logs: it does not change when both scale by 2^k.
        x = math.log(value / self.low) / math.log(self.high / self.low) if self.log else self._share(value)
        return np.array([max(0.0, min(x, 1.0))])  # in this order -0.0 becomes 0.0

    def _share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def decode(self, x: Floats) -> float:
        if self._steps is not None:
            return self._steps.value(self._steps.grid.decode(x))
        share = float(x[0])
        if share >= 1:
            return self.high
        if self.log:
            value = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        return min(max(value, self.low), self.high)

    @property
    def identity(self) -> Identity | None:
        """The value itself if the range has few floats; None otherwise."""
        return self.decode if self._steps is None and steps_between(self.low, self.high) < COARSE else None

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0) if self._steps is None else self._steps.grid.snap(x)

    def spread(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0) if self._steps is None else self._steps.grid.spread(u)

    def rows(self) -> Floats | None:
        return None if self._steps is None else self._steps.grid.rows()

    def signature(self) -> Json:
        own = {"kind": "float", "low": self.low, "high": self.high, "log": bool(self.log)}
        return own | ({} if self.step is None else {"step": self.step}) | self._condition()


def refuse_bounds(what: str, low: float, high: float) -> None:
    if low == high:
        raise ValueError(
            f"{what}: expected low < high, got {low} for both; leave a constant out, or use Choice([{low}])"
        )
    if low > high:
        raise ValueError(f"{what}: expected low < high, got low={low}, high={high}; swap the bounds")
    raise ValueError(f"{what}: expected high - low below 1.8e308, got [{low}, {high}]; use smaller units")
