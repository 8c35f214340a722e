"""Kendall's tau of some pairs of networks, with bootstrap samples of the networks.

Letters: n networks, k samples. The first sample is all networks, once each.
"""

from typing import Any

import numpy as np

SAMPLES = 1000
INTERVAL = (2.5, 97.5)  # per cent


def weights(n: int, samples: int = SAMPLES) -> Any:
    """Return how often each network is in each sample, [1 + samples, n]."""
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=samples)
    return np.vstack([np.ones(n), drawn]).astype(np.float64)


def signs(scores: Any) -> Any:
    """Return the order of any two networks: -1, 0 or 1, [n, n]."""
    values = np.asarray(scores, float)
    return np.sign(values[:, None] - values)


def tau(one: Any, other: Any, which: Any, samples: Any) -> Any:
    """Return Kendall's tau b of two orders [n, n] over some pairs [n, n] of each sample, [k]."""
    first, second = one * which, other * which
    agree, left, right = (total(samples, pairs) for pairs in (first * second, first**2, second**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return agree / np.sqrt(left * right)


def total(samples: Any, pairs: Any) -> Any:
    """Return the sum over pairs [n, n] of each sample, [k]."""
    return np.einsum("kn,kn->k", samples @ pairs, samples)


def within(leaf: Any) -> Any:
    """Return the pairs of one sub-supernet, [n, n]."""
    return np.equal.outer(leaf, leaf)


def interval(values: Any) -> str:
    """Return the value of all networks and the interval of the samples as text."""
    low, high = np.nanpercentile(values[1:], INTERVAL)
    return f"{values[0]:6.3f} [{low:6.3f}, {high:6.3f}]"


def ranks(scores: Any) -> Any:
    """Return ranks from 0, ties with their mean rank."""
    from scipy.stats import rankdata

    return rankdata(scores) - 1
