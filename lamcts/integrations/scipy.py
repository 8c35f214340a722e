"""Lamcts in SciPy's interface: arrays in, `scipy.optimize.OptimizeResult` out.

`success` is SciPy's: whether the search ended before its evaluations were used up. Status 0 is the end by `target`,
`patience` or `min_gain`, or of a finite space; 1 a used-up `maxfev`; 2 the end by `seconds`; 3 means that no evaluation
succeeded; 4 that none is feasible; 99 is the callback or Ctrl-C.
"""

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, NonlinearConstraint, OptimizeResult, OptimizeWarning

import lamcts
from lamcts.spaces import SearchSpace
from lamcts.spaces.values import own_copy
from lamcts.types import Floats, Point

if TYPE_CHECKING:
    from lamcts.study.result import Result

Function = Callable[..., Any]
Mask = NDArray[np.bool_]
MAXFEV = 1000  # evaluations where none are asked for (untuned)
BATCH = 10  # points of a vectorized function's call where no `batch` is asked for (untuned)
NO_VALUE, INFEASIBLE = 3, 4  # statuses
# As SciPy has them: 0 a success, 1 evaluations used up (Nelder-Mead), 99 a callback (all methods).
STATUS = {"target": 0, "patience": 0, "exhausted": 0, "budget": 1, "seconds": 2, "callback": 99, "interrupted": 99}
STATUS |= {"failing": NO_VALUE, "min_gain": 0}
EVALUATIONS = ("maxfev", "maxfun", "maxiter")  # what the options of `scipy.optimize.minimize` call them
Rng = int | np.random.Generator | np.random.RandomState | None


@dataclass(frozen=True)
class Call:
    """`func(x, *args)` of a copy of the array, which the function may change."""

    func: Function
    args: tuple[Any, ...] = ()

    def __call__(self, point: Point, *args: Any) -> Any:
        return self.func(np.array(point, float), *self.args, *args)

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__qualname__", type(self.func).__name__))


@dataclass(frozen=True)
class StackedCall:
    """A function of a list of points, from one that takes an array [n, s]."""

    call: Call

    def __call__(self, points: list[Point]) -> Floats:
        return np.asarray(self.call(np.array(points, float).T)).reshape(-1)

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class MappedCall:
    """A function of a list of points, evaluated by a function such as `map`."""

    call: Call
    map: Function

    def __call__(self, points: list[Point]) -> list[Any]:
        return list(self.map(_Caught(self.call), points))

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class _Caught:
    """A call that returns a copy of its result or its exception, so that the other points are evaluated."""

    call: Call

    def __call__(self, point: Point) -> Any:
        try:
            return own_copy(self.call(point))
        except Exception as error:
            return error


@dataclass(frozen=True)
class ArrayBounds:
    """Bounds of arrays, and the coordinates that are whole numbers: [n] each."""

    low: Floats
    high: Floats
    whole: Mask

    @property
    def space(self) -> SearchSpace:
        if not self.whole.any() and (self.low < self.high).all():
            return lamcts.Box(self.low, self.high)
        return lamcts.Space([_member(*each) for each in zip(self.low, self.high, self.whole, strict=True)])

    def point(self, x: ArrayLike) -> list[float]:
        """Return the point of an array; ValueError for a wrong length or values outside the bounds."""
        values = np.atleast_1d(np.asarray(x, float))
        if values.shape != self.low.shape:
            raise ValueError(f"x0: expected {len(self.low)} numbers, got {x!r}")
        rounded: list[float] = np.where(self.whole, np.round(values), values).tolist()
        try:
            self.space.encode(rounded)
        except ValueError as error:
            raise ValueError(f"x0: expected {len(self.low)} numbers within the bounds, got {x!r}: {error}") from None
        return rounded

    def array(self, point: Point | None) -> Floats:
        return np.full(len(self.low), np.nan) if point is None else np.array(point, float)


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
        Finite bounds. Equal bounds fix a coordinate. A single pair, such as Bounds(-1, 2), holds for all numbers of
        `x0`.
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
    for name in ("budget", "maxiter", "maxfun", "max_nfev"):
        if name in options:
            raise TypeError(f"unknown option {name!r}; here it is called 'maxfev'")
    low, high = ends_of(bounds, x0)
    given = ArrayBounds(low, high, whole_of(integrality, len(low)))
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
    status = STATUS[found.status]
    if not found.success:
        status = NO_VALUE if found.x is None else INFEASIBLE
    made = _made(
        x=given.array(found.x),
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
    """
    if bounds is None:
        raise ValueError("bounds: expected (low, high) pairs, as the whole space within them is searched, got none")
    for name, value in {"jac": jac, "hess": hess, "hessp": hessp, "tol": tol}.items():
        if value is not None and value is not False:
            warnings.warn(f"Method lamcts does not use {name}.", RuntimeWarning, stacklevel=3)
    counts = [options.pop(name) for name in EVALUATIONS if name in options]
    low, high = ends_of(bounds, x0)
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


def _member(low: float, high: float, whole: bool) -> lamcts.Choice | lamcts.Int | lamcts.Float:
    if whole:
        low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            raise ValueError("integrality: expected bounds with a whole number between them, got none there")
    if low == high:
        return lamcts.Choice((low,))
    return lamcts.Int(int(low), int(high)) if whole else lamcts.Float(float(low), float(high))


def ends_of(bounds: Bounds | Sequence[tuple[float, float]], x0: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Return `Bounds`, or pairs, as arrays [n]; a single pair is repeated for each number of `x0`, as in SciPy."""
    if isinstance(bounds, Bounds):
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
    else:
        try:
            low, high = np.asarray(bounds, float).reshape(len(bounds), 2).T
        except (TypeError, ValueError):
            raise ValueError(f"bounds: expected (low, high) pairs or Bounds, got {bounds!r:.80}") from None
    low, high = np.array(low, float), np.array(high, float)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all() and len(low)):
        raise ValueError(f"bounds: expected finite ones, low <= high, got {bounds!r:.80}")
    if len(low) == 1 and x0 is not None:
        low, high = np.repeat(low, np.size(x0)), np.repeat(high, np.size(x0))
    return low, high


def whole_of(integrality: ArrayLike | None, n: int) -> Mask:
    """Return the coordinates that are whole numbers, [n]."""
    return np.broadcast_to(np.asarray(False if integrality is None else integrality, bool), n)
