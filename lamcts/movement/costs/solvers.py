"""SciPy's linear and smooth programmes as the bounds use them: arrays in, arrays out."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamcts.types import Floats

Constraint = tuple[str, Callable[[Floats], Any], Callable[[Floats], Floats]]  # "eq" or "ineq" (>= 0), value, slope


class Vertex(NamedTuple):
    """A solution of a linear programme, the prices of its rows, and the reduced costs of its variables."""

    x: Floats
    prices: Floats
    reduced: Floats


def linear(costs: Floats, rows: Floats, least: Floats, lower: Floats | None = None) -> Vertex:
    """Minimise `costs @ x` where `rows @ x >= least` and `x >= lower` (0); the programme must have a solution."""
    from scipy.optimize import linprog

    bounds = np.c_[np.zeros(len(costs)) if lower is None else lower, np.full(len(costs), np.inf)]
    found: Any = linprog(costs, A_ub=-rows, b_ub=-least, bounds=bounds)
    if found.x is None:
        raise RuntimeError(f"linear programme: expected a solution, got {found.message}")
    return Vertex(found.x, -found.ineqlin.marginals, found.lower.marginals)


def smooth(
    value: Callable[[Floats], float],
    slope: Callable[[Floats], Floats],
    start: Floats,
    bounds: Sequence[tuple[float, float | None]],
    constraints: Sequence[Constraint],
    tolerance: float = 1e-9,
) -> Floats:
    """Return where sequential least squares programming (SLSQP) stops, moved into the bounds."""
    from scipy.optimize import minimize

    written: Any = [{"type": kind, "fun": fun, "jac": jac} for kind, fun, jac in constraints]
    search: Any = minimize
    options = {"ftol": tolerance, "maxiter": 300}
    found = search(value, start, jac=slope, bounds=bounds, constraints=written, method="SLSQP", options=options)
    most = [np.inf if upper is None else upper for _, upper in bounds]
    x: Floats = np.clip(found.x, [lower for lower, _ in bounds], most)
    return x
