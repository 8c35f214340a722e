"""Most likely hyper-parameters of the process in `gp.py`: L-BFGS on the analytic gradient, under priors.

Letters: n rows, d coordinates, q columns.
"""

import math
from collections.abc import Callable

import numpy as np

from lamcts.models.gp import SIGNAL_SHAPE, GaussianProcess, Hyper, profiled_signal
from lamcts.models.kernel import correlate
from lamcts.models.known_noise import KnownNoise
from lamcts.models.lbfgsb import Limits, lowest
from lamcts.types import Floats, Rows

NO_FACTOR = 1e25  # the loss where Cholesky fails: L-BFGS steps back from what is above any loss of rows and finite
ITERATIONS = 15  # L-BFGS steps of a fit (untuned; TuRBO makes 50 Adam steps)
EVALUATIONS = 2  # of the loss for each step that L-BFGS may make, on average (untuned)
# Log-normal priors: lengths as shares of the cube over sqrt(d), noise as a share of the signal's variance.
LENGTH_LOCATION, LENGTH_SPREAD = math.sqrt(2.0), math.sqrt(3.0)  # Hvarfner et al. 2024 (arXiv 2402.02229), section 4
NOISE_LOCATION, NOISE_SPREAD = -4.0, 1.0  # as in BoTorch: the mode is exp(-5)
LENGTH_BOUNDS = (5e-3, 1e2)  # times sqrt(d); TuRBO's are 0.005 and 2, whatever d
NOISE_BOUNDS = (1e-6, 1.0)  # untuned; TuRBO's are 5e-4 and 0.2


def prior_mode(dim: int, location: float) -> Hyper:
    """Return the most likely hyper-parameters before any data, for `dim` coordinates; `location`: see `fit`."""
    length = math.sqrt(dim) * math.exp(location - LENGTH_SPREAD**2)
    return Hyper(np.full(dim, length), math.exp(NOISE_LOCATION - NOISE_SPREAD**2))


def fit(
    x: Floats, z: Floats, start: Hyper, location: float, iterations: int, known: KnownNoise | None = None
) -> tuple[Hyper, float]:
    """Return the best hyper-parameters that columns `z` [n, q] of rows `x` [n, d] share, and their loss.

    `iterations` bounds the steps of L-BFGS from `start`. location: prior mean of log(length / sqrt(d)). The loss is the
    negative log of likelihood times priors, less a constant: losses of the same rows compare, those of other rows do
    not. Rows that lack a column (nan) are left out, unless fewer than d have all: then what lacks is taken as its mean.
    The noise of rows is known of one column only, as a share of the signal under `start`.
    """
    known = shares(x, z, start, known)
    return search(Loss(*complete(x, z), location, known), start, iterations)


def complete(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return the rows `x` [n, d] and `z` [n, q] that a fit takes, without nan."""
    taken = _taken(x, z)
    return x[taken], np.where(np.isnan(z), 0.0, z)[taken]


def shares(x: Floats, z: Floats, start: Hyper, known: KnownNoise | None) -> KnownNoise | None:
    """Return the known noise of the rows that a fit takes, as shares of the signal under `start`."""
    if known is None:
        return None
    return known.shared(float(GaussianProcess(x, z, start, known).signal[0])).at(_taken(x, z))


def _taken(x: Floats, z: Floats) -> Rows:
    """Return the rows that a fit takes: those that have all columns, or all rows where these are too few."""
    whole = np.flatnonzero(~np.isnan(z).any(1))
    return whole if len(whole) >= x.shape[1] else np.arange(len(z))


def search(loss: Callable[[Floats], tuple[float, Floats]], start: Hyper, iterations: int) -> tuple[Hyper, float]:
    """Return the hyper-parameters of least `loss(theta) -> (value, gradient)` found from `start`, and their loss."""
    dim = len(start.lengths)
    low, high = (np.full(dim + 1, math.log(math.sqrt(dim) * bound)) for bound in LENGTH_BOUNDS)
    low[-1], high[-1] = map(math.log, NOISE_BOUNDS)
    theta = np.append(np.log(start.lengths), math.log(start.noise))
    theta, value = lowest(loss, theta, low, high, Limits(iterations, evaluations=EVALUATIONS * iterations))
    return Hyper(np.exp(theta[:-1]), math.exp(theta[-1])), value


class Loss:
    """The negative log posterior of `theta = (log lengths, log noise)` [d + 1], with its gradient.

    That of columns `z` [n, q] is the sum of theirs. Means and signal variances are profiled out, so their derivatives
    vanish (envelope theorem). With `C = matern + noise I`, `a_j = C^-1 (z_j - mean_j)` and
    `W = q C^-1 - sum_j a_j a_j^T / signal_j`, the derivative along any parameter of C is `sum(W * dC) / 2` (Rasmussen
    and Williams 2006, eq. 5.9). The matrices [n, n] are made once, here: fresh ones at every call cost a third of the
    time in page faults. known: known noise as shares of the signal, on the diagonal of C.
    """

    def __init__(self, x: Floats, z: Floats, location: float, known: KnownNoise | None = None) -> None:
        n = len(z)
        self._known = known
        self.x, self.z, self._location = x - x.mean(0), z, location
        self._kernel, self._work, self._slope = (np.empty((n, n)) for _ in range(3))
        self._ones = np.ones(n)
        self._sides = np.asfortranarray(np.column_stack([z, self._ones]))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        from scipy.linalg.blas import dsymm
        from scipy.linalg.lapack import dpotrf

        n, d = self.x.shape
        noise = math.exp(theta[-1])
        scaled = self.x * np.exp(-theta[:-1])  # [n, d]
        correlate(scaled, self._kernel, self._slope, self._work)
        self._kernel.flat[:: n + 1] = 1.0 + (noise if self._known is None else self._known.diagonal(noise))
        root, info = dpotrf(self._kernel.T, lower=1, overwrite_a=1, clean=0)  # in place: the buffer is C-ordered
        if info:
            return NO_FACTOR, np.zeros(d + 1)
        value, w = self._evidence(root)
        trace = float((w.flat[:: n + 1] * (1.0 if self._known is None else self._known.fitted)).sum())
        np.multiply(w, self._slope.T, out=w)
        both = dsymm(1.0, w, np.asfortranarray(np.column_stack([scaled, self._ones])), lower=1)  # [n, d + 1]
        gradient = np.empty(d + 1)
        gradient[:-1] = both[:, -1] @ (scaled * scaled) - np.einsum("ij,ij->j", scaled, both[:, :-1])
        gradient[-1] = noise * trace / 2
        value += self._add_priors(theta, gradient)
        return value, gradient

    def _evidence(self, root: Floats) -> tuple[float, Floats]:
        """Return the loss without priors, and W [n, n] of which only the lower triangle counts; `root` is used up."""
        from scipy.linalg.blas import dsyrk
        from scipy.linalg.lapack import dpotri, dpotrs

        z = self.z
        n, q = z.shape
        solved, _ = dpotrs(root, self._sides, lower=1)  # [n, q + 1]: C^-1 z, C^-1 1
        mean = solved[:, :-1].sum(0) / solved[:, -1].sum()
        weights = solved[:, :-1] - np.outer(solved[:, -1], mean)
        signal = profiled_signal(np.einsum("nq,nq->q", weights, z - mean), n)  # [q]
        value = (n / 2 + SIGNAL_SHAPE + 1) * float(np.log(signal).sum()) + q * float(np.log(root.flat[:: n + 1]).sum())
        inverse, _ = dpotri(root, lower=1, overwrite_c=1)
        w = dsyrk(-1.0, weights / np.sqrt(signal), beta=float(q), c=inverse, lower=1, overwrite_c=1)
        return value, w

    def _add_priors(self, theta: Floats, gradient: Floats) -> float:
        """Add the slopes of the priors to `gradient` and return their losses (densities in lengths, not in logs)."""
        value = 0.0
        for part, centre, spread in priors(len(theta) - 1, self._location):
            away = (theta[part] - centre) / spread**2
            gradient[part] += away + 1.0
            value += float(away @ (theta[part] - centre)) / 2 + float(theta[part].sum())
        return value


def priors(dim: int, location: float) -> list[tuple[slice, float, float]]:
    """Return the priors of the parts of theta: the part, and mean and standard deviation of its logarithm."""
    lengths = slice(0, -1), location + math.log(dim) / 2, LENGTH_SPREAD
    return [lengths, (slice(-1, None), NOISE_LOCATION, NOISE_SPREAD)]
