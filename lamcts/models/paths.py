"""Posterior draws as functions: one matrix product per point instead of a joint Cholesky over all of them.

Matheron's rule (Wilson et al. 2020, arXiv 2002.09309, eq. 9): a draw of the prior, moved by what the data say,
`f(x) + k(x, X) (K + noise)^-1 (z - f(X) - e)`. The prior's draw is a sum of random cosines, the correction is exact.
Letters: n rows in the model, m rows asked about, d coordinates, k draws, w waves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lamcts.models.gp import Posterior, matern
from lamcts.types import Floats

Singles = NDArray[np.float32]
WAVES = 512  # of a draw of the prior (untuned)
# OpenBLAS's single-precision products of odd sizes raise the flag "invalid" now and then though all numbers are finite
# (numpy issue 24067); a true nan would show in the draws.
IN_VAIN = np.errstate(invalid="ignore")


class Paths:
    """`k` draws of the loss under `posterior`, evaluated in single precision."""

    def __init__(self, posterior: Posterior, k: int, rng: np.random.Generator, waves: int = WAVES) -> None:
        n, d = posterior.x.shape
        self._posterior = posterior
        # A Matern 5/2 kernel is the mean of cosines whose frequencies follow a t distribution of 5 degrees of freedom.
        tails = np.sqrt(rng.chisquare(5.0, waves) / 5.0)  # [w]
        self._frequencies = (rng.standard_normal((d, waves)) / tails).astype(np.float32)
        self._phases = rng.uniform(0.0, 2.0 * math.pi, waves).astype(np.float32)
        self._heights = (math.sqrt(2.0 * posterior.signal / waves) * rng.standard_normal((waves, k))).astype(np.float32)
        noise = math.sqrt(posterior.signal * posterior.hyper.noise) * rng.standard_normal((n, k))
        self._mean: np.float32 | Singles = np.float32(posterior.mean)
        self._rows: Singles = posterior.scaled.astype(np.float32)
        gap = (posterior.z - posterior.mean)[:, None] - self._waves(self._rows) @ self._heights - noise  # [n, k]
        self._weights = posterior.unwhiten(posterior.whiten(gap)).astype(np.float32)

    @IN_VAIN
    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k]."""
        scaled = self._scale(x)
        draws: Singles = self._waves(scaled) @ self._heights
        draws += matern(scaled, self._rows) @ self._weights
        draws += self._mean
        return draws

    @IN_VAIN
    def own(self, x: Floats) -> Singles:
        """Return draw i at the points `x[i]` of `x` [k, p, d], [k, p]: each draw at points of its own."""
        k, p, d = x.shape
        scaled = self._scale(x.reshape(-1, d))
        waves = self._waves(scaled).reshape(k, p, -1)
        cross = matern(scaled, self._rows).reshape(k, p, -1)
        draws: Singles = (waves @ self._heights.T[:, :, None])[:, :, 0]
        draws += (cross @ self._weights.T[:, :, None])[:, :, 0]
        draws += self._mean
        return draws

    @IN_VAIN
    def slope(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i and its gradient at the point `x[i]` of `x` [k, d], [k] and [k, d]."""
        scaled, five = self._scale(x), np.float32(5.0)
        phases = scaled @ self._frequencies + self._phases  # [k, w]
        square = scaled @ (self._rows.T * -(five + five)) + five * np.einsum("ij,ij->i", self._rows, self._rows)
        square += five * np.einsum("ij,ij->i", scaled, scaled)[:, None]
        root = np.sqrt(np.maximum(square, 0))  # [k, n], R of `matern`
        decay = np.exp(-root) * self._weights.T
        values: Singles = np.einsum("ij,ji->i", np.cos(phases), self._heights)
        values += np.einsum("ij,ij->i", 1 + root + root * root / 3, decay) + self._mean
        # The correlation falls by 5 / 3 (1 + R) exp(-R) per scaled step and unit of distance.
        pull = np.float32(5 / 3) * (1 + root) * decay  # [k, n]
        gradient = pull @ self._rows - pull.sum(1)[:, None] * scaled
        gradient -= (np.sin(phases) * self._heights.T) @ self._frequencies.T
        return values, gradient / self._posterior.hyper.lengths.astype(np.float32)

    def _scale(self, x: Floats) -> Singles:
        scaled: Singles = ((x - self._posterior.middle) / self._posterior.hyper.lengths).astype(np.float32)
        return scaled

    def _waves(self, scaled: Singles) -> Singles:
        waves: Singles = scaled @ self._frequencies
        waves += self._phases
        np.cos(waves, out=waves)
        return waves
