"""Quadratic models of a loss and its constraints around one row, and the step that minimises them within a box.

The step follows Byrd and Omojokun (Nocedal and Wright 2006, 18.5): first reduce the violation, then the loss, without
raising the violation again. So there is a step where the constraints cannot all be satisfied.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import TINY
from lamcts.models.output_transforms import Scale
from lamcts.outcomes.observations import Observations
from lamcts.samplers.quadratic.posterior import GridIndex, QuadraticPosteriors, Quadratics
from lamcts.types import Floats, Rows

Price = Callable[[Floats], tuple[float, Floats]]  # of a step [d]: what it costs, and the slope of that [d]
MIN_SLOPE = 1e-3  # slope that a model counts with at least, in those usual for its rows (untuned)
LBFGSB_OPTIONS: Any = {"maxiter": 60, "ftol": 1e-14, "gtol": 1e-10}  # far finer than a model of so few rows is
SLSQP_OPTIONS: Any = {"maxiter": 60, "ftol": 1e-11}  # of SLSQP, likewise
SLSQP_TOLERANCE = 1e-7  # by how much SLSQP may break a constraint, in units of its slope
VIOLATION_PRICE = 1e3  # price of violations beyond, where steps are compared
ACTIVE_TOLERANCE = 1e-4  # a constraint this near to 0 binds, in units of its slope: above what SLSQP leaves (untuned)
BOUND_TOLERANCE = 1e-9  # of the box's half side: a coordinate this near to its bound is held by it


class ConstrainedStep:
    """The problem: the first model is sought, the others are at most minus their `margins` [c], within a box.

    `low <= 0 <= high` [d]; coordinates where both are 0 stay 0. Inside, each model has a unit of its own, its slope.
    price: of likely failure, which is added to the first model.
    """

    def __init__(
        self, models: Quadratics, margins: Floats, low: Floats, high: Floats, price: Price | None = None
    ) -> None:
        self._models, self._low, self._high, self._price = models, low, high, price
        self._free: NDArray[np.bool_] = high > low
        steepness = np.linalg.norm(models.gradients[:, self._free], axis=1)
        self.slopes = np.maximum(np.maximum(steepness, MIN_SLOPE * models.size), TINY)  # [1 + c]
        self._offsets = np.concatenate([[-models.level[0]], margins]) / self.slopes
        self._allowed = np.zeros(len(margins))

    def solve(self) -> Floats:
        """Return the step [d]."""
        mended = self._mended()
        over = self._at(mended)[1:]
        self._allowed = np.where(over > SLSQP_TOLERANCE, over, 0.0)
        return self._lowest(mended)

    def multipliers(self, s: Floats) -> Floats:
        """Return how much the loss would fall for each unit by which a constraint gave way at the solution `s`, [c].

        Those of Karush, Kuhn and Tucker, by non-negative least squares over the constraints that bind there.
        """
        from scipy.optimize import nnls

        value, slopes = self._at(s), self._slopes(s)
        result = np.zeros(len(value) - 1)
        binding = np.flatnonzero(value[1:] >= self._allowed - ACTIVE_TOLERANCE)
        loose = self._free & (s > self._low + BOUND_TOLERANCE) & (s < self._high - BOUND_TOLERANCE)
        if len(binding) and loose.any():
            result[binding] = nnls(slopes[1 + binding][:, loose].T, -slopes[0, loose])[0]
        return result

    def _at(self, s: Floats) -> Floats:
        """Return the loss relative to step 0, and the violations with margins, at `s` [d], [1 + c]."""
        return np.asarray(self._models.at(s) / self.slopes + self._offsets)

    def _slopes(self, s: Floats) -> Floats:
        return np.asarray(self._models.slopes(s) / self.slopes[:, None])

    @property
    def _bounds(self) -> Floats:
        return np.stack([self._low, self._high], axis=1)

    def _mended(self) -> Floats:
        """Return a step that breaks the constraints least, by the sum of squares; 0 if that breaks none."""
        nowhere = np.zeros(len(self._low))
        if not (self._at(nowhere)[1:] > 0).any():
            return nowhere
        from scipy import optimize

        def breach(s: Floats) -> tuple[float, Floats]:
            over = np.maximum(self._at(s)[1:], 0.0)
            return float(over @ over), 2 * over @ self._slopes(s)[1:]

        minimize: Any = optimize.minimize
        found = minimize(breach, nowhere, jac=True, method="L-BFGS-B", bounds=self._bounds, options=LBFGSB_OPTIONS)
        return np.asarray(np.clip(found.x, self._low, self._high))

    def _lowest(self, start: Floats) -> Floats:
        """Return the lowest step that can be found from `start` [d] within what is allowed."""
        from scipy import optimize

        within = {"fun": lambda s: self._allowed - self._at(s)[1:], "jac": lambda s: -self._slopes(s)[1:]}
        words: Any = {"method": "L-BFGS-B", "options": LBFGSB_OPTIONS}
        if len(self._allowed):
            words = {"method": "SLSQP", "options": SLSQP_OPTIONS, "constraints": [{"type": "ineq", **within}]}
        minimize: Any = optimize.minimize
        found = minimize(self._loss, start, jac=True, bounds=self._bounds, **words)
        step = np.clip(found.x, self._low, self._high)
        better = np.isfinite(step).all() and self._merit(step) < self._merit(start)
        return np.asarray(step if better else start)

    def _loss(self, s: Floats) -> tuple[float, Floats]:
        """Return the loss with the price of likely failure, and its slope."""
        value, slope = float(self._at(s)[0]), self._slopes(s)[0]
        if self._price is None:
            return value, slope
        price, way = self._price(s)
        return value + price / self.slopes[0], slope + way / self.slopes[0]

    def _merit(self, s: Floats) -> float:
        over = np.maximum(self._at(s)[1:] - self._allowed - SLSQP_TOLERANCE, 0.0)
        return self._loss(s)[0] + VIOLATION_PRICE * float(over.sum())


MARGIN_DEVIATIONS = 0.3  # standard deviations of the models, by which the constraints are to be kept (bbob-constrained:
# 0 and 1 are worse, benchmarks/optimizer/gates.py)
PRICE_FACTOR = 2.0  # prices of the merit, in the largest multiplier of the models: above 1 it is exact (untuned)
MIN_PRICE = 1.0  # price, in units of the loss's slope for each of the constraint's, where none binds (untuned)
MAX_SLOPE = 1e3  # usual slopes: a value further above the centre's counts as this, or one would drown all (untuned)
MAX_PRICE = float(np.finfo(float).max)  # of a price in the journal, which has no infinity


def violated(seen: Observations) -> Rows:
    """Return the indices of constraints that at least one row violates; only these are modelled."""
    return np.flatnonzero((seen.g[seen.good] > 0).any(0))


class ConstrainedModel:
    """Models in steps of `half` from `row` of the loss and of the constraints `used` [c], each in a unit of its own.

    `indices` are those of the loss and of all constraints; the models' own go back into them.
    """

    def __init__(
        self,
        seen: Observations,
        row: int,
        rows: Rows,
        half: float,
        indices: list[GridIndex | None],
        rng: np.random.Generator,
    ) -> None:
        steps = (seen.x[rows] - seen.x[row]) / half
        constraints = [_scaled(_tamed(seen.g[rows, j], seen.g[row, j], steps)) for j in violated(seen)]
        # In an order of their own: the same to the last bit, in whichever the user has named them.
        order = sorted(range(len(constraints)), key=lambda i: constraints[i][0].tolist())
        self.used = violated(seen)[order]
        loss, unit = _losses(seen.f[rows, 0], seen.f[row, 0], steps, rng)
        self.units = np.array([unit, *(constraints[i][1] for i in order)])  # [1 + c]
        columns = np.array([loss, *(constraints[i][0] for i in order)])
        own = [0, *(1 + self.used)]
        self.posteriors = QuadraticPosteriors(steps, columns, [indices[i] for i in own], rng)
        for i, index in zip(own, self.posteriors.indices, strict=True):
            indices[i] = index

    def step(self, models: Quadratics, low: Floats, high: Floats, price: Price | None = None) -> Floats:
        """Return the lowest step [d] of one draw of the models that keeps the constraints by a margin."""
        first = ConstrainedStep(models, np.zeros(len(self.used)), low, high, price).solve()
        if not len(self.used):
            return first
        margins = MARGIN_DEVIATIONS * self.posteriors.deviations(first)[1:]
        return ConstrainedStep(models, margins, low, high, price).solve()

    def prices(self, low: Floats, high: Floats) -> Floats:
        """Return the loss that a unit of the violation of each constraint used is worth in a merit, [c]."""
        if not len(self.used):
            return np.empty(0)
        problem = ConstrainedStep(self.posteriors.mean(), np.zeros(len(self.used)), low, high)
        price = max(MIN_PRICE, PRICE_FACTOR * float(problem.multipliers(problem.solve()).max(initial=0.0)))
        slopes = problem.slopes * self.units
        return np.asarray(np.clip(price * slopes[0] / slopes[1:], 0.0, MAX_PRICE))

    def fall(self, models: Quadratics, step: Floats, prices: Floats) -> float:
        """Return by how much the merit is to fall with a step [d]; 0 where it is not finite."""
        here, there = models.at(np.zeros(len(step))), models.at(step)
        gains = np.concatenate([(here - there)[:1], np.maximum(here[1:], 0.0) - np.maximum(there[1:], 0.0)])
        fall = float((gains * self.units * np.concatenate([[1.0], prices])).sum())
        return max(fall, 0.0) if np.isfinite(fall) else 0.0


def _scaled(violation: Floats) -> tuple[Floats, float]:
    """Return violations [n] in a unit of their own, 0 still 0, and that unit."""
    scale = Scale.of(violation)
    width = scale.width
    return np.ldexp(violation, -scale.exponent) / width, _unit(scale)


def _tamed(values: Floats, here: float, steps: Floats) -> Floats:
    """Return values [n] after `steps` [n, d] from `here`, at most MAX_SLOPE median slopes above it."""
    here = here if np.isfinite(here) else 0.0
    lengths = np.linalg.norm(steps, axis=1)
    slopes = np.abs(values - here)[lengths > 0] / lengths[lengths > 0]
    if not (slopes > 0).any():
        return values
    most = here + MAX_SLOPE * float(np.median(slopes[slopes > 0])) * lengths
    return np.minimum(values, np.where(lengths > 0, most, np.inf))


def _losses(f: Floats, here: float, steps: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return losses [n] in their own unit, 0 at the centre, and that unit; those not evaluated as a model has them."""
    known = np.isfinite(f)
    if not known.any():
        return np.zeros(len(f)), 1.0
    here = here if np.isfinite(here) else float(f[known][0])
    tame = _tamed(f[known], here, steps[known])
    scale = Scale.of(tame)
    losses = np.zeros(len(f))
    losses[known] = scale.down(tame) - scale.down(np.array([here]))
    if not known.all():
        mean = QuadraticPosteriors(steps[known], losses[None, known], [None], rng).mean()
        losses[~known] = [mean.at(step)[0] for step in steps[~known]]
    return losses, _unit(scale)


def _unit(scale: Scale) -> float:
    return min(scale.unit, MAX_PRICE)


def merits(seen: Observations, rows: Rows, prices: Sequence[float]) -> Floats:
    """Return the losses of `rows` [k] with their violations at their `prices` [c], [k]; lower is better.

    Inf where the loss is not known, and where a constraint is broken that has no price yet. A sum of which the order
    of the constraints, and those that nothing breaks, have no part.
    """
    f, over, each = seen.f[rows, 0], np.maximum(seen.g[rows], 0.0), np.array(prices)
    costs = np.sort(np.where(over > 0, over * each, 0.0)[:, each > 0], axis=1)
    total = f + costs.sum(1)
    unpriced = ((over > 0) & (each == 0)).any(1)
    return np.where(unpriced | ~np.isfinite(total), np.inf, total)
