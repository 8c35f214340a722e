"""Units for several columns: what a model sees does not depend on the unit of any column, nor on a loss's zero."""

from dataclasses import dataclass

import numpy as np

from lamcts.models.scale import Scale
from lamcts.types import Floats, Rows

MOST_LOG = 1500.0  # of a ratio of doubles; an infinite excess counts as this


@dataclass(frozen=True)
class Units:
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
    def of(cls, f: Floats, g: Floats) -> "Units":
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
