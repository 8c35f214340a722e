"""Several columns as one number, for a search that knows no more: the same for a row whenever it is looked at.

What a search models or replays must not change under it, as the standing of a row does when others come. So each search
has a number of its own: its weights of the objectives, and units that are those of the rows there were when it began.
"""

from dataclasses import dataclass

import numpy as np

from lamcts.observations import Observations
from lamcts.outcomes.constrained_rank import feasible, rankable
from lamcts.samplers.parts.bounded_columns import bounded
from lamcts.types import Floats, Rows

UNKNOWN = 1e12  # excess in units that stands for one that was not measured, and the largest there is
SUM_SHARE = 0.05  # of the weighted sum beside the weighted maximum: Knowles (ParEGO, 2006)


@dataclass(frozen=True)
class Scale:
    """weights [m]; low, spread [m]: least losses and their usual distance from them; unit [c]: usual excesses."""

    weights: list[float]
    low: list[float]
    spread: list[float]
    unit: list[float]

    def of(self, f: Floats, g: Floats, kind: Rows) -> Floats:
        """Return the number of each row, [n], lower is better, nan for one without a standing.

        Feasible rows lie in (-1, 1) by the augmented weighted Chebyshev distance of their losses, infeasible ones in
        [2, 3) by the sum of their excesses.
        """
        with np.errstate(over="ignore"):  # of a quotient, which is cut
            lost, excess = bounded((f - self.low) / self.spread), np.minimum(g / self.unit, UNKNOWN)
        weighted = np.array(self.weights) * lost  # [n, m]
        far = weighted.max(1) + SUM_SHARE * weighted.sum(1)
        over = np.maximum(np.where(np.isnan(g), UNKNOWN, excess), 0.0).sum(1)
        number = np.where(feasible(g, kind), far / (1 + np.abs(far)), 2 + over / (1 + over))
        return np.where(rankable(g, kind), number, np.nan)


def scale_of(seen: Observations, weights: Floats) -> Scale:
    """Return the scale of a search that begins now."""
    f = seen.f[seen.feasible] if seen.feasible.any() else seen.f[np.isfinite(seen.f).all(1)]
    low = f.min(0) if len(f) else np.zeros(f.shape[1])
    spread = np.median(f, 0) - low if len(f) else np.ones(f.shape[1])
    lone = spread == 0  # one row that is feasible, or equal ones: all rows say what is usual, or else its size
    if lone.any():
        spread[lone] = np.median(np.abs(seen.f[np.isfinite(seen.f).all(1)] - low), 0)[lone]
        spread[spread == 0] = np.ldexp(1.0, np.frexp(low[spread == 0])[1])
    return Scale(weights.tolist(), low.tolist(), spread.tolist(), [_usual(column) for column in seen.g.T])


def _usual(g: Floats) -> float:
    """Return the usual excess of a constraint [n]; of one that was not broken yet, by how much it was kept."""
    sizes = g[g > 0] if (g > 0).any() else -g[g < 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


class OneNumber(Observations):
    """What has been seen, with a number of its own in place of the standing; all else is the same and grows with it."""

    def __init__(self, seen: Observations, scale: Scale) -> None:
        self._seen, self._scale = seen, scale
        self._number = np.empty(0)  # of the first rows

    def __getattr__(self, name: str) -> object:
        if name == "_seen":  # a copy that is being made
            raise AttributeError(name)
        return getattr(self._seen, name)  # the columns, the pending points, and what they are made of

    @property
    def y(self) -> Floats:
        if (known := len(self._number)) < len(self._seen):
            new = self._scale.of(self.f[known:], self.g[known:], self.kind[known:])
            self._number = np.concatenate([self._number, new])
        return self._number

    def constrained_rank(self, rows: Rows) -> Floats:
        return self.y[rows]
