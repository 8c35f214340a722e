"""The flat split of LaNAS: a linear regression of utility, cut at the mean."""

from dataclasses import dataclass, field

import numpy as np

from lamcts.regions.region import Split
from lamcts.tree.boundary import Halfspace
from lamcts.tree.holdout import HoldOut, Mask
from lamcts.tree.labels import ridge
from lamcts.tree.splits import balanced, check_common, prepared
from lamcts.types import Floats, Rows


@dataclass(frozen=True)
class Linear:
    """Regress utility on x; good is what is predicted above the mean (LaNAS, thesis eqs. 4.1 and 4.2).

    penalty: of the ridge, on standardised rows (0.1; for weights in standard units): least squares alone is arbitrary
        when rows are fewer than dimensions; untuned; paper: none.
    min_share: least share of the rows on either side (0.1; share); untuned; paper: none.
    check: the test on held-out rows (HoldOut(); see there), None makes none; paper: none.
    max_rows: most rows that a fit looks at (2000; rows); for the cost; paper: all of a node's.
    """

    penalty: float = 0.1
    min_share: float = 0.1
    check: HoldOut | None = field(default_factory=HoldOut)
    max_rows: int = 2000

    def __post_init__(self) -> None:
        if not self.penalty > 0:
            raise ValueError(f"Linear: expected a penalty above 0, got {self.penalty}; 1e-9 is least squares")
        check_common("Linear", self.min_share, self.max_rows)

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Split | None:
        """Return a boundary learned from rows `x` [n, d] with `utility` [n] (higher is better), or None."""
        ready = prepared(x, utility, self.max_rows, rng)
        if ready is None:
            return None
        x, s, frame = ready
        z = frame(x)  # [n, d], mean 0, so the prediction above the mean is z @ w

        def sort(train: Rows, test: Rows) -> Mask:
            middle, level = z[train].mean(0), s[train].mean()
            return np.asarray((z[test] - middle) @ ridge(z[train] - middle, s[train] - level, self.penalty) >= 0)

        if self.check is not None and not self.check.passes(sort, s, rng):
            return None
        split = Halfspace.within(frame, ridge(z, s, self.penalty), 0.0)
        return split if balanced(split.good(x), self.min_share) else None
