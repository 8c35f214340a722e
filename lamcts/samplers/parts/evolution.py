"""A normal distribution that steps by recombination: CMA-ES, as Hansen's tutorial has it (arXiv 1604.00772).

From a mean `m`, a step `sigma` and a covariance `C`, points are drawn from `N(m, sigma^2 C)`. Of the results of a
generation the better half count, by rank: their weighted mean is the next `m`. The path of the mean tells whether
steps are too short (they point the same way) or too long, and stretches `C` along itself. Without weights below 0.

Letters: d coordinates, k results.
"""

import math

import numpy as np

from lamcts.types import Floats

WIDEST = 0.3  # most of a step, as a share of the cube: longer ones would mostly be reflected (untuned)
DIAGONAL_FROM = 300  # dimensions: the roots of a full covariance take 20 ms there, and an age to learn
NARROWEST = 1e-15  # least of a step, as a share of the cube: what a search that has converged goes on with if asked
FLATTEST = 1e-20  # least variance, as a share of the largest: of a discrete coordinate that stays where it is
FASTEST = 1.0  # most that a step grows or shrinks by in a generation, as a logarithm; the tutorial's


class Evolution:
    """The distribution from `mean` [d] and `sigma` on; it depends on the generations closed, never on the draws."""

    def __init__(self, mean: Floats, sigma: float, popsize: int) -> None:
        d = self._d = len(mean)
        self.mean, self.sigma, self.popsize, self.parents = mean, sigma, popsize, popsize // 2
        weights = math.log((popsize + 1) / 2) - np.log(np.arange(1, self.parents + 1))
        self._weights = weights / weights.sum()  # [parents]
        mass = self._mass = 1.0 / float(self._weights @ self._weights)
        # The tutorial's table 1, in its order: rates of the paths, of the covariance, and the damping of steps.
        self._path_rate = (4 + mass / d) / (d + 4 + 2 * mass / d)
        self._step_rate = (mass + 2) / (d + mass + 5)
        self._one_rate = 2 / ((d + 1.3) ** 2 + mass)
        self._many_rate = min(1 - self._one_rate, 2 * (mass - 2 + 1 / mass) / ((d + 2) ** 2 + mass))
        self._damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (d + 1)) - 1) + self._step_rate
        self._usual = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # length of a draw of N(0, I)
        self._path, self._step_path = np.zeros(d), np.zeros(d)
        self._diagonal = d >= DIAGONAL_FROM
        self._covariance: Floats = np.ones(d) if self._diagonal else np.eye(d)
        self._roots()

    def draw(self, n: int, rng: np.random.Generator, wider: float = 1.0) -> Floats:
        """Return `n` draws, steps `wider` times as long, reflected at the sides of the cube, [n, d]."""
        steps = rng.standard_normal((n, self._d))
        x = self.mean + wider * self.sigma * (steps * self._root if self._diagonal else steps @ self._root)
        reflected: Floats = np.clip(1.0 - np.abs(1.0 - np.abs(x)), 0.0, 1.0)
        return reflected

    def away(self, x: Floats) -> float:
        """Return how far `x` [d] lies from the mean, in lengths of a usual draw."""
        return float(np.linalg.norm(self._whitened((x - self.mean) / self.sigma))) / self._usual

    @property
    def widest(self) -> float:
        """The largest deviation of a coordinate."""
        variances = self._covariance if self._diagonal else np.diagonal(self._covariance)
        return self.sigma * math.sqrt(float(variances.max()))

    def close(self, x: Floats, y: Floats) -> None:
        """Step on results `x` [k, d], `y` [k], at least as many as there are parents."""
        order = np.argsort(y, kind="stable")[: self.parents]
        steps = (x[order] - self.mean) / self.sigma  # [parents, d]
        step = self._weights @ steps
        self.mean = self.mean + self.sigma * step
        keep = math.sqrt(self._step_rate * (2 - self._step_rate) * self._mass)
        self._step_path = (1 - self._step_rate) * self._step_path + keep * self._whitened(step)
        length = float(np.linalg.norm(self._step_path)) / self._usual
        self._learn(steps, step, length)
        change = self._step_rate / self._damping * (length - 1)
        self.sigma = min(max(self.sigma * math.exp(min(change, FASTEST)), NARROWEST), WIDEST)

    def _learn(self, steps: Floats, step: Floats, length: float) -> None:
        """Take the path and the steps of the parents into the covariance; no path while steps still grow quickly."""
        path = math.sqrt(self._path_rate * (2 - self._path_rate) * self._mass) * step
        self._path = (1 - self._path_rate) * self._path + path * (length < 1.4 + 2 / (self._d + 1))
        old = 1 - self._one_rate - self._many_rate
        one: Floats = self._path**2 if self._diagonal else np.outer(self._path, self._path)
        many: Floats = self._weights @ steps**2 if self._diagonal else (steps.T * self._weights) @ steps
        self._covariance = old * self._covariance + self._one_rate * one + self._many_rate * many
        self._roots()

    def _roots(self) -> None:
        """Keep the covariance's root, and the root of its inverse."""
        values, axes = (self._covariance, None) if self._diagonal else np.linalg.eigh(self._covariance)
        deviations = np.sqrt(np.maximum(values, FLATTEST * values.max()))
        if axes is None:
            self._root, self._inverse = deviations, 1 / deviations
            return
        self._root, self._inverse = (axes * deviations) @ axes.T, (axes / deviations) @ axes.T

    def _whitened(self, step: Floats) -> Floats:
        result: Floats = step * self._inverse if self._diagonal else self._inverse @ step
        return result
