"""Minimisation in a box by SciPy's L-BFGS-B."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from lamcts.types import Floats

Slope = Callable[[Floats], tuple[float, Floats]]  # the value and the gradient [d] at a point [d]


def lowest(slope: Slope, start: Floats, low: Floats, high: Floats, steps: int) -> tuple[Floats, float]:
    """Return the lowest point [d] within `steps` iterations from `start` [d], and its value."""
    from scipy import optimize

    bounds = np.stack([low, high], axis=1)
    minimize = cast(Callable[..., Any], optimize.minimize)
    result = minimize(slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return np.asarray(result.x), float(result.fun)
