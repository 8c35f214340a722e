"""The Gaussian process given evaluations: moments, slopes, fantasies, leave-one-out predictions.

It has r >= 1 columns over the same rows, such as a loss and its constraints. They share a kernel and a Cholesky
factor; each column has a mean and a signal variance.
Letters: n rows in the model, m query rows, q numbers, r columns.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper, Kernel
from lamcts.models.known_noise import ROUNDS, KnownNoise
from lamcts.types import Floats

# Added to the diagonal, times its mean or 1, until Cholesky succeeds: the least that works changes the process least.
JITTERS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1)
SIGNAL_SHAPE, SIGNAL_RATE = 2.0, 1.0  # inverse-gamma prior of the signal in standard units: mean 1, weight of 4 rows
P = TypeVar("P", bound="Posterior")
Number = TypeVar("Number", float, Floats)


class MeanFunction(Protocol):
    """Prior mean of a process with one column."""

    def __call__(self, inputs: Inputs) -> Floats:
        """Return the mean at rows, [m]."""

    def slopes(self, inputs: Inputs) -> Floats:
        """Return the slopes of the mean along the numbers, [m, q]."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The process given rows and their columns `z` [n, r] in standard units.

    The covariance of two observations of a column is `signal (kernel + noise [same row])`. `signal` and `mean` [r] are
    the most likely ones under `hyper` (profiled; SIGNAL_RATE and SIGNAL_SHAPE keep the signal of constants from 0).
    root: lower Cholesky factor `L` of kernel and noise, [n, n]. white: `L^-1 (z - mean)`, less the prior mean, [n, r].
    known: known noise of the rows of a single column; `guess` is the signal variance that it refers to. `noise` [n] is
    then the sum of known and fitted noise. prior: mean of a single column, added to the constant one.
    """

    signal_shape: ClassVar[float] = SIGNAL_SHAPE  # prior of the signal
    signal_rate: ClassVar[float] = SIGNAL_RATE
    kernel: Kernel
    z: Floats
    noise: float | Floats
    root: Floats
    mean: Floats
    white: Floats
    signal: Floats
    known: KnownNoise | None = None
    prior: MeanFunction | None = None
    guess: float | None = None

    @classmethod
    def of(
        cls: type[P],
        inputs: Inputs,
        z: Floats,
        hyper: Hyper,
        known: KnownNoise | None = None,
        prior: MeanFunction | None = None,
    ) -> P:
        """Return the process of rows and their columns; the signal that known noise refers to is iterated."""
        kernel = Kernel(inputs, hyper)
        if known is None:
            return cls._of(kernel, z, hyper.noise, prior)
        guess = 1.0
        for _ in range(ROUNDS):
            posterior = cls._of(kernel, z, known.diagonal(hyper.noise, guess), prior, known, guess)
            guess = float(posterior.signal[0])
        return posterior

    @classmethod
    def _of(
        cls: type[P],
        kernel: Kernel,
        z: Floats,
        noise: float | Floats,
        prior: MeanFunction | None,
        known: KnownNoise | None = None,
        guess: float | None = None,
    ) -> P:
        """Return the process with the most likely mean and signal of each column."""
        n = len(z)
        root = factor(kernel.matrix, noise)
        residual = z if prior is None else z - prior(kernel.inputs)[:, None]
        white = _whiten(root, np.column_stack([residual, np.ones(n)]))
        white, ones = white[:, :-1], white[:, -1]
        mean = ones @ white / (ones @ ones)  # [r]
        white = white - np.outer(ones, mean)
        square: Floats = np.einsum("nr,nr->r", white, white)
        signal = profiled_signal(square, n, cls.signal_shape, cls.signal_rate)  # [r]
        return cls(kernel, z, noise, root, mean, white, signal, known, prior, guess)

    @property
    def hyper(self) -> Hyper:
        return self.kernel.hyper

    @property
    def inputs(self) -> Inputs:
        """The rows of the model."""
        return self.kernel.inputs

    @cached_property
    def weights(self) -> Floats:
        """`K^-1 (z - mean)`, [n, r]."""
        return self.unwhiten(self.white)

    def whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` [n, k] such that `L v = b`."""
        return _whiten(self.root, b)

    def unwhiten(self, v: Floats) -> Floats:
        """With `K = L L^T`, return `w` [n, k] such that `L^T w = v`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, v, lower=1, trans_a=1)
        return result

    def expect(self, inputs: Inputs) -> Floats:
        """Return the posterior means, [m, r]."""
        return self._expect(inputs, self.kernel(inputs))

    def _expect(self, inputs: Inputs, cross: Floats) -> Floats:
        """Return the posterior means [m, r] at rows whose kernel with the model's rows is `cross` [m, n]."""
        mean: Floats = self.mean + cross @ self.weights
        return mean if self.prior is None else mean + self.prior(inputs)[:, None]

    def moments(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, both [m, r]."""
        cross = self.kernel(inputs)
        return self._expect(inputs, cross), np.outer(self._variance_share(inputs, self.whiten(cross.T)), self.signal)

    def _variance_share(self, inputs: Inputs, white: Floats) -> Floats:
        """Return the posterior over the prior variance, [m]; `white` [n, m] is the whitened kernel."""
        share: Floats = self.kernel.diagonal(inputs) - np.einsum("nm,nm->m", white, white)
        return np.maximum(share, 0.0)

    def joint(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the posterior means [m, r], and the covariance of the noise-free values as share of signals [m, m]."""
        cross = self.kernel(inputs)
        white = self.whiten(cross.T)
        covariance: Floats = self.kernel.at(inputs).matrix - white.T @ white
        return self._expect(inputs, cross), covariance

    def slopes(self, inputs: Inputs) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances without noise, [m, r] each, and their slopes along the numbers, [m, r, q] each."""
        cross, slopes = self.kernel.sloped(inputs)
        white = self.whiten(cross.T)  # [n, m]
        weights = np.broadcast_to(self.weights.T, (len(inputs), *self.weights.T.shape))
        gradients = slopes(np.concatenate([weights, self.unwhiten(white).T[:, None]], axis=1))
        variance = np.outer(self._variance_share(inputs, white), self.signal)
        by_variance = -2 * gradients[:, -1:]
        if self.hyper.quadratic:
            by_variance += self.kernel.diagonal_slopes(inputs)[:, None]
        by_mean = self._with_prior(inputs, gradients[:, :-1])
        return self._expect(inputs, cross), variance, by_mean, by_variance * self.signal[:, None]

    def mean_slopes(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return means [m, r] and their slopes along the numbers [m, r, q]."""
        cross, slopes = self.kernel.sloped(inputs)
        return self._expect(inputs, cross), self._with_prior(inputs, slopes(self.weights.T))

    def _with_prior(self, inputs: Inputs, slopes: Floats) -> Floats:
        """Return slopes of the mean [m, r, q] with those of the prior mean."""
        return slopes if self.prior is None else slopes + self.prior.slopes(inputs)[:, None]

    def fitted(self) -> Floats:
        """Return the posterior means at the model's rows, [n, r]: their columns less the estimated noise."""
        result: Floats = self.z - np.reshape(self.noise, (-1, 1)) * self.weights
        return result

    def left_out(self) -> Floats:
        """Return the posterior means at each of the model's rows given all others, [n, r].

        They are `z - K^-1 (z - mean) / d`, where `d` is the diagonal of `K^-1` (Rasmussen and Williams 2006, eq. 5.12).
        """
        from scipy.linalg.lapack import dpotri

        inverse, _ = dpotri(self.root, lower=1)
        result: Floats = self.z - self.weights / np.diagonal(inverse)[:, None]
        return result

    def misfit(self) -> float:
        """Return the negative log likelihood, mean and signals profiled out, less a constant."""
        n, signal = len(self.z), self.signal
        value = self.signal.size * float(np.log(self.root.diagonal()).sum()) + n / 2 * float(np.log(signal).sum())
        if self.guess is not None:  # at the guess that the noise refers to
            value += n / 2 * float((np.log(self.guess / signal) + signal / self.guess - 1).sum())
        return value

    def fantasize(self: P, inputs: Inputs) -> P:
        """Return the process as if the columns at some rows [k] had come out at their means (kriging believer).

        The root grows by k rows. With `K' = [[K, B^T], [B, C]]` the root of K' is `[[L, 0], [V^T, S]]`, `L V = B^T`,
        `S S^T = C - V^T V`. The new rows have the fitted noise.
        """
        n, k, noise = len(self.inputs), len(inputs), self.noise
        cross = self.whiten(self.kernel(inputs).T)  # [n, k]
        root = np.zeros((n + k, n + k), order="F")
        root[:n, :n] = self.root
        root[n:, :n] = cross.T
        root[n:, n:] = factor(self.kernel.at(inputs).matrix - cross.T @ cross, self.hyper.noise)
        return replace(
            self,
            kernel=self.kernel.at(self.inputs.joined(inputs)),
            z=np.vstack([self.z, self.expect(inputs)]),
            noise=np.append(noise, np.full(k, self.hyper.noise)) if isinstance(noise, np.ndarray) else noise,
            root=root,
            white=np.vstack([self.white, np.zeros((k, len(self.mean)))]),  # nothing new was learned
            known=None if self.known is None else self.known.grown(k),
        )


def _whiten(root: Floats, b: Floats) -> Floats:
    """Return `v` [n, k] such that `root v = b`."""
    from scipy.linalg.blas import dtrsm

    result: Floats = dtrsm(1.0, root, b, lower=1)
    return result


def profiled_signal(square: Number, n: int, shape: float = SIGNAL_SHAPE, rate: float = SIGNAL_RATE) -> Number:
    """Return the most likely signal variance of `n` rows; `square` is `(z - mean)^T K^-1 (z - mean)`."""
    return (square / 2 + rate) / (n / 2 + shape + 1)


def factor(kernel: Floats, noise: float | Floats) -> Floats:
    """Return lower `L` [n, n] (Fortran order) with `L L^T = kernel + noise I`, with jitter where Cholesky fails.

    Where all jitters fail (by rounding: rows at 1e9 under a quadratic kernel), it is the root of the diagonal.
    noise: of all rows, or of each, [n]. `kernel` is overwritten.
    """
    from scipy.linalg.lapack import dpotrf

    diagonal = np.arange(len(kernel))
    variances = kernel[diagonal, diagonal]
    for jitter in JITTERS:
        added = jitter * max(1.0, float(variances.mean())) if jitter else 0.0
        kernel[diagonal, diagonal] = np.maximum(variances, 0.0) + (noise + added)
        root, info = dpotrf(kernel.T, lower=1, clean=1)  # kernel.T: the same symmetric matrix in Fortran order
        if info == 0:
            result: Floats = root
            return result
    return np.asfortranarray(np.diag(np.sqrt(np.maximum(variances, 0.0) + noise)))
