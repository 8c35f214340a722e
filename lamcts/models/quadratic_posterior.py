"""A quadratic polynomial round a point, by Bayesian regression on the rows near it: slope, bowl, curvature, the rest.

With steps `s` from the point in half sides of the trust region, losses are
`f(s) = c + g.s + h |s|^2 / 2 + s.H s / 2 + error`, a priori `g ~ N(0, I)`, `h ~ N(0, bowl^2)`, `H` symmetric normal
with `var(s.H s / 2) = curvature^2 |s|^4 / 2`, and independent errors of variance `noise^2 + remainder^2 |s|^6 / 6`: the
noise stands for ripples and for noise proper, the remainder for the terms of third order, so far rows bind less.
In a narrow box the mean is the polynomial of least norm through few rows, as in Powell's NEWUOA (2006); in a wide one
it is the trend under the ripples, whose lowest point d + 3 numbers determine. One model, and its evidence tells which.
Its cost is that of an n by n Cholesky factor; no matrix of size d by d is made.

Letters: n rows, d coordinates.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import factorial

import numpy as np

from lamcts.models.acquisition import TINY
from lamcts.models.lbfgsb import Limits, lowest
from lamcts.types import Floats

# Tuned: on seeds 0 to 9, as benchmarks/notes/portfolio.md tells.
LEVEL_DEVIATION = 10.0  # standard deviation of c, in those of g: wide, so that the rows alone say it (untuned)
JITTER = 1e-10  # of the diagonal: keeps the factor of rows that nearly coincide alive (untuned)
FINE_JITTER = 1e-13  # the same where rows are tried for one polynomial: 1e-10 hides a floor whose walls are 1e6 times
# as steep
RANDOM_TRIES = 2  # indices that a fit tries anywhere on GRID (tuned: leaps mended most bad seeds of Rosenbrock; 2 is
# untuned)
LBFGSB_LIMITS = Limits(60, ftol=1e-12, gtol=1e-9)  # of L-BFGS-B: far finer than a model of so few rows is
NEWTON_STEPS = 10  # steps at most, each of which lets some coordinates go to their bounds (untuned)

GridIndex = tuple[int, ...]  # a choice of each hyper-parameter, by its position in GRID

GRID: tuple[tuple[float, ...], ...] = (  # deviations, in those of g (tuned: more of curvature and bowl were no better)
    (0.03, 0.3, 3.0),  # curvature
    (0.03, 0.3, 3.0),  # bowl
    (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0),  # remainder (down to 1e-4 turned ellipsoids ended at 1e3)
    (0.0, 0.03, 0.1, 0.3, 1.0, 3.0),  # noise
)
FIRST_INDEX: GridIndex = (1, 1, 6, 3)  # where the first climb begins
MIN_INDEX: GridIndex = (0, 0, 4, 0)  # least positions but where rows are tried for one polynomial without remainder
Slope = Callable[[Floats], tuple[float, Floats]]  # the value and the gradient [d] at a step [d]


@dataclass(frozen=True)
class Quadric:
    """The function `gradient.s + s.H s / 2` of steps `s` [d], `H = steps^T diag(weights) steps + isotropic I`."""

    gradient: Floats  # [d]
    steps: Floats  # [n, d]
    weights: Floats  # [n]
    isotropic: float
    exact: bool = False  # whether it is worth being followed to its last digit

    def slope(self, s: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient [d] at `s` [d]."""
        bend = (self.weights * (self.steps @ s)) @ self.steps + self.isotropic * s  # [d], H s
        return float(self.gradient @ s + 0.5 * (bend @ s)), self.gradient + bend

    def lowest(self, low: Floats, high: Floats, price: Slope | None = None) -> Floats:
        """Return the lowest step [d] that can be found between `low` and `high` [d], going down from a gradient step.

        `low <= 0 <= high`; coordinates where both are 0 stay 0. price: what is added to the value and the gradient.
        """
        steepest = float(np.abs(self.gradient * (high > low)).max(initial=0.0))
        start = np.clip(-self.gradient / max(steepest, TINY) / 2, low, high)
        slope = self.slope if price is None else self._priced(price)
        found, _ = lowest(slope, start, low, high, LBFGSB_LIMITS)
        result: Floats = np.clip(found, low, high)
        return self._finished(result, low, high) if self.exact and price is None else result

    def _finished(self, s: Floats, low: Floats, high: Floats) -> Floats:
        """Return where Newton's steps along the coordinates that are not at a bound lead to from `s` [d].

        The floor of a valley whose walls are a thousand times as steep is beyond a few dozen steps of L-BFGS.
        """
        from scipy.linalg import lapack

        hessian = (self.steps.T * self.weights) @ self.steps
        hessian[np.diag_indices(len(s))] += self.isotropic
        value, slope = self.slope(s)
        for _ in range(NEWTON_STEPS):
            free = (high > low) & ((s > low) | (slope < 0)) & ((s < high) | (slope > 0))
            if not free.any():
                break
            _, step, info = lapack.dposv(hessian[np.ix_(free, free)], slope[free])
            if info:
                break
            other = s.copy()
            other[free] -= step
            other = np.clip(other, low, high)
            less, turned = self.slope(other)
            if not less < value:
                break
            s, value, slope = other, less, turned
        return s

    def _priced(self, price: Slope) -> Slope:
        def slope(s: Floats) -> tuple[float, Floats]:
            (value, gradient), (more, way) = self.slope(s), price(s)
            return value + more, gradient + way

        return slope


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

    @property
    def half_log_determinant(self) -> float:
        return float(np.log(np.diagonal(self.root)).sum())


class Kernel:
    """The covariance of losses at steps [n, d], for any choice of hyper-parameters."""

    def __init__(self, steps: Floats, jitter: float = JITTER, order: int = 3) -> None:
        self._steps, self._jitter, self._order = steps, jitter, order
        self._products = steps @ steps.T  # [n, n]
        self.squares = np.einsum("ij,ij->i", steps, steps)  # [n]
        self._bowls = np.outer(self.squares, self.squares)  # [n, n]

    def factor(self, index: GridIndex, rows: slice = slice(None)) -> Factor | None:
        """Return the factor for some rows; None where the kernel is singular."""
        curvature, bowl, remainder, noise = (values[at] for values, at in zip(GRID, index, strict=True))
        products = self._products[rows, rows]
        kernel = products * (1.0 + curvature**2 / 2 * products) + LEVEL_DEVIATION**2
        kernel += bowl**2 / 4 * self._bowls[rows, rows]
        left = remainder**2 / factorial(self._order) * self.squares[rows] ** self._order
        return factored(kernel, noise**2 + left, self._jitter)


def unknowns(d: int) -> int:
    """Return how many coefficients a quadratic polynomial of `d` coordinates has."""
    return (d + 1) * (d + 2) // 2


def factored(kernel: Floats, errors: Floats, jitter: float = JITTER) -> Factor | None:
    """Return the factor of a kernel [n, n], which is spent, with its errors [n] on the diagonal; None: singular."""
    from scipy.linalg import lapack

    diagonal = np.arange(len(kernel))
    kernel[diagonal, diagonal] += errors + jitter * kernel[diagonal, diagonal]
    root, info = lapack.dpotrf(kernel.T, lower=1, clean=0, overwrite_a=1)
    return None if info else Factor(root, errors)


class QuadraticPosterior:
    """The posterior given steps [n, d] and losses [n]; the scale of the losses is profiled out.

    Hyper-parameters climb the evidence on GRID: from `index` by at most one position along an axis that `rng` draws, or
    to a better one of RANDOM_TRIES drawn anywhere; without a `index`, along every axis until nothing helps. whole:
    allow an interpolating fit (remainder near 0); only with more rows than coefficients. order: of the remainder's
    terms; 2 where no polynomial is meant, but any function of that degree.
    """

    def __init__(
        self,
        steps: Floats,
        losses: Floats,
        index: GridIndex | None,
        rng: np.random.Generator,
        whole: bool = False,
        order: int = 3,
    ) -> None:
        self.steps, self.order, self._losses = steps, order, losses
        fine = whole and len(steps) > unknowns(steps.shape[1])
        self._kernel = Kernel(steps, FINE_JITTER if fine else JITTER, order)
        self._least = (0,) * len(GRID) if fine else MIN_INDEX
        if index is not None:
            index = tuple(max(own) for own in zip(index, self._least, strict=True))
            self.index, self._fit = self._climb(index, self._fitted(index), [int(rng.integers(len(GRID)))])
            self._leap(rng)
            return
        index, fit = FIRST_INDEX, self._fitted(FIRST_INDEX)
        while True:
            self.index, self._fit = self._climb(index, fit, range(len(GRID)))
            if self.index == index:
                return
            index, fit = self.index, self._fit

    @property
    def evidence(self) -> float:
        """Logarithm of the rows' likelihood, up to a constant for each row."""
        return self._fit.evidence

    @property
    def exact(self) -> bool:
        """Whether the rows lie on a polynomial, with no remainder or noise to speak of."""
        return self.index[2] < MIN_INDEX[2] and not self.noise

    @property
    def noise(self) -> float:
        """The deviation of errors that grow with no distance, in that of the slope."""
        return GRID[3][self.index[3]]

    def evidence_of(self, first: int) -> float:
        """Return the logarithm of the likelihood of the `first` rows given the others, up to the same constants."""
        return self.evidence - self._fitted(self.index, slice(first, None)).evidence

    def mean(self) -> Quadric:
        """Return the posterior mean."""
        return self._quadric(self._fit.weights, 0.0)

    def draw(self, rng: np.random.Generator) -> Quadric:
        """Return the mean with slope and errors drawn.

        A priori draws of slope and errors are corrected by the rows (Matheron's rule). Level, bowl and curvature are
        not drawn: what they leave open of the slope is left out, so draws scatter somewhat less than the posterior.
        """
        if (factor := self._fit.factor) is None:
            return self.mean()
        n, d = self.steps.shape
        size = np.sqrt(self._fit.square)
        slope = size * rng.standard_normal(d)
        error = size * rng.standard_normal(n) * np.sqrt(factor.errors)
        weights = factor.solve(self._losses - self.steps @ slope - error)
        return self._quadric(weights, slope)

    def _quadric(self, weights: Floats, slope: Floats | float) -> Quadric:
        curvature, bowl = GRID[0][self.index[0]], GRID[1][self.index[1]]
        isotropic = bowl**2 / 2 * float(weights @ self._kernel.squares)
        return Quadric(slope + self.steps.T @ weights, self.steps, curvature**2 * weights, isotropic, self.exact)

    def _climb(self, index: GridIndex, fit: "_Fit", axes: Iterable[int]) -> tuple[GridIndex, "_Fit"]:
        """Return the best of `index` and, axis by axis, its neighbours."""
        for axis in axes:
            for position in (index[axis] - 1, index[axis] + 1):
                if self._least[axis] <= position < len(GRID[axis]):
                    near = (*index[:axis], position, *index[axis + 1 :])
                    other = self._fitted(near)
                    if other.evidence > fit.evidence:
                        index, fit = near, other
        return index, fit

    def _leap(self, rng: np.random.Generator) -> None:
        """Go anywhere on GRID where the evidence is higher, if one of a few draws shows it: a climb alone is trapped.

        Noise and remainder explain each other's errors: less of one is better only with more of the other.
        """
        for _ in range(RANDOM_TRIES):
            index = tuple(int(rng.integers(low, len(values))) for low, values in zip(self._least, GRID, strict=True))
            fit = self._fitted(index)
            if fit.evidence > self._fit.evidence:
                self.index, self._fit = index, fit

    def _fitted(self, index: GridIndex, rows: slice = slice(None)) -> "_Fit":
        losses = self._losses[rows]
        n = len(losses)
        if (factor := self._kernel.factor(index, rows)) is None:
            return _Fit(-np.inf, None, np.zeros(n), 0.0)
        weights = factor.solve(losses)
        square = max(float(losses @ weights) / n, TINY)
        return _Fit(-0.5 * n * np.log(square) - factor.half_log_determinant, factor, weights, square)


@dataclass(frozen=True)
class _Fit:
    evidence: float  # logarithm, up to a constant
    factor: Factor | None  # None: the kernel is singular
    weights: Floats  # [n]
    square: float  # the losses' scale, squared
