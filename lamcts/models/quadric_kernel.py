"""The prior of `quadrics.py`: that of `quadratic_posterior.py`, with curvatures along the parameters of their own.

`f(s) = c + g.s + h |s|^2 / 2 + sum_i h_i s_i^2 / 2 + s.H s / 2 + error`, a priori `h_i ~ N(0, diagonal^2)` beside what
stands there. Most formulas bend along few parameters, each by itself: that takes d numbers, not d (d + 1) / 2. And
it holds remainders that are nothing, or next to it: a linear constraint, or one of second order, is known exactly from
rows however far away, which a box of 1e-3 would else look at as if they hardly said anything.

Letters: n rows, d coordinates.
"""

from typing import NamedTuple

import numpy as np

from lamcts.models.quadratic_posterior import LEVEL, Factor, Place, factored
from lamcts.types import Floats

GRID: tuple[tuple[float, ...], ...] = (  # deviations, in those of g (few seeds of the G problems: coarser and narrower
    # ones had G19 at 37 to 45 after 300 evaluations, this at 32.66)
    (0.003, 0.03, 0.3, 3.0),  # curvature
    (0.003, 0.03, 0.3, 3.0),  # bowl
    (0.0, 0.03, 0.3, 3.0),  # diagonal
    (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0),  # remainder
    (0.0, 0.03, 0.1, 0.3, 1.0, 3.0),  # noise
)


class Prior(NamedTuple):
    """Deviations of the terms of f, in those of g."""

    curvature: float
    bowl: float
    diagonal: float
    remainder: float
    noise: float

    @classmethod
    def at(cls, place: Place) -> "Prior":
        return cls(*(values[at] for values, at in zip(GRID, place, strict=True)))

    def errors(self, squares: Floats) -> Floats:
        """Return the variances of the errors of steps of these squares [n], [n]."""
        return self.noise**2 + self.remainder**2 / 6 * squares**3


class QuadricKernel:
    """The covariance of values at steps [n, d], for any choice of hyper-parameters."""

    def __init__(self, steps: Floats) -> None:
        self._steps, self._own = steps, steps * steps  # [n, d]
        self.squares = self._own.sum(1)  # [n]
        self._products = steps @ steps.T  # [n, n]
        self._bowls, self._diagonals = np.outer(self.squares, self.squares), self._own @ self._own.T  # [n, n]

    def factor(self, place: Place) -> Factor | None:
        """Return the factor; None where the kernel is singular."""
        prior = Prior.at(place)
        kernel = _covariance(prior, self._products, self._bowls, self._diagonals)
        return factored(kernel, prior.errors(self.squares))

    def deviation(self, s: Floats, place: Place, factor: Factor) -> float:
        """Return the standard deviation of a new result at `s` [d], in units of the scale."""
        from scipy.linalg import solve_triangular

        prior, own = Prior.at(place), s * s
        square = own.sum(keepdims=True)  # [1], |s|^2
        kernel = _covariance(prior, self._steps @ s, square * self.squares, self._own @ own)
        told = solve_triangular(factor.root, kernel, lower=True, check_finite=False)
        left = _covariance(prior, square, square**2, own @ own) - told @ told
        return float(np.sqrt(np.maximum(left, 0.0) + prior.errors(square))[0])

    def diagonals(self, place: Place, weights: Floats) -> Floats:
        """Return the mean of `h + h_i` of one quantity, given its weights [n] of the rows, [d]."""
        prior = Prior.at(place)
        common = prior.bowl**2 / 2 * float(weights @ self.squares)
        return np.asarray(common + prior.diagonal**2 / 2 * (weights @ self._own))


def _covariance(prior: Prior, products: Floats, bowls: Floats, diagonals: Floats) -> Floats:
    """Return the covariances of pairs of steps: `products` s.t, `bowls` |s|^2 |t|^2, `diagonals` sum_i s_i^2 t_i^2."""
    kernel = products * (1.0 + prior.curvature**2 / 2 * products) + LEVEL**2
    kernel += prior.bowl**2 / 4 * bowls
    return np.asarray(kernel + prior.diagonal**2 / 4 * diagonals)
