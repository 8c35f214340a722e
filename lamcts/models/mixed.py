"""The posteriors of all columns over parameters of any kind: which rows they hold, and when they are fitted again.

Letters: n rows in a model, k objectives.
"""

from dataclasses import dataclass, field

import numpy as np

from lamcts.models.coding import Coding, Inputs
from lamcts.models.fit import fit
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import UNITS, Bilog, half_rank, rank_correlation, unit_of
from lamcts.models.posterior import Posterior
from lamcts.models.predicted_rows import errors_of, losses_of
from lamcts.models.prior_mean import PriorMean, RelatedModels
from lamcts.models.priors import MixedPrior
from lamcts.models.success import success_near
from lamcts.models.surrogate import Surrogate, least_gain
from lamcts.outcomes.constrained_rank import OK
from lamcts.outcomes.observations import Observations
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

MAX_ROWS = 500  # in the model: a factor of 500 takes some 10 ms (untuned)
FIT_ROWS = 250  # the best of these rows, to which the hyper-parameters are fitted: of 500 it takes seconds (untuned)
REFIT = ((40, 2), (120, 5), (FIT_ROWS, 10), (10**9, 25))  # rows up to which a refit is due after so many new (untuned)
WARP_ADVANTAGE = 0.02  # rank correlation by which the warp must be ahead before orders are modelled in it (tuned:
# without, two of ten tours took 170 and 208 evaluations, which took 120 and 71 in plain units)
SHARED_SPREAD = 1.5  # deviations of a factor that all weights of an objective share: costs are often sums (tuned)


@dataclass
class MixedModelState:
    """What the model's future depends on, besides the rows.

    columns: hyper-parameters of k objectives, of the constraints, and of the objectives in other units; None: not
    fitted yet.
    """

    columns: list[Hyper | None] = field(default_factory=list)
    success: Hyper | None = None  # of where evaluations succeed
    fitted: int = 0  # rows seen at the last fit
    units: list[int] = field(default_factory=list)  # which units each objective is in: of several, or of orders


class MixedModel:
    """Processes of all columns, each over the rows that have it, or over the 500 nearest to the best one.

    What it returns depends on `state` and `seen` alone, bit for bit: it is built at every ask.
    """

    def __init__(self, seen: Observations, parameters: Parameters, state: MixedModelState) -> None:
        self._seen, self._parameters, self.state = seen, parameters, state
        self._prior = MixedPrior().with_reals() if parameters.continuous.any() else MixedPrior()
        if parameters.permutations:
            self._prior = self._prior.with_permutations()
        self.coding = Coding(parameters)
        self.unit = 0.0  # losses per unit of the latest model, of one loss; 0 where unknown
        related = seen.related if seen.plain else ()
        self._related = RelatedModels(related, parameters, self.coding, self._prior) if related else None

    def update(self, centre: int, rng: np.random.Generator) -> Surrogate:
        """Return the acquisition up to date with `seen`; `centre` is the row near which the model must be right."""
        seen, due, state = self._seen, self._due(), self.state
        m, c = seen.f.shape[1], seen.g.shape[1]
        state.columns += [None] * (2 * m + c - len(state.columns))  # objectives in both units
        state.units += [0] * (m - len(state.units))
        whole = self._chosen(np.union1d(np.flatnonzero(seen.kind == OK), [*seen.predicted]).astype(np.int64), centre)
        objectives = [self._objective(j, whole, due) for j in range(m) if len(whole)]
        self.unit = unit_of(losses_of(seen, whole)[:, 0], objectives[0].z[:, 0]) if m == 1 and objectives else 0.0
        constraints, violation = self._constraints(centre, due)
        # one loss is taken without the noise that its process sees in it; a front is made of what was seen
        losses = [(own.fitted() if m == 1 or own.known is not None else own.z)[:, 0] for own in objectives]
        known = np.array(losses).reshape(m, -1).T  # [n, k]
        success = success_near(seen, seen.x[centre], self.inputs, None if due else state.success)
        state.success = None if success is None else success.hyper
        if due:
            state.fitted = len(seen)
        least = np.array([least_gain(column) if m > 1 else 0.0 for column in known.T])
        model = MultiOutput(objectives + constraints, len(objectives))
        return Surrogate(model, known[seen.feasible[whole]], violation, rng, success, least)

    def _objective(self, j: int, rows: Rows, due: bool) -> Posterior:
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
            warped, plain = (rank_correlation(process.left_out()[:, 0], y) for process in made)
            self.state.units[j] = int(plain > warped - ahead)
            return made[self.state.units[j]]
        chosen = self.state.units[j]
        return self._loss(j, slots[chosen], rows, UNITS[chosen](y), due, shared)

    def _loss(self, j: int, slot: int, rows: Rows, z: Floats, due: bool, shared: float = 0.0) -> Posterior:
        """Return the process of objective `j`, whose losses are `z` [n] in its units."""
        f, sems = losses_of(self._seen, rows), errors_of(self._seen, rows)
        known = None if sems is None else KnownNoise.of(sems[:, j], f[:, j], z)
        prior = None if self._related is None else self._related.mean(self._inputs(rows), z)
        return self._process(slot, rows, z, due, shared, known, prior)

    def _constraints(self, centre: int, due: bool) -> tuple[list[Posterior], float]:
        """Return the processes of the constraints that some row violates, and the least violation of any row in all."""
        m, processes, over = self._seen.f.shape[1], [], []
        for j, g in enumerate(self._seen.g.T):
            rows = self._chosen(np.flatnonzero(np.isfinite(g)), centre)
            if (g[rows] > 0).any():
                unit = Bilog.of(g[rows])
                processes.append(self._process(m + j, rows, unit.down(g[rows]), due))
                over.append(np.maximum(unit.down(g), 0.0))  # nan where it is not known
        return processes, float(np.nanmin(np.sum(over, axis=0), initial=np.inf)) if over else np.inf

    def _process(
        self,
        column: int,
        rows: Rows,
        y: Floats,
        due: bool,
        shared: float = 0.0,
        known: KnownNoise | None = None,
        prior: PriorMean | None = None,
    ) -> Posterior:
        inputs, hyper = self._inputs(rows), self.state.columns[column]
        if due or hyper is None:
            rest = y if prior is None else y - prior(inputs)
            hyper = self.state.columns[column] = self._fit(inputs, rest, hyper, shared=shared, known=known)
        return Posterior(inputs, y[:, None], hyper, known, prior)

    def _due(self) -> bool:
        n = len(self._seen)
        every = next(step for most, step in REFIT if n < most)
        return not any(hyper is not None for hyper in self.state.columns) or n - self.state.fitted >= every

    def _fit(
        self,
        inputs: Inputs,
        y: Floats,
        start: Hyper | None,
        shared: float = 0.0,
        known: KnownNoise | None = None,
    ) -> Hyper:
        """Return the most likely hyper-parameters; those of many rows are of the best."""
        if len(y) > FIT_ROWS:
            some = np.sort(np.argsort(y, kind="stable")[:FIT_ROWS])
            inputs, y, known = inputs.at(some), y[some], None if known is None else known.at(some)
        found = self._prior.of(self.coding.categories, self.coding.numbers, shared)
        return fit(inputs, y[:, None], found, start, known=known)[0]

    def inputs(self, x: Floats) -> Inputs:
        """Return valid points `x` [n, d] as the model takes them."""
        return self.coding(self._parameters.codes(x))

    def _inputs(self, rows: Rows) -> Inputs:
        return self.inputs(self._seen.x[rows])

    def _chosen(self, rows: Rows, centre: int) -> Rows:
        """Return at most MAX_ROWS of the rows, in order of arrival: the nearest to the centre."""
        if len(rows) <= MAX_ROWS:
            return rows
        from lamcts.spaces.base import distance

        far = distance(self._seen.x[rows], self._seen.x[[centre]])[:, 0]
        return np.sort(rows[np.argsort(far, kind="stable")[:MAX_ROWS]])
