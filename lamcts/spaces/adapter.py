"""Adapters: spaces with the points and the encoding of another one."""

from collections.abc import Iterable

from lamcts.spaces.base import EncodedSpace, Mask, SearchSpace, comparable_of, middle_of, rows_of, sums_of, when_of
from lamcts.types import Floats, Point


class SpaceAdapter(EncodedSpace):
    """Base class of spaces that restrict or identify the points of `inner`."""

    inner: SearchSpace

    def __init__(self, inner: SearchSpace) -> None:
        if not isinstance(inner, SearchSpace) or isinstance(inner, type):
            text = f"{type(self).__name__}: expected a space, got {type(inner).__name__}"
            raise ValueError(f"{text}; pass Space({{...}}), for example")
        self.inner = inner
        self.dim = inner.dim
        self.when = when_of(inner) or None

    @property
    def size(self) -> float:
        """Number of points of the inner space: an upper bound."""
        return self.inner.size

    @property
    def blocks(self) -> tuple[slice, ...]:
        return self.inner.blocks

    @property
    def continuous(self) -> Mask:
        return self.inner.continuous

    @property
    def sums(self) -> tuple[slice, ...]:
        return sums_of(self.inner)

    @property
    def middle(self) -> Floats:
        return middle_of(self.inner)

    def encode(self, point: Point) -> Floats:
        return self.inner.encode(point)

    def decode(self, x: Floats) -> Point:
        return self.inner.decode(x)

    def split(self, point: Point) -> Iterable[tuple[object, SearchSpace, Point]]:
        space = getattr(self, "unfixed", self.inner)  # points have fixed parameters too
        return space.split(point) if isinstance(space, EncodedSpace) else ()

    def snap(self, x: Floats) -> Floats:
        return self.inner.snap(x)

    def spread(self, u: Floats) -> Floats:
        return self.inner.spread(u)

    def rows(self) -> Floats | None:
        return rows_of(self.inner)

    def comparable(self, x: Floats) -> Floats:
        return comparable_of(self.inner, x)
