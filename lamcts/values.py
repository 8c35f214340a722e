"""What a user's value means: the one place where it becomes a loss, and where a failure is recognised."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray


def loss_of(value: Any, maximise: bool) -> tuple[float, str | None]:
    """Return `(loss, None)` for a finite number, `(nan, what went wrong)` for a failed evaluation.

    None, nan, an infinity or an exception is a failure. Anything else that is not one number: ValueError.
    """
    if value is None:
        return math.nan, "no value"
    if isinstance(value, BaseException):
        return math.nan, f"{type(value).__name__}: {value}"
    try:
        number = number_of(value)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"value: expected one number, None or an exception, got {type(value).__name__} {value!r:.60}"
        ) from None
    if not math.isfinite(number):
        return math.nan, f"the value is {number}"
    return -number if maximise else number, None


def number_of(value: Any) -> float:
    """Return a number, or a container of one such as a tensor, as a float: an integer beyond all floats as infinity.

    TypeError, ValueError or RuntimeError for anything else.
    """
    if isinstance(value, (str, bytes, complex)):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    held = np.asarray(_detached(value))
    if held.size != 1 or held.dtype.kind in "cSU":
        raise TypeError(f"expected one number, got {held.size} of {held.dtype}")
    try:
        return float(held.reshape(()).item())
    except OverflowError:
        return math.inf if held.item() > 0 else -math.inf


def _detached(values: Any) -> Any:
    """Return a tensor without its gradient and off its device, and anything else as it is."""
    return values.detach().cpu() if hasattr(values, "detach") and hasattr(values, "cpu") else values


def losses_of(values: Sequence[Any], maximise: bool) -> tuple[NDArray[np.float64], list[str | None]]:
    """Return the losses [k] of some values, nan where the evaluation failed, and what went wrong there."""
    pairs = [loss_of(value, maximise) for value in values]
    return np.array([loss for loss, _ in pairs], float), [message for _, message in pairs]


def as_list(values: Any, n: int, name: str) -> list[Any]:
    """Return `values` as a list of length `n`; one value is enough for one trial, None stands for n times None.

    A sequence, an array, a tensor, a column of a table or an iterator holds one for each trial.
    """
    if values is None:
        return [None] * n
    values = _detached(values)
    if hasattr(values, "__array__"):
        values = np.asarray(values)
        values = list(values) if values.ndim else [values]
    elif isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set)):
        values = list(values)
    else:
        values = [values]
    if len(values) != n:
        raise ValueError(f"{name}: expected {n}, one for each trial, got {len(values)}")
    return list(values)
