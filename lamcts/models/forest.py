"""Random forest of a run: how much each parameter matters, and what to expect where (Breiman 2001).

The forest learns the rank of each row among all, in (0, 1] and 1 the best: no unit and no outlier counts. Importance is
the drop of the cross-validated R^2 when the values of one parameter are permuted among the rows held out. A conditional
parameter is permuted among the rows in which it is active, and its drop is the increase of their squared error in
units of the variance of all rows. Where it is inactive, the forest sees values drawn from the active rows: they do
not reveal the value of the parent.
Letters: n rows, d coordinates, p parameters, g points of a grid.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

MIN_ROWS = 20  # rows from which a forest is fitted (by eye)
MIN_ACTIVE_ROWS = 10  # rows in which a conditional parameter is active, for a drop to be measured (by eye)
MAX_ROWS = 2000  # rows that it learns from: a second
TREES = 60  # more changed no order of the parameters that could be seen
FOLDS = 3  # of the cross-validation
REPEATS = 3  # permutations of a parameter in each fold that are averaged; fewer with many parameters
MAX_PERMUTATIONS = 300  # permutations in all
BACKGROUND_ROWS = 60  # rows over which a forecast averages the other parameters
MIN_R2 = 0.2  # cross-validated R^2 below which the order of the parameters says little (by eye)


def rank_of(loss: Floats) -> Floats:
    """Return the share of finite losses [n] that each is at least as good as, in (0, 1]; nan stays nan."""
    from scipy.stats import rankdata

    result = np.full(len(loss), np.nan)
    known = np.isfinite(loss)
    result[known] = rankdata(-loss[known]) / max(1, int(np.count_nonzero(known)))
    return result


@dataclass(frozen=True, eq=False)
class Forest:
    """A forest of losses `loss` [n] at rows `x` [n, d], whose parameters have the coordinates `parts` [p].

    active: returns which parameters are active in rows [k, d], [k, p]; None: all are.
    """

    x: Floats
    loss: Floats
    parts: Sequence[slice]
    active: Callable[[Floats], NDArray[np.bool_]] | None = None

    @property
    def ready(self) -> bool:
        """Whether there are enough rows that differ."""
        loss = self.loss[self._rows]
        return len(loss) >= MIN_ROWS and bool(np.ptp(loss) > 0)

    @property
    def trusted(self) -> bool:
        """Whether the forest predicts rows held out well enough for its order of the parameters to mean something."""
        return self.ready and self.score >= MIN_R2

    @cached_property
    def importance(self) -> Floats:
        """The drop of the cross-validated R^2 when a parameter is permuted, [p]; 0 where it cannot be measured."""
        turns = int(np.clip(MAX_PERMUTATIONS // (FOLDS * len(self.parts)), 1, REPEATS))
        rng, drops = np.random.default_rng(0), np.zeros(len(self.parts))
        for i, part in enumerate(self.parts):
            lost = 0.0
            for rows, model, predicted in self._folds:
                rows, predicted = rows[self._active[rows, i]], predicted[self._active[rows, i]]
                y = self._rank[rows]
                for _ in range(turns if len(rows) else 0):
                    mixed = self._filled[rows]
                    mixed[:, part] = mixed[rng.permutation(len(rows)), part]
                    lost += float((np.square(y - model.predict(mixed)) - np.square(y - predicted)).sum()) / turns
            count = int(np.count_nonzero(self._active[:, i]))
            if count >= MIN_ACTIVE_ROWS:
                drops[i] = max(lost / count / max(float(self._rank.var()), 1e-300), 0.0)
        return drops

    @cached_property
    def score(self) -> float:
        """Cross-validated R^2: 1 for a perfect forest, 0 for one that predicts the mean."""
        predicted = np.empty(len(self._rank))
        for rows, _, found in self._folds:
            predicted[rows] = found
        return _r2(self._rank, predicted)

    @property
    def order(self) -> list[int]:
        """The parameters' numbers by importance, largest first; in their own order with too few rows."""
        if not self.ready:
            return list(range(len(self.parts)))
        return [int(i) for i in np.argsort(-self.importance, kind="stable")]

    def expected(self, i: int, values: Floats, j: int | None = None, others: Floats | None = None) -> Floats:
        """Return the rank to expect where parameter `i` has `values` [g, w], averaged over the other parameters, [g].

        `j` and `others` [g, v]: a second parameter, and its values.
        """
        active = self._active[:, i] & self._active[:, i if j is None else j]
        base = self._filled[active if active.any() else np.ones(len(active), bool)]
        base = base[:: max(1, len(base) // BACKGROUND_ROWS)][:BACKGROUND_ROWS]
        grid = np.repeat(base[None], len(values), 0)  # [g, k, d]
        grid[:, :, self.parts[i]] = values[:, None, :]
        if j is not None and others is not None:
            grid[:, :, self.parts[j]] = others[:, None, :]
        found = self._whole.predict(grid.reshape(-1, base.shape[1]))
        return np.asarray(found.reshape(len(values), -1).mean(1))

    @cached_property
    def _rows(self) -> Rows:
        known = np.flatnonzero(np.isfinite(self.loss))
        if len(known) <= MAX_ROWS:
            return known
        return np.sort(np.random.default_rng(0).choice(known, MAX_ROWS, replace=False))

    @cached_property
    def _rank(self) -> Floats:
        return rank_of(self.loss[self._rows])

    @cached_property
    def _active(self) -> NDArray[np.bool_]:
        rows = self.x[self._rows]
        return np.ones((len(rows), len(self.parts)), bool) if self.active is None else self.active(rows)

    @cached_property
    def _filled(self) -> Floats:
        """The rows, with values drawn from the active rows where a parameter is inactive."""
        x, rng = self.x[self._rows].copy(), np.random.default_rng(0)
        for i, part in enumerate(self.parts):
            has = np.flatnonzero(self._active[:, i])
            if 0 < len(has) < len(x):
                lacks = np.flatnonzero(~self._active[:, i])
                x[lacks, part] = x[rng.choice(has, len(lacks)), part]
        return x

    @cached_property
    def _folds(self) -> list[tuple[Rows, "RandomForestRegressor", Floats]]:
        """Of each fold: its rows, the forest of all others, and what that predicts."""
        folds = np.array_split(np.random.default_rng(0).permutation(len(self._rank)), FOLDS)
        found = []
        for rows in folds:
            others = np.setdiff1d(np.arange(len(self._rank)), rows)
            model = _fitted(self._filled[others], self._rank[others])
            found.append((rows, model, np.asarray(model.predict(self._filled[rows]))))
        return found

    @cached_property
    def _whole(self) -> "RandomForestRegressor":
        return _fitted(self._filled, self._rank)


def _fitted(x: Floats, y: Floats) -> "RandomForestRegressor":
    from sklearn.ensemble import RandomForestRegressor

    third = max(1, -(-x.shape[1] // 3))  # of the coordinates are looked at in a node, as Breiman has it
    return RandomForestRegressor(TREES, min_samples_leaf=2, max_features=third, random_state=0).fit(x, y)


def _r2(y: Floats, predicted: Floats) -> float:
    return float(1 - np.square(y - predicted).sum() / max(float(np.square(y - y.mean()).sum()), 1e-300))
