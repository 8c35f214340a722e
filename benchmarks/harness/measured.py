"""What a method sees of a run with constraints or several objectives: losses and excesses of points, and the budget.

It is a `Search` whose evaluations come to quantities by name. A method that thinks in numbers is told the losses
f [n, m], lower is better, and by how much each constraint is broken, g [n, c], at most 0 where it holds.
Letters: n evaluations, m objectives, c constraints, d dimensions.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lamcts
from benchmarks.harness.search import Enough, Search
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.hypervolume import hypervolume_so_far

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Outcome(NamedTuple):
    """Losses f [n, m] and excesses g [n, c]."""

    f: Floats
    g: Floats

    @property
    def feasible(self) -> Mask:
        """Which rows break no constraint, [n]: with no tolerance, whoever asks."""
        return (self.g <= 0).all(1)


class MeasuredSearch(Search):
    """One run of a method on a `Measured` objective; `told` holds the quantities of every evaluation."""

    def __init__(self, objective: Any, seed: int, budget: int, batch: int = 1) -> None:
        super().__init__(objective, seed, budget, batch)
        self.goals = Goals.of(False, objective.objectives, objective.constraints)
        self.told: list[dict[str, float]] = []
        self._f: list[Floats] = []  # [m] each
        self._g: list[Floats] = []  # [c] each

    @property
    def left(self) -> int:
        return self.budget - len(self.told)

    @property
    def found(self) -> Outcome:
        """What all evaluations so far came to."""
        return self._rows(0)

    def measured(self, points: Sequence[Any]) -> list[dict[str, float]]:
        """Return the quantities of points of the problem's own space; `Enough` where the budget ends among them."""
        first, n = len(self.told), min(self.left, len(points))
        if not n:
            raise Enough
        self.own += [self.own_seconds()] * n
        for i, point in enumerate(points[:n]):
            quantities = self.objective(point, seed=self.noise_seed(first + i))
            self.told.append(quantities)
            self._f.append(self.goals.losses(quantities))
            self._g.append(self.goals.violations(quantities))
        now = time.process_time()
        self.objective_seconds, self._since = self.objective_seconds + now - self._since, now
        if n < len(points):
            raise Enough
        return self.told[first:]

    def outcomes(self, points: Sequence[Any]) -> Outcome:
        """Return what points of the problem's own space come to."""
        first = len(self.told)
        self.measured(points)
        return self._rows(first)

    def course(self) -> Floats:
        """Return how far the run was after each evaluation, [n].

        Of one objective the least loss within the constraints, infinite before the first; of several the hypervolume.
        """
        f, feasible = self.found.f, self.found.feasible
        if f.shape[1] == 1:
            return np.minimum.accumulate(np.where(feasible, f[:, 0], np.inf))
        reference = self.goals.losses(self.objective.reference)
        return hypervolume_so_far(np.where(feasible[:, None], f, np.nan), reference)

    def at(self, u: ArrayLike) -> Outcome:
        """Return what rows u [n, d] of the unit cube come to; a row outside is put on its border."""
        cube = np.clip(np.asarray(u, float).reshape(-1, self.dim), 0, 1)
        return self.outcomes([self.objective.space.decode(row) for row in cube])

    def design(self, n: int) -> Floats:
        """Return the first n points [n, d] of a design that all methods share at one seed: that which ours begin with.

        A method that takes one start takes the first.
        """
        return self.initial(max(n, 1))[:n]

    def _rows(self, first: int) -> Outcome:
        n, m, c = len(self.told) - first, len(self.goals.objectives), self.goals.columns
        return Outcome(np.array(self._f[first:]).reshape(n, m), np.array(self._g[first:]).reshape(n, c))

    def optimizer(self, **settings: Any) -> lamcts.Optimizer:
        """Return one of ours for this problem and seed."""
        goals = {"objectives": dict(self.objective.objectives), "constraints": list(self.objective.constraints)}
        return super().optimizer(**goals, **settings)
