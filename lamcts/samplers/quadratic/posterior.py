"""Quadratic polynomials of several columns round one point, by Bayesian regression on the rows near it.

With steps `s` from the point in half sides of the trust region, a column is a priori
`f(s) = c + g.s + h |s|^2 / 2 + sum_i h_i s_i^2 / 2 + s.H s / 2 + error` with `g ~ N(0, I)`, `h ~ N(0, bowl^2)`,
`h_i ~ N(0, diagonal^2)`, `H` symmetric normal with `var(s.H s / 2) = curvature^2 |s|^4 / 2`, and independent errors of
variance `noise^2 + remainder^2 |s|^6 / 6`: the noise stands for ripples and for noise proper, the remainder for the
terms of third order, so far rows bind less. In a narrow box the mean is the polynomial of least norm through few rows,
as in Powell's NEWUOA (2006); in a wide one it is the trend under the ripples. Its cost is that of an n by n Cholesky
factor; no matrix of size d by d is made.

Most formulas bend along few parameters, each by itself: that takes d numbers, not d (d + 1) / 2. Remainders of 0 let
rows far away determine a linear or quadratic constraint exactly. All columns share their rows, so columns with equal
hyper-parameters share one factor. A few choices are factorised at a time, and each column takes the one with the
largest evidence.

Letters: n rows, d coordinates, k columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import TINY
from lamcts.types import Floats

LEVEL_DEVIATION = 10.0  # standard deviation of c, in those of g: wide, so that the rows alone say it (untuned)
JITTER = 1e-14  # of the diagonal, for factors of rows that nearly coincide: with 1e-10 a vertex was hit to 1e-9 only in
# one programme of ten (tests/samplers/test_vertices.py)
RANDOM_TRIES = 2  # choices that a fit tries anywhere on GRID: noise and remainder explain each other's errors, and a
# climb alone is trapped (untuned)
GridIndex = tuple[int, ...]  # a choice of each hyper-parameter, by its position in GRID
MAX_FACTORS = 12  # factorised at a time (untuned)
FIRST_INDICES: list[GridIndex] = list(product((1, 2, 3), (1, 2), (0, 2), (0, 3, 5, 7), (0, 3)))  # tried first (untuned)


@dataclass(frozen=True)
class Factor:
    """The lower Cholesky factor `root` [n, n] of a kernel with its `errors` [n], variances in units of the scale."""

    root: Floats
    errors: Floats

    def solve(self, values: Floats) -> Floats:
        """With `K` the kernel and its errors, return `z` such that `K z = values`, [n] or [n, k]."""
        from scipy.linalg import lapack

        solution: Floats = lapack.dpotrs(self.root, values, lower=1)[0]
        return solution

    def inverse_diagonal(self) -> Floats:
        """Return the diagonal of the inverse of the kernel, [n]."""
        from scipy.linalg import lapack

        inverse: Floats = lapack.dpotri(self.root, lower=1)[0]
        return np.diagonal(inverse)

    @property
    def half_log_determinant(self) -> float:
        return float(np.log(np.diagonal(self.root)).sum())


@dataclass(frozen=True)
class Quadratics:
    """The functions `level + gradients s + (weights (steps s)^2 + diagonal s^2) / 2` of steps `s` [d], [k]."""

    level: Floats  # [k]
    gradients: Floats  # [k, d]
    steps: Floats  # [n, d]
    weights: Floats  # [k, n]
    diagonal: Floats  # [k, d]
    size: Floats  # [k], above 0: a usual slope of each

    def at(self, s: Floats) -> Floats:
        """Return the values at `s` [d], [k]."""
        along = self.steps @ s  # [n]
        bend = self.weights @ (along * along) + self.diagonal @ (s * s)
        return np.asarray(self.level + self.gradients @ s + bend / 2)

    def slopes(self, s: Floats) -> Floats:
        """Return the gradients at `s` [d], [k, d]."""
        bend = (self.weights * (self.steps @ s)) @ self.steps + self.diagonal * s
        return np.asarray(self.gradients + bend)


class QuadraticPosteriors:
    """The posteriors given steps [n, d] and columns [k, n]; hyper-parameters of each climb as rows come.

    `indices` [k] are where they were (None: nowhere yet), and then where they are.
    """

    def __init__(
        self, steps: Floats, columns: Floats, indices: Sequence[GridIndex | None], rng: np.random.Generator
    ) -> None:
        self.steps, self._columns = steps, columns
        self._kernel = QuadraticKernel(steps)
        self._factors: dict[GridIndex, Factor] = {}
        k, n = columns.shape
        self.indices: list[GridIndex] = [FIRST_INDICES[0]] * k
        self._weights, self._squares = np.zeros((k, n)), np.full(k, TINY)
        evidence = np.full(k, -np.inf)
        for index in _candidates(indices, rng):
            factor = self._kernel.factor(index)
            if factor is None:
                continue
            weights = factor.solve(columns.T).T  # [k, n]
            squares = np.maximum((columns * weights).sum(1) / n, TINY)
            here = -0.5 * n * np.log(squares) - factor.half_log_determinant
            for j in np.flatnonzero(here > evidence):
                self.indices[j], self._factors[index] = index, factor
                evidence[j], self._weights[j], self._squares[j] = here[j], weights[j], squares[j]

    def mean(self) -> Quadratics:
        """Return the posterior means."""
        return self._quadrics(self._weights, np.zeros(len(self.steps[0])))

    def draw(self, rng: np.random.Generator) -> Quadratics:
        """Return the means with slopes and errors drawn.

        Draws a priori are corrected by the rows (Matheron's rule). Level and curvatures are not drawn: what they leave
        open of the slope is left out. All columns share one draw, each in its own size: nothing depends on their order.
        """
        n, d = self.steps.shape
        slope: Floats = rng.standard_normal((d,))
        error: Floats = rng.standard_normal((n,))
        weights = np.zeros_like(self._weights)
        size = np.sqrt(self._squares)
        for j, index in enumerate(self.indices):
            if (factor := self._factors.get(index)) is not None:
                drawn = size[j] * (self.steps @ slope + error * np.sqrt(factor.errors))
                weights[j] = factor.solve(self._columns[j] - drawn)
        return self._quadrics(weights, slope)

    def _quadrics(self, weights: Floats, slope: Floats) -> Quadratics:
        curvature = np.array([TermScales.at(index).curvature for index in self.indices])
        size = np.sqrt(self._squares)
        gradients = weights @ self.steps + size[:, None] * slope
        diagonal = np.array([self._kernel.diagonals(*own) for own in zip(self.indices, weights, strict=True)])
        level = LEVEL_DEVIATION**2 * weights.sum(1)
        return Quadratics(level, gradients, self.steps, curvature[:, None] ** 2 * weights, diagonal, size)

    def deviations(self, s: Floats) -> Floats:
        """Return how far the columns' values at `s` [d] may be from the means, one standard deviation, [k].

        It is no larger than the leave-one-out errors of the rows bear out, so it vanishes for a linear column.
        """
        shares = {index: self._kernel.deviation(s, index, factor) for index, factor in self._factors.items()}
        sizes = np.minimum(np.sqrt(self._squares), self._left_out())
        return np.asarray(sizes * [shares.get(index, 0.0) for index in self.indices])

    def _left_out(self) -> Floats:
        """Return the root mean square of the errors of rows left out, in their standard deviations a priori, [k]."""
        inverses = {index: factor.inverse_diagonal() for index, factor in self._factors.items()}
        errors = [
            weights / np.sqrt(inverses[index]) if index in inverses else weights
            for weights, index in zip(self._weights, self.indices, strict=True)
        ]
        return np.asarray(np.sqrt(np.mean(np.square(errors), axis=1)))


def _candidates(indices: Sequence[GridIndex | None], rng: np.random.Generator) -> list[GridIndex]:
    """Return the choices to look at: those in use, neighbours of these along one axis, and some drawn anywhere."""
    known = sorted({index for index in indices if index is not None})
    drawn = [tuple(int(rng.integers(len(values))) for values in GRID) for _ in range(RANDOM_TRIES)]
    axis = int(rng.integers(len(GRID)))
    if not known:
        return [*FIRST_INDICES, *drawn]
    near = [
        (*p[:axis], p[axis] + i, *p[axis + 1 :]) for p in known for i in (-1, 1) if 0 <= p[axis] + i < len(GRID[axis])
    ]
    fresh = [index for index in [*drawn, *near] if index not in known]
    return [*known, *dict.fromkeys(fresh)][: max(MAX_FACTORS, len(known))]


GRID: tuple[tuple[float, ...], ...] = (  # deviations, in those of g (few seeds of the G problems: coarser and narrower
    # ones had G19 at 37 to 45 after 300 evaluations, this at 32.66)
    (0.003, 0.03, 0.3, 3.0),  # curvature
    (0.003, 0.03, 0.3, 3.0),  # bowl
    (0.0, 0.03, 0.3, 3.0),  # diagonal
    (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0),  # remainder
    (0.0, 0.03, 0.1, 0.3, 1.0, 3.0),  # noise
)


class TermScales(NamedTuple):
    """Deviations of the terms of f, in those of g."""

    curvature: float
    bowl: float
    diagonal: float
    remainder: float
    noise: float

    @classmethod
    def at(cls, index: GridIndex) -> "TermScales":
        return cls(*(values[at] for values, at in zip(GRID, index, strict=True)))

    def errors(self, squares: Floats) -> Floats:
        """Return the variances of the errors of steps of these squares [n], [n]."""
        return self.noise**2 + self.remainder**2 / 6 * squares**3


class QuadraticKernel:
    """The covariance of values at steps [n, d], for any choice of hyper-parameters."""

    def __init__(self, steps: Floats) -> None:
        self._steps, self._own = steps, steps * steps  # [n, d]
        self.squares = self._own.sum(1)  # [n]
        self._products = steps @ steps.T  # [n, n]
        self._bowls, self._diagonals = np.outer(self.squares, self.squares), self._own @ self._own.T  # [n, n]

    def factor(self, index: GridIndex) -> Factor | None:
        """Return the factor; None where the kernel is singular."""
        prior = TermScales.at(index)
        kernel = _covariance(prior, self._products, self._bowls, self._diagonals)
        return factored(kernel, prior.errors(self.squares))

    def deviation(self, s: Floats, index: GridIndex, factor: Factor) -> float:
        """Return the standard deviation of a new result at `s` [d], in units of the scale."""
        from scipy.linalg import solve_triangular

        prior, own = TermScales.at(index), s * s
        square = own.sum(keepdims=True)  # [1], |s|^2
        kernel = _covariance(prior, self._steps @ s, square * self.squares, self._own @ own)
        told = solve_triangular(factor.root, kernel, lower=True, check_finite=False)
        left = _covariance(prior, square, square**2, own @ own) - told @ told
        return float(np.sqrt(np.maximum(left, 0.0) + prior.errors(square))[0])

    def diagonals(self, index: GridIndex, weights: Floats) -> Floats:
        """Return the mean of `h + h_i` of one quantity, given its weights [n] of the rows, [d]."""
        prior = TermScales.at(index)
        common = prior.bowl**2 / 2 * float(weights @ self.squares)
        return np.asarray(common + prior.diagonal**2 / 2 * (weights @ self._own))


def _covariance(prior: TermScales, products: Floats, bowls: Floats, diagonals: Floats) -> Floats:
    """Return the covariances of pairs of steps: `products` s.t, `bowls` |s|^2 |t|^2, `diagonals` sum_i s_i^2 t_i^2."""
    kernel = products * (1.0 + prior.curvature**2 / 2 * products) + LEVEL_DEVIATION**2
    kernel += prior.bowl**2 / 4 * bowls
    return np.asarray(kernel + prior.diagonal**2 / 4 * diagonals)


def factored(kernel: Floats, errors: Floats, jitter: float = JITTER) -> Factor | None:
    """Return the factor of a kernel [n, n], which is spent, with its errors [n] on the diagonal; None: singular."""
    from scipy.linalg import lapack

    diagonal = np.arange(len(kernel))
    kernel[diagonal, diagonal] += errors + jitter * kernel[diagonal, diagonal]
    root, info = lapack.dpotrf(kernel.T, lower=1, clean=0, overwrite_a=1)
    return None if info else Factor(root, errors)
