"""Lists of values as libraries take them: numbers by their order, all else as options, equal values by their places."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

import lamcts


class Code(NamedTuple):
    """The space of a parameter, what makes the library's value of a point of it, and the point of a value."""

    space: Any
    value: Callable[[Any], Any] = lambda point: point
    point: Callable[[Any], Any] = lambda value: value


def options_of(values: Sequence[Any]) -> Code:
    """Return the code of a list of values, which is not empty."""
    ordered = all(map(_is_number, values))
    options = sorted(values) if ordered else list(values)
    try:
        return Code(lamcts.Choice(tuple(options), ordered=ordered))
    except ValueError:  # some are equal, which is the user's way to try one more often: places tell them apart
        return Code(lamcts.Choice(tuple(range(len(options))), ordered=ordered), options.__getitem__, options.index)


def _is_number(value: Any) -> bool:
    return not isinstance(value, (bool, np.bool_)) and isinstance(value, Real) and math.isfinite(value)
