"""The lowest step of a quadratic model within a box where other quadratic models are kept at most 0.

In the manner of Byrd and Omojokun (Nocedal and Wright 2006, 18.5): first the step that mends most of what is broken,
then the lowest one that breaks no more than it does. So there is an answer where the models cannot all be kept.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.models.quadrics import Quadrics
from lamcts.types import Floats

TINY = 1e-300  # keeps quotients by it finite
MEND: Any = {"maxiter": 60, "ftol": 1e-14, "gtol": 1e-10}  # of L-BFGS-B: far finer than a model of so few rows is
DESCEND: Any = {"maxiter": 60, "ftol": 1e-11}  # of SLSQP
ROUNDING = 1e-7  # by how much SLSQP may break a constraint, in units of its slope


class ConstrainedStep:
    """The problem: the first model is sought, the others are at most minus their margins [k - 1]."""

    def __init__(self, models: Quadrics, margins: Floats, low: Floats, high: Floats) -> None:
        self.models, self.low, self.high = models, low, high
        self._free: NDArray[np.bool_] = high > low
        slopes = np.linalg.norm(models.gradients[:, self._free], axis=1)
        self.units = np.maximum(np.maximum(slopes, 1e-3 * models.size), TINY)  # [k]
        self._offsets = np.concatenate([[-models.level[0]], margins]) / self.units
        self.allowed = np.zeros(len(margins))

    def at(self, s: Floats) -> Floats:
        """Return the loss's fall and the constraints' excesses with margins at `s` [d], in their units, [k]."""
        return np.asarray(self.models.at(s) / self.units + self._offsets)

    def slopes(self, s: Floats) -> Floats:
        return np.asarray(self.models.slopes(s) / self.units[:, None])

    def solve(self) -> Floats:
        """Return the step [d]."""
        mended = self._mended(np.clip(np.zeros(len(self.low)), self.low, self.high))
        self.allowed = np.maximum(self.at(mended)[1:], 0.0)
        return self._lowest(mended)

    def _mended(self, s: Floats) -> Floats:
        """Return a step that breaks the constraints least, by the sum of squares."""
        if not (self.at(s)[1:] > 0).any():
            return s
        from scipy import optimize

        def broken(s: Floats) -> tuple[float, Floats]:
            over = np.maximum(self.at(s)[1:], 0.0)
            return float(over @ over), 2 * over @ self.slopes(s)[1:]

        minimize: Any = optimize.minimize
        found = minimize(broken, s, jac=True, method="L-BFGS-B", bounds=self._bounds, options=MEND)
        return np.asarray(np.clip(found.x, self.low, self.high))

    def _lowest(self, s: Floats) -> Floats:
        from scipy import optimize

        minimize: Any = optimize.minimize
        kept = {
            "type": "ineq",
            "fun": lambda s: self.allowed - self.at(s)[1:],
            "jac": lambda s: -self.slopes(s)[1:],
        }
        found = minimize(
            lambda s: self.at(s)[0],
            s,
            jac=lambda s: self.slopes(s)[0],
            method="SLSQP",
            bounds=self._bounds,
            constraints=[kept] if len(self.allowed) else [],
            options=DESCEND,
        )
        step = np.clip(found.x, self.low, self.high)
        good = np.isfinite(step).all() and self.worth(step) <= self.worth(s)
        return np.asarray(step if good else s)

    def worth(self, s: Floats) -> float:
        """Return the fall with what is broken beyond the allowed at a stiff price: compares steps."""
        value = self.at(s)
        over = np.maximum(value[1:] - self.allowed - ROUNDING, 0.0)
        return float(value[0] + 1e3 * over.sum())

    @property
    def _bounds(self) -> Floats:
        return np.stack([self.low, self.high], axis=1)

    def prices(self, s: Floats) -> Floats:
        """Return how much the loss would fall for each unit by which a constraint gave way at `s` [d], [k - 1].

        The multipliers of Kuhn and Tucker, by non-negative least squares over the constraints that bind there.
        """
        from scipy.optimize import nnls

        value, slopes = self.at(s), self.slopes(s)
        result = np.zeros(len(value) - 1)
        binding = np.flatnonzero(value[1:] >= self.allowed - 1e-4)
        inside = self._free & (s > self.low + 1e-9) & (s < self.high - 1e-9)
        if len(binding) and inside.any():
            result[binding] = nnls(slopes[1 + binding][:, inside].T, -slopes[0, inside])[0]
        return result
