"""The trend of rows from all over the cube: where the next valley may lie, whatever ripples the search has met.

A Gaussian process of losses at steps `s` from the middle of the cube, in half sides: a level and a slope, a bowl
`h |s|^2 / 2`, an effect of each parameter by itself, a shape that no effect tells, and independent errors, which stand
for the ripples. The evidence says how much of each. The bowl alone places the optimum of a rippled bowl by d + 3
numbers; where axes are bent or stretched, only effects of single parameters do; the shape tells a funnel's tip.
Losses are ranked above the median (`warp.py`): how bad the bad rows are does not matter.

Where ripples are higher on higher ground, as Levy's, the rows lower down tell more: the errors grow with the trend, if
the evidence says so. A row at the bottom of a valley tells more still: how high a bottom lies does not depend on where
between two crests a row happens to be. All bottoms lie below the trend by about as much.

Rows are thinned first. Those of a valley that was searched to its end lie at one place: taken together they would be
the trend, and lead back to it.

Letters: n rows, d coordinates.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.models import lbfgsb
from lamcts.models.quadratic_posterior import LEVEL, TINY
from lamcts.models.warp import half_rank
from lamcts.types import Floats, Rows

# Tuned on seeds 0 and 1 of turned functions in 20 dimensions, straight and bent, as benchmarks/README.md tells.
MOST_ROWS = 300  # of a valley, or where valleys are not told apart: 150 told it no better, and 500 of all rows led back
# to the known valley on Rastrigin and Ackley
APART = 0.02  # of the cube's diagonal, at least, between rows of a trend: with less, rows of a search's end made most
# of it before there were 900, and led back to the known valley on Rastrigin; with 0.04 Ackley had ripples
STARTS = 6  # places that the way down begins at: the best rows of the trend and the middle (untuned)
POWERS = (1, 2)  # of the height above its lowest row, that variances of errors grow by (untuned)
HEIGHTS = 0.03, 3.0  # by which they do, in those of the median row (untuned)
GROWTHS = 2  # times that heights are read off the trend that the growth of the last ones gave (untuned)
BOTTOM = 0.1  # of the errors' deviation, that of bottoms: by 0.02 places were no nearer to the optimum
BELOW = 2.0  # of the errors' deviation: that of how far all bottoms lie below the trend (untuned)
SEARCH = lbfgsb.Limits(200)  # of L-BFGS-B (untuned)


class Terms(NamedTuple):
    """Deviations of the parts of a trend, in those of its slope, and the lengths of two of them."""

    bowl: float = 0.3
    effects: float = 0.3
    shape: float = 0.3
    noise: float = 0.3
    effect_length: float = 1.0  # sides of the cube
    shape_length: float = 0.2  # diagonals of the cube


GRID = Terms((0, 0.3, 1, 3), (0, 0.3, 1, 3), (0, 0.3, 1, 3), (0.03, 0.1, 0.3, 1, 3), (0.5, 1), (0.1, 0.2, 0.4))  # type: ignore[arg-type]
# untuned; without a shape Ackley's tip was missed by 0.3 of the cube, and Levy's optimum half as often found


def thinned(x: Floats, first: int, most: int = MOST_ROWS) -> Rows:
    """Return at most `most` rows of `x` [n, d] that cover all: `first`, then ever the farthest from those taken.

    No two are nearer than APART.
    """
    far = np.square(x - x[first]).sum(1)
    rows = [first]
    while len(rows) < most and far.max() > APART**2 * x.shape[1]:
        rows.append(int(far.argmax()))
        far = np.minimum(far, np.square(x - x[rows[-1]]).sum(1))
    return np.array(rows, np.int64)


class Trend:
    """The trend of losses `y` [n] at `x` [n, d], n > 1: the places that it leads to.

    shaped: whether it has a shape of its own, which ties it to the best rows, or only bowl and effects.
    bottoms: which rows are the lowest of their valleys, [n]; None: none is known to be.
    ripples: the deviation of losses from it where errors do not grow, the losses having a deviation of 1.
    """

    def __init__(self, x: Floats, y: Floats, shaped: bool = True, bottoms: NDArray[np.bool_] | None = None) -> None:
        self._x, self._losses = x, half_rank(y)
        self._kernel = _Kernel(x, _Errors.of(len(x), bottoms))
        self._shaped = shaped
        self.terms = Terms() if shaped else Terms(shape=0.0)
        self._fit = self._climbed()
        self.ripples = float(np.sqrt(self._fit.square)) * self.terms.noise
        for _ in range(GROWTHS):
            if not self._grow():
                break

    @property
    def evidence(self) -> float:
        """Logarithm of the rows' likelihood, up to a constant for each row."""
        return self._fit.evidence

    def lowest(self, rng: np.random.Generator | None = None) -> Floats:
        """Return the lowest point that can be found of the mean, or, with `rng`, as if its errors had been others."""
        losses = self._losses if rng is None else self._losses + self._errors(rng)
        weights = self._kernel.solve(self.terms, losses)
        if weights is None:
            return np.array(self._x[int(self._losses.argmin())])
        order = np.argsort(self._losses, kind="stable")[: STARTS - 1]
        slope, d = _Slope(self._kernel, self.terms, weights), self._x.shape[1]
        starts = (*self._x[order], np.full(d, 0.5))
        ways = [lbfgsb.lowest(slope, start, np.zeros(d), np.ones(d), SEARCH) for start in starts]
        return np.asarray(np.clip(min(ways, key=lambda way: way[1])[0], 0.0, 1.0))

    def _errors(self, rng: np.random.Generator) -> Floats:
        return float(np.sqrt(self._fit.square)) * self.terms.noise * self._kernel.errors.drawn(rng)

    def _grow(self) -> bool:
        """Have errors grow with the trend, if that has more evidence; return whether it has."""
        before, heights, found = self.evidence, self._heights(), (self.terms, self._fit, self._kernel.errors)
        for power in POWERS:
            self.terms, self._kernel.errors = found[0], self._kernel.errors.grown(heights**power)
            self._fit = self._climbed()
            found = max(found, (self.terms, self._fit, self._kernel.errors), key=lambda one: one[1].evidence)
        self.terms, self._fit, self._kernel.errors = found
        return self.evidence > before

    def _heights(self) -> Floats:
        """Return how far the trend lies above its lowest row, in that of its median row, [n]."""
        weights = self._kernel.solve(self.terms, self._losses)
        if weights is None:
            return np.ones(len(self._x))
        trend = self._kernel.covariance(self.terms) @ weights
        rise = trend - trend.min()
        return np.asarray(np.clip(rise / max(float(np.median(rise)), TINY), *HEIGHTS))

    def _climbed(self) -> "_Fit":
        """Return the fit of the best terms that can be climbed to from those there are."""
        self._fit = self._fitted(self.terms)
        while self._climb():
            pass
        return self._fit

    def _climb(self) -> bool:
        """Go to the best value of each term in turn; return whether anything changed."""
        before = self.terms
        for name, values in GRID._asdict().items():
            if name == "shape" and not self._shaped:
                continue
            for value in values:
                other = self.terms._replace(**{name: float(value)})
                if other != self.terms and (fit := self._fitted(other)).evidence > self._fit.evidence:
                    self.terms, self._fit = other, fit
        return self.terms != before

    def _fitted(self, terms: Terms) -> "_Fit":
        factor = self._kernel.factor(terms)
        if factor is None:
            return _Fit(-np.inf, 1.0)
        weights = _solved(factor, self._losses)
        square = max(float(self._losses @ weights) / len(weights), TINY)
        logarithms = float(np.log(np.diagonal(factor)).sum())
        return _Fit(-0.5 * len(weights) * float(np.log(square)) - logarithms, square)


class _Fit(NamedTuple):
    evidence: float  # logarithm, up to a constant
    square: float  # the losses' scale, squared


@dataclass(frozen=True)
class _Errors:
    """Errors of losses, in a deviation of theirs: some variances are larger, and bottoms have one in common."""

    variances: Floats  # [n]
    bottoms: NDArray[np.bool_]  # [n]

    @classmethod
    def of(cls, n: int, bottoms: NDArray[np.bool_] | None) -> "_Errors":
        return cls(np.ones(n), np.zeros(n, np.bool_) if bottoms is None else bottoms)

    def grown(self, variances: Floats) -> "_Errors":
        return replace(self, variances=variances)

    @property
    def own(self) -> Floats:
        """The deviation of each row's own error, [n]."""
        return np.asarray(np.where(self.bottoms, BOTTOM, 1.0) * np.sqrt(self.variances))

    @property
    def common(self) -> Floats:
        """The deviation of the one that bottoms have in common, [n]."""
        return np.asarray(np.where(self.bottoms, BELOW, 0.0) * np.sqrt(self.variances))

    @cached_property
    def covariance(self) -> Floats:
        return np.outer(self.common, self.common) + np.diag(self.own**2)

    def drawn(self, rng: np.random.Generator) -> Floats:
        own = self.own * rng.standard_normal(len(self.variances))
        return np.asarray(own + self.common * rng.standard_normal() if self.bottoms.any() else own)


class _Kernel:
    """The covariance of losses at rows [n, d], for any terms, and what their errors are like."""

    def __init__(self, x: Floats, errors: _Errors) -> None:
        self.x, self.steps, self.errors = x, 2 * x - 1, errors
        self.squares = np.square(self.steps).sum(1)  # [n]
        self._straight = self.steps @ self.steps.T + LEVEL**2  # [n, n]
        self._bowls = np.outer(self.squares, self.squares)
        far = np.square(x).sum(1)
        self._far = np.sqrt(np.maximum(far[:, None] + far - 2 * x @ x.T, 0.0))
        self._parts: dict[tuple[str, float], Floats] = {}

    @property
    def diagonal(self) -> float:
        """The length of the cube's diagonal."""
        return float(np.sqrt(self.x.shape[1]))

    def factor(self, terms: Terms) -> Floats | None:
        """Return the lower Cholesky factor [n, n], errors included; None where it is singular."""
        from scipy.linalg import lapack

        kernel = self.covariance(terms) + terms.noise**2 * self.errors.covariance
        kernel[np.diag_indices_from(kernel)] += 1e-10 * kernel.trace() / len(kernel)
        root, info = lapack.dpotrf(kernel.T, lower=1, overwrite_a=1)
        return None if info else root

    def covariance(self, terms: Terms) -> Floats:
        """Return that of the trend at the rows, [n, n]."""
        kernel = self._straight + terms.bowl**2 / 4 * self._bowls
        if terms.effects:
            kernel += terms.effects**2 * self._effects(terms.effect_length)
        if terms.shape:
            kernel += terms.shape**2 * self._shape(terms.shape_length)
        return kernel

    def solve(self, terms: Terms, losses: Floats) -> Floats | None:
        factor = self.factor(terms)
        return None if factor is None else _solved(factor, losses)

    def _effects(self, length: float) -> Floats:
        """Return the sum over parameters of the Matern 5/2 covariance of that one, [n, n]."""
        if (part := self._parts.get(("effects", length))) is None:
            part = np.zeros_like(self._straight)
            for column in self.x.T:
                part += matern(np.abs(column[:, None] - column) / length)
            self._parts["effects", length] = part
        return part

    def _shape(self, length: float) -> Floats:
        if (part := self._parts.get(("shape", length))) is None:
            part = self._parts["shape", length] = matern(self._far / (length * self.diagonal))
        return part


class _Slope:
    """The mean of a trend and its gradient [d] at a point [d], with the weights [n] of the rows."""

    def __init__(self, kernel: _Kernel, terms: Terms, weights: Floats) -> None:
        self._kernel, self._terms, self._weights = kernel, terms, weights
        self._bowl = terms.bowl**2 / 4 * float(weights @ kernel.squares)
        self._line = kernel.steps.T @ weights  # [d]

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        terms, step, gap = self._terms, 2 * x - 1, x - self._kernel.x
        value = float(self._line @ step + self._bowl * (step @ step)) + LEVEL**2 * float(self._weights.sum())
        slope = 2 * self._line + 4 * self._bowl * step
        if terms.effects:
            length, size = terms.effect_length, terms.effects**2
            value += size * float(self._weights @ matern(np.abs(gap) / length).sum(1))
            slope += size * (self._weights @ (fall(np.abs(gap) / length) * gap)) / length**2
        if terms.shape:
            length, size = terms.shape_length * self._kernel.diagonal, terms.shape**2
            far = np.sqrt(np.square(gap).sum(1)) / length  # [n]
            value += size * float(self._weights @ matern(far))
            slope += size * ((self._weights * fall(far)) @ gap) / length**2
        return value, slope


def matern(far: Floats) -> Floats:
    """Return the Matern 5/2 correlation at distances in lengths."""
    root = np.sqrt(5.0) * far
    return np.asarray((1 + root + root * root / 3) * np.exp(-root))


def fall(far: Floats) -> Floats:
    """Return its derivative by the distance, over the distance."""
    root = np.sqrt(5.0) * far
    return np.asarray(-5 / 3 * (1 + root) * np.exp(-root))


def _solved(factor: Floats, losses: Floats) -> Floats:
    from scipy.linalg import lapack

    weights: Floats = lapack.dpotrs(factor, losses, lower=1)[0]
    return weights
