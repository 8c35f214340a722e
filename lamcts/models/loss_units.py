"""Units that a process may see losses in, and how well it tells the order of rows in either."""

import numpy as np

from lamcts.models.scale import Scale
from lamcts.models.warp import half_rank
from lamcts.types import Floats


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
