"""Lamcts in SciPy's interface: arrays in, `scipy.optimize.OptimizeResult` out.

    import lamcts.scipy
    result = lamcts.scipy.minimize(f, [(-5, 10)] * 20, maxfev=500, rng=0)
    result = scipy.optimize.minimize(f, x0, method=lamcts.scipy.method, bounds=bounds, options={"maxfev": 500})

`success` is SciPy's: whether the search ended before its evaluations were used up. A used-up `maxfev`, the normal end,
is success=False with status 1, as in Nelder-Mead and `differential_evolution`; x and fun are the best evaluation.
Status 0 is the end by `target`, `patience` or `min_gain`, or of a finite space; 2 is the end by `seconds`; 3 means that
no evaluation succeeded; 4 that no evaluation is feasible; 99 is the callback or Ctrl-C.
"""

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, NonlinearConstraint, OptimizeResult, OptimizeWarning

import lamcts
from lamcts.integrations.arrays import ArrayBounds, Call, Function, MappedCall, StackedCall, ends_of, whole_of
from lamcts.types import Floats, Point

if TYPE_CHECKING:
    from lamcts.study.result import Result

MAXFEV = 1000  # evaluations where none are asked for (untuned)
BATCH = 10  # points of a vectorized function's call where no `batch` is asked for (untuned)
NO_VALUE, INFEASIBLE = 3, 4  # statuses
# As SciPy has them: 0 a success, 1 evaluations used up (Nelder-Mead), 99 a callback (all methods).
STATUS = {"target": 0, "patience": 0, "exhausted": 0, "budget": 1, "seconds": 2, "callback": 99, "interrupted": 99}
STATUS |= {"failing": NO_VALUE, "min_gain": 0}
EVALUATIONS = ("maxfev", "maxfun", "maxiter")  # what the options of `scipy.optimize.minimize` call them

Rng = int | np.random.Generator | np.random.RandomState | None


def minimize(
    f: Function,
    bounds: Bounds | Sequence[tuple[float, float]],
    args: Any = (),
    x0: ArrayLike | None = None,
    callback: Function | None = None,
    integrality: ArrayLike | None = None,
    constraints: Any = (),
    workers: int | Function = 1,
    maxfev: int = MAXFEV,
    vectorized: bool = False,
    rng: Rng = None,
    disp: bool = False,
    **options: Any,
) -> OptimizeResult:
    """Minimise `f(x, *args)` of arrays x (n,) within bounds.

    Parameters
    ----------
    f : callable
        Returns a number. nan, an infinity or an exception is a failed evaluation.
    bounds : Bounds or sequence of (low, high)
        Finite bounds. Equal bounds fix a coordinate.
    args : tuple, default ()
        Further arguments of `f`.
    x0 : array (n,), default None
        A point within the bounds to start from.
    callback : callable, default None
        Called after each evaluation as `callback(x)` with the best point, or as `callback(intermediate_result)`. The
        run ends if it raises StopIteration or returns True.
    integrality : bool or array (n,) of bool, default None
        The coordinates that are whole numbers.
    constraints : constraint or sequence of constraints, default ()
        `NonlinearConstraint`, `LinearConstraint`, `Bounds`, or dicts as for SLSQP.
    workers : int or map-like callable, default 1
        Processes that evaluate, -1 for one a core. A callable gets `batch` points a call.
    maxfev : int, default 1000
        Number of evaluations.
    vectorized : bool, default False
        Whether `f` takes x (n, s) and returns (s,), with s at most `batch` (10). Constraints get one x at a time.
    rng : int or numpy.random.Generator, default None
        A seed, or a generator to draw it from; None is a fresh seed. `seed` has the same meaning.
    disp : bool, default False
        Whether to show progress.
    **options
        Options of `lamcts.minimize`, such as sampler, batch, journal, target, patience and seconds.

    Returns
    -------
    scipy.optimize.OptimizeResult
        The best point `x`, its value `fun`, and SciPy's other fields; `history` has all evaluations.

    Examples
    --------
    >>> import lamcts.scipy
    >>> result = lamcts.scipy.minimize(lambda x: (x**2).sum(), [(-5, 10)] * 2, maxfev=60, rng=0)
    >>> result.nfev, bool(result.fun < 0.1)
    (60, True)
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
    fun: Function,
    x0: ArrayLike,
    args: Any = (),
    *,
    jac: object = None,
    hess: object = None,
    hessp: object = None,
    bounds: Bounds | Sequence[tuple[float, float]] | None = None,
    constraints: Any = (),
    callback: Function | None = None,
    tol: float | None = None,
    **options: Any,
) -> OptimizeResult:
    """Minimise for `scipy.optimize.minimize(..., method=lamcts.scipy.method)`.

    Parameters
    ----------
    fun, x0, args, constraints, callback
        As in `minimize`.
    jac, hess, hessp, tol : object, default None
        Not used; a warning reports them.
    bounds : Bounds or sequence of (low, high)
        Finite bounds, which are required.
    **options
        Options of `minimize`; `maxfun` and `maxiter` mean `maxfev`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `minimize`.

    Raises
    ------
    ValueError
        If there are no bounds.
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


def _seed(rng: Rng) -> int | None:
    """Return the given seed, or one drawn from a generator."""
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
    """Return a constraint whose function takes an array."""
    if isinstance(constraint, Mapping) and callable(constraint.get("fun")):
        return {**constraint, "fun": Call(constraint["fun"])}
    if isinstance(constraint, NonlinearConstraint):
        made: Any = copy(constraint)
        made.fun = Call(constraint.fun)
        return made
    return constraint


@dataclass(frozen=True)
class _Callback:
    """A callback of SciPy, called by the name of its parameter."""

    callback: Function
    array: Callable[[Point], Floats]

    def __call__(self, found: "Result") -> Any:
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


def _result(found: "Result", array: Callable[[Point], Floats]) -> OptimizeResult:
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
        excesses = [held.violation(found.constraints[held.name]) for held in found.history.goals.constraints]
        made.update(constr_violation=found.violation, maxcv=float(np.max([0.0, *excesses])))
    return made
