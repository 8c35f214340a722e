"""Spaces as JSON values, and spaces from JSON values or signatures."""

import math
from collections.abc import Callable

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.fidelity import Fidelity
from lamcts.spaces.finite import Finite
from lamcts.spaces.fixed import Fixed, keys_of
from lamcts.spaces.float import Float
from lamcts.spaces.integer import Int
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Space
from lamcts.spaces.simplex import Simplex
from lamcts.spaces.subset import Subset
from lamcts.spaces.values import plain
from lamcts.types import Json, JsonValue, Point

KINDS: dict[str, Callable[..., SearchSpace]] = {
    "box": Box,
    "float": Float,
    "int": Int,
    "fidelity": Fidelity,
    "bool": Bool,
    "choice": Choice,
    "permutation": Permutation,
    "simplex": Simplex,
    "subset": Subset,
}
PLAIN = (str, int, float, bool, type(None))  # exactly these types, finite, are unchanged by JSON


def to_json(space: SearchSpace) -> Json | None:
    """Return JSON values from which `from_json` makes an equal space.

    None if a part of the space is not one of the package's kinds.
    """
    kind = type(space)
    if isinstance(space, Finite) and kind is Finite:
        return _table(space)
    if isinstance(space, Space) and kind is Space:
        members = [to_json(member) for member in space.members]
        return None if None in members else {**space.signature(), "members": members}
    if not all(map(_comes_back, options_of(space))):
        return None
    return space.signature() if kind in KINDS.values() else None


def options_of(space: SearchSpace) -> tuple[Point, ...]:
    """Return the options or items of a space; none of a kind without any."""
    if isinstance(space, Choice):
        return space.options
    return space.items if isinstance(space, (Permutation, Subset)) else ()


def from_json(description: Json) -> SearchSpace:
    """Return the space of a description; KeyError, TypeError or ValueError if invalid."""
    kind, given = description["kind"], {name: value for name, value in description.items() if name != "kind"}
    if kind == "product":
        members = [from_json(member) for member in given["members"]]
        return space_of(given["names"], members, given.get("when"))
    if kind == "finite":
        points = given["points"] if given["dtype"] is None else np.array(given["points"], given["dtype"])
        return Finite(points, features=given["features"], when=given.get("when"))
    return KINDS[kind](**given)


def from_signature(signature: JsonValue) -> SearchSpace | None:
    """Return the space of a signature without its rules and keys, which are functions.

    None if the signature does not determine the space: it holds a table's checksum, and options that are not plain
    values as text.
    """
    try:
        return _from_signature(signature)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _from_signature(signature: Json) -> SearchSpace:
    kind = signature["kind"]
    if kind in ("canonical", "valid"):  # the same points with the same codes
        return _from_signature(signature["inner"])
    if kind == "fixed":
        whole, values = _from_signature(signature["whole"]), signature["values"]
        return _same(Fixed(whole, {key: values[str(key)] for key in keys_of(whole) if str(key) in values}), signature)
    if kind == "product":
        members = [_from_signature(member) for member in signature["members"]]
        return space_of(signature["names"], members, signature.get("when"))
    values = signature.get("options") or signature.get("items") or ()
    if kind in ("choice", "permutation", "subset") and not all(type(value) in PLAIN for value in values):
        raise ValueError("expected options that JSON can say")
    return _same(from_json(signature), signature)


def _same(made: SearchSpace, signature: Json) -> SearchSpace:
    if made.signature() != signature:
        raise ValueError("expected the signature of a space")
    return made


def space_of(names: list[str] | None, members: list[SearchSpace], when: Json | None) -> Space:
    """Return the `Space` of members, by name where they have names."""
    return Space(members if names is None else dict(zip(names, members, strict=True)), when=when)


def _table(space: Finite) -> Json | None:
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


def _comes_back(value: object) -> bool:
    return type(value) in PLAIN and (not isinstance(value, float) or math.isfinite(value))
