"""What a point is worth to a search over discrete parameters, where there are constraints or several objectives.

Every column has a process of its own. Worth is the expected improvement, of the hypervolume where there are several
objectives, times the chance that every constraint is kept; before anything is feasible, that chance alone.

Letters: n rows in a model, m points asked about, k objectives.
"""

from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import log_expected_hypervolume, log_expected_improvement
from lamcts.models.discrete import LEAST_VALID, DiscreteModel
from lamcts.models.hamming import HammingPosterior, Inputs
from lamcts.models.hamming_fit import hyper_of
from lamcts.models.output_transforms import UNITS, half_rank, rank_correlation
from lamcts.models.success import failed_rows
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import Cells, cells_of
from lamcts.outcomes.standing import OK
from lamcts.types import Floats, Rows

LEAST = 1e-300  # keeps quotients finite
SHARED = 1.5  # deviations of a factor that all weights of an objective share: costs are sums over parameters (tuned)
MARGIN = 0.1  # beyond the worst losses, in the units of the processes, so that they gain too (untuned)
LEVEL = 1e-9  # spread of a constraint below which all rows break it alike, but for rounding
STEP = 1e-6  # of a number, for slopes by differences


class ColumnsSurrogate(NamedTuple):
    """The processes of the objectives and of the constraints, that of what fails (None: nothing has), and the front.

    No process of an objective is there before the first row that was run: until then rows were checked only.

    front: the feasible losses that none dominates, in the units of the processes, [f, k]; none before the first.
    reference: where hypervolumes are measured from, [k]: the worst losses seen, so that the ends of a front gain too.
    least: what an objective must gain on the front to gain at all, [k]: half a step of one that takes few values.
    cells: what is left to gain, in pieces.
    """

    objectives: list[HammingPosterior]
    constraints: list[HammingPosterior]
    valid: HammingPosterior | None
    front: Floats
    reference: Floats
    least: Floats
    cells: Cells

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
        return log_expected_hypervolume(mean, sd, self.cells)

    def slope(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the negative of `value` [m], and its slope along the numbers [m, q], by differences."""
        m, q = inputs.numbers.shape
        steps = np.vstack([np.zeros(q), STEP * np.eye(q)])  # nowhere, then along each number
        moved = (inputs.numbers + steps[:, None]).reshape(-1, q)
        rows = np.tile(np.arange(m), q + 1)
        value = self.value(Inputs(inputs.options[rows], inputs.orders[rows], moved)).reshape(q + 1, m)
        return -value[0], -(value[1:] - value[0]).T / STEP

    def believing(self, inputs: Inputs) -> "ColumnsSurrogate":
        """Return the same with some points out for evaluation, as if they had come out as expected."""
        objectives = [process.believing(inputs) for process in self.objectives]
        constraints = [process.believing(inputs) for process in self.constraints]
        if not len(objectives):  # nothing was run yet
            return self._replace(constraints=constraints)
        expected = np.stack([process.y[-len(inputs) :] for process in objectives], axis=1)  # [m, k]
        kept = np.array([process.y[-len(inputs) :] for process in constraints]).reshape(-1, len(inputs)) <= 0
        front = np.vstack([self.front, expected[kept.all(0)]])
        front = front[non_dominated(front)]
        cells = _left(front - self.least, self.reference)
        return self._replace(objectives=objectives, constraints=constraints, front=front, cells=cells)


def _left(front: Floats, reference: Floats) -> Cells:
    """Return the cells that a front leaves; none without a front, before which no reference need be finite."""
    return cells_of(front, reference) if len(front) else Cells(front, front)


def least_gain(values: Floats) -> float:
    """Return half the least step between the values [n] of a column that takes few; 0 where most are distinct.

    A process does not know that there is nothing between two levels, or beyond the last: without this, points that are
    level with the front, and predicted a little beyond it, are worth more than those that are new.
    """
    levels = np.unique(values)
    if len(levels) < 2 or 2 * len(levels) > len(values):
        return 0.0
    return float(np.diff(levels).min()) / 2


class DiscreteColumns(DiscreteModel):
    """The processes of all columns, each over the rows that have it; made anew for every ask."""

    def update(self, centre: int) -> ColumnsSurrogate:  # type: ignore[override]
        """Return the processes up to date with `seen`; `centre` is the row near which they must be right."""
        seen, due = self._seen, self._due()
        m, c = seen.f.shape[1], seen.g.shape[1]
        self.state.columns += [[] for _ in range(2 * m + c - len(self.state.columns))]  # objectives in both units
        self.state.units += [0] * (m - len(self.state.units))
        whole = self._chosen(np.flatnonzero(seen.kind == OK), centre)
        objectives = [self._objective(j, whole, due) for j in range(m) if len(whole)]
        constraints = [self._constraint(m + j, seen.g[:, j], centre, due) for j in range(c)]
        feasible = seen.feasible[whole]
        known = np.array([process.y for process in objectives]).reshape(m, -1).T  # [n, k]
        front, worst = known[feasible], known.max(0, initial=-np.inf)
        failed = self._chosen(failed_rows(seen), centre)
        valid = self._validity(self._inputs(whole), failed, due) if len(failed) else None
        if due:
            self.state.fitted = len(seen)
            self.state.theta = self.state.columns[0]
        broken = [process for process in constraints if process is not None]
        least = np.array([least_gain(column) for column in known.T])
        front, reference = front[non_dominated(front)], worst + MARGIN
        cells = _left(front - least, reference)
        return ColumnsSurrogate(objectives, broken, valid, front, reference, least, cells)

    def _objective(self, j: int, rows: Rows, due: bool) -> HammingPosterior:
        """Return the process of one objective; of several in the units that best tell the order of rows left out.

        Half of a front is where an objective is bad: what `half_rank` hides of accuracies it must not hide of costs.
        """
        y, m = self._seen.f[rows, j], self._seen.f.shape[1]
        if m == 1 and not self._parameters.orders:
            return self._process(j, rows, half_rank(y), due)
        slots = (j, m + self._seen.g.shape[1] + j)  # hyper-parameters in either
        if due:
            made = [self._process(slots[u], rows, units(y), due, SHARED) for u, units in enumerate(UNITS)]
            agreement = [rank_correlation(process.left_out(), y) for process in made]
            self.state.units[j] = int(np.argmax(agreement))
            return made[self.state.units[j]]
        chosen = self.state.units[j]
        return self._process(slots[chosen], rows, UNITS[chosen](y), due, SHARED)

    def _constraint(self, column: int, g: Floats, centre: int, due: bool) -> HammingPosterior | None:
        """Return the process of one constraint, of the signed logarithm of its excess in usual units: 0 stays 0."""
        rows = self._chosen(np.flatnonzero(np.isfinite(g)), centre)
        if not (g[rows] > 0).any():
            return None  # never broken: as if it were not there
        unit = float(np.median(np.abs(g[rows])))
        bent = np.sign(g[rows]) * np.log1p(np.abs(g[rows]) / (unit if unit > 0 else 1.0))
        spread = float(bent.std())
        return self._process(column, rows, bent / (spread if spread > LEVEL else 1.0), due)

    def _process(self, column: int, rows: Rows, y: Floats, due: bool, shared: float = 0.0) -> HammingPosterior:
        inputs = self._inputs(rows)
        if due or not self.state.columns[column]:
            self.state.columns[column] = self._fit(inputs, y, self.state.columns[column], shared=shared)
        theta = np.array(self.state.columns[column])
        return HammingPosterior(inputs, y, hyper_of(theta, self.coding.categories), self.coding.owner)
