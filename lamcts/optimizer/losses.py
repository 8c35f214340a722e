"""Conversion of told values, failures included, to columns of losses, violations and kinds."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.errors import Pruned
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PRUNED
from lamcts.outcomes.goals import VALUE, Goals
from lamcts.outcomes.measured import Measured, Predicted, Sems, sem_of, sems_where, separate_sems
from lamcts.text import safe_repr, safe_text
from lamcts.types import Floats, Rows, array_of, number_of

# One value -----------------------------------------------------------------------------------------------------------


def loss_of(value: object, maximize: bool) -> tuple[float, str | None]:
    """Return `(loss, None)` for a finite number, `(nan, message)` for None, nan, an infinity or an exception."""
    if value is None:
        return math.nan, "no value"
    if isinstance(value, BaseException):
        return math.nan, f"{type(value).__name__}: {safe_text(value)}"
    try:
        number = number_of(value)
    except TypeError:
        cure = "; name what is sought, as objectives=['loss'] or --objective loss" if isinstance(value, Mapping) else ""
        cure += "; a value with its standard error is a tuple (value, sem)" if isinstance(value, list) else ""
        got = f"{type(value).__name__} {safe_repr(value):.60}{cure}"
        raise ValueError(f"value: expected one number, None or an exception, got {got}") from None
    if not math.isfinite(number):
        return math.nan, f"the value is {number}"
    return -number if maximize else number, None


def seconds_of(values: object, n: int) -> NDArray[np.float64]:
    """Return the durations of `n` evaluations, [n], nan for None; ValueError for another type than a number."""
    seconds = []
    for value in as_list(values, n, "seconds"):
        try:
            seconds.append(math.nan if value is None else number_of(value))
        except TypeError:
            raise ValueError(
                f"seconds: expected a number or None for each trial, got {safe_repr(value):.60}; leave it out"
            ) from None
    return np.array(seconds, float)


def as_list(values: object, n: int, name: str) -> list[object]:
    """Return `values` as a list of length `n`; None is repeated, and a single value is a list of one."""
    if values is None:
        return [None] * n
    if hasattr(values, "__array__"):
        try:
            array = array_of(values)
        except TypeError as error:
            raise ValueError(f"{name}: {error}; pass a list, one for each trial") from None
        values = list(array) if array.ndim else [array]
    elif isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set)):
        values = list(values)
    else:
        values = [values]
    if len(values) != n:
        raise ValueError(f"{name}: expected {n}, one for each trial, got {len(values)}")
    return list(values)


def list_of(values: Any, expected: str) -> list[Any]:
    """Return an iterable as a list; ValueError, which begins with `expected`, for anything else."""
    try:
        return list(values)
    except TypeError:
        raise ValueError(f"{expected}, got {safe_repr(values):.60}; pass a list of them") from None


# Values of any number of objectives and constraints -------------------------------------------------------------------


class Outcomes(NamedTuple):
    """Evaluations as columns: losses f [k, m], violations g [k, c], kinds [k], and the messages of failures."""

    f: Floats
    g: Floats
    kind: Rows
    messages: list[str | None]
    predicted: dict[int, Predicted]  # index -> predicted final losses of a pruned trial
    others: list[Mapping[Any, object]]  # [k], other names of a dict
    sems: dict[int, Sems]  # index -> known standard errors of the losses


def outcomes_of(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Outcomes:
    """Return k evaluations as columns; ValueError names a missing or unknown value."""
    values = [
        value.value if isinstance(value, Measured) and _is_lone_failure(value.value) else value for value in values
    ]
    separated = [separate_sems(value, goals) for value in values]
    pairs = [_without_metrics(part.value, given, goals) for part, given in zip(separated, constraints, strict=True)]
    outcomes = _with_pruned([value for value, _ in pairs], constraints, goals)
    known = [sems_where(part.sems, np.isfinite(f)) for part, f in zip(separated, outcomes.f, strict=True)]
    sems = {i: row for i, row in enumerate(known) if row}
    return outcomes._replace(others=[others for _, others in pairs], sems=sems)


def merged(value: object, constraints: object, before: Mapping[str, object], goals: Goals) -> object:
    """Return a told value merged with earlier values of its trial."""
    if not before or isinstance(value, Pruned):
        return value
    if (value is None and constraints is None) or isinstance(value, BaseException) or _is_lone_failure(value):
        is_measured = before.keys() >= {*goals.names}  # then the missing quantities stay unknown, and nothing failed
        return {**dict.fromkeys(goals.quantities), **before} if is_measured else value
    if isinstance(value, Mapping):
        return {**before, **value}
    numbers = [] if value is None else _items(value)
    return (
        {**before, **dict(zip(goals.names, numbers, strict=False))} if len(numbers) in (0, len(goals.names)) else value
    )


def missing_names(value: object, constraints: object, goals: Goals) -> list[str]:
    """Return the pending names that a dict lacks; none for a dict with other names or of a failure."""
    names = (*goals.names, *goals.quantities)
    if goals.plain or not isinstance(value, Mapping) or {*value} - {*names}:
        return []
    numbers = numbers_of(separate_sems(value, goals).value, constraints, goals)
    known = {name for name, number in numbers.items() if number is not None and math.isfinite(number)}
    has_failed = any(name in numbers and name not in known for name in goals.names)
    return [] if has_failed or not known else [name for name in names if name not in numbers]


def numbers_of(value: object, constraints: object, goals: Goals) -> dict[str, float | None]:
    """Return the numbers of values and of constraints by name."""
    return _values_by_name(value, goals, ()) | _quantities(constraints, goals)


def with_missing_names(value: object, constraints: object, goals: Goals) -> object:
    """Return the value of a function with None for missing names; ValueError for an invalid value."""
    if not (missing := missing_names(value, constraints, goals)) or not isinstance(value, Mapping):
        return value
    outcomes_of([value], [constraints], goals)
    return {**dict.fromkeys(missing), **value}


def _without_metrics(value: object, constraints: object, goals: Goals) -> tuple[object, Mapping[Any, object]]:
    """Return the objectives and constrained quantities of a told value, and its other names."""
    if not isinstance(value, Mapping):
        return value, {}
    names = (*goals.names, *goals.quantities)
    others = {name: part for name, part in value.items() if name not in names}
    if not others:
        return value, {}
    separate = constraints if isinstance(constraints, Mapping) else () if constraints is None else goals.quantities
    missing = [name for name in names if name not in value and name not in separate]
    if missing:
        raise ValueError(_missing_error(missing, list(others), names))
    return {name: value[name] for name in names if name in value}, others


def _missing_error(missing: Sequence[str], others: Sequence[object], names: Sequence[str]) -> str:
    """Return the error message of a dict that lacks names and has others."""
    matches = [(name, match) for name in missing for match in get_close_matches(name, map(str, others), 1)]
    name = matches[0][0] if matches else missing[0]
    hint = f"did you mean {name!r} by {matches[0][1]!r}?" if matches else f"got {', '.join(map(safe_repr, others)):.60}"
    if name == VALUE and not matches:  # the objective has its default name
        first = safe_repr(others[0]).strip("'")[:60]
        hint += f"; if {first!r} is the objective, say objectives=[{first!r}] or --objective {first}"
    return f"values: expected a number for each of {', '.join(names)}, got none for {name!r}; {hint}"


def _with_pruned(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Outcomes:
    pruned = {i: value for i, value in enumerate(values) if isinstance(value, Pruned)}
    outcomes = _columns_of([None if i in pruned else value for i, value in enumerate(values)], constraints, goals)
    if not pruned:
        return outcomes
    predicted = {i: prediction for i, value in pruned.items() if (prediction := _predicted(value, goals)) is not None}
    outcomes.kind[[*pruned]] = PRUNED
    messages = [None if i in pruned else message for i, message in enumerate(outcomes.messages)]
    return outcomes._replace(messages=messages, predicted=predicted)


def _predicted(pruned: Pruned, goals: Goals) -> Predicted | None:
    """Return the predicted final losses of a pruned trial, None if one is unknown."""
    if pruned.value is None:
        return None
    names = goals.names
    losses = goals.losses(_numbers(each_of(pruned.value, names, "value of a pruned trial")))
    sems_by_name = {} if pruned.sem is None else each_of(pruned.sem, names, "sem of a pruned trial")
    sems = [sem_of(sems_by_name.get(name)) for name in names]
    return tuple(zip(losses.tolist(), sems, strict=True)) if np.isfinite(losses).all() else None


def _columns_of(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Outcomes:
    if goals.plain:
        pairs = [loss_of(_single_value(value, goals), goals.objectives[0].maximize) for value in values]
        _refuse_constraints(constraints, goals)
        f = np.array([loss for loss, _ in pairs], float).reshape(-1, 1)
        messages = [message for _, message in pairs]
        return Outcomes(f, np.empty((len(f), 0)), np.where(np.isfinite(f[:, 0]), OK, FAILED), messages, {}, [], {})
    rows = [_row_of(value, constraint, goals) for value, constraint in zip(values, constraints, strict=True)]
    f = np.array([row[0] for row in rows]).reshape(len(rows), len(goals.objectives))
    g = np.array([row[1] for row in rows]).reshape(len(rows), goals.columns)
    return Outcomes(f, g, np.array([row[2] for row in rows], np.int64), [row[3] for row in rows], {}, [], {})


def _single_value(value: object, goals: Goals) -> object:
    """Return the value of a dict with the objective alone, and other values as they are."""
    (name,) = goals.names
    return value[name] if isinstance(value, Mapping) and set(value) == {name} else value


def _refuse_constraints(constraints: Sequence[object], goals: Goals) -> None:
    unexpected = [constraint for constraint in constraints if constraint is not None]
    if unexpected:
        raise ValueError(
            f"constraints: expected none, since this optimizer was given none, got {safe_repr(unexpected[0]):.60}; "
            "name them: Optimizer(space, constraints=['stress <= 250'])"
        )


def _row_of(value: object, constraints: object, goals: Goals) -> tuple[Floats, Floats, int, str | None]:
    quantities = _quantities(constraints, goals)
    if isinstance(value, BaseException) or _is_lone_failure(value):
        return _failed(quantities, goals, loss_of(value, False)[1])
    values = _values_by_name(value, goals, quantities) | quantities
    numbers = _numbers(values)
    if all(values.get(name) is None for name in goals.names):
        g = goals.violations(numbers)
        if np.isfinite(g).any():
            return np.full(len(goals.names), np.nan), g, CHECKED, None
        return _failed(quantities, goals, "no value")
    for name in goals.names:
        if not math.isfinite(numbers.get(name, 0.0)):
            return _failed(values, goals, f"{name} is {numbers[name]}")
    for name in goals.names:
        if name not in values:
            raise ValueError(f"values: expected a number for each of {', '.join(goals.names)}, got none for {name!r}")
    for name in goals.quantities:
        if name not in values:
            expected = f"values: expected a number for each of {', '.join((*goals.names, *goals.quantities))}"
            raise ValueError(f"{expected}, got none for {name!r}; pass None or nan for a quantity that is not known")
    return goals.losses(numbers), goals.violations(numbers), OK, None


def _is_lone_failure(value: object) -> bool:
    """Return whether a value is a single nan or infinity, a failure with any number of objectives."""
    try:
        return not math.isfinite(number_of(value))
    except TypeError:
        return False


def _failed(
    values: Mapping[str, float | None], goals: Goals, message: str | None
) -> tuple[Floats, Floats, int, str | None]:
    """Return a failed evaluation with its measured values, nan for the others."""
    numbers = dict.fromkeys(goals.names, math.nan) | _numbers(values)
    f = goals.losses(numbers)
    return np.where(np.isfinite(f), f, np.nan), goals.violations(numbers), FAILED, message


def _numbers(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: math.nan if number is None else number for name, number in values.items()}


def _values_by_name(value: object, goals: Goals, separate: Container[str]) -> dict[str, float | None]:
    """Return a told value by name: a dict, one number, or numbers in order without the separate quantities."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return _by_name(value, (*goals.names, *goals.quantities), "values")
    quantities = tuple(name for name in goals.quantities if name not in separate)
    fits = len(_items(value)) == len(goals.names) + len(quantities)
    return _in_order(value, goals.names, quantities if fits else goals.quantities, "values")


def _quantities(constraints: object, goals: Goals) -> dict[str, float | None]:
    """Return told constraints by name."""
    if constraints is None:
        return {}
    if isinstance(constraints, Mapping):
        return _by_name(constraints, goals.quantities, "constraints")
    return _in_order(constraints, goals.quantities, (), "constraints")


def each_of(values: object, names: Sequence[str], what: str) -> dict[str, float | None]:
    """Return a number for each name from a dict or from numbers in order; ValueError for a missing number."""
    if _is_lone_failure(values):
        return dict.fromkeys(names, number_of(values))
    if not isinstance(values, Mapping):
        return _in_order(values, names, (), what)
    numbers = _by_name(values, names, what)
    for name in names:
        if name not in numbers:
            raise ValueError(f"{what}: expected a number for each of {', '.join(names)}, got none for {name!r}")
    return numbers


def _by_name(values: Mapping[Any, object], names: Sequence[str], what: str) -> dict[str, float | None]:
    for name in values:
        if name not in names:
            nearest = get_close_matches(str(name), names, 1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(names) or 'none'}"
            raise ValueError(f"{what}: unknown name {safe_repr(name):.60}; {hint}")
    return {name: _number(number, name, what) for name, number in values.items()}


def _in_order(values: object, names: Sequence[str], quantities: Sequence[str], what: str) -> dict[str, float | None]:
    """Return numbers in the order of `names`, or of `names` and `quantities`, by name."""
    numbers = _items(values)
    if len(numbers) not in (len(names), len(names) + len(quantities)):
        more = f" (or {len(names) + len(quantities)}, with {', '.join(quantities)})" if quantities else ""
        raise ValueError(
            f"{what}: expected {len(names)} numbers for {', '.join(names) or 'nothing'}{more}, got {len(numbers)}: "
            f"{safe_repr(values):.60}"
        )
    return {name: _number(number, name, what) for name, number in zip((*names, *quantities), numbers, strict=False)}


def _items(values: object) -> list[object]:
    if hasattr(values, "__array__") and not isinstance(values, (list, tuple)):
        array = array_of(values)
        return list(array) if array.ndim else [array]
    return list(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else [values]


def _number(number: object, name: str, what: str) -> float | None:
    if number is None:
        return None
    try:
        return number_of(number)
    except TypeError:
        cure = "; only objectives have a standard error" if isinstance(number, (tuple, Measured)) else ""
        raise ValueError(f"{what}: expected a number for {name!r}, got {safe_repr(number):.60}{cure}") from None
