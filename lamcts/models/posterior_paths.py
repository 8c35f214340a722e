"""Posterior draws as functions of numbers: one matrix product per point instead of a joint Cholesky over all of them.

Matheron's rule (Wilson et al. 2020, arXiv 2002.09309, eq. 9): a draw of the prior, moved by what the data say,
`f(x) + k(x, X) (K + noise)^-1 (z - f(X) - e)`. The prior's draw is a sum of random cosines, the correction is exact.
Letters: n rows in the model, m rows asked about, d coordinates, q columns, k draws, w waves.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamcts.models.kernel import correlation, fall, matern, squares
from lamcts.models.posterior import Posterior
from lamcts.types import Floats

Singles = NDArray[np.float32]
FOURIER_FEATURES = 512  # of a draw of the prior (untuned)
ORDER_ROWS = 8  # rows that say in which order columns draw their random numbers: it is not the order they are told in
# OpenBLAS's single-precision products of odd sizes raise the flag "invalid" now and then though all numbers are finite
# (numpy issue 24067); a true nan would show in the draws.
IN_VAIN = np.errstate(invalid="ignore")


class PosteriorPaths:
    """`k` draws of each of the q columns of a process, evaluated in single precision."""

    def __init__(self, process: Posterior, k: int, rng: np.random.Generator, waves: int = FOURIER_FEATURES) -> None:
        z, (n, d), q = process.z, process.inputs.numbers.shape, process.z.shape[1]
        self.shape, self._process = (k, q), process
        # A Matern 5/2 kernel is the mean of cosines whose frequencies follow a t distribution of 5 degrees of freedom.
        tails = np.sqrt(rng.chisquare(5.0, waves) / 5.0)  # [w]
        self._frequencies = (rng.standard_normal((d, waves)) / tails).astype(np.float32)
        self._phases = rng.uniform(0.0, 2.0 * math.pi, waves).astype(np.float32)
        drawn = np.empty((q, waves + n, k), np.float32)
        drawn[np.lexsort(z[:ORDER_ROWS][::-1])] = rng.standard_normal(drawn.shape, np.float32)  # by content, not order
        noise = np.outer(process.signal, process.noise)  # [q, 1] or [q, n]
        scales = np.sqrt(2.0 * process.signal / waves), np.sqrt(noise)
        drawn[:, :waves] *= scales[0].astype(np.float32)[:, None, None]
        drawn[:, waves:] *= scales[1].astype(np.float32)[:, :, None]
        drawn = drawn.transpose(1, 2, 0)  # [w + n, k, q]: draw i of column j is the path `i q + j`
        self._heights = np.ascontiguousarray(drawn[:waves]).reshape(waves, k * q)
        self._mean = np.tile(process.mean, k).astype(np.float32)
        self._rows: Singles = process.kernel.scaled.astype(np.float32)
        prior = (self._waves(self._rows) @ self._heights).reshape(n, k, q)
        gap = ((z - process.mean)[:, None] - prior - drawn[waves:]).reshape(n, k * q)
        self._weights = process.unwhiten(process.whiten(gap)).astype(np.float32)

    @IN_VAIN
    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q]."""
        scaled = self._scale(x)
        draws: Singles = self._waves(scaled) @ self._heights
        draws += matern(scaled, self._rows) @ self._weights
        draws += self._mean
        return draws.reshape(len(x), *self.shape)

    @IN_VAIN
    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d]."""
        scaled = self._scale(x)
        phases = scaled @ self._frequencies + self._phases  # [k, w]
        square = squares(scaled, self._rows)  # [k, n]
        root = np.sqrt(square)
        heights, weights = self._by_draw
        values = np.matmul(heights, np.cos(phases)[:, :, None])[:, :, 0]  # [k, q]
        values += np.matmul(weights, correlation(square)[:, :, None])[:, :, 0] + self._mean.reshape(self.shape)
        pull = fall(root)[:, None] * weights  # [k, q, n]
        gradient = _times(pull, self._rows) - pull.sum(2)[:, :, None] * scaled[:, None]
        gradient -= _times(np.sin(phases)[:, None] * heights, self._frequencies.T)
        return values, gradient / self._process.hyper.lengths.astype(np.float32)

    @cached_property
    def _by_draw(self) -> tuple[Singles, Singles]:
        """Heights [k, q, w] and weights [k, q, n]."""
        both = (np.ascontiguousarray(own.T).reshape(*self.shape, -1) for own in (self._heights, self._weights))
        heights, weights = both
        return heights, weights

    def _scale(self, x: Floats) -> Singles:
        scaled: Singles = self._process.kernel.scale(x).astype(np.float32)
        return scaled

    def _waves(self, scaled: Singles) -> Singles:
        waves: Singles = scaled @ self._frequencies
        waves += self._phases
        np.cos(waves, out=waves)
        return waves


def _times(a: Singles, b: Singles) -> Singles:
    """Return `a` [k, q, n] times `b` [n, d], [k, q, d], by one product of matrices."""
    return (a.reshape(-1, a.shape[2]) @ b).reshape(*a.shape[:2], -1)
