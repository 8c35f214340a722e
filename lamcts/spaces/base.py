"""What every space can do. Nobody else in the package knows what a point is."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Space(Protocol):
    """A set of points, and their encoding as vectors x in the unit cube [0, 1]^dim."""

    @property
    def dim(self) -> int:
        """Width of the encoding: a number takes one coordinate, a category of k values takes k."""

    @property
    def size(self) -> float:
        """Number of distinct points, `math.inf` where any coordinate is continuous."""

    def encode(self, point: Any) -> Floats:
        """Return the x [dim] of a point; ValueError names what does not fit."""

    def decode(self, x: Floats) -> Any:
        """Return the point of a valid `x` [dim], in the user's units and plain Python or numpy types."""

    def snap(self, x: Floats) -> Floats:
        """Return for each row of `x` [n, dim] the nearest valid one, [n, dim]. Valid rows come back bit for bit."""

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, dim], uniform in the cube, to valid rows [n, dim] uniform over the points."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` valid rows drawn uniformly, [n, dim]."""

    def signature(self) -> dict[str, Any]:
        """Return JSON values that two equal spaces share and two different ones do not."""
