"""A Gaussian process with a Matern 5/2 and a quadratic part, one length scale, and profiled mean and signal.

Letters: n rows, m points, d coordinates.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.models.kernel import matern
from lamcts.types import Floats

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # of the mean variance, until Cholesky succeeds (untuned)
SAMPLE_NOISE = 1e-8  # of the signal: posterior samples at known points stay finite (untuned)
SIGNAL_PRIOR = 1e-3  # sum of squares that constant losses count as (untuned)


@dataclass(frozen=True)
class Hyper:
    """length: of the Matern part; noise and quadratic: variances, that of the Matern part being 1."""

    length: float
    noise: float
    quadratic: float


class Process:
    """The process given rows `u` [n, d] and losses `z` [n] in standard units.

    Its kernel is `matern(u, v) + quadratic ((1 + u.v / d)^2 - 1)`: the second part makes any quadratic a cheap guess.
    """

    def __init__(self, u: Floats, z: Floats, hyper: Hyper) -> None:
        self.u, self.hyper = u, hyper
        self.root = factor(self.kernel(u, u), hyper.noise)  # [n, n], lower
        self.refit(z)

    def kernel(self, a: Floats, b: Floats) -> Floats:
        """Return the covariances of `a` [n, d] and `b` [m, d] in units of the signal, [n, m]."""
        k = matern(a / self.hyper.length, b / self.hyper.length)
        if self.hyper.quadratic:
            inner = a @ (b.T / a.shape[1])
            inner *= inner + 2  # (1 + inner)^2 - 1
            inner *= self.hyper.quadratic
            k += inner
        return k

    def refit(self, z: Floats) -> None:
        """Take other losses of the same rows; mean and signal become the most likely ones."""
        n = len(z)
        self.z = z
        white = self._whiten(np.column_stack([z, np.ones(n)]))
        self.mean = float(white[:, 0] @ white[:, 1] / (white[:, 1] @ white[:, 1]))
        rest = white[:, 0] - self.mean * white[:, 1]
        self.signal = float(rest @ rest / 2 + SIGNAL_PRIOR) / (n / 2 + 1)
        self.weights = self._unwhiten(rest)  # [n], K^-1 (z - mean)
        self.misfit = n / 2 * np.log(self.signal) + float(np.log(self.root.diagonal()).sum())  # -log likelihood

    def expect(self, u: Floats) -> Floats:
        """Return the posterior mean at `u` [m, d], [m]."""
        return self.mean + self.kernel(u, self.u) @ self.weights

    def slope(self, u: Floats) -> tuple[float, Floats]:
        """Return the posterior mean at one point `u` [d], and its gradient [d]."""
        gap = (u - self.u) / self.hyper.length
        r = np.sqrt(5.0 * np.square(gap).sum(1))
        falling = np.exp(-r) * self.weights
        value = self.mean + float((1 + r + r * r / 3) @ falling)
        gradient: Floats = (-5 / 3 * (1 + r) * falling) @ gap / self.hyper.length
        if self.hyper.quadratic:
            d, p = len(u), 1 + self.u @ u / len(u)
            value += self.hyper.quadratic * float(self.weights @ (p * p - 1))
            gradient = gradient + (2 * self.hyper.quadratic / d) * ((self.weights * p) @ self.u)
        return value, gradient

    def sample(self, u: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` joint samples of the posterior at `u` [m, d], [n, m]."""
        cross = self.kernel(u, self.u)
        white = self._whiten(cross.T)
        root = factor(self.kernel(u, u) - white.T @ white, SAMPLE_NOISE)
        draws: Floats = rng.standard_normal((n, len(u))) @ root.T
        draws *= np.sqrt(self.signal)
        draws += self.mean + cross @ self.weights
        return draws

    def left_out(self) -> Floats:
        """Return the forecast of each row from all others, [n] (Rasmussen and Williams 2006, eq. 5.12)."""
        from scipy.linalg.lapack import dtrtri

        inverse, _ = dtrtri(self.root, lower=1)  # of L; K^-1 = L^-T L^-1
        result: Floats = self.z - self.weights / np.einsum("ij,ij->j", inverse, inverse)
        return result

    def believing(self, u: Floats) -> "Process":
        """Return the process as if `u` [k, d] had come out at their forecasts (kriging believer)."""
        other = Process.__new__(Process)
        other.u, other.hyper, other.mean, other.signal = np.concatenate([self.u, u]), self.hyper, self.mean, self.signal
        other.root = factor(other.kernel(other.u, other.u), self.hyper.noise)
        other.z = np.concatenate([self.z, self.expect(u)])
        other.weights = other._unwhiten(other._whiten(other.z - self.mean))
        return other

    def _whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` such that `L v = b`, for `b` [n] or [n, k]."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, b.reshape(len(b), -1), lower=1)
        return result.reshape(b.shape)

    def _unwhiten(self, v: Floats) -> Floats:
        """With `K = L L^T`, return `w` such that `L^T w = v`, for `v` [n]."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, v[:, None], lower=1, trans_a=1)[:, 0]
        return result


def factor(kernel: Floats, noise: float) -> Floats:
    """Return lower `L` [n, n] with `L L^T = kernel + noise I`; of its diagonal alone where rounding forbids it."""
    from scipy.linalg.lapack import dpotrf

    n, level = len(kernel), kernel.diagonal().copy()
    for jitter in JITTERS:
        kernel.flat[:: n + 1] = level + (noise + jitter * level.mean())
        root, info = dpotrf(kernel.T, lower=1, clean=1)  # kernel.T: the same symmetric matrix in Fortran order
        if not info:
            result: Floats = root
            return result
    return np.asfortranarray(np.diag(np.sqrt(np.maximum(level, 0.0) + noise)))
