"""A space of which several points may be the same thing, or nothing at all."""

from collections.abc import Callable, Hashable
from typing import Any

from lamcts.spaces.base import Space
from lamcts.spaces.wrapped import Wrapped
from lamcts.types import Floats

Key = Callable[[Any], Hashable | None]


class Keyed(Wrapped):
    """The points of another space, told apart by a key: of those with equal keys one is proposed, once.

    key: `key(point)` returns what equal points share (isomorphic cells, say), and None for a point that is none (an
        invalid cell), which is never proposed. It must be cheap beside an evaluation, and depend on the point alone.
    name: what stands for the key in journals (None: the function's own); another name is another space.
    """

    def __init__(self, inner: Space, key: Key, name: str | None = None) -> None:
        super().__init__(inner)
        if not callable(key):
            raise ValueError(f"Keyed: expected a function of a point, got {type(key).__name__}")
        if isinstance(inner, Keyed):
            raise ValueError(
                "Keyed: expected a space without a key, got Keyed; one key says all, pass the space inside"
            )
        self.key = key
        self.name = _name(key, name)

    def identity(self, x: Floats) -> tuple[Hashable] | None:
        """Return what x [dim] shares with all that are the same thing, and no other; None where it is no point."""
        key = self.key(self.inner.decode(x))
        try:
            hash(key)
        except TypeError:
            got = type(key).__name__
            raise ValueError(f"Keyed: expected a key that can be hashed, got {got}; return text or a tuple") from None
        return None if key is None else (key,)

    def signature(self) -> dict[str, Any]:
        return {"kind": "keyed", "key": self.name, "inner": self.inner.signature()}

    def __repr__(self) -> str:
        return f"Keyed({self.inner!r}, {self.name})"


def _name(key: Key, given: Any) -> str:
    """Return the name of a key; ValueError where two different ones would share it, and so their journals."""
    if given is not None:
        if not isinstance(given, str) or not given:
            raise ValueError(f"Keyed: expected a name of at least one letter, got {given!r}; pass name='cell' or such")
        return given
    name: str = getattr(key, "__qualname__", "<none>")
    if name.endswith(">"):  # a lambda's, or none at all
        raise ValueError(f"Keyed: expected a name for {key!r}, which has none of its own; pass name='cell' or such")
    return name
