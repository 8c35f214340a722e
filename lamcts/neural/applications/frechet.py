"""The Frechet distance between two sets of features, each taken as a Gaussian (Heusel et al. 2017, equation 6).

With means m, n and covariances A, B: d = |m - n|^2 + tr(A + B - 2 (A B)^(1/2)). Letters: n images, d features.
"""

import numpy as np

from lamcts.types import Floats


def frechet(x: Floats, y: Floats) -> float:
    """Return the squared distance between features [n, d] and others [m, d].

    ValueError for fewer than two rows, of which nothing varies. With few rows it is too large, in both sets alike: hold
    numbers of the same n and m against each other alone.
    """
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or min(len(x), len(y)) < 2:
        raise ValueError(f"frechet: expected features [n, d] and [m, d], two rows and more, got {x.shape}, {y.shape}")
    return between((x.mean(0), _covariance(x)), (y.mean(0), _covariance(y)))


def between(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """Return the squared distance between Gaussians, of which a mean [d] and a covariance [d, d] are given.

    tr (A B)^(1/2) is the sum of the roots of the eigenvalues of A^(1/2) B A^(1/2), which is symmetric.
    """
    (m, a), (n, b) = one, other
    root = _root(a)
    mixed = np.linalg.eigvalsh(root @ b @ root).clip(0)  # rounding gives eigenvalues just below 0
    return float(((m - n) ** 2).sum() + np.trace(a) + np.trace(b) - 2 * np.sqrt(mixed).sum())


def _covariance(x: Floats) -> Floats:
    return np.cov(x, rowvar=False).reshape(x.shape[1], x.shape[1])


def _root(a: Floats) -> Floats:
    values, vectors = np.linalg.eigh(a)
    root: Floats = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    return root
