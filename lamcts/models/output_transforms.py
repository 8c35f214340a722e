"""Transforms of losses and constraints to the units of a model: standard units, ranks.

No result depends on the unit of a column, nor on the zero of a loss. Letters: n rows.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.types import MAX_SIZE, Floats

ROUNDING = 1e-15  # some ulps of 1 (2.2e-16): spread of equal losses by rounding of their mean
MAX_LOG = 1500.0  # above the logarithm of any ratio of doubles; an infinite violation counts as this


@dataclass(frozen=True)
class Scale:
    """The map `z = (y * 2^-exponent - shift) / width`, and back.

    Division by the power of two is exact. So losses multiplied by a power of two give the same `z` bit for bit, and
    neither 1e300 nor 1e-300 overflows a sum of squares.
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
        scaled = _scaled(y, exponent)
        shift = float(scaled.mean())
        width = float((scaled - shift).std())
        return cls(exponent, shift, width if width > ROUNDING else 1.0)

    @property
    def unit(self) -> float:
        """A standard unit in units of the loss, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(self.width, self.exponent))

    def down(self, y: Floats) -> Floats:
        """Return `y` in standard units."""
        return (_scaled(y, self.exponent) - self.shift) / self.width

    def up(self, z: Floats) -> Floats:
        """Return standard units `z` as losses."""
        return np.ldexp(z * self.width + self.shift, self.exponent)


def _scaled(y: Floats, exponent: int) -> Floats:
    """Return `y * 2^-exponent`, in two steps: 2^1074 overflows, though 1e-300 times it may not."""
    first = exponent // 2
    return np.ldexp(np.ldexp(y, -first), first - exponent)


@dataclass(frozen=True)
class Bilog:
    """The map of violations `z = sign(g) log1p(|g| / unit) / width`, which keeps 0 and the sign.

    It is the bilog transform of Eriksson and Poloczek (2021, arXiv 2002.08526), divided by the median violation.
    """

    unit: float
    width: float

    @classmethod
    def of(cls, g: Floats) -> "Bilog":
        """Return the map of a constraint [n] that some row violates; unknown entries are nan."""
        size = np.abs(g[np.isfinite(g) & (g != 0)])
        raw = cls(float(np.median(size)), 1.0)  # the ninth decile gained less
        return cls(raw.unit, float(np.sqrt(np.nanmean(np.square(raw.down(g))))))

    def down(self, g: Floats) -> Floats:
        """Return violations [n] in the units of the model."""
        with np.errstate(over="ignore"):  # an infinite quotient is bounded by MAX_LOG
            size = np.minimum(np.log1p(np.abs(g) / self.unit), MAX_LOG)
        result: Floats = np.sign(g) * size / self.width
        return result


def half_rank(y: Floats) -> Floats:
    """Return finite losses `y` [n] in standard units; losses above the median become normal scores of their ranks.

    The scores have the spread of the better half (half-rank warp of Vizier's default, Song et al. 2024, arXiv
    2408.11527, sec. 3). Equal losses stay equal.
    """
    from scipy.special import ndtri

    if len(y) < 2:
        return Scale.of(y).down(y)
    scale = 0.25 if np.abs(y).max() > MAX_SIZE else 1.0  # differences do not overflow, the least losses do not vanish
    scaled = scale * y
    middle = np.median(scaled)
    good = scaled[scaled <= middle] - middle
    unit = -good.min()  # of the better half alone: one huge loss must not hide all differences
    if not unit > 0:
        unit = np.abs(scaled - middle)[scaled != middle].min(initial=np.inf)
        unit = unit if np.isfinite(unit) else 1.0
    spread = float(np.sqrt(np.mean(np.square(good / unit)))) or 1.0
    values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - counts / 2  # mean rank of each value, from 0 to n
    score = spread * ndtri(np.clip(rank / len(y), 0.5, 1.0 - 0.25 / len(y)))
    depth = np.minimum(scale * values - middle, 0.0) / unit
    warped = np.where(scale * values > middle, score, depth)[inverse]
    return Scale.of(warped).down(warped)


def unit_of(y: Floats, z: Floats) -> float:
    """Return the losses per unit of the model over the better half of losses `y` [n]; 0 or not finite if unknown.

    z: the same losses in the units of the model, [n]. Where the better half is constant, it is a standard unit.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        quarters = y / 4  # so that no sum overflows
        better = quarters <= np.median(quarters)
        if not np.ptp(quarters[better]) > 0:
            return Scale.of(y).unit
        return 4.0 * float(np.ptp(quarters[better]) / np.ptp(z[better]))


def plain(y: Floats) -> Floats:
    """Return finite losses `y` [n] in standard units."""
    return Scale.of(y).down(y)


UNITS = (half_rank, plain)  # candidate units of an objective, the preferred ones first


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's correlation of `a` [n] and `b` [n], 0 if one is constant; ties share their mean rank."""
    a, b = _deviations(a), _deviations(b)
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else 0.0


def ranks(a: Floats) -> Floats:
    """Return the ranks of `a` [n], from 0; ties share their mean rank."""
    _, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
    result: Floats = (np.cumsum(counts) - (counts + 1) / 2)[inverse]
    return result


def _deviations(a: Floats) -> Floats:
    """Return the ranks of `a` [n] less their mean."""
    return ranks(a) - (len(a) - 1) / 2
