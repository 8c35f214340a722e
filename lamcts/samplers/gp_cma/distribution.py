"""The search distribution of CMA-ES, N(mean, sigma^2 C), and its update (Hansen 2016, arXiv 1604.00772, table 1).

Letters: d coordinates, k points of a generation.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import SearchSpace, with_sums_kept
from lamcts.types import Floats

DIAGONAL_ABOVE = 200  # dimensions above which C is diagonal (Ros and Hansen 2008): its axes take 12 ms there
MAX_MEAN_OUTSIDE = 1.0  # standard deviations by which the mean may lie outside the cube
# (benchmarks/notes/public-suites.md)
MIN_EIGENVALUE = 1e-14  # least eigenvalue of C, as a share of the largest: the limit of double precision


@dataclass
class Distribution:
    """N(mean, sigma^2 C) over the unit cube, with the evolution paths of C and of the step size.

    `covariance` is C: [d, d], or [d] if it is diagonal. `widest` bounds the standard deviation along any axis; None
    outside a close-up.
    """

    mean: Floats
    sigma: float
    covariance: Floats
    path: Floats
    step_path: Floats
    generation: int = 0
    widest: float | None = None

    def __post_init__(self) -> None:
        self._decompose()

    @classmethod
    def at(cls, mean: Floats, sigma: float, space: SearchSpace | None = None) -> "Distribution":
        """Return the distribution of a new run: C = I, projected on directions that keep the sums of a space."""
        d = len(mean)
        covariance = np.ones(d) if d > DIAGONAL_ABOVE else np.eye(d)
        if space is not None and d <= DIAGONAL_ABOVE:
            covariance = with_sums_kept(space, covariance)
        return cls(mean, sigma, covariance, np.zeros(d), np.zeros(d))

    @property
    def deviations(self) -> Floats:
        """The standard deviation of each coordinate, [d]."""
        variances = self.covariance if self.axes is None else self.covariance.diagonal()
        return self.sigma * np.sqrt(variances)

    @property
    def longest(self) -> float:
        """The largest standard deviation along an axis of C."""
        return self.sigma * float(self.scales.max())

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` draws, some of which may lie outside the cube, [n, d]."""
        return self.mean + self._unwhitened(rng.standard_normal((n, len(self.mean)))) * self.sigma

    def whiten(self, x: Floats) -> Floats:
        """Return points [k, d] in the coordinates in which the distribution is N(0, I)."""
        return self._rotated(x - self.mean) / (self.scales * self.sigma)

    def update(self, x: Floats) -> None:
        """Take one step on a generation `x` [k, d], best first."""
        d, k = len(self.mean), len(x)
        rates = Rates.of(d, k)
        z = self.whiten(x)
        # Hansen 2011 (injection): points farther than usual draws of this distribution are moved to its rim
        most = math.sqrt(d) + 2 * d / (d + 2)
        z *= np.minimum(1.0, most / np.maximum(np.linalg.norm(z, axis=1), MIN_EIGENVALUE))[:, None]
        y = self._unwhitened(z)
        parents = k // 2
        step = rates.weights[:parents] @ y[:parents]
        self.generation += 1
        self._move(step)
        self._update_paths(rates, step, rates.weights[:parents] @ z[:parents])
        length = float(np.linalg.norm(self.step_path)) / rates.usual_length
        self._update_covariance(rates, y, z, self._steady(rates, length))
        self.sigma *= math.exp(min(1.0, (length - 1) * rates.step_path / rates.damping))
        self._decompose()
        if self.widest is not None:
            self.sigma = min(self.sigma, self.widest / float(self.scales.max()))

    def _move(self, step: Floats) -> None:
        rim = MAX_MEAN_OUTSIDE * self.deviations
        self.mean = np.clip(self.mean + self.sigma * step, -rim, 1 + rim)

    def _update_paths(self, rates: "Rates", step: Floats, white: Floats) -> None:
        keep = math.sqrt(rates.step_path * (2 - rates.step_path) * rates.mass)
        self.step_path = (1 - rates.step_path) * self.step_path + keep * self._turned_back(white)
        length = float(np.linalg.norm(self.step_path)) / rates.usual_length
        keep = math.sqrt(rates.path * (2 - rates.path) * rates.mass) * self._steady(rates, length)
        self.path = (1 - rates.path) * self.path + keep * step

    def _steady(self, rates: "Rates", length: float) -> bool:
        """Return whether the step size is not growing fast (h_sigma)."""
        share = math.sqrt(1 - (1 - rates.step_path) ** (2 * self.generation))
        return length / share < 1.4 + 2 / (len(self.mean) + 1)

    def _update_covariance(self, rates: "Rates", y: Floats, z: Floats, steady: bool) -> None:
        weights, d = rates.weights, len(self.mean)
        active = np.where(weights >= 0, weights, weights * d / np.maximum(np.square(z).sum(1), MIN_EIGENVALUE))  # [k]
        lost = (1 - steady) * rates.rank_one * rates.path * (2 - rates.path)
        old = 1 + lost - rates.rank_one - rates.rank_mu * float(weights.sum())
        if self.axes is None:
            rank_one, rank_mu = np.square(self.path), active @ np.square(y)
        else:
            rank_one, rank_mu = np.outer(self.path, self.path), (y.T * active) @ y
        self.covariance = old * self.covariance + rates.rank_one * rank_one + rates.rank_mu * rank_mu

    def _decompose(self) -> None:
        """Set the axes of C, as columns [d, d] (None: diagonal), and its standard deviations along them, [d]."""
        values = self._variances()
        least = MIN_EIGENVALUE * float(values.max())
        if values.min() < least:
            lift = 2 * least - float(values.min())  # to twice the limit: a restored state is not lifted again
            self.covariance = self.covariance + (lift if self.axes is None else lift * np.eye(len(values)))
            values = self._variances()
        self.scales: Floats = np.sqrt(values)

    def _variances(self) -> Floats:
        """Set the axes of C, and return its variances along them, [d]."""
        self.axes: Floats | None = None
        if self.covariance.ndim == 1:
            return self.covariance
        self.covariance = (self.covariance + self.covariance.T) / 2
        values, self.axes = np.linalg.eigh(self.covariance)
        return values

    def _rotated(self, x: Floats) -> Floats:
        return x if self.axes is None else x @ self.axes

    def _turned_back(self, z: Floats) -> Floats:
        return z if self.axes is None else z @ self.axes.T

    def _unwhitened(self, z: Floats) -> Floats:
        return self._turned_back(z * self.scales)


class Whitening(NamedTuple):
    """Coordinates of a distribution, `stretch` times as wide.

    A model keeps them while the distribution changes.
    """

    mean: Floats
    axes: Floats | None
    scales: Floats  # [d]
    stretch: float

    @classmethod
    def of(cls, distribution: Distribution, stretch: float) -> "Whitening":
        return cls(distribution.mean, distribution.axes, distribution.scales * distribution.sigma * stretch, stretch)

    def __call__(self, x: Floats) -> Floats:
        """Return points [m, d] of the cube in these coordinates."""
        gap = x - self.mean
        return (gap if self.axes is None else gap @ self.axes) / self.scales

    def back(self, u: Floats) -> Floats:
        """Return a point [d] of these coordinates in the cube."""
        gap = u * self.scales
        return self.mean + (gap if self.axes is None else self.axes @ gap)


@dataclass(frozen=True)
class Rates:
    """Weights [k] and learning rates of a generation of k points in d dimensions, with the tutorial's names.

    mass: mu_eff; path: c_c; step_path: c_sigma; rank_one: c_1; rank_mu: c_mu; damping: d_sigma; usual_length:
    E|N(0, I)|.
    """

    weights: Floats
    mass: float
    path: float
    step_path: float
    rank_one: float
    rank_mu: float
    damping: float
    usual_length: float

    @classmethod
    def of(cls, d: int, k: int) -> "Rates":
        """Return the defaults of table 1, with active (negative) weights for the worse half."""
        mu = k // 2
        w = math.log((k + 1) / 2) - np.log(np.arange(1, k + 1))  # [k]
        mass = float(w[:mu].sum() ** 2 / np.square(w[:mu]).sum())
        negative = float(w[mu:].sum() ** 2 / np.square(w[mu:]).sum())
        path = (4 + mass / d) / (d + 4 + 2 * mass / d)
        step_path = (mass + 2) / (d + mass + 5)
        rank_one = 2 / ((d + 1.3) ** 2 + mass)
        rank_mu = min(1 - rank_one, 2 * (0.25 + mass + 1 / mass - 2) / ((d + 2) ** 2 + mass))
        if d > DIAGONAL_ABOVE:  # Ros and Hansen 2008: fewer numbers to learn
            rank_one, rank_mu = min(0.5, rank_one * (d + 2) / 3), min(0.5, rank_mu * (d + 2) / 3)
        least = min(1 + rank_one / rank_mu, 1 + 2 * negative / (mass + 2), (1 - rank_one - rank_mu) / (d * rank_mu))
        w[mu:] *= least / -w[mu:].sum()
        w[:mu] /= w[:mu].sum()
        damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (d + 1)) - 1) + step_path
        usual = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        return cls(w, mass, path, step_path, rank_one, rank_mu, damping, usual)
