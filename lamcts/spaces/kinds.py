"""Kinds of parameters by name: each registers itself in its own file, a kind of yours once that file is imported."""

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import TypeVar

from lamcts.spaces.base import EncodedSpace
from lamcts.utils.wings import wings

Kind = TypeVar("Kind", bound=type[EncodedSpace])
_kinds: dict[str, type[EncodedSpace]] = {}


class UnknownKind(ValueError):
    """A recorded space needs a kind of parameter that is not registered."""


def register(name: str) -> Callable[[Kind], Kind]:
    """Return a class decorator that registers a kind by its name in journals and files, and on the command line."""

    def add(kind: Kind) -> Kind:
        if not is_dataclass(kind) and kind.signature is EncodedSpace.signature:
            raise ValueError(f"expected a frozen dataclass, or a class with a signature, got {kind.__name__}")
        known = _kinds.get(name, kind)
        if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):  # equal in a cell run again
            raise ValueError(f"expected a new name of a kind, got {name!r}, which is taken: choose another")
        _kinds[name] = kind
        kind.kind = name
        return kind

    return add


def find(name: str) -> type[EncodedSpace] | None:
    """Return the kind of a name, None for an unknown one."""
    return _kinds.get(name)


def kind_of(name: str) -> type[EncodedSpace]:
    """Return the kind of a name in a file, which a wing may register; UnknownKind for an unknown one."""
    if name not in _kinds:
        wings()
    if name not in _kinds:
        cure = "import the file that registers it, or pass load(path, space=...)"
        raise UnknownKind(f"space: expected registered kinds of parameters, got {name!r}: {cure}")
    return _kinds[name]
