"""Types that every part shares: arrays, and numbers and whole numbers from whatever a user gives."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.text import safe_repr, safe_text

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Json = dict[str, Any]  # values that JSON can hold, by name
JsonValue = Any  # a value that JSON can hold
Point = Any  # a point in the user's units: an array, a dict, a tuple or a value, as its space defines
Note = Any  # a JSON value that a sampler attaches to a point


def whole_number(value: object, name: str, least: int = 1, optional: bool = False) -> int:
    """Return `value` as an int if it is a whole number of at least `least`; where `optional`, None passes, as `least`.

    Anything else is a ValueError that begins with `name`.
    """
    if value is None and optional:
        return least
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        none = "None or " if optional else ""
        raise ValueError(f"{name}: expected {none}a whole number of at least {least}, got {safe_repr(value):.60}")
    return int(value)


def number_of(value: object) -> float:
    """Return a number, or a container of one such as a tensor, as a float: an integer beyond all floats as infinity.

    TypeError for anything else, whatever its own methods raise.
    """
    number = _item_of(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except Exception as error:
        raise TypeError(f"expected one number, got {type(value).__name__}: {safe_text(error)}") from None


def scalar_of(value: object) -> bool | int | float:
    """Return a number as `number_of` does, but booleans and whole numbers of 64 bits as such."""
    number = _item_of(value)
    if isinstance(number, bool):
        return number
    return int(number) if isinstance(number, int) and number.bit_length() <= 64 else number_of(number)


def _item_of(value: object) -> Any:
    """Return the only item of a number or a container; TypeError for texts and for several items."""
    if isinstance(value, (str, bytes, complex)):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    held = array_of(value)
    if held.size != 1 or held.dtype.kind in "cSU":
        raise TypeError(f"expected one number, got {held.size} of {held.dtype}")
    return held.reshape(()).item()


def array_of(values: object) -> NDArray[Any]:
    """Return what numpy makes of `values`, which may be or hold tensors with a gradient or on a device.

    TypeError if it makes nothing of them, whatever their own methods raise.
    """
    try:
        try:
            return np.asarray(values)
        except Exception:
            return np.asarray(_detached(values))
    except Exception as error:
        raise TypeError(f"expected numbers, got {type(values).__name__}: {safe_text(error)}") from None


def _detached(values: object) -> object:
    """Return tensors, in lists too, without their gradient and off their device, and anything else as it is."""
    if isinstance(values, (list, tuple)):
        return [_detached(value) for value in values]
    return values.detach().cpu() if hasattr(values, "detach") and hasattr(values, "cpu") else values
