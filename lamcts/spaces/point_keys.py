"""Keys of points, which distinguish evaluated and pending points from new ones."""

from collections.abc import Hashable

from lamcts.spaces.base import SearchSpace, comparable_of, identity_of
from lamcts.types import Floats

MOST_KEYS = 100_000  # cached keys: some 20 MB


class PointKeys:
    """The keys of rows of a space: equal points share one, and an invalid point has None."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._identity = identity_of(space)
        self._known: dict[bytes, Hashable | None] = {}  # computing an identity may cost more than the look-up

    def __call__(self, x: Floats) -> list[Hashable | None]:
        """Return the keys of rows `x` [n, dim], [n]."""
        keys = [row.tobytes() for row in comparable_of(self._space, x)]
        return [*keys] if self._identity is None else [self._of(*pair) for pair in zip(keys, x, strict=True)]

    def _of(self, numbers: bytes, x: Floats) -> Hashable | None:
        assert self._identity is not None, "called with it"
        if numbers not in self._known:
            if len(self._known) >= MOST_KEYS:
                self._known.clear()
            self._known[numbers] = self._identity(x)
        return self._known[numbers]


def keys_of(space: SearchSpace) -> PointKeys | None:
    """Return the keys of a space; None if points are equal exactly where their codes are."""
    return PointKeys(space) if space.continuous.any() or identity_of(space) is not None else None
