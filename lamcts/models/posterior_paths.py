"""Posterior draws as functions of numbers: one matrix product a point instead of a joint Cholesky factor of all points.

Matheron's rule (Wilson et al. 2020, arXiv 2002.09309, eq. 9): a draw of the prior, moved by what the data say,
`f(x) + k(x, X) (K + noise)^-1 (z - f(X) - e)`. The prior's draw is a sum of random cosines, the correction is exact.
Letters: n rows in the model, m query rows, d coordinates, k draws, w waves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lamcts.models.kernel import correlation, fall, matern, squares
from lamcts.models.posterior import Posterior
from lamcts.types import Floats

Singles = NDArray[np.float32]
FOURIER_FEATURES = 512  # cosines in a draw of the prior: more cost time, fewer approximate the kernel less well
# OpenBLAS's single-precision products of odd sizes sometimes raise the flag "invalid" though all numbers are finite
# (numpy issue 24067); a true nan would show in the draws.
FALSE_INVALID = np.errstate(invalid="ignore")


class PosteriorPaths:
    """`k` draws of a process of one column, evaluated in single precision."""

    def __init__(self, process: Posterior, k: int, rng: np.random.Generator, waves: int = FOURIER_FEATURES) -> None:
        n, d = process.inputs.numbers.shape
        self._process = process
        # A Matern 5/2 kernel is the mean of cosines whose frequencies follow a t distribution of 5 degrees of freedom.
        scales = np.sqrt(rng.chisquare(5.0, waves) / 5.0)  # [w]
        self._frequencies = (rng.standard_normal((d, waves)) / scales).astype(np.float32)
        self._phases = rng.uniform(0.0, 2.0 * math.pi, waves).astype(np.float32)
        amplitudes, errors = np.split(rng.standard_normal((waves + n, k), np.float32), [waves])
        self._amplitudes = amplitudes * np.sqrt(2.0 * process.signal / waves).astype(np.float32)  # [w, k]
        errors *= np.sqrt(process.signal * process.noise).astype(np.float32).reshape(-1, 1)  # [n, k]
        self._mean = process.mean.astype(np.float32)  # [1]
        self._rows: Singles = process.kernel.scaled.astype(np.float32)
        residual = process.z - process.mean - self._waves(self._rows) @ self._amplitudes - errors  # [n, k]
        self._weights = process.unwhiten(process.whiten(np.asarray(residual, np.float64))).astype(np.float32)

    @FALSE_INVALID
    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k]."""
        scaled = self._scale(x)
        draws: Singles = self._waves(scaled) @ self._amplitudes
        draws += matern(scaled, self._rows) @ self._weights
        draws += self._mean
        return draws

    @FALSE_INVALID
    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i and its gradient at the point `x[i]` of `x` [k, d], [k] and [k, d]."""
        scaled = self._scale(x)
        phases = scaled @ self._frequencies + self._phases  # [k, w]
        square = squares(scaled, self._rows)  # [k, n]
        pull = fall(np.sqrt(square)) * self._weights.T  # [k, n]
        values = (
            (np.cos(phases) * self._amplitudes.T).sum(1) + (correlation(square) * self._weights.T).sum(1) + self._mean
        )
        gradient = pull @ self._rows - pull.sum(1)[:, None] * scaled
        gradient -= (np.sin(phases) * self._amplitudes.T) @ self._frequencies.T
        return values, gradient / self._process.hyper.lengths.astype(np.float32)

    def _scale(self, x: Floats) -> Singles:
        scaled: Singles = self._process.kernel.scale(x).astype(np.float32)
        return scaled

    def _waves(self, scaled: Singles) -> Singles:
        waves: Singles = scaled @ self._frequencies
        waves += self._phases
        np.cos(waves, out=waves)
        return waves
