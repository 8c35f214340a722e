"""Lamcts as SciPy's users call a global optimiser: arrays in, a true `scipy.optimize.OptimizeResult` out.

    import lamcts.scipy
    result = lamcts.scipy.minimize(f, [(-5, 10)] * 20, maxfev=500, rng=0)
    result = scipy.optimize.minimize(f, x0, method=lamcts.scipy.method, bounds=bounds, options={"maxfev": 500})

`success` is SciPy's: whether the search ended before its evaluations were used up. As with Nelder-Mead and
`differential_evolution` a used-up `maxfev`, the normal end here, is success=False with status 1; what was found stands
in x and fun all the same (`lamcts.minimize` calls that a success). `status` 0: `target` or `patience` ended it, or no
point was left; 2: the `seconds` were over; 3: no evaluation succeeded; 4: none is feasible; 99: the callback or Ctrl-C.
"""

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, OptimizeWarning

import lamcts
from lamcts.integrations.arrays import ArrayBounds, Call, MappedCall, StackedCall, ends_of, whole_of
from lamcts.types import Floats

MAXFEV = 1000  # evaluations where none are asked for (untuned)
BATCH = 10  # points of a vectorized function's call where no `batch` is asked for (untuned)
NO_VALUE, INFEASIBLE = 3, 4  # statuses
# As SciPy has them: 0 a success, 1 evaluations used up (Nelder-Mead), 99 a callback (all methods).
STATUS = {"target": 0, "patience": 0, "exhausted": 0, "budget": 1, "seconds": 2, "callback": 99, "interrupted": 99}
STATUS["failing"] = NO_VALUE
EVALUATIONS = ("maxfev", "maxfun", "maxiter")  # what the options of `scipy.optimize.minimize` call them


def minimize(
    f: Callable[..., Any],
    bounds: Any,
    args: Any = (),
    x0: Any = None,
    callback: Callable[..., Any] | None = None,
    integrality: Any = None,
    constraints: Any = (),
    workers: Any = 1,
    maxfev: int = MAXFEV,
    vectorized: bool = False,
    rng: Any = None,
    disp: bool = False,
    **options: Any,
) -> OptimizeResult:
    """Minimise `f(x, *args)` of arrays x [n] within bounds.

    f: returns a number; nan, an infinity or an exception is a failed evaluation.
    bounds: `Bounds`, or (low, high) pairs; finite. Equal ones keep a coordinate as it is.
    x0: a point to begin with (None), within bounds.
    callback: `callback(x)` of the best point after each evaluation, or `callback(intermediate_result)` (None); the run
        ends if it raises StopIteration or returns True.
    integrality: which coordinates are whole numbers, [n] or one for all (None: none).
    constraints: `NonlinearConstraint`, `LinearConstraint`, `Bounds`, dicts of SLSQP's kind, or several.
    workers: processes that evaluate (1), -1 for one a core; or something like `map`, which gets `batch` points a call.
    maxfev: evaluations in all (1000).
    vectorized: f gets x [n, s] and returns [s] (False), s at most `batch` (10); constraints get one x at a time.
    rng: a seed, or a `numpy.random.Generator` to draw it from (None: a fresh one). `seed` is taken for the same.
    disp: show progress (False).
    options: those of `lamcts.minimize`, such as sampler, batch, journal, target, patience, seconds.
    """
    _refuse(options)
    given = ArrayBounds(*ends_of(bounds), whole_of(integrality, bounds))
    call = Call(f, args if isinstance(args, tuple) else (args,))
    how: dict[str, Any] = {"workers": workers, "vectorized": bool(vectorized)}
    evaluated: Any = call
    if vectorized:
        evaluated, how["batch"] = StackedCall(call), BATCH
    elif callable(workers):
        evaluated, how = MappedCall(call, workers), {"vectorized": True, "batch": os.cpu_count() or 1}
    found = lamcts.minimize(
        evaluated,
        given.space,
        budget=maxfev,
        x0=None if x0 is None else given.point(x0),
        callback=None if callback is None else _Callback(callback, given.array),
        constraints=[_of_arrays(each) for each in _several(constraints)] or None,
        seed=_seed(options.pop("seed", None) if rng is None else rng),
        **{"progress": bool(disp), **how, **options},
    )
    return _result(found, given.array)


def method(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    **options: Any,
) -> OptimizeResult:
    """What `scipy.optimize.minimize` calls for `method=lamcts.scipy.method`; bounds are needed.

    options: those of `minimize` here; maxfun and maxiter are maxfev too. Derivatives and `tol` have no use: a warning.
    """
    if bounds is None:
        raise ValueError("bounds: expected (low, high) pairs, as the whole space within them is searched, got none")
    for name, value in {"jac": jac, "hess": hess, "hessp": hessp, "tol": tol}.items():
        if value is not None and value is not False:
            warnings.warn(f"Method lamcts does not use {name}.", RuntimeWarning, stacklevel=3)
    counts = [options.pop(name) for name in EVALUATIONS if name in options]
    low, high = ends_of(bounds)
    start = np.clip(np.atleast_1d(np.asarray(x0, float)), low, high)
    if not np.array_equal(start, np.atleast_1d(np.asarray(x0, float))):
        warnings.warn("Initial guess is not within the specified bounds", OptimizeWarning, stacklevel=3)
    if counts:
        options["maxfev"] = min(counts)
    return minimize(fun, bounds, args, start, callback, constraints=constraints, **options)


def _seed(rng: Any) -> int | None:
    """Return a seed: one that was given, or drawn from a generator."""
    if rng is None or isinstance(rng, (int, np.integer)):
        return None if rng is None else int(rng)
    if isinstance(rng, np.random.RandomState):
        return int(rng.randint(2**31 - 1))
    return int(np.random.default_rng(rng).integers(2**63 - 1))


def _refuse(options: Mapping[str, Any]) -> None:
    for name in ("budget", "maxiter", "maxfun", "max_nfev"):
        if name in options:
            raise TypeError(f"unknown option {name!r}; here it is called 'maxfev'")


def _several(constraints: Any) -> list[Any]:
    one = isinstance(constraints, Mapping) or not isinstance(constraints, Sequence)
    return [constraints] if one and constraints is not None else list(constraints or ())


def _of_arrays(constraint: Any) -> Any:
    """Return a constraint whose function gets an array, whatever points are."""
    if isinstance(constraint, Mapping) and callable(constraint.get("fun")):
        return {**constraint, "fun": Call(constraint["fun"])}
    if callable(getattr(constraint, "fun", None)):
        made = copy(constraint)
        made.fun = Call(constraint.fun)
        return made
    return constraint


@dataclass(frozen=True)
class _Callback:
    """SciPy's callbacks, by the name of their parameter."""

    callback: Callable[..., Any]
    array: Callable[[Any], Floats]

    def __call__(self, found: Any) -> Any:
        if found.x is None:
            return None
        x = self.array(found.x)
        if {*inspect.signature(self.callback).parameters} == {"intermediate_result"}:
            return self.callback(intermediate_result=_made(x=x, fun=found.fun, nfev=found.nfev, nit=found.nit))
        return self.callback(x)


def _made(**fields: Any) -> OptimizeResult:
    made = OptimizeResult()
    made.update(fields)
    return made


def _result(found: Any, array: Callable[[Any], Floats]) -> OptimizeResult:
    status = STATUS[found.status]
    if not found.success:
        status = NO_VALUE if found.x is None else INFEASIBLE
    made = _made(
        x=array(found.x),
        fun=found.fun,
        nfev=found.nfev,
        nit=found.nit,
        success=status == 0,
        status=status,
        message=found.message,
        history=found.history,
    )
    if "violation" in found:
        over = [0.0, *found.constraints.values()]
        made.update(constr_violation=found.violation, maxcv=float(np.max(over)))
    return made
