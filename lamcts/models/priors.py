"""Priors of the hyper-parameters of `kernel.py`: normal in their logarithms, with bounds.

Letters: c categories, q numbers; theta is (log weights, log lengths, log noise) [c + q + 1].
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

WEIGHT = 1.2  # median of a category's weight times the number of categories (tuned)
# Median and log deviation of the noise where the space has real parameters. More noise predicts gains at known points
# (the median is tuned); a wide spread lets the evaluations decide.
NOISE_REAL, NOISE_REAL_SPREAD = 1e-4, 2.0
# Factors of the weights' spread and of the noise where there are permutations (tuned: five tours of 12 cities that took
# 200 evaluations and more, seeds 101 to 122, all took less than 125).
ORDER_SPREAD, ORDER_NOISE = 5.0, 0.01
SHORT_FACTOR, SHORT_NOISE = 8.0, 1e-3  # second start of a fit: reaches optima that lie far from the mode
MIN_NOISE = 1e-6  # least noise of a fit: less spoils Cholesky factors, more smooths exact values; TuRBO has 5e-4
MAX_DEVIATIONS = 5.0  # bounds, in deviations from the median: beyond them kernels are flat or white


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of theta: medians `centre`, standard deviations `spread`, and bounds `low` and `high`, ordered as theta.

    shared: standard deviation of the logarithm of a factor that all weights have in common. If all weights are small,
    the process is a sum over parameters. Independent weights would make that unlikely.
    """

    centre: Floats
    spread: Floats
    low: Floats
    high: Floats
    n_categories: int = 0
    shared: float = 0.0

    @property
    def mode(self) -> Hyper:
        """Most likely hyper-parameters before any data."""
        return self.hyper(self.centre)

    @property
    def starts(self) -> list[Hyper]:
        """Starting points of fits: the mode, and short lengths with little noise."""
        return [self.mode, replace(self.mode, lengths=self.mode.lengths / SHORT_FACTOR, noise=SHORT_NOISE)]

    def hyper(self, theta: Floats) -> Hyper:
        """Return the hyper-parameters of theta."""
        values = np.exp(theta)
        c = self.n_categories
        return Hyper(values[c:-1], float(values[-1]), values[:c])

    def theta(self, hyper: Hyper) -> Floats:
        """Return the theta of hyper-parameters, within the bounds."""
        values = np.concatenate([hyper.weights, hyper.lengths, [hyper.noise]])
        theta: Floats = np.clip(np.log(values), self.low, self.high)
        return theta

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative log density less a constant, and its gradient."""
        c = self.n_categories
        deviation = (theta - self.centre) / self.spread
        value = float(deviation @ deviation) / 2
        gradient = deviation / self.spread
        if self.shared and c:
            # C = s^2 I + t^2 11^T has the inverse (I - t^2 / (s^2 + c t^2) 11^T) / s^2
            total_deviation = float(deviation[:c].sum())
            spread = self.spread[0]
            pull = self.shared**2 / (spread**2 + c * self.shared**2)
            value -= pull * total_deviation**2 / 2
            gradient[:c] -= pull * total_deviation / spread
        return value, gradient


@dataclass(frozen=True)
class KernelPrior:
    """Settings of the prior of weights, length scales and noise.

    Weights shrink with the number of categories, and length scales grow with the square root of the number of numeric
    parameters. So two random points are about equally correlated in all spaces.
    """

    length: float = 0.5  # median of a length scale over the root of the number of numeric parameters (tuned)
    weight_spread: float = 0.3  # standard deviation of the log weight (tuned; 0.2 is level, 0.5 behind)
    length_spread: float = 0.5  # standard deviation of the log length (tuned)
    noise: float = 1e-3  # median of the noise, as a share of the signal's variance (tuned)
    noise_spread: float = 1.5  # standard deviation of the log noise: wider trusts few evaluations more

    @classmethod
    def of_space(cls, parameters: Parameters) -> "KernelPrior":
        """Return the settings for parameters of any kind: real ones have less noise, permutations wider weights."""
        prior = cls(noise=NOISE_REAL, noise_spread=NOISE_REAL_SPREAD) if parameters.continuous.any() else cls()
        return prior.with_permutations() if parameters.permutations else prior

    def with_permutations(self) -> "KernelPrior":
        """Return the settings for spaces with permutations, of whose features only a few may matter."""
        spread, noise = ORDER_SPREAD * self.weight_spread, ORDER_NOISE * self.noise
        return replace(self, weight_spread=spread, noise=noise, noise_spread=NOISE_REAL_SPREAD)

    def suited(self, inputs: Inputs, shared: float = 0.0) -> Prior:
        """Return the prior of a process with these inputs; shared: see `Prior`."""
        return self.of(inputs.n_categories, inputs.numbers.shape[1], shared)

    def of(self, n_categories: int, n_numbers: int, shared: float = 0.0) -> Prior:
        """Return the prior of a process with categories and numeric parameters; shared: see `Prior`."""
        weight = math.log(WEIGHT / max(n_categories, 1))
        length = math.log(self.length * math.sqrt(max(n_numbers, 1)))
        centre = np.concatenate([np.full(n_categories, weight), np.full(n_numbers, length), [math.log(self.noise)]])
        spreads = (n_categories, self.weight_spread), (n_numbers, self.length_spread), (1, self.noise_spread)
        spread = np.concatenate([np.full(count, deviation) for count, deviation in spreads])
        distance = MAX_DEVIATIONS * spread  # to the bounds of each hyper-parameter
        distance[:n_categories] = MAX_DEVIATIONS * np.hypot(spread[:n_categories], shared)
        low, high = centre - distance, centre + distance
        low[-1] = min(low[-1], math.log(MIN_NOISE))
        return Prior(centre, spread, low, high, n_categories, shared)


# For predictions: values may be noisy.
WIDE_PRIOR = KernelPrior(weight_spread=0.5, length_spread=1.0, noise_spread=2.5)
# Modes of log-normal priors: lengths as Hvarfner et al. 2024 (arXiv 2402.02229, section 4), noise as BoTorch.
REAL_PRIOR = KernelPrior(
    math.exp(math.sqrt(2.0) - 3.0), length_spread=math.sqrt(3.0), noise=math.exp(-5.0), noise_spread=1.0
)
