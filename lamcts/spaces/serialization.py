"""Spaces as JSON values, and spaces from JSON values or signatures."""

from collections.abc import Callable

import numpy as np

from lamcts.spaces.base import SearchSpace, options_of
from lamcts.spaces.finite import Finite
from lamcts.spaces.fixed import Fixed, keys_of
from lamcts.spaces.kinds import UnknownKind, find, kind_of
from lamcts.spaces.options import comes_back, option_from_json, option_to_json, options_from_json
from lamcts.spaces.product import Space
from lamcts.types import Json, JsonValue


def to_json(space: SearchSpace) -> Json | None:
    """Return JSON values from which `from_json` makes an equal space."""
    kind = type(space)
    if isinstance(space, Finite) and kind is Finite:
        return _table(space)
    if isinstance(space, Space) and kind is Space:
        members = [to_json(member) for member in space.members]
        return None if None in members else {**space.signature(), "members": members}
    known = find(getattr(space, "kind", "")) is kind
    return space.signature() if known and all(map(comes_back, options_of(space))) else None


def from_json(description: Json) -> SearchSpace:
    """Return the space of a description; KeyError, TypeError or ValueError if invalid."""
    kind = description["kind"]
    settings = {name: value for name, value in description.items() if name != "kind"}
    if kind == "product":
        return _product(settings, from_json)
    if "when" in settings:
        settings["when"] = _when(settings)
    if kind == "finite":
        points = (
            option_from_json(settings["points"])
            if settings["dtype"] is None
            else np.array(settings["points"], settings["dtype"])
        )
        return Finite(points, features=settings["features"], when=settings.get("when"))
    cls = kind_of(kind)
    if cls.listed is not None:
        settings[cls.listed] = options_from_json(settings[cls.listed])
    return cls(**settings)


def from_signature(signature: JsonValue, strict: bool = False) -> SearchSpace | None:
    """Return the space of a signature, or of what `to_json` returned, without its rules and keys, which are functions.

    Options that JSON cannot hold are their labels. None if the signature does not determine the space: it has the
    checksum of a table, or a kind that is not registered; if `strict`, the latter is an UnknownKind.
    """
    try:
        return _from_signature(signature)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if strict and isinstance(error, UnknownKind):
            raise
        return None


def of_points(signature: JsonValue) -> JsonValue:
    """Return a signature without rules and keys: that of a space of the same points with the same codes."""
    while isinstance(signature, dict) and signature.get("kind") in ("canonical", "valid"):
        signature = signature.get("inner")
    return signature


def _from_signature(signature: Json) -> SearchSpace:
    signature = of_points(signature)
    kind = signature["kind"]
    if kind == "fixed":
        unfixed = _from_signature(signature["whole"])
        values = signature["values"]
        return Fixed(
            unfixed, {key: option_from_json(values[str(key)]) for key in keys_of(unfixed) if str(key) in values}
        )
    if kind == "product":
        return _product(signature, _from_signature)
    space = from_json(signature)
    if isinstance(space, Finite) and "points" in signature:
        return space
    with_labels = {name: value for name, value in signature.items() if name in ("when", getattr(space, "listed", None))}
    if space.signature() | with_labels != signature:
        raise ValueError("expected the signature of a space")
    return space


def _product(description: Json, read: Callable[[Json], SearchSpace]) -> Space:
    """Return the `Space` of members, by name where they have names."""
    names = description["names"]
    members = [read(member) for member in description["members"]]
    return Space(members if names is None else dict(zip(names, members, strict=True)), when=_when(description))


def _when(description: Json) -> Json | None:
    """Return the conditions of a description, None without any."""
    when = description.get("when")
    return None if when is None else {name: option_from_json(values) for name, values in when.items()}


def _table(space: Finite) -> Json | None:
    points = space.points
    dtype = None
    if isinstance(points, np.ndarray):
        if points.dtype.kind not in "iufb" or not np.isfinite(points).all():
            return None
        points, dtype = points.tolist(), points.dtype.str
    elif all(map(comes_back, points)):
        points = option_to_json(points)
    else:
        return None
    description = {"kind": "finite", "points": points, "dtype": dtype, "features": space.x.tolist()}
    return description | {name: value for name, value in space.signature().items() if name == "when"}
