"""The process that follows a search over discrete parameters: which rows it holds, when it is fitted again.

Letters: n rows in the model, m rows asked about, p parameters.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lamcts.models.acquisition import log_expected_improvement, slopes
from lamcts.models.hamming import Coding, HammingPosterior, Inputs
from lamcts.models.hamming_fit import HammingPrior, fit, hyper_of
from lamcts.models.output_transforms import UNITS, half_rank, rank_correlation
from lamcts.models.success import failed_rows
from lamcts.observations import Observations
from lamcts.outcomes.standing import PRUNED
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.types import Floats, Rows

MOST_ROWS = 500  # in the model: a factor of 500 takes some 10 ms (untuned)
# the best of these rows, to which the hyper-parameters are fitted: a fit with 500 takes seconds (untuned)
FIT_ROWS = 250
REFIT = ((40, 2), (120, 5), (FIT_ROWS, 10), (10**9, 25))  # rows up to which a refit is due after so many new (untuned)
ITERATIONS = 15  # steps of L-BFGS in a fit (untuned)
LEAST_VARIANCE = 1e-12  # where slopes are taken: at a row of the model they have none (untuned)
LEVEL = (
    0.02  # rank correlation by which the warp must be ahead before orders are modelled in it (tuned: without, two of
)
# ten tours took 170 and 208 evaluations, which took 120 and 71 in plain units)
LEAST_VALID = 0.02  # chance of being valid, where the model says less: no point is written off for good (untuned)


@dataclass
class DiscreteModelState:
    """What the model's future depends on, besides the rows."""

    theta: list[float] = field(default_factory=list)  # hyper-parameters of the losses; empty: none were fitted
    valid: list[float] = field(default_factory=list)  # those of what fails
    fitted: int = 0  # rows seen at the last fit
    columns: list[list[float]] = field(default_factory=list)  # those of each column, where there are several
    units: list[int] = field(default_factory=list)  # which units each objective is in: of several, or of orders


class Surrogate(NamedTuple):
    """What a point is worth: the process of the losses, that of what fails (None: nothing has), the best loss."""

    losses: HammingPosterior
    valid: HammingPosterior | None
    best: float

    def value(self, inputs: Inputs) -> Floats:
        """Return the log expected improvement, and the log of the chance of being valid added, [m]."""
        mean, variance = self.losses.moments(inputs)
        value = log_expected_improvement(mean, np.sqrt(variance), self.best)
        if self.valid is not None:
            value += np.log(np.clip(self.valid.moments(inputs)[0], LEAST_VALID, 1.0))
        return value

    def slope(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the negative of `value` [m], and its slope along the numbers [m, q]."""
        mean, variance, by_mean, by_variance = self.losses.slopes(inputs)
        sd = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        per_mean, per_sd = slopes(mean, sd, self.best)
        gradient = per_mean[:, None] * by_mean + (per_sd / (2.0 * sd))[:, None] * by_variance
        value = log_expected_improvement(mean, sd, self.best)
        if self.valid is not None:
            chance, _, by_chance, _ = self.valid.slopes(inputs)
            sloped = (chance > LEAST_VALID) & (chance < 1.0)
            chance = np.clip(chance, LEAST_VALID, 1.0)
            value += np.log(chance)
            gradient += (sloped / chance)[:, None] * by_chance
        return -value, -gradient

    def same(self, inputs: Inputs, share: float) -> Mask:
        """Return which rows are all but known, [m]: they differ from one by less than a share of all that counts."""
        alike: Mask = -np.log(self.losses.likeness(inputs)) < share * float(self.losses.hyper.weights.sum())
        return alike

    def believing(self, inputs: Inputs) -> "Surrogate":
        """Return the same with some points out for evaluation, as if they had come out as expected."""
        losses = self.losses.believing(inputs)
        return Surrogate(losses, self.valid, min(self.best, float(losses.y[-len(inputs) :].min())))


class DiscreteModel:
    """The process over the rows of `seen`, or over the 500 nearest to the best one, where there are more.

    What it returns depends on `state` and `seen` alone, bit for bit: it is made anew for every ask.
    """

    def __init__(
        self, seen: Observations, parameters: Parameters, prior: HammingPrior, state: DiscreteModelState
    ) -> None:
        self._seen, self._parameters, self._prior, self.state = seen, parameters, prior, state
        self._of_losses = prior.beside_reals() if parameters.continuous.any() else prior
        if parameters.orders:
            self._of_losses = self._of_losses.of_orders()
        self.coding = Coding(parameters)

    def update(self, centre: int) -> Surrogate:
        """Return the process up to date with `seen`; `centre` is the row near which it must be right."""
        seen = self._seen
        good = self._chosen(seen.good, centre)
        failed = self._chosen(failed_rows(seen), centre)
        inputs, due = self._inputs(good), self._due()
        losses = self._in_best_units(inputs, seen.y[good], due)
        best = float(losses.fitted().min())
        losses = self._beside_pruned(losses, good, centre)
        valid = self._validity(inputs, failed, due) if len(failed) else None
        if due:
            self.state.fitted = len(seen)
        return Surrogate(losses, valid, best)

    def _beside_pruned(self, losses: HammingPosterior, good: Rows, centre: int) -> HammingPosterior:
        """Return the process with pruned rows at what it expects there, but no better than what they rank after.

        It was fitted without them. Left out altogether, points beside them are proposed again and again: three seeds of
        benchmarks/pruning.py (10 to 12) all ended worse then.
        """
        seen, pruned = self._seen, self._chosen(np.flatnonzero(self._seen.kind == PRUNED), centre)
        if not len(pruned):
            return losses
        inputs = self._inputs(pruned)
        order = np.argsort(seen.y[good], kind="stable")
        floors = np.array([seen.floors.get(row, -np.inf) for row in pruned.tolist()])
        place = np.searchsorted(seen.y[good][order], floors, side="right")  # of the first that is worse
        least = np.concatenate([[-np.inf], losses.y[order]])[place]
        y = np.concatenate([losses.y, np.maximum(losses.moments(inputs)[0], least)])
        return HammingPosterior(losses.inputs.joined(inputs), y, losses.hyper, self.coding.owner)

    def _in_best_units(self, inputs: Inputs, y: Floats, due: bool) -> HammingPosterior:
        """Return the process of losses `y` [n]; of orders in the units that best tell that of rows left out.

        What a tour costs is a sum over its pairs, which a warp hides; others have losses far apart, which it helps.
        """
        if not self._parameters.orders:
            return self._in_units(inputs, half_rank(y), due, 0)
        self.state.units += [0] * (1 - len(self.state.units))
        if due:
            made = [self._in_units(inputs, units(y), due, u) for u, units in enumerate(UNITS)]
            agreement = [rank_correlation(process.left_out(), y) for process in made]
            self.state.units[0] = int(agreement[1] > agreement[0] - LEVEL)
            return made[self.state.units[0]]
        return self._in_units(inputs, UNITS[self.state.units[0]](y), due, self.state.units[0])

    def _in_units(self, inputs: Inputs, y: Floats, due: bool, u: int) -> HammingPosterior:
        """Return the process of losses in units number `u`, fitted anew where that is due."""
        if due and u == 0:
            self.state.theta = self._fit(inputs, y, self.state.theta)
        elif due:
            before = self.state.columns[0] if self.state.columns else []
            self.state.columns = [self._fit(inputs, y, before)]
        theta = np.array(self.state.columns[0] if u else self.state.theta)
        return HammingPosterior(inputs, y, hyper_of(theta, self.coding.categories), self.coding.owner)

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
        return not self.state.theta or n - self.state.fitted >= every

    def _fit(
        self, inputs: Inputs, y: Floats, start: list[float], spread: bool = False, shared: float = 0.0
    ) -> list[float]:
        """Return the most likely hyper-parameters; of many rows to the best, or, if `spread`, to some of both kinds."""
        begin, n, prior = np.array(start) if start else None, len(y), self._prior if spread else self._of_losses
        if n > FIT_ROWS:
            even = np.rint(np.linspace(0, n - 1, FIT_ROWS)).astype(np.int64)
            some = even if spread else np.sort(np.argsort(y, kind="stable")[:FIT_ROWS])
            inputs, y = inputs.at(some), y[some]
        theta: list[float] = fit(inputs, y, self.coding.owner, prior, begin, ITERATIONS, shared).tolist()
        return theta

    def _inputs(self, rows: Rows) -> Inputs:
        return self.coding(self._parameters.codes(self._seen.x[rows]))

    def _chosen(self, rows: Rows, centre: int) -> Rows:
        """Return at most `MOST_ROWS` of the rows, in order of arrival: the nearest to the centre."""
        if len(rows) <= MOST_ROWS:
            return rows
        from lamcts.spaces.base import distance

        far = distance(self._seen.x[rows], self._seen.x[[centre]])[:, 0]
        return np.sort(rows[np.argsort(far, kind="stable")[:MOST_ROWS]])
