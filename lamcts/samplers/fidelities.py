"""The choice of fidelities: at each proposal a new configuration at the least fidelity, or a known one at a higher one.

A configuration is a point without its fidelity. Letters: c configurations, d coordinates, n rows.
"""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.acquisition import expected_improvement
from lamcts.models.fidelity_model import FidelityModel
from lamcts.outcomes.constrained_rank import FAILED, OK, PRUNED
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler, Scope
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.point_keys import keys_of
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

MAX_ROWS = 300  # in the model (untuned)
MIN_VALUES = 4  # values before a model is fitted (untuned)
MAX_CANDIDATES = 60  # configurations of the lowest predictions whose next evaluations are compared (untuned)
OFFSET = 0.1  # of the model; with 3, as in pruning, two of three problems ended higher (tuned on benchmarks.neural)
EQUAL_CONFIGURATIONS = 3  # configurations with equal values at several fidelities, before a warning


@dataclass(frozen=True)
class MultiFidelity(LocalSampler):
    """Evaluates what is expected to lower the best predicted full value most, per cost.

    A search in a space with a `Fidelity` has it around its sampler, `inner`.

    Parameters
    ----------
    inner : Sampler
        Proposes new configurations, for the least fidelity first. It starts again at each, from predicted full values
        with their standard deviations as known noise, so a search by a model of all values suits.
        The default of a space is `MixedGp()`.

    References
    ----------
    Frazier, Powell and Dayanik (2008), the knowledge gradient; Poloczek, Wang and Frazier (2017), arXiv 1603.00389, its
    use per cost over several sources of information.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}, seed=0)
    >>> opt.ask()[0].point["epochs"]
    1
    """

    inner: Sampler

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "FidelitySession":
        return FidelitySession(self, region, seen, Progress(rng, None))


class FidelitySession(LocalSession[MultiFidelity, Progress]):
    def __init__(self, settings: MultiFidelity, region: Region, seen: Observations, progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        axis = FidelityAxis.of(region.space)
        if axis is None:
            raise ValueError("MultiFidelity: expected a space with a Fidelity, got none; leave the sampler out")
        self.axis, self._warned = axis, False

    @property
    def scope(self) -> Scope:
        return "space"

    def ask(self, n: int) -> Proposal:
        taken, model = np.empty((0, self.seen.dim)), model_of(self.axis, self.seen)
        while len(taken) < n:
            known = Configurations(self.axis, self.seen, np.vstack([self.seen.pending_x(), taken]))
            if (row := self._chosen(known, model, self._new(known, model))) is None:
                break
            taken = np.vstack([taken, row])
        if not len(taken):
            raise Exhausted("every configuration was evaluated at full fidelity, has failed or is out")
        return Proposal(taken, [None] * len(taken))

    def tell(self, notes: list[Note], rows: Rows) -> None:
        if not self._warned and _ignored(self.axis, self.seen):
            self._warned = True
            text = f"values do not depend on the fidelity {self.axis.name!r}: {EQUAL_CONFIGURATIONS} configurations had"
            warnings.warn(
                f"{text} equal values at several; use it in the objective, or leave it out", UserWarning, stacklevel=2
            )

    def _chosen(self, known: "Configurations", model: FidelityModel | None, new: Floats | None) -> Floats | None:
        """Return the row [d] of a new or an open configuration that gains most per cost; None if there is none.

        Where trainings go on, all levels on the way to the fidelity that gains most are evaluated first.
        """
        if model is None or not known.open.any():
            return self.axis.at(new, self.axis.fidelity.low)[0] if new is not None else known.best_open(model)
        valued = np.flatnonzero(known.reached > 0)
        mean, _ = model.full(known.x[valued])
        order = valued[np.argsort(mean, kind="stable")]
        shortlist = order[known.open[order]][:MAX_CANDIDATES]
        x, reached, least = known.x[shortlist], known.reached[shortlist], np.full(len(shortlist), mean.min())
        least[shortlist == order[0]] = np.partition(mean, 1)[1]
        if new is not None:
            x, reached, least = np.vstack([x, new]), np.append(reached, 0), np.append(least, mean.min())
        fidelity = self.axis.fidelity
        pairs = [(i, level) for i, own in enumerate(reached) for level in fidelity.levels if level > own]
        owners, levels = np.array(pairs).T
        cost = levels - fidelity.resumes * reached[owners]
        positions = self.axis.at(x[owners], levels)[:, self.axis.column]
        best = int(np.argmax(model.gains(x[owners], positions, least[owners]) / cost))
        level = levels[owners == owners[best]][0] if fidelity.resumes else levels[best]
        chosen: Floats = self.axis.at(x[owners[[best]]], int(level))[0]
        return chosen

    def _new(self, known: "Configurations", model: FidelityModel | None) -> Floats | None:
        """Return a new configuration [1, d - 1]; None where the sampler finds none."""
        seen = known.predicted(model)
        region = Region(self.axis.rest, (), seen.good)
        session = self.settings.inner.start(region, seen, self.progress.rng)
        session.move(region)
        try:
            found = session.ask(1).x
        except Exhausted:
            return None
        return found if len(found) else None


class Configurations:
    """The configurations that were evaluated or are out, in order of arrival: x [c, d - 1].

    reached, value [c]: the highest fidelity with a value, 0 without, and the loss there. closed [c]: whether it failed
    or was pruned. open [c]: whether it may be evaluated at a higher fidelity. out: rows [k, d] under evaluation.
    """

    def __init__(self, axis: FidelityAxis, seen: Observations, out: Floats) -> None:
        self.axis, n = axis, len(seen)
        every = np.vstack([seen.x, out]) + 0.0
        numbers: dict[Hashable, int] = {}
        owner = np.array([numbers.setdefault(key, len(numbers)) for key in axis.owners(every)], np.int64)
        c = len(numbers)
        self.x = axis.without(every)[np.unique(owner, return_index=True)[1]]
        self.reached, self.value = np.zeros(c, np.int64), np.full(c, np.nan)
        fidelities = axis.of_rows(seen.x)
        for row in np.flatnonzero(np.isfinite(seen.f[:, 0])):
            if fidelities[row] > self.reached[owner[row]]:
                self.reached[owner[row]], self.value[owner[row]] = fidelities[row], seen.f[row, 0]
        self.failed, self.closed, self.out = np.zeros((3, c), bool)
        self.failed[owner[:n][seen.kind == FAILED]] = self.out[owner[n:]] = True
        self.closed[owner[:n][np.isin(seen.kind, (FAILED, PRUNED))]] = True
        self.full = self.reached >= axis.fidelity.high
        self.open = (self.reached > 0) & ~self.full & ~self.closed & ~self.out

    def predicted(self, model: FidelityModel | None) -> Observations:
        """Return observations of the predicted full values, with their standard deviations as known noise."""
        seen = Observations(self.x.shape[1], keys=keys_of(self.axis.rest))
        rows = np.flatnonzero((self.reached > 0) | self.closed)
        none, value = np.full(len(rows), -1), self.value[rows]
        there = np.isfinite(value)
        if model is not None:
            value[there], sd = model.full(self.x[rows[there]])
            noisy = zip(np.flatnonzero(there).tolist(), sd.tolist(), self.full[rows[there]], strict=True)
            seen.sems |= {row: (own,) for row, own, full in noisy if not full}
        kind = np.where(there, OK, np.where(self.failed[rows], FAILED, PRUNED))
        seen.append(self.x[rows], value, np.full(len(rows), np.nan), none, none, kind=kind)
        for i in np.flatnonzero(self.out & (self.reached == 0) & ~self.closed).tolist():
            seen.expect(i, self.x[i])
        return seen

    def best_open(self, model: FidelityModel | None) -> Floats | None:
        """Return the open configuration to evaluate at full fidelity next, as a row [d]; None if none is open.

        It has the largest expected improvement on the best full value, or before one the best prediction.
        """
        rows = np.flatnonzero(self.open)
        if not len(rows):
            return None
        if model is None:
            acquisition = -self.value[rows]
        else:
            mean, sd = model.full(self.x[rows])
            best = model.full(self.x[self.full])[0].min() if self.full.any() else None
            acquisition = -mean if best is None else expected_improvement(mean, sd, float(best))
        row: Floats = self.axis.at(self.x[rows[[int(np.argmax(acquisition))]]], self.axis.fidelity.high)[0]
        return row


def model_of(axis: FidelityAxis, seen: Observations) -> FidelityModel | None:
    """Return the model of the latest values; None where they are too few or equal."""
    rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))[-MAX_ROWS:]
    if len(rows) < MIN_VALUES or not np.ptp(seen.f[rows, 0]) > 0:
        return None
    x = seen.x[rows]
    return FidelityModel(Parameters(axis.rest), axis.without(x), x[:, axis.column], seen.f[rows, 0], offset=OFFSET)


def _ignored(axis: FidelityAxis, seen: Observations) -> bool:
    """Return whether all configurations with several values have equal ones, and some do."""
    rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))
    _, owner, count = np.unique(axis.without(seen.x[rows]), axis=0, return_inverse=True, return_counts=True)
    pairs = {*zip(owner.ravel().tolist(), seen.f[rows, 0].tolist(), strict=True)}
    return len(pairs) == len(count) and int((count > 1).sum()) >= EQUAL_CONFIGURATIONS
