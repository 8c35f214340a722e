"""Losses by another measure: ranks, as how bad the bad ones are does not matter, and squares, for those of a cone.

Letters: n losses.
"""

import numpy as np

from lamcts.models.scale import Scale
from lamcts.types import Floats

BELOW = 0.3  # of the median: 0.1 as good on turned Ackley, 1 and 0.03 worse by one and two digits (seeds 0 to 2)


def half_rank(y: Floats) -> Floats:
    """Return finite losses `y` [n] in standard units, those above the median by rank alone.

    They become normal scores with the spread of the better half below the median (the half-rank warp of Vizier's
    default, Song et al. 2024, arXiv 2408.11527, sec. 3). Equal losses stay equal.
    """
    from scipy.special import ndtri

    z = Scale.of(y).down(y)
    if len(z) < 2:
        return z
    middle = float(np.median(z))
    good = z[z <= middle] - middle
    spread = float(np.sqrt(np.mean(good * good)))
    if not spread > 0:
        spread = float(np.abs(z - middle)[z != middle].min(initial=np.inf))
        spread = spread if np.isfinite(spread) else 1.0
    values, place, counts = np.unique(z, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - counts / 2  # mean rank of each value, from 0 to n
    score = spread * ndtri(np.clip(rank / len(z), 0.5, 1.0 - 0.25 / len(z)))
    warped = np.where(values > middle, middle + score, values)[place]
    return Scale.of(warped).down(warped)


def squared(z: Floats) -> tuple[Floats, float] | None:
    """Return the squares of losses `z` [n] above a level below the least, in standard units, and what that adds.

    What it adds to the logarithm of a density: the sum of the slopes' logarithms. The level lies BELOW times the median
    of losses above the least below it. None: most losses are equal.
    """
    gap = z - z.min()
    middle = float(np.median(gap))
    if not middle > 0:
        return None
    gap = gap + BELOW * middle
    scale = Scale.of(gap**2)
    slopes = np.log(2 * gap).sum() - len(z) * (np.log(scale.width) + scale.exponent * np.log(2.0))
    return scale.down(gap**2), float(slopes)


def plain(y: Floats) -> Floats:
    """Return finite losses `y` [n] in standard units."""
    return Scale.of(y).down(y)


UNITS = (half_rank, plain)  # that an objective may be in, where there are several; of equals the first


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's correlation of `a` [n] and `b` [n], equals in the middle of their ranks; 0 of constants."""
    one, other = _deviations(a), _deviations(b)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size > 0 else 0.0


def ranks(a: Floats) -> Floats:
    """Return the ranks of `a` [n] from 0 on; equal values share their mean."""
    _, place, counts = np.unique(a, return_inverse=True, return_counts=True)
    result: Floats = (np.cumsum(counts) - (counts + 1) / 2)[place]
    return result


def _deviations(a: Floats) -> Floats:
    """Return the ranks of `a` [n] less their mean."""
    return ranks(a) - (len(a) - 1) / 2
