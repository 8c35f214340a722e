"""Processes of several columns that follow a local search: losses, and the constraints that count."""

from dataclasses import dataclass, field

import numpy as np

from lamcts.models.columns import fit_columns
from lamcts.models.fit import Prior
from lamcts.models.gp import Hyper
from lamcts.models.groups import Groups, parted
from lamcts.models.local import LocalRows, ModelBudget, ModelState
from lamcts.models.units import Units
from lamcts.observations import Observations
from lamcts.types import Floats, Rows

FITTED = 8  # constraints that hyper-parameters are fitted to, those that most rows break: the time of a fit (untuned)


@dataclass
class ColumnsState(ModelState):
    """Hyper-parameters of the first group of columns are `hyper`, of the others `more`."""

    more: list[Hyper] = field(default_factory=list)


class LocalColumns(LocalRows[Groups]):
    """The processes of all columns over the rows of `seen` nearest to a centre; always in closed form, on no device."""

    state: ColumnsState

    def __init__(self, seen: Observations, prior: Prior, model_budget: ModelBudget, state: ColumnsState) -> None:
        super().__init__(seen, prior, model_budget, state)

    @property
    def units(self) -> Units:
        """The units of the rows in the model."""
        return Units.of(self._seen.f[self.rows], self._seen.g[self.rows])

    def _standard(self, rows: Rows) -> Floats:
        f, g = self._seen.f[rows], self._seen.g[rows]
        return Units.of(f, g).down(f, g)

    def _fit(self, x: Floats, z: Floats, afresh: bool) -> None:
        m = self._seen.f.shape[1]
        parts = parted(np.hstack([z[:, :m], _most_broken(z[:, m:])]), m)
        warm = [self.state.hyper, *self.state.more, *[None] * len(parts)]
        found = [self._fitted(x, own, warm[i], afresh, fit_columns) for i, own in enumerate(parts)]
        self.state.hyper, self.state.more = found[0], found[1:]

    def _made(self, x: Floats, z: Floats, hyper: Hyper) -> Groups:
        return Groups(x, z, self._seen.f.shape[1], [hyper, *self.state.more])


def _most_broken(z: Floats) -> Floats:
    """Return some of the constraints [n, c], chosen whatever their order."""
    order = np.lexsort((np.nansum(z, axis=0), -np.count_nonzero(z > 0, axis=0)))
    return z[:, np.sort(order[:FITTED])]
