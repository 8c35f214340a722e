"""Our own spaces as JSON values, and back: what a file has to hold so that it can be read without the program."""

import math
from typing import Any

import numpy as np

from lamcts.spaces.base import Space as AnySpace
from lamcts.spaces.box import Box, Float
from lamcts.spaces.discrete import Bool, Choice, Int
from lamcts.spaces.finite import Finite
from lamcts.spaces.product import Product, Space
from lamcts.spaces.values import plain

PLAIN = (str, int, float, bool, type(None))  # exactly these types, finite: they come back from JSON as they were


def described(space: AnySpace) -> dict[str, Any] | None:
    """Return JSON values of which `built` makes an equal space; None where it is not one of ours all through."""
    kind = type(space)
    if kind is Finite:
        return _table(space)
    if kind in (Space, Product):
        members = [described(member) for member in space.members]  # type: ignore[attr-defined]
        return None if None in members else {**space.signature(), "members": members}
    if kind is Choice and not all(map(_comes_back, space.options)):  # type: ignore[attr-defined]
        return None
    return space.signature() if kind in (Box, Float, Int, Bool, Choice) else None


def built(description: dict[str, Any]) -> Any:
    """Return the space of a description; KeyError, TypeError or ValueError where it is none."""
    kind, given = description["kind"], {name: value for name, value in description.items() if name != "kind"}
    if kind == "product":
        members = [built(member) for member in given["members"]]
        return space_of(given["names"], members, given.get("when"))
    if kind == "finite":
        points = given["points"] if given["dtype"] is None else np.array(given["points"], given["dtype"])
        return Finite(points, features=given["features"], when=given.get("when"))
    return {"box": Box, "float": Float, "int": Int, "bool": Bool, "choice": Choice}[kind](**given)


def space_of(names: list[str] | None, members: list[Any], when: Any) -> Space:
    """Return the `Space` of members, by name where they have names."""
    return Space(members if names is None else dict(zip(names, members, strict=True)), when=when)


def _table(space: Any) -> dict[str, Any] | None:
    points, dtype = space.points, None
    if isinstance(points, np.ndarray):
        if points.dtype.kind not in "iufb" or not np.isfinite(points).all():
            return None
        points, dtype = points.tolist(), points.dtype.str
    elif not all(map(_comes_back, points)):
        return None
    return {"kind": "finite", "points": list(points), "dtype": dtype, "features": space.x.tolist()} | (
        {"when": plain(space.when)} if space.when else {}
    )


def _comes_back(value: Any) -> bool:
    return type(value) in PLAIN and (not isinstance(value, float) or math.isfinite(value))
