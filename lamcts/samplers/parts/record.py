"""Conversion of progress, a dataclass, to JSON values and back, field by field, by its type hints."""

from base64 import b64decode, b64encode
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from lamcts import rng as streams
from lamcts.types import Json, JsonValue

Record = TypeVar("Record")
PLAIN: dict[Any, Any] = {int: int, float: (int, float), bool: bool, str: str}  # hint -> types of its values
SCALARS = (float, int, str, bool, type(None))  # most values of a state: tested first


def to_json(value: object) -> JsonValue:
    """Return records, lists, dicts, arrays and generators as JSON values; JSON values are returned as they are.

    A dict becomes a list of pairs, since its keys may not be text.
    """
    if type(value) in SCALARS:
        return value
    if isinstance(value, (list, tuple)):
        return [item if type(item) in SCALARS else to_json(item) for item in value]
    if isinstance(value, np.random.Generator):
        return streams.save(value)
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim == 1 else {"shape": list(value.shape), "base64": packed(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return [[to_json(key), to_json(item)] for key, item in value.items()]
    return value


def packed(value: NDArray[Any]) -> str:
    """Return the bytes of an array as text: a matrix as JSON numbers would be more than twice as long."""
    return b64encode(np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()).decode()


def unpacked(value: Json, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the array of a text by `packed`."""
    flat = np.frombuffer(b64decode(value["base64"]), dtype.newbyteorder("<"))
    return flat.reshape(value["shape"]).astype(dtype)


def from_json(kind: type[Record], value: Json) -> Record:
    """Return the record of class `kind` whose `to_json` is `value`; KeyError or TypeError for other values."""
    hints = get_type_hints(kind)
    return kind(**{field.name: _typed(hints[field.name], value[field.name]) for field in fields(kind)})  # type: ignore[arg-type]


def _typed(hint: Any, value: JsonValue) -> Any:
    """Convert JSON values to the type of a field; raise TypeError for values of another type."""
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):  # of a type and None
        return None if value is None else _typed(next(hint for hint in inner if hint is not type(None)), value)
    if kind in PLAIN and not isinstance(value, PLAIN[kind]):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    if kind is np.random.Generator:
        return streams.restore(value)
    if kind is np.ndarray:
        (dtype,) = get_args(inner[1])
        return np.array(value, dtype) if isinstance(value, list) else unpacked(value, np.dtype(dtype))
    if kind in (dict, list, tuple) and not inner:
        raise TypeError(f"expected a type of items, as list[int], in the annotation of a progress, got {kind.__name__}")
    if kind is dict:
        return {_typed(inner[0], key): _typed(inner[1], item) for key, item in value}
    if kind is tuple and Ellipsis not in inner:
        return tuple(_typed(hint, item) for hint, item in zip(inner, value, strict=True))
    if kind in (list, tuple):
        return kind(_typed(inner[0], item) for item in value)
    return from_json(kind, value) if isinstance(kind, type) and is_dataclass(kind) else value
