"""Lists of values as libraries take them: numbers in their order, other values as options."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeGuard

import numpy as np

import lamcts
from lamcts.spaces import SearchSpace
from lamcts.types import Point


class Code(NamedTuple):
    """The space of a parameter, and functions between its points and the library's values."""

    space: SearchSpace
    value: Callable[[Point], Any] = lambda point: point
    point: Callable[[Any], Point] = lambda value: value


def options_of(values: Sequence[Any]) -> Code:
    """Return the code of a non-empty list of values."""
    ordered = all(map(_is_number, values))
    options = sorted(values) if ordered else list(values)
    try:
        return Code(lamcts.Choice(tuple(options), ordered=ordered))
    except ValueError:  # some are equal, which is the user's way to try one more often: places tell them apart
        return Code(lamcts.Choice(tuple(range(len(options))), ordered=ordered), options.__getitem__, options.index)


def is_space(value: object) -> TypeGuard[SearchSpace]:
    """Return whether a value is a space of lamcts."""
    return isinstance(value, SearchSpace) and not isinstance(value, type)


def _is_number(value: object) -> bool:
    return not isinstance(value, (bool, np.bool_)) and isinstance(value, Real) and math.isfinite(value)
