"""Posteriors of all columns that a search models: selection of their rows, and schedule of their fits.

Letters: n rows in a model, d coordinates, k objectives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.fit import FIT_ROWS, fit
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import UNITS, Bilog, half_rank, rank_correlation, unit_of
from lamcts.models.posterior import Posterior
from lamcts.models.predicted_rows import KnownColumns, errors_of, losses_of, modelled
from lamcts.models.prior_mean import PriorMean, RelatedModels
from lamcts.models.priors import KernelPrior, Prior
from lamcts.models.success import success_near
from lamcts.models.surrogate import Surrogate, least_gain
from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import distance
from lamcts.types import Floats, Rows

MAX_ROWS = 500  # rows of a model: more cost time (a factor of 500 takes some 10 ms), fewer see less of the function
# With a device, models of more rows than DEVICE_FROM have up to DEVICE_ROWS: a factor of 3,000 takes 0.6 s of a core at
# each ask, one of 5,000 would take 3 s.
DEVICE_FROM, DEVICE_ROWS = 1000, 3000
# Rows, and the number of new ones that cause a refit up to there. A tenth of the rows instead costs MixedGp rank on
# bbob-biobj, 1.40 : 1.60 at 50 and 100 evaluations, with longer climbs.
REFIT = ((40, 2), (120, 5), (FIT_ROWS, 10), (10**9, 25))
MULTI_START_EVERY = 3  # one fit in three has two more starts: more often costs time, more rarely keeps poor optima
# Advantage in rank correlation that the warp needs before permutations are modelled in it (tuned: without, two of ten
# tours took 170 and 208 evaluations, which took 120 and 71 in plain units).
WARP_ADVANTAGE = 0.02
SHARED_SPREAD = 1.5  # log deviation of a factor common to all weights of an objective: costs are often sums (tuned)
Slot = tuple[str, int, int]  # ("loss", objective, units) or ("constraint", the first that shares a kernel, 0)
Group = tuple[int, Floats, list[Floats]]  # first of the constraints, their points [n, d], and their columns [n]


@dataclass
class ModelState:
    """State of a model, besides the rows.

    columns: hyper-parameters of each objective in each of its units, and of the constraints, once fitted.
    """

    columns: dict[Slot, Hyper] = field(default_factory=dict)
    success: Hyper | None = None  # hyper-parameters of the process of success
    fits: int = 0
    fitted: int = 0  # rows seen at the last fit
    units: list[int] = field(default_factory=list)  # position in UNITS for each objective, where they vary


class LocalModel:
    """Processes of all columns, over the rows that have values, or over the 500 nearest to a centre.

    device: device of torch where gpytorch fits models of more than 1,000 rows, which then have up to 3,000; None: none.

    inputs: returns the inputs of points [n, d]. prior: prior of the hyper-parameters. units: units of a single loss
    without permutations; other losses take those of UNITS that best predict rows left out. real: whether all parameters
    are real. A single loss then shares a kernel with its constraints (the default's rank on bbob-constrained at 20
    evaluations was 1.38, and 1.62 without), and each third fit also starts at the prior. The results depend on `state`
    and `seen` alone, bit for bit: the model is built at every ask. A column also has the values of incomplete results,
    up to MAX_ROWS in all.
    """

    def __init__(
        self,
        seen: Observations,
        inputs: Callable[[Floats], Inputs],
        prior: KernelPrior,
        state: ModelState,
        units: Callable[[Floats], Floats] = half_rank,
        real: bool = False,
        device: str | None = None,
    ) -> None:
        self._seen = seen
        self.inputs = inputs
        self._prior = prior
        self.state = state
        self._units = units
        self._real = real
        self._device = device
        self.unit = 0.0  # losses per unit of the latest model of a single loss; 0 where unknown
        related = seen.related if seen.plain else ()
        self._related = RelatedModels(related, inputs, prior) if related else None

    def update(self, centre: int, rng: np.random.Generator | None = None) -> Surrogate:
        """Return the acquisition function given `seen`; the model is local to the row `centre`.

        rng: generator of the seed of an acquisition function without closed form; None: the seed is 0.
        """
        seen, state = self._seen, self.state
        refit = self._needs_fit()
        m = seen.f.shape[1]
        state.units += [0] * (m - len(state.units))
        self._incomplete = KnownColumns.of(seen)
        good = modelled(seen)
        rows = self.nearest(good[np.isfinite(losses_of(seen, good)).all(1)], centre)
        groups, violation = self._violations(centre)
        joint = self._joint(groups, rows) if m == 1 else []
        objectives = [self._objective(j, rows, refit, joint) for j in range(m) if len(rows)]
        n = len(rows)  # incomplete results follow
        self.unit = unit_of(losses_of(seen, rows)[:, 0], objectives[0].z[:n, 0]) if m == 1 and objectives else 0.0
        constraints = [
            self._process(("constraint", j, 0), self.inputs(x), np.array(z).T, refit) for j, x, z in groups.values()
        ]
        # a single loss is compared without its noise; a front consists of observations
        losses = [(loss.fitted() if m == 1 or loss.known is not None else loss.z)[:n, 0] for loss in objectives]
        front = np.array(losses).reshape(m, -1).T  # [n, k]
        success = success_near(seen, seen.x[centre], self.inputs, None if refit else state.success)
        state.success = None if success is None else success.hyper
        if refit:
            state.fits += 1
            state.fitted = len(seen)
        least = np.array([least_gain(column) if m > 1 else 0.0 for column in front.T])
        model = MultiOutput(objectives + constraints, len(objectives))
        surrogate = Surrogate(model, front[seen.feasible[rows]], violation, success, least)
        if rng is None or not surrogate.is_drawn:
            return surrogate
        return replace(surrogate, seed=int(rng.integers(2**63)))

    def _objective(self, j: int, rows: Rows, refit: bool, joint: Sequence[Floats]) -> Posterior:
        """Return the process of an objective, with the `joint` columns.

        With several objectives, or permutations, it takes the units that best predict rows left out. A warp helps
        widely spread losses. But it hides that the cost of a tour is a sum over pairs, and it hides the larger values
        of an objective, which make up half of a front.
        """
        x, y, sems = self._data(j, rows)
        m = self._seen.f.shape[1]
        inputs = self.inputs(x)
        if m == 1 and not inputs.orders.shape[1]:
            return self._loss(("loss", j, 0), inputs, y, sems, np.array([self._units(y), *joint]).T, refit)
        shared, advantage = (0.0, WARP_ADVANTAGE) if m == 1 else (SHARED_SPREAD, 0.0)
        if refit:
            processes = [
                self._loss(("loss", j, u), inputs, y, sems, transform(y)[:, None], refit, shared)
                for u, transform in enumerate(UNITS)
            ]
            warped, plain = (rank_correlation(process.left_out()[:, 0], y) for process in processes)
            self.state.units[j] = int(plain > warped - advantage)
            return processes[self.state.units[j]]
        chosen = self.state.units[j]
        return self._loss(("loss", j, chosen), inputs, y, sems, UNITS[chosen](y)[:, None], refit, shared)

    def _data(self, j: int, rows: Rows) -> tuple[Floats, Floats, Floats | None]:
        """Return the points [n, d], losses [n] and standard errors [n] of an objective, incomplete results last."""
        x, y = self._seen.x[rows], losses_of(self._seen, rows)[:, j]
        sems = errors_of(self._seen, rows)
        errors = None if sems is None else sems[:, j]
        incomplete = self._incomplete
        extra = self._with_value(incomplete.f[:, j], len(rows))
        if not len(extra):
            return x, y, errors
        if errors is not None or np.isfinite(incomplete.sems[extra, j]).any():
            errors = np.r_[np.full(len(rows), np.nan) if errors is None else errors, incomplete.sems[extra, j]]
        return np.vstack([x, incomplete.x[extra]]), np.r_[y, incomplete.f[extra, j]], errors

    @staticmethod
    def _with_value(column: Floats, n: int) -> Rows:
        """Return the incomplete results with a value in a column [p], at most as many as fit next to `n` rows."""
        return np.flatnonzero(np.isfinite(column))[: max(MAX_ROWS - n, 0)]

    def _loss(
        self, slot: Slot, inputs: Inputs, y: Floats, sems: Floats | None, z: Floats, refit: bool, shared: float = 0.0
    ) -> Posterior:
        """Return the process of losses `y` [n]; the first of the columns `z` [n, r] is `y` in the model's units."""
        known = None if sems is None else KnownNoise.of(sems, y, z[:, 0])
        prior = None if self._related is None else self._related.mean(inputs, z[:, 0])
        return self._process(slot, inputs, z, refit, shared, known, prior)

    def _violations(self, centre: int) -> tuple[dict[bytes, Group], float]:
        """Return the constraints that some row violates, grouped by their rows, and the least total violation.

        Constraints with values in the same rows share a kernel: fifty cost one fit and one factor.
        """
        violations: list[Floats] = []
        groups: dict[bytes, Group] = {}
        for j, g in enumerate(self._seen.g.T):
            rows = self.nearest(np.flatnonzero(np.isfinite(g)), centre)
            extra = self._with_value(self._incomplete.g[:, j], len(rows))
            column = np.r_[g[rows], self._incomplete.g[extra, j]]
            if (column > 0).any():
                unit = Bilog.of(column)
                points = np.vstack([self._seen.x[rows], self._incomplete.x[extra]])
                key = rows.tobytes() + extra.tobytes()
                groups.setdefault(key, (j, points, []))[2].append(unit.down(column))
                violations.append(np.maximum(unit.down(g), 0.0))  # nan where unknown
        return groups, float(np.nanmin(np.sum(violations, axis=0), initial=np.inf)) if violations else np.inf

    def _joint(self, groups: dict[bytes, Group], rows: Rows) -> list[Floats]:
        """Remove from the groups the columns that share the kernel of a single loss, and return them."""
        separate = self._related is not None or errors_of(self._seen, rows) is not None or len(self._incomplete.x) > 0
        if separate or not self._real or rows.tobytes() not in groups:
            return []
        return groups.pop(rows.tobytes())[2]

    def _process(
        self,
        slot: Slot,
        inputs: Inputs,
        z: Floats,
        refit: bool,
        shared: float = 0.0,
        known: KnownNoise | None = None,
        prior: PriorMean | None = None,
    ) -> Posterior:
        """Return the process of columns `z` [n, r].

        With many rows, the best ones determine the hyper-parameters; on a device, all rows do.
        """
        hyper = self.state.columns.get(slot)
        if refit or hyper is None:
            residual = z if prior is None else z - prior(inputs)[:, None]
            hyper_prior = self._prior.suited(inputs, shared)
            if len(z) > MAX_ROWS and known is None:
                hyper = fit(inputs, residual, hyper_prior, [] if hyper is None else [hyper], device=self._device)[0]
            else:
                best = np.sort(np.argsort(residual.sum(1), kind="stable")[:FIT_ROWS])
                noise = None if known is None else known.at(best)
                hyper = self._fit(inputs.at(best), residual[best], hyper, hyper_prior, noise)
            self.state.columns[slot] = hyper
        return Posterior.of(inputs, z, hyper, known, prior)

    def _fit(self, inputs: Inputs, z: Floats, last: Hyper | None, prior: Prior, known: KnownNoise | None) -> Hyper:
        """Return the best hyper-parameters of fits from the last ones and, each third time, from two other starts."""
        starts = [] if last is None else [last]
        if self._real and self.state.fits % MULTI_START_EVERY == 0:
            starts += prior.starts
        return fit(inputs, z, prior, starts, known=known)[0]

    def _needs_fit(self) -> bool:
        """Return whether the hyper-parameters need a fit."""
        every = next(step for most, step in REFIT if len(self._seen) < most)
        return not self.state.columns or len(self._seen) - self.state.fitted >= every

    def nearest(self, rows: Rows, centre: int) -> Rows:
        """Return at most MAX_ROWS of the rows, in order of arrival: the nearest to the row `centre`.

        With a device and more rows than DEVICE_FROM, they are at most DEVICE_ROWS.
        """
        most = MAX_ROWS if self._device is None or len(rows) <= DEVICE_FROM else DEVICE_ROWS
        if len(rows) <= most:
            return rows
        distances = distance(self._seen.x[rows], self._seen.x[[centre]])[:, 0]
        return np.sort(rows[np.argsort(distances, kind="stable")[:most]])
