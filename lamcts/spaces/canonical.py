"""A space whose points are identified by a canonical key."""

from collections.abc import Callable, Hashable

from lamcts.spaces.adapter import SpaceAdapter
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats, Json, Point
from lamcts.utils.numerics import users_numerics

Key = Callable[[Point], Hashable | None]


class Canonical(SpaceAdapter):
    """The points of another space, of which those with equal keys are the same point.

    Parameters
    ----------
    inner : SearchSpace
        The space of the points.
    key : callable
        `key(point)` returns the canonical key, a hashable value that equivalent points share, such as isomorphic cells.
        None marks an invalid point, which is never proposed. The key must be cheap and depend on the point alone.
    name : str, optional
        Identifies the key in journals; by default the function's name. Another name is another space.

    Examples
    --------
    >>> import lamcts
    >>> pairs = lamcts.Space([lamcts.Int(0, 2), lamcts.Int(0, 2)])
    >>> space = lamcts.Canonical(pairs, lambda pair: tuple(sorted(pair)), name="unordered")
    >>> space.identity(space.encode((0, 2))) == space.identity(space.encode((2, 0)))
    True
    """

    def __init__(self, inner: SearchSpace, key: Key, name: str | None = None) -> None:
        super().__init__(inner)
        if not callable(key):
            raise ValueError(f"Canonical: expected a function of a point, got {type(key).__name__}")
        if isinstance(inner, Canonical):
            raise ValueError(
                "Canonical: expected a space without a key, got Canonical; one key says all, pass the space inside"
            )
        self.key = key
        self.name = _name(key, name)

    def identity(self, x: Floats) -> tuple[Hashable] | None:
        """Return the key of x [dim] in a tuple; None for an invalid point."""
        point = self.inner.decode(x)
        with users_numerics():
            key = self.key(point)
        try:
            hash(key)
        except TypeError:
            got = type(key).__name__
            raise ValueError(
                f"Canonical: expected a key that can be hashed, got {got}; return text or a tuple"
            ) from None
        return None if key is None else (key,)

    def signature(self) -> Json:
        return {"kind": "canonical", "key": self.name, "inner": self.inner.signature()}

    def __repr__(self) -> str:
        return f"Canonical({self.inner!r}, {self.name})"


def _name(key: Key, name: object) -> str:
    """Return the name of a key; ValueError if two different keys could share it."""
    if name is not None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"Canonical: expected a name of at least one letter, got {name!r}; pass name='cell'")
        return name
    qualname: str = getattr(key, "__qualname__", "<none>")
    if qualname.endswith(">"):  # a lambda's, or none at all
        raise ValueError(f"Canonical: expected a function with a name, got {key!r}; pass name='cell'")
    return qualname
