"""Calls of opaque operations as values: the function by name, and its arguments with places for values."""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch


class Input(NamedTuple):
    """In the arguments of an opaque call: the value of the node's input `place`."""

    place: int


class Parameter(NamedTuple):
    """In the arguments of an opaque call: a parameter, buffer or constant by its name in the module that was read."""

    name: str


class OpaqueCall(NamedTuple):
    """A call that is computed as it was read.

    `target` is the name of the function, such as "torch.ops.aten.view.default" or "operator.mul", and `training` the
    place of the argument that says whether the network is trained, or None.
    """

    target: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    training: int | None


def name_of(target: Any) -> str:
    """Return the name of an operator of torch or a function of Python."""
    if isinstance(target, torch._ops.OpOverload):
        return f"torch.ops.{target}"
    return f"{getattr(target, '__module__', '').replace('_operator', 'operator')}.{target.__name__}"


def function_named(name: str) -> Any:
    """Return the function that `name_of` named."""
    module, _, rest = name.partition(".")
    found: Any = torch if module == "torch" else importlib.import_module(module)
    for part in rest.split("."):
        found = getattr(found, part)
    return found


def plain(values: Any) -> Any:
    """Return containers of torch.fx as those of Python."""
    if isinstance(values, (Input, Parameter)):
        return values
    if isinstance(values, tuple):
        return tuple(map(plain, values))
    if isinstance(values, list):
        return [*map(plain, values)]
    return {name: plain(value) for name, value in values.items()} if isinstance(values, dict) else values
