"""The identity of frozen settings: class, version and the fields that differ from their defaults, as JSON values.

    identity(Turbo(n_start=5))    # {"class": "Turbo", "n_start": 5}

Two runs are the same if their identities are equal. A new setting at its default changes no identity. A class whose
defaults or method have changed raises its attribute `version` (1 where it has none), which is part of the identity.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from lamcts.samplers.registry import name_of
from lamcts.text import safe_repr
from lamcts.types import Json, JsonValue
from lamcts.utils import wings

# Classes of frozen settings, and where they are: a file may name these, the samplers and those of wings, and no others.
MODULES = {
    "MultiFidelity": "lamcts.samplers.fidelities",
    "LatentTree": "lamcts.tree.grow",
    "KMeansSvm": "lamcts.tree.splits",
    "Linear": "lamcts.tree.linear",
}
CLASS, VERSION = "class", "version"  # entries of an identity that are no settings; no field can be called "class"


# To JSON values and back ---------------------------------------------------------------------------------------------


def identity(value: object) -> JsonValue:
    """Return settings as JSON values; of an object that is no dataclass its own repr, or else its name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [identity(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): identity(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _named(value) | {
            field.name: identity(getattr(value, field.name)) for field in fields(value) if not _at_default(value, field)
        }
    if hasattr(value, "__qualname__"):  # a function or a class
        return {CLASS: value.__qualname__}
    own = getattr(type(value), "__repr__", None)
    return _named(value) if own == object.__repr__ else re.sub(" at 0x[0-9a-fA-F]+", "", safe_repr(value))


def _named(value: object) -> Json:
    version = getattr(type(value), VERSION, 1)
    return {CLASS: type(value).__qualname__} | ({VERSION: version} if version != 1 else {})


def _at_default(value: Any, field: "Field[Any]") -> bool:
    """Return whether a field has its default, or says nothing of the settings: it is not compared, or not given."""
    if not (field.init and field.compare):
        return True
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is not MISSING and identity(getattr(value, field.name)) == identity(default)


def is_ours(value: Any) -> bool:
    """Return whether `from_identity` can make these settings again: plain values and known classes alone."""
    if isinstance(value, tuple):
        return all(map(is_ours, value))
    if value is None or type(value) in (bool, int, float, str):
        return True
    module = module_of(type(value).__name__) if is_dataclass(value) else None
    ours = module is not None and f"{type(value).__module__}.".startswith(f"{module}.")
    return ours and all(is_ours(getattr(value, field.name)) for field in fields(value) if field.init)


def from_identity(value: JsonValue, known: Mapping[str, str] | None = None) -> Any:
    """Return the settings of an identity; KeyError, TypeError or ValueError for what is none of `known` classes.

    known: modules by class; None: those of lamcts.
    """
    if isinstance(value, list):
        return tuple(from_identity(item, known) for item in value)
    if not isinstance(value, dict):
        return value
    given = {name: from_identity(item, known) for name, item in value.items() if name not in (CLASS, VERSION)}
    name = value[CLASS]
    module = module_of(name) if known is None else known.get(name)
    if module is None:
        raise KeyError(name)
    return getattr(import_module(module), name)(**given)


@cache
def module_of(name: str) -> str | None:
    """Return the module of a class that a file may name: a sampler, one of MODULES or of a wing; None for others."""
    if name in MODULES:
        return MODULES[name]
    file = name_of(name)
    return wings.module_of_settings(name) if file is None else f"lamcts.samplers.{file}"


def shown(value: JsonValue) -> str:
    """Return an identity as the call that makes it, such as `Turbo(n_start=5)`."""
    if isinstance(value, dict) and CLASS in value:
        given = (f"{name}={shown(own)}" for name, own in value.items() if name not in (CLASS, VERSION))
        return f"{value[CLASS]}({', '.join(given)})"
    if isinstance(value, list):
        return f"({', '.join(map(shown, value))})"
    return repr(value)


# Comparison -----------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """Where two identities differ first, as `sampler.n_start`, and the two values as text."""

    name: str
    theirs: str
    ours: str


def difference(theirs: JsonValue, ours: JsonValue, name: str = "") -> Difference | None:
    """Return the first difference of two identities, or of JSON values that hold some; None where they are equal."""
    theirs, ours = _unmarked(theirs), _unmarked(ours)
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.get(CLASS) == ours.get(CLASS):
        for key in {**theirs, **ours}:
            old, new = (given[key] if key in given else _missing(ours, key) for given in (theirs, ours))
            if found := difference(old, new, f"{name}.{key}".lstrip(".")):
                return found
        return None
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = [*enumerate(zip(theirs, ours, strict=True))]
        each = next(filter(None, (difference(old, new, f"{name}[{i}]") for i, (old, new) in pairs)), None)
        settings = any(isinstance(one, dict) for one in ours)
        return each if each is None or settings else Difference(name, shown(theirs), shown(ours))
    if theirs == ours or (theirs != theirs and ours != ours):  # nan is itself here
        return None
    return Difference(name, shown(theirs), shown(ours))


def _unmarked(value: JsonValue) -> JsonValue:
    """Return an option without the mark of its kind, which old journals lack: a list equals a tuple."""
    (mark, *others) = value if isinstance(value, dict) and value else ("",)
    return value[mark] if mark in ("list", "dict") and not others else value


class _Words(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _missing(of: Json, name: str) -> JsonValue:
    """Return the default of a setting that an identity lacks."""
    if CLASS not in of:
        return None
    if name == VERSION:
        return 1
    try:
        found = {field.name: field for field in fields(getattr(import_module(str(module_of(of[CLASS]))), of[CLASS]))}
    except (AttributeError, ImportError):  # a class of a user's
        return _Words("the default")
    if name not in found:
        return _Words("unknown")
    default = found[name].default
    factory = found[name].default_factory
    return identity(factory() if factory is not MISSING else default)
