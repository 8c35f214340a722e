"""Types that every part shares: arrays, and numbers and whole numbers from whatever a user gives."""

import math
import sys
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
MAX_SIZE = 1e300  # bound of absolute values: sums of 1e8 of them are finite, and JSON has no infinity
NOT_NUMBERS = (str, bytes, bytearray, memoryview, complex)  # although numpy or `float` makes numbers of some


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


def is_number(value: object) -> bool:
    """Return whether `value` is a real number; a boolean is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def number_of(value: object) -> float:
    """Return a number, or a container of one such as a tensor, as a float.

    A masked or missing number is nan, an integer beyond all floats an infinity. TypeError for anything else.
    """
    return _float(_item_of(value), value)


def scalar_of(value: object) -> bool | int | float:
    """Return a number as `number_of` does, but booleans and whole numbers of 64 bits as such."""
    number = _item_of(value)
    if isinstance(number, bool):
        return number
    return int(number) if isinstance(number, int) and number.bit_length() <= 64 else _float(number, value)


def _float(item: Any, value: object) -> float:
    """Return the item of a value as a float."""
    try:
        return math.nan if _is_missing(item) else float(item)
    except OverflowError:
        return math.inf if item > 0 else -math.inf
    except Exception as error:
        raise TypeError(f"expected one number, got {type(value).__name__}: {safe_text(error)}") from None


def _item_of(value: object) -> Any:
    """Return the only item of a number or a container; TypeError for texts, times and several items."""
    if value is None or isinstance(value, NOT_NUMBERS):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise TypeError(f"expected one number, got {len(value)}")
        return None if value[0] is None else _item_of(value[0])
    held = array_of(value)
    if held.size != 1 or held.dtype.kind in "cSUmM":
        raise TypeError(f"expected one number, got {held.size} of {held.dtype}")
    item = held.reshape(()).item()
    if isinstance(item, NOT_NUMBERS):
        raise TypeError(f"expected a number, got {type(item).__name__}")
    return item


def _is_missing(item: object) -> bool:
    """Return whether an item is None or one of pandas' missing values."""
    pandas = sys.modules.get("pandas")  # loaded by whoever has such a value
    return item is None or (pandas is not None and bool(pandas.isna(item)))


def array_of(values: object) -> NDArray[Any]:
    """Return what numpy makes of `values`, which may be or hold tensors with a gradient, on a device, or of bfloat16.

    Masked numbers are nan. TypeError if numpy makes nothing of them, whatever their own methods raise.
    """
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(values.astype(float), math.nan))
        try:
            return np.asarray(values)
        except Exception:
            return np.asarray(_listed(values))
    except Exception as error:
        raise TypeError(f"expected numbers, got {type(values).__name__}: {safe_text(error)}") from None


def _listed(values: Any) -> object:
    """Return tensors, in lists too, as lists of numbers of Python, and anything else as it is."""
    if isinstance(values, (list, tuple)):
        return [_listed(value) for value in values]
    return values.tolist() if hasattr(values, "tolist") else values
