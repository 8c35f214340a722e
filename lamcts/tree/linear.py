"""The flat split of LaNAS: a linear regression of utility, cut at the mean."""

from dataclasses import dataclass

import numpy as np

from lamcts.spaces.regions.region import Split
from lamcts.tree.boundary import Halfspace
from lamcts.tree.splits import Units, balanced, check_common, prepared
from lamcts.types import Floats, is_number


@dataclass(frozen=True)
class Linear:
    """Split by linear regression of utility: good rows are predicted above the mean (LaNAS, thesis eqs. 4.1, 4.2).

    Parameters
    ----------
    penalty : float, default 0.1
        Ridge penalty on standardised rows: a larger one shrinks weights that few rows determine. The paper has none,
        so its regression is undefined for fewer rows than dimensions.
    min_share : float, default 0.1
        Least share of the rows on either side: a larger one leaves more nodes unsplit. The paper has none.
    units : {"free", "raw"}, default "free"
        The regressed values: ranks, which depend on no unit, or the objective, as in the paper.
    max_rows : int, default 2000
        Largest number of rows in a fit. The paper uses all rows of a node.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.tree import Linear
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((60, 2))
    >>> split = Linear().fit(x, -x[:, 0], rng)
    >>> split.good(np.array([[0.1, 0.5], [0.9, 0.5]])).tolist()
    [True, False]
    """

    penalty: float = 0.1
    min_share: float = 0.1
    units: Units = "free"
    max_rows: int = 2000

    def __post_init__(self) -> None:
        if not (is_number(self.penalty) and self.penalty > 0):
            raise ValueError(f"Linear: expected a penalty above 0, got {self.penalty}; 1e-9 is least squares")
        check_common("Linear", self.min_share, self.max_rows, self.units)

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Split | None:
        """Return a boundary between good and bad rows, or None; see `Splitter.fit`."""
        sample = prepared(x, utility, self.max_rows, rng)
        if sample is None:
            return None
        x, s, frame = sample
        z = frame(x)  # [n, d], mean 0, so the prediction above the mean is z @ w
        split = Halfspace.within(frame, ridge(z, s, self.penalty), 0.0)
        return split if balanced(split.good(x), self.min_share) else None


def ridge(z: Floats, s: Floats, penalty: float) -> Floats:
    """Return w [d] that minimises `mean((z @ w - s)^2) + penalty * |w|^2`."""
    n, d = z.shape
    if d <= n:
        w = np.linalg.solve(z.T @ z + penalty * n * np.eye(d), z.T @ s)
    else:
        w = z.T @ np.linalg.solve(z @ z.T + penalty * n * np.eye(n), s)
    return np.asarray(w, np.float64)
