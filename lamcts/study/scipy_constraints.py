"""SciPy constraints, along with those in words.

    constraints=[NonlinearConstraint(stress, 0, 250), {"type": "ineq", "fun": margin}, "mass <= 3"]

`NonlinearConstraint` (lb <= fun(point) <= ub) and dicts ({"type": "ineq", "fun": f}: f(point) >= 0; "eq": equal to 0;
both may have "args") are called by whoever evaluates, before the function, and told beside its values as c1, c2, ...,
or c1[0], c1[1], ... where they are several numbers. An equality holds to within `TOLERANCE`. `keep_feasible=True` runs
the function only where the constraint is kept; `check_first=True` does so for all of them.
`LinearConstraint` (lb <= A point <= ub) and `Bounds` cost nothing: points that break them are never proposed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from lamcts.outcomes.goals import Constraint
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.linear import Within
from lamcts.spaces.values import brief, own_copy
from lamcts.text import safe_repr, safe_text
from lamcts.types import Floats, Point, array_of

TOLERANCE = 1e-4  # to which an equality holds: that of the CEC 2006 and 2010 problems
KEYS = {"type", "fun", "args", "jac"}  # of a dict; a gradient is of no use here


@runtime_checkable
class ScipyBounds(Protocol):
    """`Bounds` or `LinearConstraint` of SciPy: ends of an interval."""

    lb: ArrayLike
    ub: ArrayLike


@runtime_checkable
class ScipyFunction(ScipyBounds, Protocol):
    """`NonlinearConstraint` of SciPy: a function, and the ends of an interval for its values."""

    fun: Callable[..., object]


ScipyDict = Mapping[str, Any]  # {"type": "ineq", "fun": function}
Constraints = int | str | ScipyDict | Constraint | ScipyBounds | Iterable[object] | None


@dataclass(frozen=True)
class ConstraintFunction:
    """A function of a point whose numbers are bounded: their names, None for one that is not, and by what."""

    fun: Callable[..., object]
    args: tuple[object, ...]
    names: tuple[str | None, ...]
    constraints: tuple[Constraint, ...]
    first: bool  # whether the function is run only where these are kept

    def __call__(self, point: Point) -> dict[str, float]:
        """Return the numbers at a point by name; ValueError where they are more, or fewer, than at the start."""
        values = _numbers(self.fun(own_copy(point), *self.args))
        if len(values) != len(self.names):
            raise ValueError(f"constraints: expected {len(self.names)} numbers as at the start, got {len(values)}")
        return {name: float(value) for name, value in zip(self.names, values, strict=True) if name is not None}

    def kept(self, found: Mapping[str, float]) -> bool:
        return all(held.violation(found[held.name]) <= 0 for held in self.constraints)


@dataclass(frozen=True)
class Guarded:
    """A function with constraints that are functions: they are called before it."""

    f: Callable[..., object]
    measures: tuple[ConstraintFunction, ...]
    check_first: bool

    def measure(self, point: Point) -> tuple[dict[str, float], bool]:
        """Return the numbers that are bounded, by name, and whether the function is to be run."""
        found: dict[str, float] = {}
        run = True
        for each in self.measures:
            mine = each(point)
            found |= mine
            run = run and (each.kept(mine) or not (each.first or self.check_first))
        return found, run


class ConstraintsByKind(NamedTuple):
    """Constraints by kind: in words, linear ones, and functions, as they were given."""

    words: tuple[object, ...] = ()
    linear: tuple[ScipyBounds, ...] = ()
    functions: tuple[ScipyDict | ScipyFunction, ...] = ()

    def rules(self, space: SearchSpace) -> list[Within]:
        """Return what says which points keep the linear ones; ValueError where points are no arrays of that size."""
        point = space.decode(space.sample(1, np.random.default_rng(0))[0]) if self.linear else None
        return [_rule(given, point) for given in self.linear]

    def measures(self, point: Point) -> tuple[ConstraintFunction, ...]:
        """Return the functions; where nothing else says how many numbers one returns, it is called at `point`."""
        return tuple(_measure(f"c{i + 1}", given, point) for i, given in enumerate(self.functions))


def constraints_by_kind(given: Constraints) -> ConstraintsByKind:
    """Return constraints by kind. A number of them stays one."""
    if given is None:
        return ConstraintsByKind()
    if isinstance(given, (str, Mapping, int, np.integer, Constraint, ScipyBounds)):
        given = [given]
    if not isinstance(given, Iterable):
        raise ValueError(f"constraints: expected texts such as 'stress <= 250', got {safe_repr(given):.60}")
    items = list(given)
    functions = [item for item in items if isinstance(item, (Mapping, ScipyFunction))]
    linear = [item for item in items if isinstance(item, ScipyBounds) and not isinstance(item, ScipyFunction)]
    words = [item for item in items if not any(item is other for other in (*functions, *linear))]
    return ConstraintsByKind(tuple(words), tuple(linear), tuple(functions))


def _rule(given: ScipyBounds, point: Point) -> Within:
    try:
        x = array_of(point).astype(float).ravel()
    except (TypeError, ValueError):
        x = np.empty(0)
    matrix = getattr(given, "A", None)
    matrix = np.eye(len(x)) if matrix is None else matrix.toarray() if hasattr(matrix, "toarray") else matrix
    matrix = np.atleast_2d(np.asarray(matrix, float))
    if matrix.shape[1] != len(x) or not len(x):
        raise ValueError(
            f"constraints: a linear one expects points that are arrays of {matrix.shape[1]} numbers, such as those of "
            f"a Box, got {brief(point)}; say it by valid=, a function of a point"
        )
    low, high = (np.broadcast_to(np.asarray(end, float), len(matrix)) for end in (given.lb, given.ub))
    return Within(tuple(map(tuple, matrix.tolist())), tuple(low.tolist()), tuple(high.tolist()))


def _measure(name: str, given: ScipyDict | ScipyFunction, point: Point) -> ConstraintFunction:
    low, high = _ends(given)
    if isinstance(given, Mapping):
        fun, args, first = given["fun"], tuple(given.get("args", ())), False
    else:
        fun, args, first = given.fun, (), bool(np.any(getattr(given, "keep_feasible", False)))
    if not callable(fun):
        raise ValueError(f"constraints: expected a function as 'fun', got {brief(fun)}")
    shape = np.broadcast_shapes(low.shape, high.shape)
    if shape in ((), (1,)):  # ends of one number hold for all numbers
        try:
            shape = _shape(name, fun, args, point) or shape
        except ValueError:
            if not shape:
                raise
    low, high = np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()
    labels = [f"{name}[{i}]" for i in range(len(low))] if shape else [name]
    held = [_bounds(label, *ends) for label, *ends in zip(labels, low.tolist(), high.tolist(), strict=True)]
    names = tuple(label if bounds else None for label, bounds in zip(labels, held, strict=True))
    return ConstraintFunction(fun, args, names, tuple(each for bounds in held for each in bounds), first)


def _ends(given: ScipyDict | ScipyFunction) -> tuple[Floats, Floats]:
    """Return between what the numbers of a function have to lie, each one number or [k]."""
    if not isinstance(given, Mapping):
        return np.asarray(given.lb, float), np.asarray(given.ub, float)
    if given.get("type") not in ("ineq", "eq") or not {"fun"} <= set(given) <= KEYS:
        expected = "{'type': 'ineq' or 'eq', 'fun': function, 'args': (...)}"
        raise ValueError(f"constraints: expected {expected}, got {safe_repr(given):.80}")
    return np.asarray(0.0), np.asarray(np.inf if given["type"] == "ineq" else 0.0)


def _bounds(name: str, low: float, high: float) -> list[Constraint]:
    if low == high:
        return [Constraint(name, "==", low, TOLERANCE)]
    ends = [Constraint(name, ">=", low)] if np.isfinite(low) else []
    return ends + ([Constraint(name, "<=", high)] if np.isfinite(high) else [])


def _shape(name: str, fun: Callable[..., object], args: tuple[object, ...], point: Point) -> tuple[int, ...]:
    """Return what a function returns at a point: () for one number, else how many."""
    try:
        found = array_of(fun(point, *args))
    except Exception as error:
        raise ValueError(
            f"constraints: {name} was called at {brief(point)}, to see how many numbers it returns, and raised "
            f"{type(error).__name__} ({safe_text(error)}); "
            f"give its lb and ub as arrays, or as x0 a point at which it works"
        ) from error
    return () if found.ndim == 0 else (found.size,)


def _numbers(values: object) -> Floats:
    return array_of(values).astype(float).ravel()
