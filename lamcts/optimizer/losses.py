"""What a user's value means: the one place where it becomes a loss, and where a failure is recognised."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.text import safe_repr, safe_text
from lamcts.types import array_of, number_of


def loss_of(value: Any, maximize: bool) -> tuple[float, str | None]:
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
        got = f"{type(value).__name__} {safe_repr(value):.60}{cure}"
        raise ValueError(f"value: expected one number, None or an exception, got {got}") from None
    if not math.isfinite(number):
        return math.nan, f"the value is {number}"
    return -number if maximize else number, None


def losses_of(values: Sequence[Any], maximize: bool) -> tuple[NDArray[np.float64], list[str | None]]:
    """Return the losses [k] of some values, nan where the evaluation failed, and what went wrong there."""
    pairs = [loss_of(value, maximize) for value in values]
    return np.array([loss for loss, _ in pairs], float), [message for _, message in pairs]


def seconds_of(values: Any, n: int) -> NDArray[np.float64]:
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


def as_list(values: Any, n: int, name: str) -> list[Any]:
    """Return `values` as a list of length `n`; one value is enough for one trial, None stands for n times None.

    A sequence, an array, a tensor, a column of a table or an iterator holds one for each trial.
    """
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
