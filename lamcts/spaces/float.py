"""Real numbers between bounds, with equal steps or without."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lamcts.spaces.base import EncodedSpace, Mask
from lamcts.spaces.integer import FINEST, Int, check_step, off_grid, warn_of_end
from lamcts.spaces.kinds import register
from lamcts.spaces.values import flag, read_when, real
from lamcts.types import Floats, Point

NEAR = 1e-4  # of a range or a step: the tolerance of a user's number, written with four digits as 1.682 for 1.68179
SINGLE = 2.0**-23  # of a number: the distance of two of float32
LARGEST_ROOM = 0.1  # of a step, the tolerance of steps finer than float32: at 0.5, every number would be on the grid


class StepGrid:
    """The values `low + k step`, the last of which is `high` if both are equal up to rounding."""

    def __init__(self, low: float, high: float, step: float) -> None:
        self._low = Fraction(repr(low))
        self._step = Fraction(repr(step))
        self._room = min(max(NEAR, SINGLE * max(abs(low), abs(high)) / step), LARGEST_ROOM)
        steps = self._steps_to(high)
        last = math.floor(steps + Fraction(self._room))
        if not 1 <= last <= FINEST:
            raise ValueError(
                f"step: expected at most 2**50 steps from {low} to {high}, and one at least, got {step}; "
                + ("make it smaller" if last < 1 else "leave it out")
            )
        self.grid = Int(0, last)
        self.high = high if steps <= last + self._room else float(self._low + last * self._step)

    def _steps_to(self, value: float) -> Fraction:
        return (Fraction(repr(value)) - self._low) / self._step

    def value(self, k: int) -> float:
        return self.high if k == self.grid.high else float(self._low + k * self._step)

    def number(self, value: float) -> int:
        """Return the k of a value; ValueError if it is not on the grid."""
        k = min(max(round(self._steps_to(value)), 0), self.grid.high)
        if abs(value - self.value(k)) > self._room * float(self._step):
            raise off_grid(map(self.value, (0, 1, self.grid.high, k)), value)
        return k


@register("float")
@dataclass(frozen=True, eq=False, repr=False)
class Float(EncodedSpace):
    """A real number between bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included, `low < high`.
    log : bool, default False
        Equal factors are equally far apart; `low` must be positive.
    step : float, optional
        Only low, low + step, low + 2 step, ... are valid, without `log`. The last value is `high` if both are equal up
        to rounding; otherwise `high` becomes the last value, with a warning.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values, such as
        `{"solver": "sgd"}`. All conditions must hold; a list means any of its values. Where the parameter, or a
        parameter that it depends on, is inactive, points do not contain it.

    Notes
    -----
    A number of yours may miss an end of the range, or a step, by 1e-4 of the range or of the step. The end, or the
    value of the step, then replaces it.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.Float(1e-5, 1e-1, log=True).encode(1e-3)
    array([0.5])
    >>> lamcts.Float(0, 0.9, step=0.3).decode_many([[0], [0.4], [1]])
    [0.0, 0.3, 0.9]
    """

    low: float
    high: float
    log: bool = False
    step: float | None = field(default=None, kw_only=True)
    when: Mapping[str, object] | None = field(default=None, kw_only=True)
    _steps: StepGrid | None = field(default=None, init=False, repr=False)

    dim = 1

    def __post_init__(self) -> None:
        low = real(self.low, "low")
        high = real(self.high, "high")
        self._set(when=read_when(self.when), log=flag(self.log, "log"), low=low, high=high)
        if not low < high or math.isinf(high - low):
            refuse_bounds("Float", low, high)
        if self.log and low <= 0:
            raise ValueError(f"expected 0 < low where log=True, got low={low}; raise low, or leave log out")
        if self.log and math.isinf(high / low):
            raise ValueError(
                f"expected high / low below 1.8e308, got [{low}, {high}]; bring the bounds closer together"
            )
        if self.step is not None:
            self._set_step(real(self.step, "step"))

    def _set_step(self, step: float) -> None:
        check_step(step, self.log)
        steps = StepGrid(self.low, self.high, step)
        warn_of_end(self.high, steps.high)
        self._set(step=step, _steps=steps, high=steps.high)

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
        x = self._share(value)
        if not -NEAR <= x <= 1.0 + NEAR:
            raise ValueError(
                f"expected a number in [{self.low}, {self.high}], got {value}; move it inside, or widen the bounds"
            )
        return np.array([max(0.0, min(x, 1.0))])  # in this order -0.0 becomes 0.0

    def _share(self, value: float) -> float:
        """Return where in the range a number is, 0 at `low` and 1 at `high`."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        # The quotient of the ends, not a difference of logs: it does not change when both scale by 2^k.
        factor = value / self.low
        return math.log(factor) / math.log(self.high / self.low) if factor > 0 else -math.inf

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

    @np.errstate(all="ignore")
    def comparable(self, x: Floats) -> Floats:
        if self._steps is not None:
            return x
        if self.log:  # by the exp of `decode`: that of numpy may have another last bit
            logs = (x * math.log(self.high / self.low)).ravel().tolist()
            values = self.low * np.array([*map(math.exp, logs)]).reshape(x.shape)
        else:
            values = self.low + x * (self.high - self.low)
        return np.where(x >= 1, self.high, np.clip(values, self.low, self.high))

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0) if self._steps is None else self._steps.grid.snap(x)

    def spread(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0) if self._steps is None else self._steps.grid.spread(u)

    def rows(self) -> Floats | None:
        return None if self._steps is None else self._steps.grid.rows()

    def normalise(self, point: Point) -> float:
        """Return a number beyond an end as the end."""
        return min(max(float(point), self.low), self.high)


def refuse_bounds(what: str, low: float, high: float) -> None:
    if low == high:
        raise ValueError(
            f"{what}: expected low < high, got {low} for both; leave a constant out, or use Choice([{low}])"
        )
    if low > high:
        raise ValueError(f"{what}: expected low < high, got low={low}, high={high}; swap the bounds")
    raise ValueError(f"{what}: expected high - low below 1.8e308, got [{low}, {high}]; use smaller units")
