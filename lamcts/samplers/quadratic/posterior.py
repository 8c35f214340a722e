"""Quadratic polynomials of several columns around a point, by Bayesian regression on the rows near it.

With steps `s` from the point in half sides of the trust region, a column is a priori
`f(s) = c + g.s + h |s|^2 / 2 + sum_i h_i s_i^2 / 2 + s.H s / 2 + error` with `g ~ N(0, I)`, `h ~ N(0, bowl^2)`,
`h_i ~ N(0, diagonal^2)`, `H` symmetric normal with `var(s.H s / 2) = curvature^2 |s|^4 / 2`, and independent errors of
variance `noise^2 + remainder^2 |s|^6 / 6`. The noise represents ripples and noise proper, the remainder terms of third
order, so distant rows have less weight. In a narrow box the mean is the polynomial of least norm through few rows, as
in Powell's NEWUOA (2006). In a wide box it is the trend under the ripples. The cost is that of an n by n Cholesky
factor; there is no d by d matrix.

Most formulas bend along few parameters, separately: that takes d numbers, not d (d + 1) / 2. With remainder 0, distant
rows determine a linear or quadratic constraint exactly. All columns share their rows, so columns with equal
hyper-parameters share a factor. A fit factorises a few choices, and each column takes the one of largest evidence.

Letters: n rows, d coordinates, k columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import TINY
from lamcts.types import Floats

LEVEL_DEVIATION = 10.0  # standard deviation of c, in those of g: wide, so that the rows determine it
JITTER = 1e-14  # share of the diagonal, for rows that nearly coincide: with 1e-10 a vertex was hit to 1e-9 only in one
# programme of ten (tests/samplers/test_vertices.py)
RANDOM_TRIES = 2  # random choices of a fit: noise and remainder explain each other's errors, so a climb is trapped
GridIndex = tuple[int, ...]  # a choice of each hyper-parameter, by its position in GRID
MAX_FACTORS = 12  # factors of a fit: more cost time, fewer climb slower
# Choices of the first fit: coarse, since each costs a factor.
FIRST_INDICES: list[GridIndex] = list(product((1, 2, 3), (1, 2), (0, 2), (0, 3, 5, 7), (0, 3)))


@dataclass(frozen=True)
class Factor:
    """Lower Cholesky factor `root` [n, n] of a kernel with variances `errors` and `jitter` [n], scaled."""

    root: Floats
    errors: Floats
    jitter: Floats

    def solve(self, values: Floats) -> Floats:
        """With `K` the kernel and its errors, return `z` such that `K z = values`, [n] or [n, k].

        The root is that of `K + jitter`; a step of iterative refinement takes the jitter out again.
        """
        from scipy.linalg import lapack

        first: Floats = lapack.dpotrs(self.root, values, lower=1)[0]
        residual = (self.jitter * first.T).T
        return np.asarray(first + lapack.dpotrs(self.root, residual, lower=1)[0])

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
    size: Floats  # [k], above 0: usual slopes

    def at(self, s: Floats) -> Floats:
        """Return the values at `s` [..., d], [..., k]."""
        along = s @ self.steps.T  # [..., n]
        bend = (along * along) @ self.weights.T + (s * s) @ self.diagonal.T
        return np.asarray(self.level + s @ self.gradients.T + bend / 2)

    def slopes(self, s: Floats) -> Floats:
        """Return the gradients at `s` [d], [k, d]."""
        bend = (self.weights * (self.steps @ s)) @ self.steps + self.diagonal * s
        return np.asarray(self.gradients + bend)

    def __add__(self, other: "Quadratics") -> "Quadratics":
        """Return the sums, with the sizes of the first."""
        return Quadratics(
            self.level + other.level,
            self.gradients + other.gradients,
            np.vstack([self.steps, other.steps]),
            np.hstack([self.weights, other.weights]),
            self.diagonal + other.diagonal,
            self.size,
        )


class QuadraticPosteriors:
    """Posteriors given steps [n, d] and columns [k, n]; each fit climbs from the hyper-parameters of the last.

    `indices` [k]: grid indices of the last fits (None: no fit), and after construction those of this fit.
    """

    def __init__(
        self, steps: Floats, columns: Floats, indices: Sequence[GridIndex | None], rng: np.random.Generator
    ) -> None:
        self.steps = steps
        self._columns = columns
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
            index_evidence = -0.5 * n * np.log(squares) - factor.half_log_determinant
            for j in np.flatnonzero(index_evidence > evidence):
                self.indices[j] = index
                self._factors[index] = factor
                evidence[j], self._weights[j], self._squares[j] = index_evidence[j], weights[j], squares[j]

    def mean(self) -> Quadratics:
        """Return the posterior means."""
        return self._quadrics(self._weights)

    def draw(self, rng: np.random.Generator) -> Quadratics:
        """Return a draw of the columns and their errors, given the rows (Matheron's rule).

        The level is not drawn: the rows determine it. All columns share a draw, each scaled by its deviations: the
        draws do not depend on their order.
        """
        drawn = self._drawn(rng)
        error: Floats = rng.standard_normal((len(self.steps),))
        weights = np.zeros_like(self._weights)
        prior_draws = drawn.at(self.steps).T  # [k, n]
        for j, index in enumerate(self.indices):
            if (factor := self._factors.get(index)) is not None:
                errors = drawn.size[j] * error * np.sqrt(factor.errors)
                weights[j] = factor.solve(self._columns[j] - prior_draws[j] - errors)
        return self._quadrics(weights) + drawn

    def _drawn(self, rng: np.random.Generator) -> Quadratics:
        """Return a draw of the prior.

        The curvature `s.H s` is the sum of products `(u.s)(v.s)` of as many pairs of random directions as there are
        rows or coordinates: it has the variance of a normal matrix, and takes no d by d matrix.
        """
        n, d = self.steps.shape
        r = min(n, d)
        common, slope, own = rng.standard_normal(), *rng.standard_normal((2, d))
        u, v = rng.standard_normal((2, r, d)) / r**0.25
        bends = np.outer([1.0, -1.0], rng.standard_normal(r)).ravel() / math.sqrt(8.0)  # 4 u.s v.s is a difference
        scales = [TermScales.at(index) for index in self.indices]
        diagonals = np.array([scale.bowl * common + scale.diagonal * own for scale in scales])  # [k, d]
        weights = np.outer([scale.curvature for scale in scales], bends)  # [k, 2 r]
        size = np.sqrt(self._squares)
        unit = size[:, None]
        return Quadratics(
            np.zeros_like(size), unit * slope, np.vstack([u + v, u - v]), unit * weights, unit * diagonals, size
        )

    def _quadrics(self, weights: Floats) -> Quadratics:
        """Return the part of the posterior that weights [k, n] of the rows make."""
        curvature = np.array([TermScales.at(index).curvature for index in self.indices])
        diagonal = np.array([self._kernel.diagonals(*pair) for pair in zip(self.indices, weights, strict=True)])
        level = LEVEL_DEVIATION**2 * weights.sum(1)
        bends = curvature[:, None] ** 2 * weights
        return Quadratics(level, weights @ self.steps, self.steps, bends, diagonal, np.sqrt(self._squares))

    def deviations(self, s: Floats) -> Floats:
        """Return the standard deviations of the columns at `s` [d], [k].

        They are bounded by the leave-one-out errors of the rows, so they vanish for a linear column.
        """
        shares = {index: self._kernel.deviation(s, index, factor) for index, factor in self._factors.items()}
        sizes = np.minimum(np.sqrt(self._squares), self._left_out())
        return np.asarray(sizes * [shares.get(index, 0.0) for index in self.indices])

    def _left_out(self) -> Floats:
        """Return the root mean square of leave-one-out errors, in prior standard deviations, [k]."""
        inverses = {index: factor.inverse_diagonal() for index, factor in self._factors.items()}
        errors = [
            weights / np.sqrt(inverses[index]) if index in inverses else weights
            for weights, index in zip(self._weights, self.indices, strict=True)
        ]
        return np.asarray(np.sqrt(np.mean(np.square(errors), axis=1)))


def _candidates(indices: Sequence[GridIndex | None], rng: np.random.Generator) -> list[GridIndex]:
    """Return the choices to compare: those in use, the same without errors, neighbours along an axis, random ones."""
    known = sorted({index for index in indices if index is not None})
    drawn = [tuple(int(rng.integers(len(values))) for values in GRID) for _ in range(RANDOM_TRIES)]
    axis = int(rng.integers(len(GRID)))
    if not known:
        return [*FIRST_INDICES, *drawn]
    near = [
        (*p[:axis], p[axis] + i, *p[axis + 1 :]) for p in known for i in (-1, 1) if 0 <= p[axis] + i < len(GRID[axis])
    ]
    exact = [(*p[:-2], 0, 0) for p in known]
    new = [index for index in [*exact, *drawn, *near] if index not in known]
    return [*known, *dict.fromkeys(new)][: max(MAX_FACTORS, len(known))]


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
        """Return the variances of the errors at steps with squared norms `squares` [n], [n]."""
        return self.noise**2 + self.remainder**2 / 6 * squares**3


class QuadraticKernel:
    """Covariance of values at steps [n, d], for any choice of hyper-parameters."""

    def __init__(self, steps: Floats) -> None:
        self._steps = steps  # [n, d]
        self._coordinate_squares = steps * steps  # [n, d]
        self.squares = self._coordinate_squares.sum(1)  # [n]
        self._products = steps @ steps.T  # [n, n]
        self._bowls = np.outer(self.squares, self.squares)  # [n, n]
        self._diagonals = self._coordinate_squares @ self._coordinate_squares.T  # [n, n]

    def factor(self, index: GridIndex) -> Factor | None:
        """Return the factor; None if the kernel is singular."""
        prior = TermScales.at(index)
        kernel = _covariance(prior, self._products, self._bowls, self._diagonals)
        return factored(kernel, prior.errors(self.squares))

    def deviation(self, s: Floats, index: GridIndex, factor: Factor) -> float:
        """Return the standard deviation of a new result at `s` [d], in units of the scale."""
        from scipy.linalg import solve_triangular

        prior = TermScales.at(index)
        squares = s * s
        norm = squares.sum(keepdims=True)  # [1], |s|^2
        kernel = _covariance(prior, self._steps @ s, norm * self.squares, self._coordinate_squares @ squares)
        white = solve_triangular(factor.root, kernel, lower=True, check_finite=False)
        variance = _covariance(prior, norm, norm**2, squares @ squares) - white @ white
        return float(np.sqrt(np.maximum(variance, 0.0) + prior.errors(norm))[0])

    def diagonals(self, index: GridIndex, weights: Floats) -> Floats:
        """Return the posterior mean of `h + h_i` of a column, given its weights [n] of the rows, [d]."""
        prior = TermScales.at(index)
        common = prior.bowl**2 / 2 * float(weights @ self.squares)
        return np.asarray(common + prior.diagonal**2 / 2 * (weights @ self._coordinate_squares))


def _covariance(prior: TermScales, products: Floats, bowls: Floats, diagonals: Floats) -> Floats:
    """Return the covariances of pairs of steps: `products` s.t, `bowls` |s|^2 |t|^2, `diagonals` sum_i s_i^2 t_i^2."""
    kernel = products * (1.0 + prior.curvature**2 / 2 * products) + LEVEL_DEVIATION**2
    kernel += prior.bowl**2 / 4 * bowls
    return np.asarray(kernel + prior.diagonal**2 / 4 * diagonals)


def factored(kernel: Floats, errors: Floats, jitter: float = JITTER) -> Factor | None:
    """Return the factor of a kernel [n, n], overwritten, with errors [n] on its diagonal; None: singular."""
    from scipy.linalg import lapack

    diagonal = np.arange(len(kernel))
    added = jitter * kernel[diagonal, diagonal]
    kernel[diagonal, diagonal] += errors + added
    root, info = lapack.dpotrf(kernel.T, lower=1, clean=0, overwrite_a=1)
    return None if info else Factor(root, errors, added)
