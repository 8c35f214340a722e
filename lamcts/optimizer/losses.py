"""Told values as columns of losses, constraint excesses and kinds, failures included."""

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
    """Return `(loss, None)` for a finite number, `(nan, what went wrong)` for a failed evaluation.

    None, nan, an infinity or an exception is a failure. Anything else that is not one number: ValueError.
    """
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
    """Return what `n` evaluations took, [n], nan where None says that it is unknown; ValueError for no number."""
    found = []
    for value in as_list(values, n, "seconds"):
        try:
            found.append(math.nan if value is None else number_of(value))
        except TypeError:
            raise ValueError(
                f"seconds: expected a number or None for each trial, got {safe_repr(value):.60}; leave it out"
            ) from None
    return np.array(found, float)


def as_list(values: object, n: int, name: str) -> list[object]:
    """Return `values` as a list of length `n`; a single value is a list of one, None is n times None."""
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


def many(things: Any, expected: str) -> list[Any]:
    """Return a list of what may be gone through; `expected` begins the ValueError where it may not."""
    try:
        return list(things)
    except TypeError:
        raise ValueError(f"{expected}, got {safe_repr(things):.60}; pass a list of them") from None


# Values of any number of objectives and constraints -------------------------------------------------------------------


class Taken(NamedTuple):
    """Evaluations as columns: losses f [k, m], excesses g [k, c], kinds [k], and what went wrong where one failed."""

    f: Floats
    g: Floats
    kind: Rows
    messages: list[str | None]
    predicted: dict[int, Predicted]  # by place, the final losses of those that were pruned
    others: list[Mapping[Any, object]]  # [k], what else a dict held
    sems: dict[int, Sems]  # by place, the standard errors of the losses that have some


def taken(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Taken:
    """Return k evaluations as columns; ValueError names what is missing, or too much, and what came."""
    values = [
        value.value if isinstance(value, Measured) and _is_lone_failure(value.value) else value for value in values
    ]
    exact = [separate_sems(value, goals) for value in values]
    parts = [_parts(one.value, held, goals) for one, held in zip(exact, constraints, strict=True)]
    found = _with_pruned([value for value, _ in parts], constraints, goals)
    sems = {i: kept for i, one in enumerate(exact) if (kept := sems_where(one.sems, np.isfinite(found.f[i])))}
    return found._replace(others=[others for _, others in parts], sems=sems)


def completed(value: object, held: object, before: Mapping[str, object], goals: Goals) -> object:
    """Return a told value with what was told of its trial before; held: what is told of constraints now."""
    if not before or isinstance(value, Pruned):
        return value
    if (value is None and held is None) or isinstance(value, BaseException) or _is_lone_failure(value):
        measured = before.keys() >= {*goals.names}  # then what is missing will never be known, and nothing failed
        return {**dict.fromkeys(goals.quantities), **before} if measured else value
    if isinstance(value, Mapping):
        return {**before, **value}
    numbers = [] if value is None else _list(value)
    return (
        {**before, **dict(zip(goals.names, numbers, strict=False))} if len(numbers) in (0, len(goals.names)) else value
    )


def left_out(value: object, held: object, goals: Goals) -> list[str]:
    """Return the names that a dict leaves out, which are pending: none where it has other names, or has failed."""
    names = (*goals.names, *goals.quantities)
    if goals.plain or not isinstance(value, Mapping) or {*value} - {*names}:
        return []
    found = numbers_of(separate_sems(value, goals).value, held, goals)
    known = {name for name, number in found.items() if number is not None and math.isfinite(number)}
    failed = any(name in found and name not in known for name in goals.names)
    return [] if failed or not known else [name for name in names if name not in found]


def numbers_of(value: object, held: object, goals: Goals) -> dict[str, float | None]:
    """Return what a dict of values, and what was told of constraints, have by name."""
    return _named(value, goals, ()) | _quantities(held, goals)


def whole(value: object, held: object, goals: Goals) -> object:
    """Return what a function returned, None for constraints alone; ValueError where it leaves out a name."""
    if not (names := left_out(value, held, goals)) or not isinstance(value, Mapping):
        return value
    taken([value], [held], goals)
    return {**dict.fromkeys(names), **value}


def _parts(value: object, held: object, goals: Goals) -> tuple[object, Mapping[Any, object]]:
    """Return what is sought and bounded of a told value, and the rest of it; held: what was told of constraints."""
    if not isinstance(value, Mapping):
        return value, {}
    names = (*goals.names, *goals.quantities)
    others = {name: each for name, each in value.items() if name not in names}
    if not others:
        return value, {}
    separate_sems = held if isinstance(held, Mapping) else () if held is None else goals.quantities
    missing = [name for name in names if name not in value and name not in separate_sems]
    if missing:
        raise ValueError(_missing(missing, list(others), names))
    return {name: value[name] for name in names if name in value}, others


def _missing(missing: Sequence[str], others: Sequence[object], names: Sequence[str]) -> str:
    """Return the error of a dict that lacks names and has others."""
    near = [(name, close[0]) for name in missing if (close := get_close_matches(name, map(str, others), 1))]
    name = near[0][0] if near else missing[0]
    hint = f"did you mean {name!r} by {near[0][1]!r}?" if near else f"got {', '.join(map(safe_repr, others)):.60}"
    if name == VALUE and not near:  # the objective has its default name
        first = safe_repr(others[0]).strip("'")[:60]
        hint += f"; if {first!r} is the objective, say objectives=[{first!r}] or --objective {first}"
    return f"values: expected a number for each of {', '.join(names)}, got none for {name!r}; {hint}"


def _with_pruned(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Taken:
    pruned = {i: value for i, value in enumerate(values) if isinstance(value, Pruned)}
    told = _taken([None if i in pruned else value for i, value in enumerate(values)], constraints, goals)
    if not pruned:
        return told
    predicted = {i: found for i, value in pruned.items() if (found := _predicted(value, goals)) is not None}
    told.kind[[*pruned]] = PRUNED
    messages = [None if i in pruned else message for i, message in enumerate(told.messages)]
    return told._replace(messages=messages, predicted=predicted)


def _predicted(pruned: Pruned, goals: Goals) -> Predicted | None:
    """Return the final losses that were predicted for a pruned trial, None where one is unknown."""
    if pruned.value is None:
        return None
    names = goals.names
    losses = goals.losses(_numbers(each_of(pruned.value, names, "value of a pruned trial")))
    known = {} if pruned.sem is None else each_of(pruned.sem, names, "sem of a pruned trial")
    sems = [sem_of(known.get(name)) for name in names]
    return tuple(zip(losses.tolist(), sems, strict=True)) if np.isfinite(losses).all() else None


def _taken(values: Sequence[object], constraints: Sequence[object], goals: Goals) -> Taken:
    if goals.plain:
        pairs = [loss_of(_only(value, goals), goals.objectives[0].maximize) for value in values]
        _refuse(constraints, goals)
        f = np.array([loss for loss, _ in pairs], float).reshape(-1, 1)
        messages = [message for _, message in pairs]
        return Taken(f, np.empty((len(f), 0)), np.where(np.isfinite(f[:, 0]), OK, FAILED), messages, {}, [], {})
    rows = [_one(value, held, goals) for value, held in zip(values, constraints, strict=True)]
    f = np.array([row[0] for row in rows]).reshape(len(rows), len(goals.objectives))
    g = np.array([row[1] for row in rows]).reshape(len(rows), goals.columns)
    return Taken(f, g, np.array([row[2] for row in rows], np.int64), [row[3] for row in rows], {}, [], {})


def _only(value: object, goals: Goals) -> object:
    """Return the one value out of a dict of one."""
    (name,) = goals.names
    return value[name] if isinstance(value, Mapping) and set(value) == {name} else value


def _refuse(constraints: Sequence[object], goals: Goals) -> None:
    given = [held for held in constraints if held is not None]
    if given:
        raise ValueError(
            f"constraints: expected none, since this optimizer was given none, got {safe_repr(given[0]):.60}; "
            "name them: Optimizer(space, constraints=['stress <= 250'])"
        )


def _one(value: object, held: object, goals: Goals) -> tuple[Floats, Floats, int, str | None]:
    named = _quantities(held, goals)
    if isinstance(value, BaseException) or _is_lone_failure(value):
        return _failed(named, goals, loss_of(value, False)[1])
    found = _named(value, goals, named) | named
    numbers = _numbers(found)
    if all(found.get(name) is None for name in goals.names):
        g = goals.violations(numbers)
        if np.isfinite(g).any():
            return np.full(len(goals.names), np.nan), g, CHECKED, None
        return _failed(named, goals, "no value")
    for name in goals.names:
        if not math.isfinite(numbers.get(name, 0.0)):
            return _failed(found, goals, f"{name} is {numbers[name]}")
    for name in goals.names:
        if name not in found:
            raise ValueError(f"values: expected a number for each of {', '.join(goals.names)}, got none for {name!r}")
    for name in goals.quantities:
        if name not in found:
            expected = f"values: expected a number for each of {', '.join((*goals.names, *goals.quantities))}"
            raise ValueError(f"{expected}, got none for {name!r}; pass None or nan for a quantity that is not known")
    return goals.losses(numbers), goals.violations(numbers), OK, None


def _is_lone_failure(value: object) -> bool:
    """Return whether a value is a single nan or infinity, which is a failure for any number of objectives."""
    try:
        return not math.isfinite(number_of(value))
    except TypeError:
        return False


def _failed(
    found: Mapping[str, float | None], goals: Goals, message: str | None
) -> tuple[Floats, Floats, int, str | None]:
    """Return a failed evaluation: what was measured of it, nan for the rest."""
    numbers = dict.fromkeys(goals.names, math.nan) | _numbers(found)
    f = goals.losses(numbers)
    return np.where(np.isfinite(f), f, np.nan), goals.violations(numbers), FAILED, message


def _numbers(found: Mapping[str, float | None]) -> dict[str, float]:
    return {name: math.nan if number is None else number for name, number in found.items()}


def _named(value: object, goals: Goals, besides: Container[str]) -> dict[str, float | None]:
    """Return what was told as the value by name: a dict, one number, or numbers in order, but for those besides."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return _by_name(value, (*goals.names, *goals.quantities), "values")
    rest = tuple(name for name in goals.quantities if name not in besides)
    fits = len(_list(value)) == len(goals.names) + len(rest)
    return _in_order(value, goals.names, rest if fits else goals.quantities, "values")


def _quantities(held: object, goals: Goals) -> dict[str, float | None]:
    """Return what was told of the constraints by name."""
    if held is None:
        return {}
    if isinstance(held, Mapping):
        return _by_name(held, goals.quantities, "constraints")
    return _in_order(held, goals.quantities, (), "constraints")


def each_of(given: object, names: Sequence[str], what: str) -> dict[str, float | None]:
    """Return a number for each name, from a dict by name or from numbers in order; ValueError where one is missing."""
    if _is_lone_failure(given):
        return dict.fromkeys(names, number_of(given))
    if not isinstance(given, Mapping):
        return _in_order(given, names, (), what)
    found = _by_name(given, names, what)
    for name in names:
        if name not in found:
            raise ValueError(f"{what}: expected a number for each of {', '.join(names)}, got none for {name!r}")
    return found


def _by_name(given: Mapping[Any, object], names: Sequence[str], what: str) -> dict[str, float | None]:
    for name in given:
        if name not in names:
            near = get_close_matches(str(name), names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
            raise ValueError(f"{what}: unknown name {safe_repr(name):.60}; {hint}")
    return {name: _number(number, name, what) for name, number in given.items()}


def _in_order(given: object, names: Sequence[str], more: Sequence[str], what: str) -> dict[str, float | None]:
    """Return numbers in the order of `names`, or of `names` and `more`."""
    numbers = _list(given)
    if len(numbers) not in (len(names), len(names) + len(more)):
        several = f" (or {len(names) + len(more)}, with {', '.join(more)})" if more else ""
        raise ValueError(
            f"{what}: expected {len(names)} numbers for {', '.join(names) or 'nothing'}{several}, got {len(numbers)}: "
            f"{safe_repr(given):.60}"
        )
    return {name: _number(number, name, what) for name, number in zip((*names, *more), numbers, strict=False)}


def _list(given: object) -> list[object]:
    if hasattr(given, "__array__") and not isinstance(given, (list, tuple)):
        array = array_of(given)
        return list(array) if array.ndim else [array]
    return list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]


def _number(number: object, name: str, what: str) -> float | None:
    if number is None:
        return None
    try:
        return number_of(number)
    except TypeError:
        cure = "; only objectives have a standard error" if isinstance(number, (tuple, Measured)) else ""
        raise ValueError(f"{what}: expected a number for {name!r}, got {safe_repr(number):.60}{cure}") from None
