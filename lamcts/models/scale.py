"""Standard units for losses: what a model sees does not depend on the unit or the zero of the objective."""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats

# Equal losses whose mean is rounded have a width of some ulps of 1: that is noise of the arithmetic, not of the losses.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Scale:
    """The map `z = (y * 2^-exponent - shift) / width`, and back.

    The power of two is taken out first: it is exact, so losses multiplied by a power of two give the same `z`
    bit for bit, and neither 1e300 nor 1e-300 overflows a sum of squares.
    """

    exponent: int
    shift: float
    width: float

    @classmethod
    def of(cls, y: Floats) -> "Scale":
        """Return the scale that gives finite `y` [n] mean 0 and standard deviation 1 (0 where all are equal)."""
        if not len(y):
            return cls(0, 0.0, 1.0)
        exponent = int(np.frexp(np.abs(y).max())[1])
        small = _halve(y, exponent)
        shift = float(small.mean())
        width = float((small - shift).std())
        return cls(exponent, shift, width if width > ROUNDING else 1.0)

    def down(self, y: Floats) -> Floats:
        """Return `y` in standard units."""
        return (_halve(y, self.exponent) - self.shift) / self.width

    def up(self, z: Floats) -> Floats:
        """Return standard units `z` as losses."""
        return np.ldexp(z * self.width + self.shift, self.exponent)


def _halve(y: Floats, exponent: int) -> Floats:
    # In two steps: 2^1074 itself is not a double, though 1e-300 times it may be.
    half = exponent // 2
    return np.ldexp(np.ldexp(y, -half), half - exponent)
