"""Points as they were told, to the last bit.

Rows are stored as coordinates in [0, 1], so a float may decode to a neighbour: 0.1 to 0.09999999999999998. There the
told point is stored with the row.
"""

from collections.abc import Mapping

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.product import Space
from lamcts.types import Floats, Point, array_of, number_of

NEAR = 1e-9  # by which the code of a stored point may differ from its row: rounding is below, another point beyond


def exact(space: SearchSpace, x: Floats, told: Point) -> Point:
    """Return the point of x [d] with the real numbers of `told`; None if decoding gives it, or if `told` is far."""
    decoded = space.decode(x)
    try:
        point = _told(space, decoded, told)
        if _equal(point, decoded) or np.abs(space.encode(point) - x).max(initial=0.0) > NEAR:
            return None
    except (ValueError, TypeError, KeyError):  # of another form, such as a name for an option
        return None
    return point


def exact_points(space: SearchSpace, x: Floats, told: Mapping[int, Point]) -> dict[int, Point]:
    """Return stored points by row, in the types of the space; x [n, d] are all rows. JSON values will do."""
    found = {row: exact(space, x[row], point) for row, point in told.items() if 0 <= row < len(x)}
    return {row: point for row, point in found.items() if point is not None}


def _told(space: SearchSpace, decoded: Point, told: Point) -> Point:
    """Return `decoded` with the real numbers of `told`, those beyond an end as the end."""
    space = bare(space)
    if isinstance(space, Space):
        if space.names is None:
            return tuple(_told(*each) for each in zip(space.members, decoded, told, strict=True))
        members = dict(zip(space.names, space.members, strict=True))
        return {name: _told(members[name], value, told[name]) for name, value in decoded.items()}
    if not space.continuous.any():
        return decoded
    point = _with_floats(decoded, told)
    normalise = getattr(space, "normalise", None)
    return point if normalise is None else normalise(point)


def _with_floats(decoded: Point, told: Point) -> Point:
    """Return `decoded` with its floats replaced by those of `told`, which has the same form."""
    if isinstance(decoded, np.ndarray):
        given = array_of(told)
        return given.astype(float) if decoded.dtype.kind == "f" and given.shape == decoded.shape else decoded
    if isinstance(decoded, Mapping):
        return {name: _with_floats(value, told[name]) for name, value in decoded.items()}
    if isinstance(decoded, (list, tuple)):
        return type(decoded)(_with_floats(value, each) for value, each in zip(decoded, told, strict=True))
    return number_of(told) if type(decoded) is float else decoded


def is_same(part: Point, value: object) -> bool:
    """Return whether a value is that of a part of a point, in any coat."""
    try:
        return _equal(np.asarray(part) if hasattr(value, "__array__") else part, value)
    except (ValueError, TypeError, KeyError, RuntimeError):  # of another form
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
