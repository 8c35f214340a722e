"""The processes that follow a search over discrete parameters: which rows they hold, when they are fitted again.

Letters: n rows in a model, k objectives.
"""

from dataclasses import dataclass, field

import numpy as np

from lamcts.models.discrete_surrogate import DiscreteSurrogate, least_gain, left
from lamcts.models.fit import ITERATIONS
from lamcts.models.hamming import Coding, HammingPosterior, Inputs
from lamcts.models.hamming_fit import HammingPrior, fit, hyper_of
from lamcts.models.known_noise import KnownNoise
from lamcts.models.output_transforms import UNITS, half_rank, rank_correlation
from lamcts.models.predicted_rows import errors_of, losses_of
from lamcts.models.prior_mean import PriorMean, RelatedModels
from lamcts.models.success import failed_rows
from lamcts.outcomes.constrained_rank import OK
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.observations import Observations
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

MAX_ROWS = 500  # in the model: a factor of 500 takes some 10 ms (untuned)
FIT_ROWS = 250  # the best of these rows, to which the hyper-parameters are fitted: of 500 it takes seconds (untuned)
REFIT = ((40, 2), (120, 5), (FIT_ROWS, 10), (10**9, 25))  # rows up to which a refit is due after so many new (untuned)
WARP_ADVANTAGE = 0.02  # rank correlation by which the warp must be ahead before orders are modelled in it (tuned:
# without, two of ten tours took 170 and 208 evaluations, which took 120 and 71 in plain units)
SHARED_SPREAD = 1.5  # deviations of a factor that all weights of an objective share: costs are often sums (tuned)
REFERENCE_OFFSET = 0.1  # beyond the worst losses, in the units of the processes, so that they gain too (untuned)
MIN_SPREAD = 1e-9  # spread of a constraint below which all rows break it alike, but for rounding


@dataclass
class DiscreteModelState:
    """What the model's future depends on, besides the rows.

    columns: hyper-parameters of k objectives, of the constraints, and of the objectives in other units; empty: none
    were fitted.
    """

    columns: list[list[float]] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)  # hyper-parameters of what fails
    fitted: int = 0  # rows seen at the last fit
    units: list[int] = field(default_factory=list)  # which units each objective is in: of several, or of orders


class DiscreteModel:
    """Processes of all columns, each over the rows that have it, or over the 500 nearest to the best one.

    What it returns depends on `state` and `seen` alone, bit for bit: it is built at every ask.
    """

    def __init__(self, seen: Observations, parameters: Parameters, state: DiscreteModelState) -> None:
        self._seen, self._parameters, self._prior, self.state = seen, parameters, HammingPrior(), state
        self._of_losses = self._prior.beside_reals() if parameters.continuous.any() else self._prior
        if parameters.permutations:
            self._of_losses = self._of_losses.of_orders()
        self.coding = Coding(parameters)
        related = seen.related if seen.plain else ()
        self._related = RelatedModels(related, parameters, self.coding, self._of_losses) if related else None

    def update(self, centre: int) -> DiscreteSurrogate:
        """Return the processes up to date with `seen`; `centre` is the row near which they must be right."""
        seen, due, state = self._seen, self._due(), self.state
        m, c = seen.f.shape[1], seen.g.shape[1]
        state.columns += [[] for _ in range(2 * m + c - len(state.columns))]  # objectives in both units
        state.units += [0] * (m - len(state.units))
        whole = self._chosen(np.union1d(np.flatnonzero(seen.kind == OK), [*seen.predicted]).astype(np.int64), centre)
        objectives = [self._objective(j, whole, due) for j in range(m) if len(whole)]
        constraints = [self._constraint(m + j, seen.g[:, j], centre, due) for j in range(c)]
        # one loss is taken without the noise that its process sees in it; a front is made of what was seen
        losses = [own.fitted() if m == 1 or own.known is not None else own.y for own in objectives]
        known = np.array(losses).reshape(m, -1).T  # [n, k]
        front, worst = known[seen.feasible[whole]], known.max(0, initial=-np.inf)
        failed = self._chosen(failed_rows(seen), centre)
        valid = self._validity(self._inputs(whole), failed, due) if len(failed) else None
        if due:
            state.fitted = len(seen)
        least = np.array([least_gain(column) if m > 1 else 0.0 for column in known.T])
        front, reference = front[non_dominated(front)], worst + REFERENCE_OFFSET
        broken = [process for process in constraints if process is not None]
        return DiscreteSurrogate(objectives, broken, valid, front, reference, least, left(front - least, reference))

    def _objective(self, j: int, rows: Rows, due: bool) -> HammingPosterior:
        """Return the process of one objective; of several, or of orders, in the units that best tell rows left out.

        The cost of a tour is a sum over pairs, which a warp hides; a warp helps widely spread losses.
        On half of a front an objective is bad, where `half_rank` hides its values.
        """
        y, m = losses_of(self._seen, rows)[:, j], self._seen.f.shape[1]
        if m == 1 and not self._parameters.permutations:
            return self._loss(j, j, rows, half_rank(y), due)
        slots = (j, m + self._seen.g.shape[1] + j)  # hyper-parameters in either
        shared, ahead = (0.0, WARP_ADVANTAGE) if m == 1 else (SHARED_SPREAD, 0.0)
        if due:
            made = [self._loss(j, slots[u], rows, units(y), due, shared) for u, units in enumerate(UNITS)]
            warped, plain = (rank_correlation(process.left_out(), y) for process in made)
            self.state.units[j] = int(plain > warped - ahead)
            return made[self.state.units[j]]
        chosen = self.state.units[j]
        return self._loss(j, slots[chosen], rows, UNITS[chosen](y), due, shared)

    def _loss(self, j: int, slot: int, rows: Rows, z: Floats, due: bool, shared: float = 0.0) -> HammingPosterior:
        """Return the process of objective `j`, whose losses are `z` [n] in its units."""
        f, sems = losses_of(self._seen, rows), errors_of(self._seen, rows)
        known = None if sems is None else KnownNoise.of(sems[:, j], f[:, j], z)
        prior = None if self._related is None else self._related.mean(self._inputs(rows), z)
        return self._process(slot, rows, z, due, shared, known, prior)

    def _constraint(self, column: int, g: Floats, centre: int, due: bool) -> HammingPosterior | None:
        """Return the process of one constraint, of the signed logarithm of its violation in usual units: 0 stays 0."""
        rows = self._chosen(np.flatnonzero(np.isfinite(g)), centre)
        if not (g[rows] > 0).any():
            return None  # never broken: as if it were not there
        unit = float(np.median(np.abs(g[rows])))
        bent = np.sign(g[rows]) * np.log1p(np.abs(g[rows]) / (unit if unit > 0 else 1.0))
        spread = float(bent.std())
        return self._process(column, rows, bent / (spread if spread > MIN_SPREAD else 1.0), due)

    def _process(
        self,
        column: int,
        rows: Rows,
        y: Floats,
        due: bool,
        shared: float = 0.0,
        known: KnownNoise | None = None,
        prior: PriorMean | None = None,
    ) -> HammingPosterior:
        inputs = self._inputs(rows)
        if due or not self.state.columns[column]:
            rest = y if prior is None else y - prior(inputs)
            self.state.columns[column] = self._fit(inputs, rest, self.state.columns[column], shared=shared, known=known)
        theta = np.array(self.state.columns[column])
        return HammingPosterior(inputs, y, hyper_of(theta, self.coding.categories), self.coding.owner, known, prior)

    def _validity(self, good: Inputs, failed: Rows, due: bool) -> HammingPosterior:
        """Return the process of 1 for what succeeded and 0 for what failed."""
        inputs = good.joined(self._inputs(failed))
        y = np.concatenate([np.ones(len(good)), np.zeros(len(failed))])
        if due or not self.state.valid:
            self.state.valid = self._fit(inputs, y, self.state.valid, spread=True)
        return HammingPosterior(
            inputs, y, hyper_of(np.array(self.state.valid), self.coding.categories), self.coding.owner
        )

    def _due(self) -> bool:
        n = len(self._seen)
        every = next(step for most, step in REFIT if n < most)
        return not any(self.state.columns) or n - self.state.fitted >= every

    def _fit(
        self,
        inputs: Inputs,
        y: Floats,
        start: list[float],
        spread: bool = False,
        shared: float = 0.0,
        known: KnownNoise | None = None,
    ) -> list[float]:
        """Return the most likely hyper-parameters; of many rows to the best, or, if `spread`, to some of both kinds."""
        begin, n, prior = np.array(start) if start else None, len(y), self._prior if spread else self._of_losses
        if n > FIT_ROWS:
            even = np.rint(np.linspace(0, n - 1, FIT_ROWS)).astype(np.int64)
            some = even if spread else np.sort(np.argsort(y, kind="stable")[:FIT_ROWS])
            inputs, y, known = inputs.at(some), y[some], None if known is None else known.at(some)
        theta: list[float] = fit(inputs, y, self.coding.owner, prior, begin, ITERATIONS, shared, known).tolist()
        return theta

    def _inputs(self, rows: Rows) -> Inputs:
        return self.coding(self._parameters.codes(self._seen.x[rows]))

    def _chosen(self, rows: Rows, centre: int) -> Rows:
        """Return at most `MAX_ROWS` of the rows, in order of arrival: the nearest to the centre."""
        if len(rows) <= MAX_ROWS:
            return rows
        from lamcts.spaces.base import distance

        far = distance(self._seen.x[rows], self._seen.x[[centre]])[:, 0]
        return np.sort(rows[np.argsort(far, kind="stable")[:MAX_ROWS]])
