"""The lowest step of a quadratic model within a box where other quadratic models are kept at most 0.

In the manner of Byrd and Omojokun (Nocedal and Wright 2006, 18.5): first the step that mends most of what is broken,
then the lowest one that breaks no more than it does. So there is an answer where the models cannot all be kept.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.models.joint_quadratic import JointQuadratics
from lamcts.types import Floats

TINY = 1e-300  # keeps quotients by it finite
FLATTEST = 1e-3  # slope that a model counts with at least, in those usual for its rows (untuned)
MEND: Any = {"maxiter": 60, "ftol": 1e-14, "gtol": 1e-10}  # of L-BFGS-B: far finer than a model of so few rows is
DESCEND: Any = {"maxiter": 60, "ftol": 1e-11}  # of SLSQP, likewise
ROUNDING = 1e-7  # by how much SLSQP may break a constraint, in units of its slope
STIFF = 1e3  # price of what is broken beyond, where steps are compared
BINDING = 1e-4  # a constraint this near to 0 binds, in units of its slope: above what SLSQP leaves (untuned)
AT_BOUND = 1e-9  # of the box's half side: a coordinate this near to its bound is held by it


class ConstrainedStep:
    """The problem: the first model is sought, the others are at most minus their `margins` [c], within a box.

    `low <= 0 <= high` [d]; coordinates where both are 0 stay 0. Inside, each model has a unit of its own, its slope.
    """

    def __init__(self, models: JointQuadratics, margins: Floats, low: Floats, high: Floats) -> None:
        self._models, self._low, self._high = models, low, high
        self._free: NDArray[np.bool_] = high > low
        steepness = np.linalg.norm(models.gradients[:, self._free], axis=1)
        self.slopes = np.maximum(np.maximum(steepness, FLATTEST * models.size), TINY)  # [1 + c]
        self._offsets = np.concatenate([[-models.level[0]], margins]) / self.slopes
        self._allowed = np.zeros(len(margins))

    def solve(self) -> Floats:
        """Return the step [d]."""
        mended = self._mended()
        self._allowed = np.maximum(self._at(mended)[1:], 0.0)
        return self._lowest(mended)

    def multipliers(self, s: Floats) -> Floats:
        """Return how much the loss would fall for each unit by which a constraint gave way at the solution `s`, [c].

        Those of Karush, Kuhn and Tucker, by non-negative least squares over the constraints that bind there.
        """
        from scipy.optimize import nnls

        value, slopes = self._at(s), self._slopes(s)
        result = np.zeros(len(value) - 1)
        binding = np.flatnonzero(value[1:] >= self._allowed - BINDING)
        loose = self._free & (s > self._low + AT_BOUND) & (s < self._high - AT_BOUND)
        if len(binding) and loose.any():
            result[binding] = nnls(slopes[1 + binding][:, loose].T, -slopes[0, loose])[0]
        return result

    def _at(self, s: Floats) -> Floats:
        """Return the loss beside that of step 0, and the excesses with their margins, at `s` [d], [1 + c]."""
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
        found = minimize(breach, nowhere, jac=True, method="L-BFGS-B", bounds=self._bounds, options=MEND)
        return np.asarray(np.clip(found.x, self._low, self._high))

    def _lowest(self, start: Floats) -> Floats:
        """Return the lowest step that can be found from `start` [d] within what is allowed."""
        from scipy import optimize

        within = {"fun": lambda s: self._allowed - self._at(s)[1:], "jac": lambda s: -self._slopes(s)[1:]}
        minimize: Any = optimize.minimize
        found = minimize(
            lambda s: (self._at(s)[0], self._slopes(s)[0]),
            start,
            jac=True,
            method="SLSQP",
            bounds=self._bounds,
            constraints=[{"type": "ineq", **within}] if len(self._allowed) else [],
            options=DESCEND,
        )
        step = np.clip(found.x, self._low, self._high)
        better = np.isfinite(step).all() and self._worth(step) < self._worth(start)
        return np.asarray(step if better else start)

    def _worth(self, s: Floats) -> float:
        value = self._at(s)
        over = np.maximum(value[1:] - self._allowed - ROUNDING, 0.0)
        return float(value[0] + STIFF * over.sum())
