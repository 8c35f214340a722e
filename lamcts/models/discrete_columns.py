"""What a point is worth to a search over discrete parameters, where there are constraints or several objectives.

Every column has a process of its own. Worth is the expected improvement, of the hypervolume where there are several
objectives, times the chance that every constraint is kept; before anything is feasible, that chance alone.

Letters: n rows in a model, m points asked about, k objectives.
"""

from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import expected_improvement, log_expected_improvement
from lamcts.models.discrete import LEAST_VALID, DiscreteModel
from lamcts.models.hamming import HammingPosterior, Inputs
from lamcts.models.hamming_fit import hyper_of
from lamcts.models.success import failed_rows
from lamcts.models.warp import half_rank
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import cells_of
from lamcts.outcomes.standing import OK
from lamcts.types import Floats, Rows

LEAST = 1e-300  # improvement whose logarithm stands for none
MARGIN = 0.1  # beyond the worst losses, in the units of the processes, so that they gain too (untuned)
STEP = 1e-6  # of a number, for slopes by differences


class ColumnsSurrogate(NamedTuple):
    """The processes of the objectives and of the constraints, that of what fails (None: nothing has), and the front.

    front: the feasible losses that none dominates, in the units of the processes, [f, k]; none before the first.
    reference: where hypervolumes are measured from, [k]: the worst losses seen, so that the ends of a front gain too.
    """

    objectives: list[HammingPosterior]
    constraints: list[HammingPosterior]
    valid: HammingPosterior | None
    front: Floats
    reference: Floats

    def value(self, inputs: Inputs) -> Floats:
        """Return the logarithm of what points are worth, [m]."""
        from scipy.special import log_ndtr

        value = self._improvement(inputs) if len(self.front) else np.zeros(len(inputs))
        for process in self.constraints:
            mean, variance = process.moments(inputs)
            value += log_ndtr(-mean / np.sqrt(np.maximum(variance, LEAST)))
        if self.valid is not None:
            value += np.log(np.clip(self.valid.moments(inputs)[0], LEAST_VALID, 1.0))
        return value

    def _improvement(self, inputs: Inputs) -> Floats:
        moments = [process.moments(inputs) for process in self.objectives]
        mean: Floats = np.stack([own for own, _ in moments], axis=1)  # [m, k]
        sd: Floats = np.stack([np.sqrt(variance) for _, variance in moments], axis=1)
        if mean.shape[1] == 1:
            return log_expected_improvement(mean[:, 0], sd[:, 0], float(self.front.min()))
        return np.log(np.maximum(expected_hypervolume(mean, sd, self.front, self.reference), LEAST))

    def slope(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the negative of `value` [m], and its slope along the numbers [m, q], by differences."""
        value = self.value(inputs)
        gradient: Floats = np.empty(inputs.numbers.shape)
        for j in range(gradient.shape[1]):
            moved = inputs.numbers.copy()
            moved[:, j] += STEP
            gradient[:, j] = (self.value(Inputs(inputs.hot, moved)) - value) / STEP
        return -value, -gradient

    def believing(self, inputs: Inputs) -> "ColumnsSurrogate":
        """Return the same with some points out for evaluation, as if they had come out as expected."""
        objectives = [process.believing(inputs) for process in self.objectives]
        constraints = [process.believing(inputs) for process in self.constraints]
        expected = np.stack([process.y[-len(inputs) :] for process in objectives], axis=1)  # [m, k]
        kept = np.array([process.y[-len(inputs) :] for process in constraints]).reshape(-1, len(inputs)) <= 0
        front = np.vstack([self.front, expected[kept.all(0)]])
        return ColumnsSurrogate(objectives, constraints, self.valid, front[non_dominated(front)], self.reference)


def expected_hypervolume(mean: Floats, sd: Floats, front: Floats, reference: Floats) -> Floats:
    """Return the expected gain in hypervolume, [m], of losses that are normal with `mean` and `sd` [m, k].

    Exact for independent losses: a sum over the cells that the front [f, k] leaves below the reference [k] of products,
    over objectives, of the expected overlap with the cell's side (Yang, Emmerich, Deutz and Bäck 2019, eq. 15).
    """
    lower, upper = cells_of(front, reference)
    total = np.zeros(len(mean))
    for low, high in zip(lower, upper, strict=True):
        sides = np.ones(len(mean))
        for j in range(front.shape[1]):
            below = expected_improvement(mean[:, j], sd[:, j], low[j]) if np.isfinite(low[j]) else 0.0
            sides = sides * np.maximum(expected_improvement(mean[:, j], sd[:, j], high[j]) - below, 0.0)
        total += sides
    return total


class DiscreteColumns(DiscreteModel):
    """The processes of all columns, each over the rows that have it; made anew for every ask."""

    def update(self, centre: int) -> ColumnsSurrogate:  # type: ignore[override]
        """Return the processes up to date with `seen`; `centre` is the row near which they must be right."""
        seen, due = self._seen, self._due()
        m, c = seen.f.shape[1], seen.g.shape[1]
        self.state.columns += [[] for _ in range(m + c - len(self.state.columns))]
        whole = self._chosen(np.flatnonzero(seen.kind == OK), centre)
        losses = [half_rank(seen.f[whole, j]) for j in range(m)]
        objectives = [self._process(j, whole, y, due) for j, y in enumerate(losses)]
        constraints = [self._constraint(m + j, seen.g[:, j], centre, due) for j in range(c)]
        feasible = seen.feasible[whole]
        known = np.stack(losses, axis=1)  # [n, k]
        front, worst = known[feasible], known.max(0, initial=-np.inf)
        failed = self._chosen(failed_rows(seen), centre)
        valid = self._validity(self._inputs(whole), failed, due) if len(failed) else None
        if due:
            self.state.fitted = len(seen)
            self.state.theta = self.state.columns[0]
        broken = [process for process in constraints if process is not None]
        return ColumnsSurrogate(objectives, broken, valid, front[non_dominated(front)], worst + MARGIN)

    def _constraint(self, column: int, g: Floats, centre: int, due: bool) -> HammingPosterior | None:
        """Return the process of one constraint, of the signed logarithm of its excess in usual units: 0 stays 0."""
        rows = self._chosen(np.flatnonzero(np.isfinite(g)), centre)
        if not (g[rows] > 0).any():
            return None  # never broken: as if it were not there
        unit = float(np.median(np.abs(g[rows])))
        bent = np.sign(g[rows]) * np.log1p(np.abs(g[rows]) / (unit if unit > 0 else 1.0))
        return self._process(column, rows, bent / max(float(bent.std()), LEAST), due)

    def _process(self, column: int, rows: Rows, y: Floats, due: bool) -> HammingPosterior:
        inputs = self._inputs(rows)
        if due or not self.state.columns[column]:
            self.state.columns[column] = self._fit(inputs, y, self.state.columns[column])
        theta = np.array(self.state.columns[column])
        return HammingPosterior(inputs, y, hyper_of(theta, self.coding.categories), self.coding.owner)
