"""Values as users write them: reading numbers, lists and conditions, JSON."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from numbers import Integral, Real
from typing import Any, SupportsFloat, TypeGuard

import numpy as np
from numpy.typing import NDArray

from lamcts.text import safe_repr, shortened, valid
from lamcts.types import JsonValue

MOST_ITEMS = 100_000  # of one parameter, with a coordinate each: a row of them takes 0.8 MB
When = Mapping[str, tuple[object, ...]]  # the allowed values of other parameters, by name
List = Sequence[Any] | NDArray[Any]


def real(value: object, name: str) -> float:
    """Return `value` as a finite float; ValueError reports what `name` got instead."""
    value = scalar(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name}: expected a number, got {brief(value)}; pass an int or a float")
    number = _float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, got {brief(value)}; pass a value that a float can hold")
    return number


def flag(value: object, name: str) -> bool:
    """Return `value` as a bool; ValueError reports what `name` got instead."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected True or False, got {brief(value)}")
    return bool(value)


def whole(value: object, name: str, cure: str = "pass an int, or use Float for fractions") -> int:
    """Return `value` as an int, also if it is a float such as 32.0."""
    value = scalar(value)
    if not isinstance(value, bool):
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real) and (number := _float(value)).is_integer():
            return int(number)
    raise ValueError(f"{name}: expected a whole number, got {brief(value)}; {cure}")


def _float(value: SupportsFloat) -> float:
    """Return a real number as a float, nan if it cannot be converted."""
    try:
        return float(value)
    except Exception:
        return math.nan


def is_list(value: object) -> TypeGuard[List]:
    """Return whether `value` is an ordered collection: list, tuple, range, array."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def check_items(count: int, cure: str, most: int = MOST_ITEMS) -> None:
    """Raise ValueError for more items than one parameter may have, before they are listed."""
    if count > most:
        raise ValueError(f"expected at most {most} items, got {count}; {cure}")


def items_of(values: List) -> tuple[object, ...]:
    """Return the items of a list, as `own_copy` has them; numpy scalars become Python values."""
    return tuple(map(own_copy, values.tolist() if isinstance(values, np.ndarray) else map(scalar, values)))


def own_copy(value: Any) -> Any:
    """Return copies of lists, tuples, dicts, sets and arrays, also inside each other; other objects are kept."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) is dict:
        return {key: own_copy(part) for key, part in value.items()}
    return type(value)(map(own_copy, value)) if type(value) in (list, tuple, set) else value


def read_when(conditions: object) -> When | None:
    """Return conditions as tuples of allowed values by name; ValueError if invalid."""
    if conditions is None:
        return None
    if not isinstance(conditions, Mapping) or not conditions or not all(isinstance(name, str) for name in conditions):
        raise ValueError(f"when: expected values by name, such as {{'solver': 'sgd'}}, got {brief(conditions)}")
    checked = {name: items_of(values) if is_list(values) else (scalar(values),) for name, values in conditions.items()}
    for name, values in checked.items():
        if not values:
            raise ValueError(f"when: expected at least one value of {name!r}, got none; leave the condition out")
    return checked


def brief(value: object) -> str:
    """Return the repr of `value`, cut to a length that fits into a message."""
    return shortened(re.sub(r"\s+", " ", safe_repr(value)))


def freeze(value: object) -> Hashable:
    """Return a key of equal values, for which True is not 1, and a list equals a tuple or an array."""
    value = scalar(value)
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, float) and math.isnan(value):
        return (float, "nan")  # nan differs from itself, yet as an option it must be found again
    if isinstance(value, (list, tuple)):
        return (list, tuple(freeze(part) for part in value))
    if isinstance(value, np.ndarray):
        return freeze(value.tolist())
    if isinstance(value, dict):
        return (dict, frozenset((freeze(key), freeze(part)) for key, part in value.items()))
    hash(value)
    key: Hashable = value
    return key


def plain(value: object, other: Callable[[object], JsonValue] | None = None) -> JsonValue:
    """Return `value` as JSON without its kind; what JSON cannot hold becomes `other` of it, by default its label."""
    value = scalar(value)
    if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part, other) for part in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(part, other) for key, part in value.items()}
    return (other or label)(value)


def label(value: object) -> str:
    """Return the text of any value, equal in every process: a text itself, the name of a function, or a repr."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return valid(value)
    if hasattr(value, "__qualname__"):  # a function or a class
        return f"{getattr(value, '__module__', None)}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", safe_repr(value))


def scalar(value: Any) -> Any:
    """Return the Python value of a numpy scalar or 0-d array; other values unchanged."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return value.item()
    return value
