"""Descents in a box, by SciPy's L-BFGS-B."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from lamcts.types import Floats

Slope = Callable[[Floats], tuple[float, Floats]]  # the value and the gradient [d] at a point [d]


class Limits(NamedTuple):
    """When a descent ends: after so many steps, or so many evaluations, looked at each step."""

    steps: int
    evaluations: int = 15000


def lowest(slope: Slope, start: Floats, low: Floats, high: Floats, limits: Limits) -> tuple[Floats, float]:
    """Return the lowest point [d] found from `start` [d] between `low` and `high` [d], and its value."""
    from scipy import optimize

    options = {"maxiter": limits.steps, "maxfun": limits.evaluations}
    bounds, minimize = np.stack([low, high], axis=1), cast(Callable[..., Any], optimize.minimize)
    found = minimize(slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x), float(found.fun)
