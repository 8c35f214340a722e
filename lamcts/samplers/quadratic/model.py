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

Price = Callable[[Floats], tuple[float, Floats]]  # step [d] -> penalty, and its slope [d]
MIN_SLOPE = 1e-3  # least slope of a model over the usual slope of its rows: bounds the unit of flat models
LBFGSB_OPTIONS: Any = {"maxiter": 60, "ftol": 1e-14, "gtol": 1e-10}  # far below the accuracy of the models
SLSQP_OPTIONS: Any = {"maxiter": 60, "ftol": 1e-11}  # likewise
SLSQP_TOLERANCE = 1e-7  # violation that SLSQP may leave, in units of the constraint's slope
VIOLATION_PRICE = 1e3  # penalty of larger violations in comparisons of steps
ACTIVE_TOLERANCE = 1e-4  # distance to 0 of an active constraint, in units of its slope: above SLSQP's tolerance
BOUND_TOLERANCE = 1e-9  # distance to a bound of a coordinate that it holds, in half sides of the box


class ConstrainedStep:
    """The problem: minimise the first model in a box, with the others at most minus their `margins` [c].

    `low <= 0 <= high` [d]; coordinates where both are 0 stay 0. Internally, the unit of each model is its slope.
    price: penalty of likely failure, added to the first model.
    """

    def __init__(
        self, models: Quadratics, margins: Floats, low: Floats, high: Floats, price: Price | None = None
    ) -> None:
        self._models = models
        self._low = low
        self._high = high
        self._price = price
        self._free: NDArray[np.bool_] = high > low
        steepness = np.linalg.norm(models.gradients[:, self._free], axis=1)
        self.slopes = np.maximum(np.maximum(steepness, MIN_SLOPE * models.size), TINY)  # [1 + c]
        self._offsets = np.concatenate([[-models.level[0]], margins]) / self.slopes
        self._allowed = np.zeros(len(margins))

    def solve(self) -> Floats:
        """Return the step [d]."""
        normal_step = self._normal_step()
        violations = self._at(normal_step)[1:]
        self._allowed = np.where(violations > SLSQP_TOLERANCE, violations, 0.0)
        return self._lowest(normal_step)

    def multipliers(self, s: Floats) -> Floats:
        """Return the Karush-Kuhn-Tucker multipliers of the constraints at the solution `s`, [c].

        They are the non-negative least-squares solution over the active constraints.
        """
        from scipy.optimize import nnls

        value, slopes = self._at(s), self._slopes(s)
        result = np.zeros(len(value) - 1)
        active = np.flatnonzero(value[1:] >= self._allowed - ACTIVE_TOLERANCE)
        is_loose = self._free & (s > self._low + BOUND_TOLERANCE) & (s < self._high - BOUND_TOLERANCE)
        if len(active) and is_loose.any():
            result[active] = nnls(slopes[1 + active][:, is_loose].T, -slopes[0, is_loose])[0]
        return result

    def _at(self, s: Floats) -> Floats:
        """Return the loss relative to step 0, and the violations with margins, at `s` [d], [1 + c]."""
        return np.asarray(self._models.at(s) / self.slopes + self._offsets)

    def _slopes(self, s: Floats) -> Floats:
        return np.asarray(self._models.slopes(s) / self.slopes[:, None])

    @property
    def _bounds(self) -> Floats:
        return np.stack([self._low, self._high], axis=1)

    def _normal_step(self) -> Floats:
        """Return the step with the least sum of squared violations; 0 if it violates nothing."""
        origin = np.zeros(len(self._low))
        if not (self._at(origin)[1:] > 0).any():
            return origin
        from scipy import optimize

        def square(s: Floats) -> tuple[float, Floats]:
            violations = np.maximum(self._at(s)[1:], 0.0)
            return float(violations @ violations), 2 * violations @ self._slopes(s)[1:]

        minimize: Any = optimize.minimize
        result = minimize(square, origin, jac=True, method="L-BFGS-B", bounds=self._bounds, options=LBFGSB_OPTIONS)
        return np.asarray(np.clip(result.x, self._low, self._high))

    def _lowest(self, start: Floats) -> Floats:
        """Return a local minimum of the loss from `start` [d] within the allowed violations."""
        from scipy import optimize

        within = {"fun": lambda s: self._allowed - self._at(s)[1:], "jac": lambda s: -self._slopes(s)[1:]}
        options: Any = {"method": "L-BFGS-B", "options": LBFGSB_OPTIONS}
        if len(self._allowed):
            options = {"method": "SLSQP", "options": SLSQP_OPTIONS, "constraints": [{"type": "ineq", **within}]}
        minimize: Any = optimize.minimize
        result = minimize(self._loss, start, jac=True, bounds=self._bounds, **options)
        step = np.clip(result.x, self._low, self._high)
        is_better = np.isfinite(step).all() and self._merit(step) < self._merit(start)
        return np.asarray(step if is_better else start)

    def _loss(self, s: Floats) -> tuple[float, Floats]:
        """Return the loss with the penalty of likely failure, and its slope."""
        value, slope = float(self._at(s)[0]), self._slopes(s)[0]
        if self._price is None:
            return value, slope
        price, price_slope = self._price(s)
        return value + price / self.slopes[0], slope + price_slope / self.slopes[0]

    def _merit(self, s: Floats) -> float:
        violations = np.maximum(self._at(s)[1:] - self._allowed - SLSQP_TOLERANCE, 0.0)
        return self._loss(s)[0] + VIOLATION_PRICE * float(violations.sum())


MARGIN_DEVIATIONS = (
    0.3  # margin of the constraints, in standard deviations of the models (bbob-constrained: 0 and 1 are
)
# worse, benchmarks/optimizer/gates.py)
PRICE_FACTOR = 2.0  # price over the largest multiplier: above 1 the penalty is exact, larger follows boundaries slower
MIN_PRICE = 1.0  # least price, in slopes of the loss over those of the constraint: for constraints that are not active
# Bound of rises from the centre, in slopes that nine rows in ten do not exceed: a huge value would dominate the model.
# Most rows may lie on a constraint to the last digits, so their median would be a rounding error.
MAX_SLOPE, SLOPE_QUANTILE = 1e3, 0.9
MAX_PRICE = float(np.finfo(float).max)  # bound of prices: a journal has no infinity


def violated(seen: Observations) -> Rows:
    """Return the indices of constraints that at least one row violates; only these are modelled."""
    return np.flatnonzero((seen.g[seen.good] > 0).any(0))


class ConstrainedModel:
    """Models of the loss and of the constraints `used` [c], in steps of `half` from `row`; each has a unit.

    `indices`: grid indices of the loss and of all constraints, updated by the fits.
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
        constraints = [_scaled(_bounded(seen.g[rows, j], seen.g[row, j], steps)) for j in violated(seen)]
        # Sorted by content: the result does not depend on the order of the constraints.
        order = sorted(range(len(constraints)), key=lambda i: constraints[i][0].tolist())
        self.used = violated(seen)[order]
        loss, unit = _losses(seen.f[rows, 0], seen.f[row, 0], steps, rng)
        self.units = np.array([unit, *(constraints[i][1] for i in order)])  # [1 + c]
        columns = np.array([loss, *(constraints[i][0] for i in order)])
        used_columns = [0, *(1 + self.used)]
        self.posteriors = QuadraticPosteriors(steps, columns, [indices[i] for i in used_columns], rng)
        for i, index in zip(used_columns, self.posteriors.indices, strict=True):
            indices[i] = index

    def step(self, models: Quadratics, low: Floats, high: Floats, price: Price | None = None) -> Floats:
        """Return the lowest step [d] of a draw of the models that satisfies the constraints by a margin."""
        first = ConstrainedStep(models, np.zeros(len(self.used)), low, high, price).solve()
        if not len(self.used):
            return first
        margins = MARGIN_DEVIATIONS * self.posteriors.deviations(first)[1:]
        return ConstrainedStep(models, margins, low, high, price).solve()

    def prices(self, low: Floats, high: Floats) -> Floats:
        """Return the penalty parameters of the constraints used: losses for a unit of violation, [c]."""
        if not len(self.used):
            return np.empty(0)
        problem = ConstrainedStep(self.posteriors.mean(), np.zeros(len(self.used)), low, high)
        price = max(MIN_PRICE, PRICE_FACTOR * float(problem.multipliers(problem.solve()).max(initial=0.0)))
        slopes = problem.slopes * self.units
        return np.asarray(np.clip(price * slopes[0] / slopes[1:], 0.0, MAX_PRICE))

    def fall(self, models: Quadratics, step: Floats, prices: Floats) -> float:
        """Return the predicted decrease of the merit by a step [d]; 0 if it is not finite."""
        before, after = models.at(np.zeros(len(step))), models.at(step)
        gains = np.concatenate([(before - after)[:1], np.maximum(before[1:], 0.0) - np.maximum(after[1:], 0.0)])
        fall = float((gains * self.units * np.concatenate([[1.0], prices])).sum())
        return max(fall, 0.0) if np.isfinite(fall) else 0.0


def _scaled(violation: Floats) -> tuple[Floats, float]:
    """Return violations [n] in standard deviations, 0 unchanged, and this unit."""
    scale = Scale.of(violation)
    width = scale.width
    return np.ldexp(violation, -scale.exponent) / width, _unit(scale)


def _bounded(values: Floats, centre: float, steps: Floats) -> Floats:
    """Return values [n] at `steps` [n, d] from the `centre`'s, bounded by MAX_SLOPE usual slopes above it."""
    centre = centre if np.isfinite(centre) else 0.0
    lengths = np.linalg.norm(steps, axis=1)
    slopes = np.abs(values - centre)[lengths > 0] / lengths[lengths > 0]
    if not (slopes > 0).any():
        return values
    most = centre + MAX_SLOPE * float(np.quantile(slopes[slopes > 0], SLOPE_QUANTILE)) * lengths
    return np.minimum(values, np.where(lengths > 0, most, np.inf))


def _losses(f: Floats, centre: float, steps: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return losses [n] in standard units, 0 at the centre, and the unit; unknown losses are predictions."""
    is_known = np.isfinite(f)
    if not is_known.any():
        return np.zeros(len(f)), 1.0
    centre = centre if np.isfinite(centre) else float(f[is_known][0])
    bounded = _bounded(f[is_known], centre, steps[is_known])
    scale = Scale.of(bounded)
    losses = np.zeros(len(f))
    losses[is_known] = scale.down(bounded) - scale.down(np.array([centre]))
    if not is_known.all():
        mean = QuadraticPosteriors(steps[is_known], losses[None, is_known], [None], rng).mean()
        losses[~is_known] = [mean.at(step)[0] for step in steps[~is_known]]
    return losses, _unit(scale)


def _unit(scale: Scale) -> float:
    return min(scale.unit, MAX_PRICE)


def merits(seen: Observations, rows: Rows, prices: Sequence[float]) -> Floats:
    """Return the losses of `rows` [k] plus their violations times `prices` [c], [k]; lower is better.

    Inf where the loss is unknown, and where a violated constraint has no price. The sum does not depend on the order of
    the constraints, nor on constraints that no row violates.
    """
    violations = np.maximum(seen.g[rows], 0.0)
    weights = np.array(prices)
    penalties = np.sort(np.where(violations > 0, violations * weights, 0.0)[:, weights > 0], axis=1)
    total = seen.f[rows, 0] + penalties.sum(1)
    is_unpriced = ((violations > 0) & (weights == 0)).any(1)
    return np.where(is_unpriced | ~np.isfinite(total), np.inf, total)
