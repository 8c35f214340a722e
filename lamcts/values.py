"""What a user's value means: the one place where it becomes a loss, and where a failure is recognised."""

import math
from collections.abc import Sequence
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
        if isinstance(value, (str, bytes, complex)) or np.size(value) != 1:
            raise TypeError
        number = float(np.asarray(value).reshape(()))
    except (TypeError, ValueError):
        raise ValueError(
            f"value: expected one number, None or an exception, got {type(value).__name__} {value!r:.60}"
        ) from None
    if not math.isfinite(number):
        return math.nan, f"the value is {number}"
    return -number if maximise else number, None


def losses_of(values: Sequence[Any], maximise: bool) -> tuple[NDArray[np.float64], list[str | None]]:
    """Return the losses [k] of some values, nan where the evaluation failed, and what went wrong there."""
    pairs = [loss_of(value, maximise) for value in values]
    return np.array([loss for loss, _ in pairs], float), [message for _, message in pairs]


def as_list(values: Any, n: int, name: str) -> list[Any]:
    """Return `values` as a list of length `n`; one value is enough for one trial, None stands for n times None."""
    if values is None:
        return [None] * n
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)) or np.ndim(values) == 0:
        values = [values]
    if len(values) != n:
        raise ValueError(f"{name}: expected {n}, one for each trial, got {len(values)}")
    return list(values)
