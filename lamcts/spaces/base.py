"""What every space can do. Nobody else in the package knows what a point is."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats


@runtime_checkable
class Space(Protocol):
    """A set of points, and their encoding as vectors x in the unit cube [0, 1]^dim."""

    @property
    def dim(self) -> int:
        """Width of the encoding: a number takes one coordinate, a category of k values takes k."""

    @property
    def size(self) -> float:
        """Number of distinct points, `math.inf` where any coordinate is continuous."""

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Coordinates that belong together, one slice per parameter, in encoding order: they cover 0 to dim."""

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """Which coordinates may take every value of [0, 1], [dim]; the others jump between valid values."""

    def encode(self, point: Any) -> Floats:
        """Return the x [dim] of a point; ValueError names what does not fit.

        Going there and back, `decode(encode(point))`, gives the point again: exactly where it is discrete,
        up to rounding where it is continuous. Equal points have equal encodings, bit for bit.
        """

    def decode(self, x: Floats) -> Any:
        """Return the point of `x` [dim] in the user's units: plain Python values, arrays for boxes."""

    def snap(self, x: Floats) -> Floats:
        """Return for each row of `x` [n, dim] the nearest valid one, [n, dim]. Valid rows come back bit for bit."""

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, dim], uniform in the cube, to valid rows [n, dim] uniform over the points.

        Log parameters are uniform over their logarithms.
        """

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` valid rows drawn uniformly, [n, dim]."""

    def signature(self) -> dict[str, Any]:
        """Return JSON values that two equal spaces share and two different ones do not."""


def rows_of(space: Space) -> Floats | None:
    """Return every valid row of a space, [size, dim]; None where there are too many, or it has no method `rows`."""
    rows: Floats | None = getattr(space, "rows", lambda: None)()
    return rows


def identity_of(space: Space) -> Callable[[Floats], Hashable | None] | None:
    """Return what tells the points of a space apart, where equality does not (`keyed.py`); None elsewhere."""
    found: Callable[[Floats], Hashable | None] | None = getattr(space, "identity", None)
    return found


def distance(x: Floats, z: Floats) -> Floats:
    """Return the Euclidean distances between rows of `x` [n, dim] and of `z` [m, dim], [n, m].

    In this metric two categories are one apart, and so are the two ends of a number's range.
    """
    from scipy.spatial.distance import cdist

    result: Floats = cdist(x, z)
    return result
