"""Predicted full values of losses and constraints, and gains of evaluations by the knowledge gradient (Frazier 2008).

Letters: n rows, d coordinates of a configuration, m losses, c constraints, q = m + c columns, k configurations, losses
first. A constraint is kept where its number is at most 0.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from lamcts.models.acquisition import expected_hypervolume, log_expected_hypervolume, log_feasible
from lamcts.models.fidelity_model import FidelityModel, LogGap, Units
from lamcts.models.output_transforms import Bilog, Scale
from lamcts.outcomes.cells import Cells, cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.scalarisation import reference_of, thinned
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Mask, Rows

OFFSET = 0.1  # of one loss; with 3, as in pruning, two of three problems ended higher (tuned on benchmarks.neural)
KEPT = -1.0  # of a constraint that no row violates: any negative number


class FidelityColumns:
    """Models of the columns f [n, m] and g [n, c] of configurations x [n, d] at positions `at` [n]; nan: not known.

    Modelled are losses that differ and constraints that some row violates; others count as constants. A loss alone is
    modelled as the logarithm of its gap to the best one; losses among other columns are in standard units.
    """

    def __init__(self, parameters: Parameters, x: Floats, at: Floats, f: Floats, g: Floats) -> None:
        self.losses, self._models = f.shape[1], dict[int, FidelityModel]()
        self._constant = np.append(np.nanmax(f, axis=0), np.full(g.shape[1], KEPT))
        alone = f.shape[1] == 1 and not g.shape[1]
        of_loss: Callable[[Floats], Units] = partial(LogGap.of, offset=OFFSET) if alone else Scale.of
        for j, (y, counts) in enumerate(zip(np.hstack([f, g]).T, counting(f, g), strict=True)):
            rows = np.flatnonzero(np.isfinite(y))
            if counts:
                units = of_loss if j < self.losses else _violations(y[rows])
                self._models[j] = FidelityModel(parameters, x[rows], at[rows], y[rows], units=units)

    def full(self, x: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of the full values of configurations x [k, d] in units of the model.

        Both [k, q]. Where a constraint's mean is at most 0, it is expected to be kept.
        """
        mean, sd = self._constants(len(x))
        for j, model in self._models.items():
            mean[:, j], sd[:, j] = model.full(x)
            mean[:, j] -= self._bound(j)
        return mean, sd

    def standard(self, values: Floats) -> Floats:
        """Return full values [k, q] in the units of the model."""
        result = self._constants(len(values))[0]
        for j, model in self._models.items():
            result[:, j] = model.standard(values[:, j]) - self._bound(j)
        return result

    def gains(self, x: Floats, at: Floats, owners: Rows, others: Floats, front: Rows, full: Mask) -> Floats:
        """Return the expected increase of the predicted front's hypervolume by each evaluation (x, at) [k], as [k].

        With one loss it is the expected fall of the least prediction. owners: index among the predictions `others`
        [r, q] of a row's own configuration, or -1; front: the best of `others`; full: those evaluated at full fidelity,
        [r]. With several losses, a full evaluation is compared with the front of full evaluations.
        """
        mean, change = self._constants(len(x))
        for j, model in self._models.items():
            mean[:, j], change[:, j] = model.changes(x, at)
            mean[:, j] -= self._bound(j)
        gain, reference = np.empty(len(x)), self._reference(others)
        leaders = np.where(np.isin(owners, front), owners, -1)
        for leader in np.unique(leaders):  # a configuration is compared with all others
            mine, rest = leaders == leader, np.arange(len(others)) != leader
            gain[mine] = self._gain(mean[mine], change[mine], self._cells(others[rest], reference))
        if self.losses > 1 and (last := at == 1.0).any():
            gain[last] = self._gain(*self.full(x[last]), self._cells(others[full], reference), 0.0)
        return gain

    def improvement(self, mean: Floats, sd: Floats, best: Floats) -> Floats:
        """Return the logarithm of the expected gain of values with `mean` and `sd` [k, q] over rows `best` [r, q]."""
        cells = self._cells(best, self._reference(best))
        losses = log_expected_hypervolume(mean[:, : self.losses], sd[:, : self.losses], cells)
        result: Floats = losses + log_feasible(mean[:, self.losses :], sd[:, self.losses :]).value
        return result

    def _gain(self, mean: Floats, change: Floats, cells: Cells, known: float = 1.0) -> Floats:
        f, g = np.split(mean, [self.losses], axis=1)
        move, shift = np.split(change, [self.losses], axis=1)
        now = known * expected_hypervolume(f, np.zeros_like(f), cells) * (g <= 0).all(1)
        then = expected_hypervolume(f, move, cells) * np.exp(log_feasible(g, shift).value)
        return np.maximum(then - now, 0.0)

    def _cells(self, values: Floats, reference: Floats) -> Cells:
        """Return what the kept ones of rows [r, q] leave below the reference."""
        f = values[self._kept(values), : self.losses]
        return cells_of(thinned(f[non_dominated(f)]), reference)

    def _reference(self, values: Floats) -> Floats:
        """Return where volumes are measured from: beyond the front of the kept rows, of all rows before one is kept."""
        kept = self._kept(values)
        f = values[kept if kept.any() else slice(None), : self.losses]
        return reference_of(f if self.losses == 1 else f[non_dominated(f)])

    def _kept(self, values: Floats) -> Mask:
        return np.asarray((values[:, self.losses :] <= 0).all(1))

    def _constants(self, k: int) -> tuple[Floats, Floats]:
        return np.tile(self._constant, (k, 1)), np.zeros((k, len(self._constant)))

    def _bound(self, j: int) -> float:
        """Return where a constraint changes from kept to violated; 0 for a loss."""
        return float(self._models[j].standard(np.zeros(1))[0]) if j >= self.losses else 0.0


def counting(f: Floats, g: Floats) -> Mask:
    """Return which columns of f [n, m] and g [n, c] tell rows apart: losses that differ, and violated constraints."""
    losses = [len(np.unique(y[np.isfinite(y)])) > 1 for y in f.T]
    return np.append(np.array(losses, bool), (g > 0).any(0))


def _violations(g: Floats) -> Callable[[Floats], Units]:
    """Return the units of a constraint with these values, whatever the values at the highest fidelity are."""
    units = Bilog.of(g)
    return lambda ends: units
