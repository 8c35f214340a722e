"""Exact points, as they were told.

Rows are stored as coordinates in [0, 1], so decoding may round a float: 0.1 to 0.09999999999999998. The told point is
then stored with the row.
"""

from collections.abc import Mapping

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.product import Space
from lamcts.types import Floats, Point, array_of, number_of

NEAR = 1e-9  # largest difference between the code of a told point and its row: rounding is far below


def exact(space: SearchSpace, x: Floats, told: Point) -> Point:
    """Return the point of x [d] with the real numbers of `told`; None if it is the decoded point, or another one."""
    decoded = space.decode(x)
    try:
        point = _with_told_floats(space, decoded, told)
        if _equal(point, decoded) or np.abs(space.encode(point) - x).max(initial=0.0) > NEAR:
            return None
    except (ValueError, TypeError, KeyError):  # `told` has another form, such as the label of an option
        return None
    return point


def exact_points(space: SearchSpace, x: Floats, told: Mapping[int, Point]) -> dict[int, Point]:
    """Return the exact points by row from told points, which may be JSON values; x [n, d] are all rows."""
    exact_by_row = {row: exact(space, x[row], point) for row, point in told.items() if 0 <= row < len(x)}
    return {row: point for row, point in exact_by_row.items() if point is not None}


def _with_told_floats(space: SearchSpace, decoded: Point, told: Point) -> Point:
    """Return `decoded` with the real numbers of `told`, clipped to the bounds."""
    space = bare(space)
    if isinstance(space, Space):
        if space.names is None:
            return tuple(_with_told_floats(*each) for each in zip(space.members, decoded, told, strict=True))
        members = dict(zip(space.names, space.members, strict=True))
        return {name: _with_told_floats(members[name], value, told[name]) for name, value in decoded.items()}
    if not space.continuous.any():
        return decoded
    point = _with_floats(decoded, told)
    normalise = getattr(space, "normalise", None)
    return point if normalise is None else normalise(point)


def _with_floats(decoded: Point, told: Point) -> Point:
    """Return `decoded` with its floats replaced by those of `told`, which has the same form."""
    if isinstance(decoded, np.ndarray):
        array = array_of(told)
        return array.astype(float) if decoded.dtype.kind == "f" and array.shape == decoded.shape else decoded
    if isinstance(decoded, Mapping):
        return {name: _with_floats(value, told[name]) for name, value in decoded.items()}
    if isinstance(decoded, (list, tuple)):
        return type(decoded)(_with_floats(value, each) for value, each in zip(decoded, told, strict=True))
    return number_of(told) if type(decoded) is float else decoded


def is_same(part: Point, value: object) -> bool:
    """Return whether a value of any type equals a part of a point."""
    try:
        return _equal(np.asarray(part) if hasattr(value, "__array__") else part, value)
    except (ValueError, TypeError, KeyError, RuntimeError):  # the value has another form
        return False


def _equal(point: Point, other: Point) -> bool:
    """Return whether two points of one form are equal."""
    if isinstance(point, np.ndarray):
        return np.array_equal(point, other)
    if isinstance(point, Mapping):
        return all(_equal(value, other[name]) for name, value in point.items())
    if isinstance(point, (list, tuple)):
        return all(map(_equal, point, other))
    return bool(point == other)
