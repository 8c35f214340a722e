"""Effects of the parameters of a run under its model: importance, and predictions on lines and planes.

Importance is the total Sobol index (Homma and Saltelli 1996; estimator of Jansen 1999) of the posterior mean over the
space: half the mean squared change when the values of one parameter are permuted among uniform points, as a share of
the variance. Conditional parameters are permuted among the points in which they are active. `scipy.stats.sobol_indices`
takes single coordinates, not options, mixtures and conditions. Lines and planes go through the best point.
Letters: n rows, d coordinates, p parameters, k objectives, c constraints, g points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lamcts.models.predictor import RunModel
from lamcts.spaces.regions.sobol import sobol
from lamcts.spaces.simplex import Simplex, mixtures_of
from lamcts.types import Floats, Mask, Rows
from lamcts.utils.numerics import own_numerics

POINTS = 512  # over which importance is averaged (2,048 changed no index of 12 parameters by more than 0.02)
MIN_ACTIVE_ROWS = 5  # points in which a conditional parameter is active, for an effect to be measured (by eye)
REPEATS = 3  # permutations of a parameter that are averaged (by eye)
MANY = 30  # parameters above which there is one permutation of each (by eye)
MIN_R2 = 0.2  # leave-one-out R^2 below which a surface says little (by eye)


class Predicted(NamedTuple):
    """Posterior means and standard deviations in the user's units [g, k], and means of constraint excesses [g, c]."""

    mean: Floats
    std: Floats
    excess: Floats


class Over(NamedTuple):
    """Points x [m, d], and posterior means and standard deviations [m, k] there in units [k]."""

    x: Floats
    mean: Floats
    std: Floats
    unit: Floats


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects under a model, of parameters with the coordinates `parts` [p], at evaluations `x` [n, d], best first."""

    model: RunModel
    parts: Sequence[slice]
    x: Floats
    active: Callable[[Floats], Mask]
    known: bool = True

    @cached_property
    def quality(self) -> list[tuple[float, float]]:
        """Leave-one-out R^2 and rank correlation of each objective, [k]."""
        return [column.quality for column in self.model.objectives]

    @property
    def trusted(self) -> bool:
        """Whether the model of each objective predicts evaluations left out."""
        return all(r2 >= MIN_R2 for r2, _ in self.quality)

    @cached_property
    def over(self) -> "Over":
        """Points of the space and predictions there: of evaluations if the journal does not hold the space."""
        rng = np.random.default_rng(0)
        spread = np.unique(np.linspace(0, len(self.x) - 1, POINTS).astype(np.int64))
        x = self.model.space.spread(sobol(POINTS, self.x.shape[1], rng)) if self.known else self.x[spread]
        found = self.at(x)
        unit = np.maximum(np.abs(found.mean).max(0), 1e-300)  # in which no square overflows
        return Over(x, found.mean / unit, found.std / unit, unit)

    @cached_property
    def expected_r2(self) -> Floats:
        """The share of the variance over the space that the process expects its mean to have, [k]."""
        explained, left = self.over.mean.var(0), np.square(self.over.std).mean(0)
        return np.asarray(explained / np.maximum(explained + left, 1e-300))

    @cached_property
    @own_numerics()
    def importance(self) -> Floats:
        """The total effect of each parameter on each objective, [k, p]; 0 where it cannot be measured."""
        rows, before, _, unit = self.over
        active = self.active(rows)  # [m, p]
        rng, found = np.random.default_rng(1), np.zeros((before.shape[1], len(self.parts)))
        for i in range(len(self.parts)):
            mine = np.flatnonzero(active[:, i])
            if len(mine) >= MIN_ACTIVE_ROWS:
                turns = 1 if len(self.parts) > MANY else REPEATS
                orders = [rng.permutation(mine) for _ in range(turns)]
                mixed = [self.moved(rows[mine], i, rows[order, self.parts[i]]) for order in orders]
                after = (self.at(np.concatenate(mixed)).mean / unit).reshape(turns, len(mine), -1)
                found[:, i] = np.square(after - before[mine]).mean((0, 1)) / 2
        return np.asarray(found / np.maximum(before.var(0), 1e-300)[:, None])

    @property
    def order(self) -> list[int]:
        """The parameters' numbers by their mean importance, largest first."""
        return [int(i) for i in np.argsort(-self.importance.mean(0), kind="stable")]

    def base(self, *parameters: int) -> Floats:
        """Return the best evaluation [d] in which some parameters are active."""
        rows: Rows = np.flatnonzero(self.active(self.x)[:, list(parameters)].all(1))
        return np.asarray(self.x[rows[0] if len(rows) else 0])

    def moved(self, x: Floats, i: int, values: Floats) -> Floats:
        """Return rows `x` [g, d] in which parameter `i` has `values` [g, w]; amounts of a mixture keep their sum."""
        x, part = np.array(x), self.parts[i]
        x[:, part] = values
        for whole, mixture in self.mixtures:
            if whole.start <= part.start < whole.stop:
                x[:, whole] = mixture.with_amount(x[:, whole], part.start - whole.start)
        return x

    @cached_property
    def mixtures(self) -> list[tuple[slice, Simplex]]:
        """The coordinates of each mixture, and the mixture."""
        return mixtures_of(self.model.space)

    @cached_property
    def most(self) -> Floats:
        """The largest value of each coordinate, [d]."""
        most = np.ones(self.x.shape[1])
        for whole, mixture in self.mixtures:
            most[whole] = mixture.most
        return most

    def at(self, x: Floats) -> Predicted:
        """Return predictions at the points of rows `x` [g, d]."""
        x = self.model.space.snap(x)
        found = self.model(x)
        mean, std = (np.reshape(each, (len(x), -1)) for each in (found.mean, found.std))
        return Predicted(mean, std, self.model.excess(x))
