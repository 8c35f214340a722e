"""The exact Gaussian process that the samplers share: Matern 5/2, one length scale a coordinate, constant mean.

Letters: n rows in the model, m rows asked about, d coordinates.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

Real = TypeVar("Real", np.float32, np.float64)

JITTERS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1)  # on the diagonal, until Cholesky succeeds: times the signal (untuned)


@dataclass(frozen=True, eq=False)
class Hyper:
    """Hyper-parameters: `lengths` [d] in units of the cube, and `noise`, the noise's share of the signal's variance."""

    lengths: Floats
    noise: float


def matern(a: NDArray[Real], b: NDArray[Real]) -> NDArray[Real]:
    """Return the Matern 5/2 correlations [n, m] of rows `a` [n, d] and `b` [m, d], both divided by the length scales.

    With `R = sqrt(5) |a - b|`: `(1 + R + R^2 / 3) exp(-R)` (Rasmussen and Williams 2006, eq. 4.17). Keeps the
    precision of its arguments.
    """
    five = a.dtype.type(5)
    square = a @ (b.T * -(five + five))  # [n, m]
    square += five * np.einsum("ij,ij->i", a, a)[:, None]
    square += five * np.einsum("ij,ij->i", b, b)[None, :]
    np.maximum(square, 0, out=square)  # rounding may leave -1e-16 for equal rows
    root = np.sqrt(square)
    square *= a.dtype.type(1 / 3)
    square += root
    square += 1
    np.negative(root, out=root)
    np.exp(root, out=root)
    square *= root
    return square


class Posterior:
    """The process given rows `x` [n, d] and losses `z` [n] in standard units.

    Covariance of two observations: `signal (matern + noise [same row])`. `signal` and `mean` are those of the most
    likely process under `hyper` (profiled; `SIGNAL_RATE` and `SIGNAL_SHAPE` keep the signal from 0 on constant
    losses) unless they are given.
    """

    def __init__(
        self, x: Floats, z: Floats, hyper: Hyper, *, signal: float | None = None, mean: float | None = None
    ) -> None:
        self.x, self.z, self.hyper = x, z, hyper
        self.middle = x.mean(0)  # [d]; distances are taken about it, so that far-off rows lose no digits
        self.scaled = (x - self.middle) / hyper.lengths  # [n, d]
        self.root = factor(matern(self.scaled, self.scaled), hyper.noise)  # [n, n], lower
        self._given = signal, mean
        self._profile()

    def _profile(self) -> None:
        n = len(self.z)
        ones = self.whiten(np.ones((n, 1)))[:, 0]
        white = self.whiten(self.z[:, None])[:, 0]
        signal, mean = self._given
        self.mean = float(ones @ white / (ones @ ones)) if mean is None else mean
        white = white - self.mean * ones
        self.signal = profiled_signal(float(white @ white), n) if signal is None else signal
        self.weights = self.unwhiten(white[:, None])[:, 0]  # [n], K^-1 (z - mean)

    def whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` [n, k] such that `L v = b`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, b, lower=1)
        return result

    def unwhiten(self, v: Floats) -> Floats:
        """With `K = L L^T`, return `w` [n, k] such that `L^T w = v`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, v, lower=1, trans_a=1)
        return result

    def cross(self, x: Floats) -> Floats:
        """Return the correlations [m, n] of `x` [m, d] with the rows of the model."""
        return matern((x - self.middle) / self.hyper.lengths, self.scaled)

    def expect(self, x: Floats) -> Floats:
        """Return the posterior mean at `x` [m, d], [m]."""
        return self.mean + self.cross(x) @ self.weights

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean and variance of the noise-free loss at `x` [m, d], both [m]."""
        cross = self.cross(x)
        white = self.whiten(cross.T)  # [n, m]
        variance = self.signal * (1.0 - np.einsum("ij,ij->j", white, white))
        return self.mean + cross @ self.weights, np.maximum(variance, 0.0)

    def joint(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean [m] and covariance [m, m] of the noise-free losses at `x` [m, d]."""
        cross = self.cross(x)
        white = self.whiten(cross.T)  # [n, m]
        scaled = (x - self.middle) / self.hyper.lengths
        return self.mean + cross @ self.weights, self.signal * (matern(scaled, scaled) - white.T @ white)

    def fitted(self) -> Floats:
        """Return the posterior mean at the model's own rows, [n]: their losses less the noise it sees in them."""
        return self.z - self.hyper.noise * self.weights

    def believing(self, x: Floats) -> "Posterior":
        """Return the posterior as if the losses at `x` [k, d] had come out at their expectation (kriging believer)."""
        new = self.extended(x, np.concatenate([self.z, self.expect(x)]))
        new._given = self.signal, self.mean  # the believed losses are no evidence about these
        new._profile()
        return new

    def extended(self, x: Floats, z: Floats) -> "Posterior":
        """Return the posterior with further rows `x` [k, d]; `z` [n + k] are the losses of all rows, old and new.

        The root grows by k rows, it is not made anew.

        With `K' = [[K, B^T], [B, C]]` the root of K' is `[[L, 0], [V^T, S]]`, `L V = B^T`, `S S^T = C - V^T V`.
        """
        n, k = len(self.z), len(x)
        cross = self.whiten(self.cross(x).T)  # [n, k]
        scaled = (x - self.middle) / self.hyper.lengths
        corner = matern(scaled, scaled) - cross.T @ cross
        new = Posterior.__new__(Posterior)
        new.root = np.zeros((n + k, n + k), order="F")
        new.root[:n, :n] = self.root
        new.root[n:, :n] = cross.T
        new.root[n:, n:] = factor(corner, self.hyper.noise)
        new.x, new.z = np.concatenate([self.x, x]), z
        new.hyper, new.middle, new._given = self.hyper, self.middle, self._given
        new.scaled = np.concatenate([self.scaled, scaled])
        new._profile()
        return new


SIGNAL_SHAPE, SIGNAL_RATE = 2.0, 1.0  # inverse-gamma prior of the signal in standard units: mean 1, 4 rows' worth


def profiled_signal(square: float, n: int) -> float:
    """Return the most likely signal variance, `square` being `(z - mean)^T K^-1 (z - mean)` over `n` rows."""
    return (square / 2 + SIGNAL_RATE) / (n / 2 + SIGNAL_SHAPE + 1)


def factor(kernel: Floats, noise: float) -> Floats:
    """Return lower `L` [n, n] (Fortran order) with `L L^T = kernel + noise I`, with more noise where that must be."""
    from scipy.linalg.lapack import dpotrf

    diagonal = np.arange(len(kernel))
    level = kernel[diagonal, diagonal]
    for jitter in JITTERS:
        kernel[diagonal, diagonal] = np.maximum(level, 0.0) + (noise + jitter)
        root, info = dpotrf(kernel.T, lower=1, clean=1)  # kernel.T: the same symmetric matrix in Fortran order
        if info == 0:
            result: Floats = root
            return result
    raise np.linalg.LinAlgError(f"expected a covariance matrix, got one that {JITTERS[-1]} on the diagonal cannot cure")
