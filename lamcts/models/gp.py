"""The exact Gaussian process that the samplers share: Matern 5/2, one length scale a coordinate, constant means.

It has q >= 1 columns over the same rows, a loss and its constraints say: one kernel and one Cholesky factor, and a
right-hand side a column, with a mean and a signal of its own.
Letters: n rows in the model, m rows asked about, d coordinates, q columns.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lamcts.models.kernel import fall, matern, squares
from lamcts.models.known_noise import KnownNoise, settle
from lamcts.types import Floats

JITTERS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1)  # on the diagonal, until Cholesky succeeds: times the signal (untuned)
SIGNAL_SHAPE, SIGNAL_RATE = 2.0, 1.0  # inverse-gamma prior of the signal in standard units: mean 1, 4 rows' worth
P = TypeVar("P", bound="GaussianProcess")
Number = TypeVar("Number", float, Floats)


@dataclass(frozen=True, eq=False)
class Hyper:
    """Hyper-parameters: `lengths` [d] in units of the cube, and `noise`, the noise's share of the signal's variance."""

    lengths: Floats
    noise: float


class GaussianProcess:
    """The process given rows `x` [n, d] and columns `z` [n, q] in standard units; nan where a column is not known.

    Covariance of two observations of a column: `signal (matern + noise [same row])`. Its `signal` and `mean` [q] are
    the most likely ones under `hyper` (profiled; SIGNAL_RATE and SIGNAL_SHAPE keep the signal of constants from 0).
    known: the known noise of the rows of one column; `noise` is then what each row has, [n], known and fitted.
    """

    def __init__(self, x: Floats, z: Floats, hyper: Hyper, known: KnownNoise | None = None) -> None:
        self.x, self.hyper = x, hyper
        self.middle = x.mean(0)  # [d]; distances are taken about it, so that far-off rows lose no digits
        self.scaled = self._scale(x)  # [n, d]
        self.noise: float | Floats = hyper.noise
        if known is not None:
            settle(lambda signal: self._signal_with(known.diagonal(hyper.noise, signal), z))
            return
        self._factorise()
        self._condition(z)

    def _signal_with(self, noise: Floats, z: Floats) -> float:
        """Take a noise [n] as shares of the signal's variance, and return that variance."""
        self.noise = noise
        self._factorise()
        self._condition(z)
        return float(self.signal[0])

    def _scale(self, x: Floats) -> Floats:
        scaled: Floats = (x - self.middle) / self.hyper.lengths
        return scaled

    def _factorise(self) -> None:
        self.root = factor(matern(self.scaled, self.scaled), self.noise)  # [n, n], lower

    def _condition(self, z: Floats) -> None:
        """Take the columns of the rows, with the most likely mean and signal of each."""
        self.z = self._completed(z)
        n = len(z)
        white = self.whiten(np.column_stack([self.z, np.ones(n)]))
        white, ones = white[:, :-1], white[:, -1]
        self.mean: Floats = ones @ white / (ones @ ones)  # [q]
        white = white - np.outer(ones, self.mean)
        self.signal: Floats = profiled_signal(np.einsum("nq,nq->q", white, white), n)  # [q]
        self.weights = self.unwhiten(white)  # [n, q], K^-1 (z - mean)

    def _completed(self, z: Floats) -> Floats:
        """Return `z` with unknown entries at what the known rows of their column predict.

        With `Q = K^-1` that is `-Q_uu^-1 Q_uk z_k` for unknown rows u and known rows k, about a mean of 0.
        """
        unknown = np.isnan(z)
        if not unknown.any():
            return z
        z = np.where(unknown, 0.0, z)
        some = np.flatnonzero(unknown.any(1))
        unit = np.zeros((len(z), len(some)))
        unit[some, np.arange(len(some))] = 1.0
        white = self.whiten(unit)  # [n, u]
        inverse = white.T @ white  # Q of the rows that lack a column
        pull = white.T @ self.whiten(z)  # [u, q], Q z there
        for j in np.flatnonzero(unknown.any(0)):
            lacking = np.flatnonzero(unknown[some, j])
            z[some[lacking], j] = -np.linalg.solve(inverse[np.ix_(lacking, lacking)], pull[lacking, j])
        return z

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
        return matern(self._scale(x), self.scaled)

    def expect(self, x: Floats) -> Floats:
        """Return the posterior means at `x` [m, d], [m, q]."""
        result: Floats = self.mean + self.cross(x) @ self.weights
        return result

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, at `x` [m, d], both [m, q]."""
        cross = self.cross(x)
        white = self.whiten(cross.T)  # [n, m]
        share = np.maximum(1.0 - np.einsum("ij,ij->j", white, white), 0.0)
        return self.mean + cross @ self.weights, np.outer(share, self.signal)

    def slopes(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances without noise at `x` [k, d], [k, q] each, and their slopes, [k, q, d] each."""
        scaled, cross = self._scale(x), self.cross(x)  # [k, d], [k, n]
        white = self.whiten(cross.T)  # [n, k]
        left = np.maximum(1.0 - np.einsum("nk,nk->k", white, white), 0.0)
        weights = np.broadcast_to(self.weights.T, (len(x), *self.weights.T.shape))
        both = np.concatenate([weights, self.unwhiten(white).T[:, None]], axis=1)  # [k, q + 1, n]
        pull = fall(np.sqrt(squares(scaled, self.scaled)))[:, None] * both
        way = (pull @ self.scaled - pull.sum(2)[:, :, None] * scaled[:, None]) / self.hyper.lengths
        variance, widening = left[:, None] * self.signal, -2 * way[:, -1:] * self.signal[:, None]
        return self.mean + cross @ self.weights, variance, way[:, :-1], widening

    def fitted(self) -> Floats:
        """Return the posterior means at the model's own rows, [n, q]: their columns less the noise seen in them."""
        result: Floats = self.z - np.reshape(self.noise, (-1, 1)) * self.weights
        return result

    def fantasize(self: P, x: Floats) -> P:
        """Return the process as if the columns at `x` [k, d] had come out at their expectation (kriging believer)."""
        new = self._grown(x)
        new.z, new.mean, new.signal = np.vstack([self.z, self.expect(x)]), self.mean, self.signal
        new.weights = new.unwhiten(new.whiten(new.z - new.mean))
        return new

    def extended(self: P, x: Floats, z: Floats) -> P:
        """Return the process with further rows `x` [k, d]; `z` [n + k, q] are the columns of all rows, old and new."""
        new = self._grown(x)
        new._condition(z)
        return new

    def _grown(self: P, x: Floats) -> P:
        """Return a process of more rows, without columns yet; the root grows by k rows.

        With `K' = [[K, B^T], [B, C]]` the root of K' is `[[L, 0], [V^T, S]]`, `L V = B^T`, `S S^T = C - V^T V`.
        """
        n, k = len(self.x), len(x)
        cross = self.whiten(self.cross(x).T)  # [n, k]
        scaled = self._scale(x)
        new = type(self).__new__(type(self))
        new.root = np.zeros((n + k, n + k), order="F")
        new.root[:n, :n] = self.root
        new.root[n:, :n] = cross.T
        new.root[n:, n:] = factor(matern(scaled, scaled) - cross.T @ cross, self.hyper.noise)
        new.x, new.hyper, new.middle = np.concatenate([self.x, x]), self.hyper, self.middle
        new.scaled = np.concatenate([self.scaled, scaled])
        new.noise = grown_noise(self.noise, k, self.hyper.noise)
        return new


def grown_noise(noise: float | Floats, k: int, fitted: float) -> float | Floats:
    """Return the noise of rows and of `k` more, which have the fitted one."""
    return np.append(noise, np.full(k, fitted)) if isinstance(noise, np.ndarray) else noise


def profiled_signal(square: Number, n: int) -> Number:
    """Return the most likely signal variance, `square` being `(z - mean)^T K^-1 (z - mean)` over `n` rows."""
    return (square / 2 + SIGNAL_RATE) / (n / 2 + SIGNAL_SHAPE + 1)


def factor(kernel: Floats, noise: float | Floats) -> Floats:
    """Return lower `L` [n, n] (Fortran order) with `L L^T = kernel + noise I`, with more noise where that must be.

    noise: of all rows, or of each, [n].
    """
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
