"""Priors of the hyper-parameters of `kernel.py`: normal in their logarithms, with bounds.

Letters: c categories, q numbers; theta is (log weights, log lengths, log noise) [c + q + 1].
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from lamcts.models.kernel import Hyper
from lamcts.types import Floats

# Of local models: lengths as shares of the cube over sqrt(q), noise as a share of the signal's variance.
LENGTH_LOCATION, LENGTH_SPREAD = math.sqrt(2.0), math.sqrt(3.0)  # Hvarfner et al. 2024 (arXiv 2402.02229), section 4
NOISE_LOCATION, NOISE_SPREAD = -4.0, 1.0  # as in BoTorch: the mode is exp(-5)
LENGTH_BOUNDS = (5e-3, 1e2)  # times sqrt(q); TuRBO's are 0.005 and 2, whatever q
NOISE_BOUNDS = (1e-6, 1.0)  # untuned; TuRBO's are 5e-4 and 0.2
# Of models of mixed spaces:
WEIGHT = 1.2  # median of a category's weight times the number of categories (tuned)
LENGTH = 0.5  # median of a length scale over the root of the number of numeric parameters (tuned)
NOISE_REAL, NOISE_REAL_SPREAD = 1e-4, 2.0  # where the space has real parameters (tuned, untuned): more noise predicts
# gains at known points
ORDER_SPREAD, ORDER_NOISE = 3.0, 0.01  # times those of categories, where there are permutations (tuned: of five tours
# of 12 cities that took 200 evaluations and more, seeds 101 to 122, all took less than 125)
MAX_DEVIATIONS = 5.0  # deviations from its median that a hyper-parameter may go: beyond, kernels are flat or white


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of theta: medians `centre`, standard deviations `spread`, and bounds `low` and `high`, all as theta.

    shared: standard deviation of the logarithm of a factor that all weights have in common. Where all weights are small
    the process is a sum over parameters; of weights that have nothing in common that would be unlikely.
    """

    centre: Floats
    spread: Floats
    low: Floats
    high: Floats
    categories: int = 0
    shared: float = 0.0

    @property
    def mode(self) -> Hyper:
        """The most likely hyper-parameters before any data."""
        return self.hyper(self.centre)

    def hyper(self, theta: Floats) -> Hyper:
        """Return the hyper-parameters of theta."""
        values, c = np.exp(theta), self.categories
        return Hyper(values[c:-1], float(values[-1]), values[:c])

    def theta(self, hyper: Hyper) -> Floats:
        """Return the theta of hyper-parameters, within the bounds."""
        values = np.concatenate([hyper.weights, hyper.lengths, [hyper.noise]])
        theta: Floats = np.clip(np.log(values), self.low, self.high)
        return theta

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative log density less a constant, and its gradient."""
        away, c = (theta - self.centre) / self.spread, self.categories
        value, gradient = float(away @ away) / 2, away / self.spread
        if self.shared and c:
            # C = s^2 I + t^2 11^T has the inverse (I - t^2 / (s^2 + c t^2) 11^T) / s^2
            total, spread = float(away[:c].sum()), self.spread[0]
            pull = self.shared**2 / (spread**2 + c * self.shared**2)
            value -= pull * total**2 / 2
            gradient[:c] -= pull * total / spread
        return value, gradient


def local_prior(numbers: int, location: float = LENGTH_LOCATION) -> Prior:
    """Return the prior of the lengths of `numbers` and of the noise; location: mean of log(length / sqrt(q)).

    It is log-normal in lengths and noise, so its density in logarithms is normal about the mode.
    """
    root = math.log(numbers) / 2
    spread = np.append(np.full(numbers, LENGTH_SPREAD), NOISE_SPREAD)
    centre = np.append(np.full(numbers, location + root), NOISE_LOCATION) - spread**2
    low, high = (
        np.append(np.full(numbers, math.log(length) + root), math.log(noise))
        for length, noise in zip(LENGTH_BOUNDS, NOISE_BOUNDS, strict=True)
    )
    return Prior(centre, spread, low, high)


@dataclass(frozen=True)
class MixedPrior:
    """Settings of the prior of weights, lengths and noise in spaces of categories and numbers.

    Weights shrink with the number of categories, and length scales grow with the square root of the number of numeric
    parameters. So two random points are about equally correlated in all spaces.
    """

    weight_spread: float = 0.5  # standard deviation of the log weight (tuned)
    length_spread: float = 0.5  # standard deviation of the log length (tuned)
    noise: float = 1e-3  # median of the noise, as a share of the signal's variance (tuned)
    noise_spread: float = 1.5  # standard deviation of the log noise (untuned)

    def with_reals(self) -> "MixedPrior":
        """Return the settings for spaces that have real parameters."""
        return replace(self, noise=NOISE_REAL, noise_spread=NOISE_REAL_SPREAD)

    def with_permutations(self) -> "MixedPrior":
        """Return the settings for spaces that have permutations, few of whose features may count, and additively."""
        spread, noise = ORDER_SPREAD * self.weight_spread, ORDER_NOISE * self.noise
        return replace(self, weight_spread=spread, noise=noise, noise_spread=NOISE_REAL_SPREAD)

    def of(self, categories: int, numbers: int, shared: float = 0.0) -> Prior:
        """Return the prior for so many categories and numbers; shared: see `Prior`."""
        weight = math.log(WEIGHT / max(categories, 1))
        length = math.log(LENGTH * math.sqrt(max(numbers, 1)))
        centre = np.concatenate([np.full(categories, weight), np.full(numbers, length), [math.log(self.noise)]])
        spreads = (categories, self.weight_spread), (numbers, self.length_spread), (1, self.noise_spread)
        spread = np.concatenate([np.full(count, each) for count, each in spreads])
        reach = MAX_DEVIATIONS * spread  # of each hyper-parameter by itself, whatever the others are
        reach[:categories] = MAX_DEVIATIONS * np.hypot(spread[:categories], shared)
        return Prior(centre, spread, centre - reach, centre + reach, categories, shared)


WIDE_PRIOR = MixedPrior(length_spread=1.0, noise_spread=2.5)  # of forecasts, whose values may be noisy (untuned)
