"""Options: how they are found, and how files hold them.

JSON holds an option with its kind: a tuple is a list there, a list is `{"list": [...]}`. What JSON cannot hold, such as
a function or a date, is a marked label, `{"name": "math.sin"}`, which a reader without the option shows.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.spaces.values import List, brief, freeze, label, plain, scalar
from lamcts.text import valid
from lamcts.types import Json, JsonValue

SINGLE_DIGITS = 6  # significant digits of a decimal number that float32 keeps (FLT_DIG of C)


# As JSON, and back ---------------------------------------------------------------------------------------------------


def option_to_json(value: object) -> JsonValue:
    """Return `value` as JSON from which `option_from_json` makes an equal value, or its label."""
    value = scalar(value)
    if isinstance(value, list):
        return {"list": [option_to_json(part) for part in value]}
    if isinstance(value, (tuple, np.ndarray)):
        return [option_to_json(part) for part in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        values = {key: option_to_json(part) for key, part in value.items()}
        return {"dict": values} if _mark(values) else values
    return plain(value, labelled)


def labelled(value: object) -> Json:
    """Return the marked label of a value that JSON cannot hold."""
    return {"name" if hasattr(value, "__qualname__") else "repr": label(value)}


def option_from_json(json: JsonValue) -> Any:
    """Return the option of JSON values; a label is a text."""
    if isinstance(json, list):
        return tuple(map(option_from_json, json))
    if (mark := _mark(json)) is not None:
        return MARKS[mark](json[mark])
    return _dict(json) if isinstance(json, dict) else json


def _mark(json: JsonValue) -> str | None:
    """Return the only key of a dict, if it marks the kind of its value."""
    return next(iter(json)) if isinstance(json, dict) and len(json) == 1 and MARKS.keys() & json else None


def _dict(json: Json) -> Json:
    return {key: option_from_json(part) for key, part in json.items()}


MARKS: dict[str, Callable[[Any], Any]] = {
    "list": lambda json: [*map(option_from_json, json)],
    "dict": _dict,
    "float": float,
    "name": str,
    "repr": str,
}


def options_from_json(options: Iterable[JsonValue]) -> list[Any]:
    """Return several options from JSON; equal labels have numbers."""
    pairs = [(json, option_from_json(json)) for json in options]
    texts = _distinct(value for _, value in pairs)
    return [value if option_to_json(value) == json else text for (json, value), text in zip(pairs, texts, strict=True)]


def comes_back(value: Any) -> bool:
    """Return whether JSON holds a value with the kinds of all its parts."""
    value = scalar(value)
    if type(value) in (list, tuple):
        return all(map(comes_back, value))
    if type(value) is dict:
        return all(type(key) is str for key in value) and all(map(comes_back, value.values()))
    return type(value) in (str, int, float, bool, type(None))


def labels(options: Iterable[object]) -> tuple[str, ...]:
    """Return the texts of options for tables and figures, all different."""
    return tuple(_distinct(map(label, options)))


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return values; of equal ones, such as the labels of two lambdas, the texts with their numbers."""
    values = [*values]
    counts = Counter(map(freeze, values))
    return [
        value if counts[freeze(value)] == 1 else f"{label(value)} (option {i})" for i, value in enumerate(values, 1)
    ]


# Finding -------------------------------------------------------------------------------------------------------------


class Lookup:
    """The positions of `items`, found by the equality of `freeze`, or else by their labels or digits of float32."""

    def __init__(self, items: List, key: Callable[[Any], Hashable] = freeze) -> None:
        """Index the items; ValueError names the first item that occurs twice."""
        self._items = items
        self._key = key
        self._places: dict[Hashable, int] = {}
        self._rest: list[tuple[int, object]] = []
        for i, item in enumerate(items):
            first = self._equal(item)
            if first is not None:
                raise ValueError(
                    f"expected distinct values, got {brief(items[first])} at {first} and {brief(item)} at {i}; drop one"
                )
            try:
                self._places[key(item)] = i
            except TypeError:
                self._rest.append((i, item))

    def find(self, item: object) -> int | None:
        """Return the position of the item, or None."""
        place = self._equal(item)
        try:
            return self._nearly.get(_rounded(freeze(item))) if place is None else place
        except TypeError:
            return None

    def _equal(self, item: object) -> int | None:
        try:
            return self._places.get(self._key(item))
        except TypeError:
            equal = (
                i for i, other in self._rest if item is other or (type(item) is type(other) and np.all(item == other))
            )
            return next(equal, None)

    @cached_property
    def _nearly(self) -> dict[Hashable, int]:
        """The positions of those items that differ in what files have of them."""
        keys = [_rounded(freeze(item)) for item in _distinct(map(plain, self._items))]
        counts = Counter(keys)
        return {key: i for i, key in enumerate(keys) if counts[key] == 1}


def _rounded(key: Hashable) -> Hashable:
    """Return a frozen value with its floats as the digits of float32, and its texts as files take them."""
    if isinstance(key, (tuple, frozenset)):
        return type(key)(map(_rounded, key))
    if isinstance(key, float):
        return (float, f"{key:.{SINGLE_DIGITS}g}")
    return valid(key) if isinstance(key, str) else key
