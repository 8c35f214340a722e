"""Numbers that come in steps: low, low + step, low + 2 step and so on, each the short decimal that a user expects."""

from fractions import Fraction
from functools import cached_property

from lamcts.spaces.discrete import FINEST, Int

NEAR = 1e-6  # of a step: by so little a value may miss its step, as sums of floats do (untuned)


class Steps:
    """The values `low + k step` up to `high`; `grid` are the numbers k."""

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
        """Return the k of a value; ValueError where it is none of them."""
        k = min(max(round((Fraction(repr(value)) - self._low) / self._step), 0), self.grid.high)
        if abs(value - self.value(k)) > NEAR * float(self._step):
            raise ValueError(
                f"expected one of {self.value(0)}, {self.value(1)}, ..., {self.high}, got {value}; "
                f"the nearest is {self.value(k)}"
            )
        return k
