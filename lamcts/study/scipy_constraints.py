"""SciPy constraints, along with those in words.

    constraints=[NonlinearConstraint(stress, 0, 250), {"type": "ineq", "fun": margin}, "mass <= 3"]

`NonlinearConstraint` is lb <= fun(point) <= ub. A dict {"type": "ineq", "fun": f} is f(point) >= 0, and "eq" is equal
to 0; both may have "args". Workers call these functions before the objective. Their values are the quantities c1, c2,
..., or c1[0], c1[1], ... for several numbers. An equality holds to within `TOLERANCE`. With `keep_feasible=True`, the
objective runs only where the constraint is satisfied; `check_first=True` does so for all constraint functions.
Points that violate a `LinearConstraint` (lb <= A point <= ub) or `Bounds` are never proposed.
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

TOLERANCE = 1e-4  # of an equality, as in the CEC 2006 and 2010 problems
KEYS = {"type", "fun", "args", "jac"}  # of a dict; gradients are ignored


@runtime_checkable
class ScipyBounds(Protocol):
    """`Bounds` or `LinearConstraint` of SciPy: the ends of an interval."""

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
    """A function with bounded numbers: their names, None for an unbounded number, and their constraints."""

    fun: Callable[..., object]
    args: tuple[object, ...]
    names: tuple[str | None, ...]
    constraints: tuple[Constraint, ...]
    first: bool  # whether the objective runs only where the constraints are satisfied

    def __call__(self, point: Point) -> dict[str, float]:
        """Return the numbers at a point by name; ValueError for another number of them than at the start."""
        values = _numbers(self.fun(own_copy(point), *self.args))
        if len(values) != len(self.names):
            raise ValueError(f"constraints: expected {len(self.names)} numbers as at the start, got {len(values)}")
        return {name: float(value) for name, value in zip(self.names, values, strict=True) if name is not None}

    def is_satisfied(self, numbers: Mapping[str, float]) -> bool:
        return all(constraint.violation(numbers[constraint.name]) <= 0 for constraint in self.constraints)


@dataclass(frozen=True)
class Guarded:
    """A function with constraint functions, which are called first."""

    f: Callable[..., object]
    measures: tuple[ConstraintFunction, ...]
    check_first: bool

    def measure(self, point: Point) -> tuple[dict[str, float], bool]:
        """Return the bounded numbers by name, and whether the function should run."""
        numbers: dict[str, float] = {}
        should_run = True
        for measure in self.measures:
            own_numbers = measure(point)
            numbers |= own_numbers
            should_run = should_run and (measure.is_satisfied(own_numbers) or not (measure.first or self.check_first))
        return numbers, should_run


class ConstraintsByKind(NamedTuple):
    """Constraints by kind: in words, linear, and functions."""

    words: tuple[object, ...] = ()
    linear: tuple[ScipyBounds, ...] = ()
    functions: tuple[ScipyDict | ScipyFunction, ...] = ()

    def rules(self, space: SearchSpace) -> list[Within]:
        """Return the rules of the linear constraints; ValueError unless points are arrays of that size."""
        point = space.decode(space.sample(1, np.random.default_rng(0))[0]) if self.linear else None
        return [_rule(constraint, point) for constraint in self.linear]

    def measures(self, point: Point) -> tuple[ConstraintFunction, ...]:
        """Return the constraint functions; a function with an unknown number of values is called at `point`."""
        return tuple(_measure(f"c{i + 1}", constraint, point) for i, constraint in enumerate(self.functions))


def constraints_by_kind(constraints: Constraints) -> ConstraintsByKind:
    """Return constraints by kind; a number of constraints counts as words."""
    if constraints is None:
        return ConstraintsByKind()
    if isinstance(constraints, (str, Mapping, int, np.integer, Constraint, ScipyBounds)):
        constraints = [constraints]
    if not isinstance(constraints, Iterable):
        raise ValueError(f"constraints: expected texts such as 'stress <= 250', got {safe_repr(constraints):.60}")
    items = list(constraints)
    functions = [item for item in items if isinstance(item, (Mapping, ScipyFunction))]
    linear = [item for item in items if isinstance(item, ScipyBounds) and not isinstance(item, ScipyFunction)]
    words = [item for item in items if not any(item is other for other in (*functions, *linear))]
    return ConstraintsByKind(tuple(words), tuple(linear), tuple(functions))


def _rule(constraint: ScipyBounds, point: Point) -> Within:
    try:
        x = array_of(point).astype(float).ravel()
    except (TypeError, ValueError):
        x = np.empty(0)
    matrix = getattr(constraint, "A", None)
    matrix = np.eye(len(x)) if matrix is None else matrix.toarray() if hasattr(matrix, "toarray") else matrix
    matrix = np.atleast_2d(np.asarray(matrix, float))
    if matrix.shape[1] != len(x) or not len(x):
        raise ValueError(
            f"constraints: a linear one expects points that are arrays of {matrix.shape[1]} numbers, such as those of "
            f"a Box, got {brief(point)}; say it by valid=, a function of a point"
        )
    low, high = (np.broadcast_to(np.asarray(end, float), len(matrix)) for end in (constraint.lb, constraint.ub))
    return Within(tuple(map(tuple, matrix.tolist())), tuple(low.tolist()), tuple(high.tolist()))


def _measure(name: str, constraint: ScipyDict | ScipyFunction, point: Point) -> ConstraintFunction:
    low, high = _ends(constraint)
    if isinstance(constraint, Mapping):
        fun = constraint["fun"]
        args = tuple(constraint.get("args", ()))
        first = False
    else:
        fun = constraint.fun
        args = ()
        first = bool(np.any(getattr(constraint, "keep_feasible", False)))
    if not callable(fun):
        raise ValueError(f"constraints: expected a function as 'fun', got {brief(fun)}")
    shape = np.broadcast_shapes(low.shape, high.shape)
    if shape in ((), (1,)):  # single ends bound all numbers
        try:
            shape = _shape(name, fun, args, point) or shape
        except ValueError:
            if not shape:
                raise
    low = np.broadcast_to(low, shape).ravel()
    high = np.broadcast_to(high, shape).ravel()
    labels = [f"{name}[{i}]" for i in range(len(low))] if shape else [name]
    bounds_by_number = [_bounds(label, *ends) for label, *ends in zip(labels, low.tolist(), high.tolist(), strict=True)]
    names = tuple(label if bounds else None for label, bounds in zip(labels, bounds_by_number, strict=True))
    return ConstraintFunction(fun, args, names, tuple(bound for bounds in bounds_by_number for bound in bounds), first)


def _ends(constraint: ScipyDict | ScipyFunction) -> tuple[Floats, Floats]:
    """Return the ends of the interval for the numbers of a function, each one number or [k]."""
    if not isinstance(constraint, Mapping):
        return np.asarray(constraint.lb, float), np.asarray(constraint.ub, float)
    if constraint.get("type") not in ("ineq", "eq") or not {"fun"} <= set(constraint) <= KEYS:
        expected = "{'type': 'ineq' or 'eq', 'fun': function, 'args': (...)}"
        raise ValueError(f"constraints: expected {expected}, got {safe_repr(constraint):.80}")
    return np.asarray(0.0), np.asarray(np.inf if constraint["type"] == "ineq" else 0.0)


def _bounds(name: str, low: float, high: float) -> list[Constraint]:
    if low == high:
        return [Constraint(name, "==", low, TOLERANCE)]
    ends = [Constraint(name, ">=", low)] if np.isfinite(low) else []
    return ends + ([Constraint(name, "<=", high)] if np.isfinite(high) else [])


def _shape(name: str, fun: Callable[..., object], args: tuple[object, ...], point: Point) -> tuple[int, ...]:
    """Return the shape of a function's numbers at a point, () for one number."""
    try:
        numbers = array_of(fun(point, *args))
    except Exception as error:
        raise ValueError(
            f"constraints: {name} was called at {brief(point)}, to see how many numbers it returns, and raised "
            f"{type(error).__name__} ({safe_text(error)}); "
            f"give its lb and ub as arrays, or as x0 a point at which it works"
        ) from error
    return () if numbers.ndim == 0 else (numbers.size,)


def _numbers(values: object) -> Floats:
    return array_of(values).astype(float).ravel()
