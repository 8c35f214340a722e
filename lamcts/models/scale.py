"""Standard units: what a model sees depends on the unit of no column, nor on the zero of a loss."""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Floats, Rows

# Equal losses whose mean is rounded have a width of some ulps of 1: that is noise of the arithmetic, not of the losses.
ROUNDING = 1e-15
MOST_LOG = 1500.0  # of a ratio of doubles; an infinite excess counts as this


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


@dataclass(frozen=True)
class ColumnUnits:
    """How columns are told to a model: losses f [n, m] by `losses`, and of the excesses g [n, c] those that count.

    An excess g becomes `sign(g) log1p(|g| / unit) / width`, which keeps 0 and the sign (Eriksson and Poloczek 2021,
    arXiv 2002.08526, bilog). A constraint that none of the rows breaks does not count: it changes nothing.

    counted: the constraints that count; unit, width: of each of these.
    """

    losses: list[Scale]
    counted: Rows
    unit: Floats
    width: Floats

    @classmethod
    def of(cls, f: Floats, g: Floats) -> "ColumnUnits":
        """Return the units of rows, in which columns have standard deviation 1."""
        losses = [Scale.of(column[np.isfinite(column)]) for column in f.T]
        counted: Rows = np.flatnonzero((g > 0).any(0))
        g = g[:, counted]
        unit = np.array([_typical(column) for column in g.T])
        raw = _bilog(g, unit)
        width = np.sqrt(np.nanmean(raw * raw, axis=0)) if len(counted) else np.ones(0)
        return cls(losses, counted, unit, width)

    def lost(self, f: Floats) -> Floats:
        """Return losses [n, m] in standard units."""
        return np.column_stack([scale.down(column) for scale, column in zip(self.losses, f.T, strict=True)])

    def down(self, f: Floats, g: Floats) -> Floats:
        """Return the columns of rows in standard units, losses first, [n, q]; nan where a column is not known."""
        return np.hstack([self.lost(f), _bilog(g[:, self.counted], self.unit) / self.width])


def _typical(column: Floats) -> float:
    """Return the median size of the excesses of a constraint: at the fifth or the ninth decile less was gained."""
    size = np.abs(column[np.isfinite(column) & (column != 0)])
    return float(np.median(size))


def _bilog(g: Floats, unit: Floats) -> Floats:
    with np.errstate(over="ignore"):  # of a quotient: its logarithm is then cut
        size = np.minimum(np.log1p(np.abs(g) / unit), MOST_LOG)
    result: Floats = np.sign(g) * size
    return result
