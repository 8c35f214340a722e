"""Most likely hyper-parameters of the process in `hamming.py`: L-BFGS on the analytic gradient, under priors.

Letters: n rows, c categories, w options of all categories, q numbers.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lamcts.models.fit import EVALUATIONS, NO_FACTOR
from lamcts.models.gp import SIGNAL_SHAPE, profiled_signal
from lamcts.models.hamming import HammingHyper, HammingPosterior, Inputs, Overlap
from lamcts.models.kernel import correlation, fall, squares
from lamcts.models.known_noise import KnownNoise
from lamcts.types import Floats, Rows

WEIGHT = 1.2  # median of a category's weight times the number of categories (tuned)
LENGTH = 0.5  # median of a length scale over the root of the number of numeric parameters (tuned)
NOISE_REAL, NOISE_REAL_SPREAD = 1e-4, 2.0  # where the space has real parameters (tuned, untuned): more noise predicts
# gains at known points
ORDER_SPREAD, ORDER_NOISE = 3.0, 0.01  # times those of categories, where there are orders (tuned: of five tours of 12
# cities that took 200 evaluations and more, seeds 101 to 122, all took less than 125)


@dataclass(frozen=True)
class HammingPrior:
    """Log-normal priors of the weights, of the length scales and of the noise ratio of the Hamming kernel.

    Weights shrink with the number of categories, and length scales grow with the square root of the number of numeric
    parameters. So two random points are about equally correlated in all spaces.
    """

    weight_spread: float = 0.5  # standard deviation of the log weight (tuned)
    length_spread: float = 0.5  # standard deviation of the log length (tuned)
    noise: float = 1e-3  # median of the noise, as a share of the signal's variance (tuned)
    noise_spread: float = 1.5  # standard deviation of the log noise (untuned)

    def beside_reals(self) -> "HammingPrior":
        """Return the prior for spaces that have real parameters."""
        return replace(self, noise=NOISE_REAL, noise_spread=NOISE_REAL_SPREAD)

    def of_orders(self) -> "HammingPrior":
        """Return the prior for spaces that have orders, of which few of what is looked at may count, and additively."""
        spread, noise = ORDER_SPREAD * self.weight_spread, ORDER_NOISE * self.noise
        return replace(self, weight_spread=spread, noise=noise, noise_spread=NOISE_REAL_SPREAD)

    def centre(self, categories: int, numbers: int) -> Floats:
        """Return the medians of (log weights, log lengths, log noise), [c + q + 1]."""
        weight = math.log(WEIGHT / max(categories, 1))
        length = math.log(LENGTH * math.sqrt(max(numbers, 1)))
        return np.concatenate([np.full(categories, weight), np.full(numbers, length), [math.log(self.noise)]])

    def spreads(self, categories: int, numbers: int) -> Floats:
        """Return the standard deviations of the same, [c + q + 1]."""
        parts = (categories, self.weight_spread), (numbers, self.length_spread), (1, self.noise_spread)
        return np.concatenate([np.full(count, spread) for count, spread in parts])


WIDE_PRIOR = HammingPrior(length_spread=1.0, noise_spread=2.5)  # of forecasts, whose values may be noisy (untuned)
MAX_DEVIATIONS = 5.0  # deviations from its median that a hyper-parameter may go: beyond, kernels are flat or white


def fit(
    inputs: Inputs,
    y: Floats,
    owner: Rows,
    prior: HammingPrior,
    start: Floats | None,
    iterations: int,
    shared: float = 0.0,
    known: KnownNoise | None = None,
) -> Floats:
    """Return the theta [c + q + 1] of least loss found from `start` (None: the medians of the prior).

    `iterations` bounds the steps of L-BFGS. `y` [n] are losses in standard units. shared: see `HammingLoss`. The known
    noise of rows is a share of the signal that they have at the start.
    """
    from scipy.optimize import minimize

    loss = HammingLoss(inputs, y, owner, prior, shared)
    if known is not None:
        hyper = hyper_of(loss.centre if start is None else start, loss.categories)
        loss.known = known.shared(HammingPosterior(inputs, y, hyper, owner, known).signal)
    low, high = loss.centre - MAX_DEVIATIONS * loss.reach, loss.centre + MAX_DEVIATIONS * loss.reach
    options: Any = {"maxiter": iterations, "maxfun": EVALUATIONS * iterations}
    lbfgs: Any = minimize  # its stubs know no bounds of exactly our type
    begin = loss.centre if start is None else np.clip(start, low, high)
    result = lbfgs(loss, begin, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)), options=options)
    return np.asarray(result.x, np.float64)


def hyper_of(theta: Floats, categories: int) -> HammingHyper:
    """Return the hyper-parameters of theta [c + q + 1]."""
    values = np.exp(theta)
    return HammingHyper(values[:categories], values[categories:-1], float(values[-1]))


class HammingLoss:
    """The negative log posterior of theta = (log weights, log lengths, log noise) [c + q + 1], with its gradient.

    Mean and signal are profiled out, as in `fit.Loss`. With W as there, and K the kernel, the derivative along a weight
    is `-w_c sum(W K [a_c != b_c]) / 2`: the sum over unequal pairs is that over all pairs less, for each option, that
    over the pairs that share it.

    shared: standard deviation of the logarithm of a factor that all weights have in common. Where all weights are small
        the process is a sum over parameters; of weights that have nothing in common that would be unlikely.
    """

    def __init__(self, inputs: Inputs, y: Floats, owner: Rows, prior: HammingPrior, shared: float = 0.0) -> None:
        self.inputs, self.y, self.owner, self._overlap = inputs, y, owner, Overlap(inputs, len(owner))
        self.numbers = inputs.numbers - inputs.numbers.mean(0)
        self.categories = int(owner[-1]) + 1 if len(owner) else 0
        q = self.numbers.shape[1]
        self.centre, self.spreads = prior.centre(self.categories, q), prior.spreads(self.categories, q)
        self.reach = self.spreads.copy()  # deviations of each by itself, whatever the others are
        self.reach[: self.categories] = np.hypot(self.spreads[: self.categories], shared)
        # C = s^2 I + t^2 11^T has the inverse (I - t^2 / (s^2 + c t^2) 11^T) / s^2, c being the number of weights
        self._pull = shared**2 / (prior.weight_spread**2 + self.categories * shared**2)
        self._sides = np.column_stack([y, np.ones(len(y))])
        self.known: KnownNoise | None = None  # as shares of the signal

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

        n, noise = len(self.y), math.exp(theta[-1])
        kernel, slope = self._correlate(theta)
        system = kernel.copy()
        system.flat[:: n + 1] += noise if self.known is None else self.known.diagonal(noise)
        root, info = dpotrf(system.T, lower=1, overwrite_a=1, clean=0)
        if info:
            return NO_FACTOR, np.zeros(len(theta))
        solved, _ = dpotrs(root, self._sides, lower=1)  # [n, 2]: C^-1 y, C^-1 1
        mean = solved[:, 0].sum() / solved[:, 1].sum()
        weights = solved[:, 0] - mean * solved[:, 1]
        signal = profiled_signal(float(weights @ (self.y - mean)), n)
        value = (n / 2 + SIGNAL_SHAPE + 1) * math.log(signal) + float(np.log(root.flat[:: n + 1]).sum())
        lower, _ = dpotri(root, lower=1, overwrite_c=1)
        lower = np.tril(lower)
        w = lower + lower.T
        w.flat[:: n + 1] /= 2
        w -= np.outer(weights, weights / signal)
        gradient = np.concatenate([self._by_weights(w * kernel, theta), self._by_lengths(w, slope, theta), [0.0]])
        trace = np.trace(w) if self.known is None else np.diagonal(w) @ self.known.fitted
        gradient[-1] = noise * float(trace) / 2
        away = (theta - self.centre) / self.spreads
        value += float(away @ away) / 2
        if self._pull:
            together = self._pull * float(away[: self.categories].sum())
            value -= together * float(away[: self.categories].sum()) / 2
            away[: self.categories] -= together
        return value, gradient + away / self.spreads

    def _correlate(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the kernel [n, n], and its derivative along a log length over the squared scaled distance, [n, n]."""
        columns = np.exp(theta[: self.categories])[self.owner] if self.categories else np.empty(0)
        kernel = self._overlap(self.inputs, columns)
        if not self.numbers.shape[1]:
            return kernel, np.empty((0, 0))
        scaled = self.numbers * np.exp(-theta[self.categories : -1])
        square = squares(scaled, scaled)
        slope = kernel * fall(np.sqrt(square))
        kernel *= correlation(square)
        return kernel, slope

    def _by_weights(self, both: Floats, theta: Floats) -> Floats:
        if not self.categories:
            return np.empty(0)
        unequal = both.sum() - self._overlap.sums(both, self.owner, self.categories)
        result: Floats = -np.exp(theta[: self.categories]) * unequal / 2
        return result

    def _by_lengths(self, w: Floats, slope: Floats, theta: Floats) -> Floats:
        if not self.numbers.shape[1]:
            return np.empty(0)
        both = w * slope
        scaled = self.numbers * np.exp(-theta[self.categories : -1])
        result: Floats = both.sum(1) @ np.square(scaled) - np.einsum("ij,ij->j", scaled, both @ scaled)
        return result
