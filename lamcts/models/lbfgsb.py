"""L-BFGS-B for functions that take microseconds: SciPy's own steps, without what `minimize` wraps round each of them.

`scipy.optimize.minimize` checks, copies and counts more than a model of some hundred rows computes: 460 us for a
descent of seven steps that takes 75 without (d = 20). Its core is not public, so it is called by hand only in the
versions of SciPy whose core is known to be the same, and the others go by `minimize`: the same bits, later.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np

from lamcts.types import Floats

KNOWN_VERSIONS = {(1, 15), (1, 16), (1, 17)}  # versions of SciPy whose core takes these arguments
CORRECTIONS, LINE_SEARCH_TRIALS = 10, 20  # pairs of steps that the metric is made of, and trials of a line: SciPy's own
VALUE, STEP, STOP = 3, 1, 5  # what the core asks for, tells, and is told
LIMIT_REACHED = 504  # why it is told to stop: the steps or evaluations are spent

Slope = Callable[[Floats], tuple[float, Floats]]  # the value and the gradient [d] at a point [d]


class Limits(NamedTuple):
    """When a descent ends.

    steps: most steps. ftol: least fall of a step, as a share of the larger value (of 1 where both are smaller). gtol:
    largest component of the projected gradient that is as good as 0. evaluations: most of them, looked at each step.
    """

    steps: int
    ftol: float = 2.2204460492503131e-09
    gtol: float = 1e-5
    evaluations: int = 15000


def lowest(slope: Slope, start: Floats, low: Floats, high: Floats, limits: Limits) -> tuple[Floats, float]:
    """Return the lowest point [d] found from `start` [d] between `low` and `high` [d], and its value."""
    if (low == high).all() or (core := _core()) is None:
        return _by_minimize(slope, start, low, high, limits)
    return _by_core(core, slope, np.clip(start, low, high), low, high, limits)


@cache
def _core() -> Callable[..., None] | None:
    """Return SciPy's core, None where its arguments are not known."""
    import scipy

    version = tuple(int(part) for part in scipy.__version__.split(".")[:2])
    return import_module("scipy.optimize._lbfgsb").setulb if version in KNOWN_VERSIONS else None


def _by_minimize(slope: Slope, start: Floats, low: Floats, high: Floats, limits: Limits) -> tuple[Floats, float]:
    from scipy import optimize

    options = {"maxiter": limits.steps, "ftol": limits.ftol, "gtol": limits.gtol, "maxfun": limits.evaluations}
    bounds, minimize = np.stack([low, high], axis=1), cast(Callable[..., Any], optimize.minimize)
    found = minimize(slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x), float(found.fun)


def _by_core(
    core: Callable[..., None], slope: Slope, x: Floats, low: Floats, high: Floats, limits: Limits
) -> tuple[Floats, float]:
    d, m = len(x), CORRECTIONS
    both = np.full(d, 2, np.int32)  # every coordinate has two bounds
    work, whole = np.zeros(2 * m * d + 5 * d + 11 * m * m + 8 * m), np.zeros(3 * d, np.int32)
    task, line = np.zeros(2, np.int32), np.zeros(2, np.int32)
    kept = np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)
    factor = limits.ftol / np.finfo(float).eps
    value: Any = np.array(0.0)
    gradient, steps, evaluations = np.zeros(d), 0, 0
    while True:
        core(
            m,
            x,
            low,
            high,
            both,
            value,
            gradient,
            factor,
            limits.gtol,
            work,
            whole,
            task,
            *kept,
            LINE_SEARCH_TRIALS,
            line,
        )
        if task[0] == VALUE:
            found, way = slope(x.copy())
            value, gradient, evaluations = float(found), np.ascontiguousarray(way, float), evaluations + 1
        elif task[0] != STEP:
            return x, float(value)
        elif (steps := steps + 1) >= limits.steps or evaluations > limits.evaluations:
            task[:] = STOP, LIMIT_REACHED
