"""What a random forest says of the parameters: how much each matters, and what values to expect.

The forest learns the rank of each row among all, in [0, 1] and 1 the best, so that no unit and no outlier counts. A
parameter matters by what is lost without it (Breiman, 2001): the mean drop of R^2 on rows held out when its values
are exchanged among them, those of all its coordinates together. Of two parameters that vary together either may
stand for both, and the rows are where a search went, not a fair sample of the space.
Letters: n rows, d coordinates, p parameters, g points of a grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.types import Floats

LEAST = 20  # rows from which a forest says anything (by eye)
MOST = 2000  # rows that it learns from: a second
TREES = 60  # more changed no order of the parameters that could be seen
HELD_OUT = 0.3  # of the rows
TURNS = 5  # exchanges of a parameter's values that are averaged; fewer with many parameters
WORK = 300  # exchanges in all
OTHERS = 60  # rows over which a forecast averages the other parameters


def rank_of(loss: Floats) -> Floats:
    """Return the share of finite losses [n] that each is at least as good as, in (0, 1]; nan stays nan."""
    from scipy.stats import rankdata

    result = np.full(len(loss), np.nan)
    known = np.isfinite(loss)
    result[known] = rankdata(-loss[known]) / max(1, int(np.count_nonzero(known)))
    return result


@dataclass(frozen=True, eq=False)
class Forest:
    """A forest of losses `loss` [n] at rows `x` [n, d], whose parameters take the coordinates `parts` [p]."""

    x: Floats
    loss: Floats
    parts: Sequence[slice]

    @property
    def ready(self) -> bool:
        """Whether there are rows enough that differ."""
        loss = self.loss[self._rows]
        return len(loss) >= LEAST and bool(np.ptp(loss) > 0)

    @cached_property
    def importance(self) -> Floats:
        """How much R^2 falls on rows held out when a parameter's values are exchanged among them, [p]."""
        x, y, model = self._held_out
        turns = int(np.clip(WORK // len(self.parts), 1, TURNS))
        rng = np.random.default_rng(0)
        drops = np.empty((turns, len(self.parts)))
        for turn in range(turns):
            order = rng.permutation(len(x))
            for i, part in enumerate(self.parts):
                mixed = x.copy()
                mixed[:, part] = x[order, part]
                drops[turn, i] = self.score - _r2(y, model.predict(mixed))
        return np.asarray(np.maximum(drops.mean(0), 0.0))

    @cached_property
    def score(self) -> float:
        """R^2 on rows held out: 1 for a perfect forest, 0 for one that knows nothing."""
        x, y, model = self._held_out
        return _r2(y, model.predict(x))

    @property
    def order(self) -> list[int]:
        """The parameters' numbers, what matters most first; as they are where nobody can tell."""
        if not self.ready:
            return list(range(len(self.parts)))
        return [int(i) for i in np.argsort(-self.importance, kind="stable")]

    def expected(self, i: int, values: Floats, j: int | None = None, others: Floats | None = None) -> Floats:
        """Return the rank to expect where parameter `i` has `values` [g, w], averaged over the other parameters, [g].

        `j` and `others` [g, v]: a second parameter, and its values.
        """
        base = self._spread
        grid = np.repeat(base[None], len(values), 0)  # [g, k, d]
        grid[:, :, self.parts[i]] = values[:, None, :]
        if j is not None and others is not None:
            grid[:, :, self.parts[j]] = others[:, None, :]
        found = self._whole.predict(grid.reshape(-1, base.shape[1]))
        return np.asarray(found.reshape(len(values), -1).mean(1))

    @cached_property
    def _rows(self) -> Any:
        known = np.flatnonzero(np.isfinite(self.loss))
        if len(known) <= MOST:
            return known
        return np.sort(np.random.default_rng(0).choice(known, MOST, replace=False))

    @property
    def _spread(self) -> Floats:
        rows = self._rows
        return np.asarray(self.x[rows[:: max(1, len(rows) // OTHERS)][:OTHERS]])

    @cached_property
    def _held_out(self) -> tuple[Floats, Floats, Any]:
        """Return the rows held out, their ranks, and the forest of the others."""
        x, y = self.x[self._rows], rank_of(self.loss[self._rows])
        order = np.random.default_rng(0).permutation(len(x))
        cut = max(2, int(HELD_OUT * len(x)))
        return x[order[:cut]], y[order[:cut]], _fitted(x[order[cut:]], y[order[cut:]])

    @cached_property
    def _whole(self) -> Any:
        return _fitted(self.x[self._rows], rank_of(self.loss[self._rows]))


def _fitted(x: Floats, y: Floats) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    third = max(1, -(-x.shape[1] // 3))  # of the coordinates are looked at in a node, as Breiman has it
    return RandomForestRegressor(TREES, min_samples_leaf=2, max_features=third, random_state=0).fit(x, y)


def _r2(y: Floats, predicted: Floats) -> float:
    return float(1 - np.square(y - predicted).sum() / max(float(np.square(y - y.mean()).sum()), 1e-300))
