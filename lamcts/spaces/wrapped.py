"""A space round another one, with the same points and codes: what such spaces share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import Space, rows_of
from lamcts.spaces.coded import Coded
from lamcts.spaces.conditions import middle_of
from lamcts.types import Floats


class Wrapped(Coded):
    """Base of spaces that say more of the points of `inner`; its codes are theirs."""

    def __init__(self, inner: Space) -> None:
        if not isinstance(inner, Space) or isinstance(inner, type):
            own, got = type(self).__name__, type(inner).__name__
            raise ValueError(f"{own}: expected a space, got {got}; pass Space({{...}}) or such")
        self.inner, self.dim = inner, inner.dim
        self.when = getattr(inner, "when", None)

    @property
    def size(self) -> float:
        """Number of points of the inner space: an upper bound of those that count."""
        return self.inner.size

    @property
    def blocks(self) -> tuple[slice, ...]:
        return self.inner.blocks

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return self.inner.continuous

    @property
    def middle(self) -> Floats:
        return middle_of(self.inner)

    def encode(self, point: Any) -> Floats:
        return self.inner.encode(point)

    def decode(self, x: Floats) -> Any:
        return self.inner.decode(x)

    def snap(self, x: Floats) -> Floats:
        return self.inner.snap(x)

    def spread(self, u: Floats) -> Floats:
        return self.inner.spread(u)

    def rows(self) -> Floats | None:
        return rows_of(self.inner)
