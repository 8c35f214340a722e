"""The posteriors of all columns that a search models: which rows they hold, and when they are fitted again.

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

MAX_ROWS = 500  # in the model: a factor of 500 takes some 10 ms (untuned)
DEVICE_FROM, DEVICE_ROWS = 1000, 3000  # with a device: rows beyond which the model has more of them, and how many then
# (a factor of 3,000 takes 0.6 s of a core at each ask, one of 5,000 would take 3 s; untuned)
REFIT = ((40, 2), (120, 5), (FIT_ROWS, 10), (10**9, 25))  # rows up to which a refit is due after so many new (a tenth
# of the rows instead costs MixedGp rank on bbob-biobj, 1.40 : 1.60 at 50 and 100 evaluations, with longer climbs)
MULTI_START_EVERY = 3  # fits from one multi-start fit to the next (untuned)
WARP_ADVANTAGE = 0.02  # rank correlation by which the warp must be ahead before orders are modelled in it (tuned:
# without, two of ten tours took 170 and 208 evaluations, which took 120 and 71 in plain units)
SHARED_SPREAD = 1.5  # deviations of a factor that all weights of an objective share: costs are often sums (tuned)
Slot = tuple[str, int, int]  # ("loss", its number, its units) or ("constraint", the first that shares a kernel, 0)
Group = tuple[int, Floats, list[Floats]]  # the first of some constraints, their points [n, d], and columns [n] each


@dataclass
class ModelState:
    """What the model's future depends on, besides the rows.

    columns: hyper-parameters of each objective in each of its units, and of the constraints, once they are fitted.
    """

    columns: dict[Slot, Hyper] = field(default_factory=dict)
    success: Hyper | None = None  # of where evaluations succeed
    fits: int = 0
    fitted: int = 0  # rows seen at the last fit
    units: list[int] = field(default_factory=list)  # which units each objective is in: of several, or of orders


class LocalModel:
    """Processes of all columns, over the rows that have them, or over the 500 nearest to a centre.

    device: of torch, where gpytorch fits models of more than 1,000 rows, which then have up to 3,000; None: none.

    inputs: points [n, d] as the kernel takes them. prior: of the hyper-parameters. units: of one loss without orders;
    others are in those of UNITS that best tell rows left out. real: whether all parameters are real: one loss shares
    a kernel with its constraints (apart, the default's rank on bbob-constrained was 1.62, and 1.38 so, at 20
    evaluations), and each third fit begins at the prior, too. What it returns depends on `state` and `seen` alone, bit
    for bit: it is built at every ask. Each column also has the values of incomplete results, up to MAX_ROWS in all.
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
        self._seen, self.inputs, self._prior, self.state, self._units = seen, inputs, prior, state, units
        self._real, self._device = real, device
        self.unit = 0.0  # losses per unit of the latest model, of one loss; 0 where unknown
        related = seen.related if seen.plain else ()
        self._related = RelatedModels(related, inputs, prior) if related else None

    def update(self, centre: int, rng: np.random.Generator | None = None) -> Surrogate:
        """Return the acquisition up to date with `seen`; `centre` is the row near which the model must be right.

        rng: of the acquisition's seed, drawn where it has no closed form; None: the seed is 0.
        """
        seen, due, state = self._seen, self._due(), self.state
        m = seen.f.shape[1]
        state.units += [0] * (m - len(state.units))
        self._known, good = KnownColumns.of(seen), modelled(seen)
        rows = self.nearest(good[np.isfinite(losses_of(seen, good)).all(1)], centre)
        groups, violation = self._violations(centre)
        joint = self._joint(groups, rows) if m == 1 else []
        objectives = [self._objective(j, rows, due, joint) for j in range(m) if len(rows)]
        n = len(rows)  # then come those that are incomplete
        self.unit = unit_of(losses_of(seen, rows)[:, 0], objectives[0].z[:n, 0]) if m == 1 and objectives else 0.0
        constraints = [
            self._process(("constraint", j, 0), self.inputs(x), np.array(z).T, due) for j, x, z in groups.values()
        ]
        # one loss is taken without the noise that its process sees in it; a front is made of what was seen
        losses = [(own.fitted() if m == 1 or own.known is not None else own.z)[:n, 0] for own in objectives]
        front = np.array(losses).reshape(m, -1).T  # [n, k]
        success = success_near(seen, seen.x[centre], self.inputs, None if due else state.success)
        state.success = None if success is None else success.hyper
        if due:
            state.fits, state.fitted = state.fits + 1, len(seen)
        least = np.array([least_gain(column) if m > 1 else 0.0 for column in front.T])
        model = MultiOutput(objectives + constraints, len(objectives))
        surrogate = Surrogate(model, front[seen.feasible[rows]], violation, success, least)
        if rng is None or not surrogate.is_drawn:
            return surrogate
        return replace(surrogate, seed=int(rng.integers(2**63)))

    def _objective(self, j: int, rows: Rows, due: bool, joint: Sequence[Floats]) -> Posterior:
        """Return the process of one objective, with the `joint` columns.

        Of several objectives, or of orders, it is in the units that best tell rows left out.

        The cost of a tour is a sum over pairs, which a warp hides; a warp helps widely spread losses.
        On half of a front an objective is bad, where `half_rank` hides its values.
        """
        x, y, sems = self._told(j, rows)
        m, inputs = self._seen.f.shape[1], self.inputs(x)
        if m == 1 and not inputs.orders.shape[1]:
            return self._loss(("loss", j, 0), inputs, y, sems, np.array([self._units(y), *joint]).T, due)
        shared, ahead = (0.0, WARP_ADVANTAGE) if m == 1 else (SHARED_SPREAD, 0.0)
        if due:
            made = [
                self._loss(("loss", j, u), inputs, y, sems, units(y)[:, None], due, shared)
                for u, units in enumerate(UNITS)
            ]
            warped, plain = (rank_correlation(process.left_out()[:, 0], y) for process in made)
            self.state.units[j] = int(plain > warped - ahead)
            return made[self.state.units[j]]
        chosen = self.state.units[j]
        return self._loss(("loss", j, chosen), inputs, y, sems, UNITS[chosen](y)[:, None], due, shared)

    def _told(self, j: int, rows: Rows) -> tuple[Floats, Floats, Floats | None]:
        """Return the points [n, d], losses [n] and standard errors [n] of an objective, of incomplete results last."""
        x, y, sems = self._seen.x[rows], losses_of(self._seen, rows)[:, j], errors_of(self._seen, rows)
        errors = None if sems is None else sems[:, j]
        own, known = self._more(self._known.f[:, j], len(rows)), self._known
        if not len(own):
            return x, y, errors
        if errors is not None or np.isfinite(known.sems[own, j]).any():
            errors = np.r_[np.full(len(rows), np.nan) if errors is None else errors, known.sems[own, j]]
        return np.vstack([x, known.x[own]]), np.r_[y, known.f[own, j]], errors

    @staticmethod
    def _more(column: Floats, n: int) -> Rows:
        """Return which incomplete results have a value in a column [p], as many as fit next to `n` rows."""
        return np.flatnonzero(np.isfinite(column))[: max(MAX_ROWS - n, 0)]

    def _loss(
        self, slot: Slot, inputs: Inputs, y: Floats, sems: Floats | None, z: Floats, due: bool, shared: float = 0.0
    ) -> Posterior:
        """Return the process of losses `y` [n], which in its units are the first of the columns `z` [n, r]."""
        known = None if sems is None else KnownNoise.of(sems, y, z[:, 0])
        prior = None if self._related is None else self._related.mean(inputs, z[:, 0])
        return self._process(slot, inputs, z, due, shared, known, prior)

    def _violations(self, centre: int) -> tuple[dict[bytes, Group], float]:
        """Return the constraints that some row violates, by their rows, and the least violation of any row in all.

        Constraints that are known of the same rows share a kernel: fifty cost one fit and one factor.
        """
        over, groups = list[Floats](), dict[bytes, Group]()
        for j, g in enumerate(self._seen.g.T):
            rows = self.nearest(np.flatnonzero(np.isfinite(g)), centre)
            more = self._more(self._known.g[:, j], len(rows))
            held = np.r_[g[rows], self._known.g[more, j]]
            if (held > 0).any():
                unit = Bilog.of(held)
                points = np.vstack([self._seen.x[rows], self._known.x[more]])
                key = rows.tobytes() + more.tobytes()
                groups.setdefault(key, (j, points, []))[2].append(unit.down(held))
                over.append(np.maximum(unit.down(g), 0.0))  # nan where it is not known
        return groups, float(np.nanmin(np.sum(over, axis=0), initial=np.inf)) if over else np.inf

    def _joint(self, groups: dict[bytes, Group], rows: Rows) -> list[Floats]:
        """Take the columns that share the kernel of one loss out of the groups: those of its rows."""
        alone = self._related is not None or errors_of(self._seen, rows) is not None or bool(len(self._known.x))
        if alone or not self._real or rows.tobytes() not in groups:
            return []
        return groups.pop(rows.tobytes())[2]

    def _process(
        self,
        slot: Slot,
        inputs: Inputs,
        z: Floats,
        due: bool,
        shared: float = 0.0,
        known: KnownNoise | None = None,
        prior: PriorMean | None = None,
    ) -> Posterior:
        """Return the process of columns `z` [n, r].

        Of many rows the best decide on its hyper-parameters, and all of them on a device.
        """
        hyper = self.state.columns.get(slot)
        if due or hyper is None:
            rest, suited = z if prior is None else z - prior(inputs)[:, None], self._prior.suited(inputs, shared)
            if len(z) > MAX_ROWS and known is None:
                hyper = fit(inputs, rest, suited, [] if hyper is None else [hyper], device=self._device)[0]
            else:
                best = np.sort(np.argsort(rest.sum(1), kind="stable")[:FIT_ROWS])
                noise = None if known is None else known.at(best)
                hyper = self._fitted(inputs.at(best), rest[best], hyper, suited, noise)
            self.state.columns[slot] = hyper
        return Posterior.of(inputs, z, hyper, known, prior)

    def _fitted(self, inputs: Inputs, z: Floats, warm: Hyper | None, prior: Prior, known: KnownNoise | None) -> Hyper:
        """Return the best hyper-parameters found from those before, if any, and now and then from two places more."""
        starts = [] if warm is None else [warm]
        if self._real and self.state.fits % MULTI_START_EVERY == 0:
            starts += prior.starts
        return fit(inputs, z, prior, starts, known=known)[0]

    def _due(self) -> bool:
        """Return whether the hyper-parameters are to be fitted again."""
        every = next(step for most, step in REFIT if len(self._seen) < most)
        return not self.state.columns or len(self._seen) - self.state.fitted >= every

    def nearest(self, rows: Rows, centre: int) -> Rows:
        """Return at most MAX_ROWS of the rows, in order of arrival: the nearest to the row `centre`.

        On a device they are at most DEVICE_ROWS of more than DEVICE_FROM.
        """
        most = MAX_ROWS if self._device is None or len(rows) <= DEVICE_FROM else DEVICE_ROWS
        if len(rows) <= most:
            return rows
        far = distance(self._seen.x[rows], self._seen.x[[centre]])[:, 0]
        return np.sort(rows[np.argsort(far, kind="stable")[:most]])
