"""Most likely hyper-parameters of a Gaussian process: L-BFGS on the analytic gradient, under priors.

Letters: n rows, c categories, q numbers, r columns; theta as in `priors.py`.
"""

import math
from collections.abc import Sequence

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper, correlate
from lamcts.models.known_noise import KnownNoise
from lamcts.models.lbfgsb import Slope, lowest
from lamcts.models.overlap import Overlap
from lamcts.models.posterior import SIGNAL_SHAPE, Posterior, profiled_signal
from lamcts.models.priors import Prior
from lamcts.types import Floats, Rows

NO_FACTOR = 1e25  # loss where Cholesky fails: finite and above any other loss, so that L-BFGS steps back
ITERATIONS = 15  # L-BFGS steps of a fit: more cost time, fewer stop before the optimum; TuRBO makes 50 Adam steps
FIT_ROWS = 250  # rows of a fit: more cost time (500 take seconds), fewer determine the hyper-parameters less


def fit(
    inputs: Inputs,
    z: Floats,
    prior: Prior,
    starts: Sequence[Hyper] = (),
    iterations: int = ITERATIONS,
    known: KnownNoise | None = None,
    device: str | None = None,
) -> tuple[Hyper, float]:
    """Return the best hyper-parameters shared by columns `z` [n, r], and their loss.

    starts: starting points of L-BFGS, by default the mode of the prior. iterations: most steps from each. The loss is
    the negative log of likelihood times prior, less a constant. Losses of the same rows can be compared. known: known
    noise of a single column; the signal that it refers to is that of the first start. device: gpytorch computes the
    loss on this device; it takes numbers without known noise.
    """
    starts = starts or (prior.mode,)
    if known is not None:
        known = known.shared(float(Posterior.of(inputs, z, starts[0], known).signal[0]))
    loss: Slope = Loss(inputs, z, prior, known) if device is None else _loss_on(device, inputs, z, prior)
    fits = [lowest(loss, prior.theta(start), prior.low, prior.high, iterations) for start in starts]
    theta, value = min(fits, key=lambda candidate: candidate[1])
    return prior.hyper(theta), value


def _loss_on(device: str, inputs: Inputs, z: Floats, prior: Prior) -> Slope:
    from lamcts.models.gpytorch_loss import GpytorchLoss

    return GpytorchLoss(inputs, z, prior, device)


def spread_over_ranks(y: Floats, most: int = FIT_ROWS) -> Rows:
    """Return at most `most` rows of losses `y` [n], evenly spread over their ranks, the best first."""
    ranks = np.unique(np.rint(np.linspace(0, len(y) - 1, min(len(y), most))).astype(np.int64))
    rows: Rows = np.argsort(y, kind="stable")[ranks]
    return rows


class Loss:
    """Negative log posterior of theta, with its gradient.

    The loss of columns `z` [n, r] is the sum of their losses. Means and signal variances are profiled out, so their
    derivatives vanish (envelope theorem). With `C = kernel + noise I`, `a_j = C^-1 (z_j - mean_j)` and
    `W = r C^-1 - sum_j a_j a_j^T / signal_j`, the derivative along any parameter of C is `sum(W * dC) / 2` (Rasmussen
    and Williams 2006, eq. 5.9). Along the weight of a category it is `-w_c sum(W K [a_c != b_c]) / 2`. The sum over
    unequal pairs is the sum over all pairs less, for each option, the sum over the pairs that share it.
    The matrices [n, n] are allocated once: new ones at every call cost a third of the time in page faults.
    known: known noise as shares of the signal, on the diagonal of C.
    """

    def __init__(self, inputs: Inputs, z: Floats, prior: Prior, known: KnownNoise | None = None) -> None:
        n = len(z)
        self._inputs = inputs
        self._prior = prior
        self._known = known
        self.z = z
        self._overlap = Overlap(inputs) if prior.n_categories else None
        self._numbers = inputs.numbers - inputs.middle
        self._kernel, self._work, self._slope = (np.empty((n, n)) for _ in range(3))
        self._ones = np.ones(n)
        self._sides = np.asfortranarray(np.column_stack([z, self._ones]))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        from scipy.linalg.blas import dsymm
        from scipy.linalg.lapack import dpotrf

        n, c, noise = len(self.z), self._prior.n_categories, math.exp(theta[-1])
        scaled = self._numbers * np.exp(-theta[c:-1])  # [n, q]
        correlate(scaled, self._kernel, self._slope, self._work)
        if self._overlap is not None:
            overlap = self._overlap(self._inputs, np.exp(theta[:c]))
            self._kernel *= overlap
            self._slope *= overlap
            np.copyto(self._work, self._kernel)  # the factor overwrites the kernel
        self._kernel.flat[:: n + 1] = 1.0 + (noise if self._known is None else self._known.diagonal(noise))
        root, info = dpotrf(self._kernel.T, lower=1, overwrite_a=1, clean=0)  # in place: the buffer is C-ordered
        if info:
            return NO_FACTOR, np.zeros(len(theta))
        value, w = self._evidence(root)
        gradient = np.empty(len(theta))
        gradient[:c] = self._by_weights(w, theta[:c])
        trace = float((w.flat[:: n + 1] * (1.0 if self._known is None else self._known.fitted)).sum())
        np.multiply(w, self._slope.T, out=w)
        products = dsymm(1.0, w, np.asfortranarray(np.column_stack([scaled, self._ones])), lower=1)  # [n, q + 1]
        gradient[c:-1] = products[:, -1] @ (scaled * scaled) - np.einsum("ij,ij->j", scaled, products[:, :-1])
        gradient[-1] = noise * trace / 2
        prior_value, prior_gradient = self._prior.loss(theta)
        return value + prior_value, gradient + prior_gradient

    def _evidence(self, root: Floats) -> tuple[float, Floats]:
        """Return the loss without the prior, and the lower triangle of W [n, n]; `root` is overwritten."""
        from scipy.linalg.blas import dsyrk
        from scipy.linalg.lapack import dpotri, dpotrs

        z = self.z
        n, r = z.shape
        solved, _ = dpotrs(root, self._sides, lower=1)  # [n, r + 1]: C^-1 z, C^-1 1
        mean = solved[:, :-1].sum(0) / solved[:, -1].sum()
        weights = solved[:, :-1] - np.outer(solved[:, -1], mean)
        signal = profiled_signal(np.einsum("nr,nr->r", weights, z - mean), n)  # [r]
        value = (n / 2 + SIGNAL_SHAPE + 1) * float(np.log(signal).sum()) + r * float(np.log(root.flat[:: n + 1]).sum())
        inverse, _ = dpotri(root, lower=1, overwrite_c=1)
        w = dsyrk(-1.0, weights / np.sqrt(signal), beta=float(r), c=inverse, lower=1, overwrite_c=1)
        return value, w

    def _by_weights(self, w: Floats, logs: Floats) -> Floats:
        """Return the slopes along the log weights [c]; only the lower triangle of `w` [n, n] is read."""
        if self._overlap is None:
            return np.empty(0)
        products = np.tril(w) * self._work
        products = products + np.tril(products, -1).T
        unequal = products.sum() - self._overlap.sums(products)
        result: Floats = -np.exp(logs) * unequal / 2
        return result
