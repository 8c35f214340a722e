"""The choice of fidelities: at each proposal a new configuration at the least fidelity, or a known one at a higher one.

A configuration is a point without its fidelity. A model predicts the full value of each (`models/fidelity_model.py`),
and the evaluation is proposed that lowers the least prediction most per cost, as expected. New configurations come from
a sampler that sees predictions with their standard deviations as known noise. Letters: c configurations, d coordinates.
"""

import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.acquisition import expected_improvement
from lamcts.models.fidelity_model import FidelityModel
from lamcts.observations import Observations
from lamcts.outcomes.constrained_rank import FAILED
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal, Sampler, Scope
from lamcts.samplers.mixed_gp import MixedGp
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.spaces.base import SearchSpace, identity_of
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Mask, Note, Rows

EQUAL = 3  # configurations with equal values at several fidelities, before a warning
FEWEST = 4  # values before a model is fitted (untuned)
MOST_LOOKED = 60  # configurations of the lowest predictions whose next evaluations are looked at (untuned)


@dataclass(frozen=True)
class MultiFidelity(LocalSampler):
    """Chooses fidelities by expected gain per cost, and new configurations by another sampler.

    Every optimizer of a space with a `Fidelity` has it; `sampler=` is then `inner`.

    Parameters
    ----------
    inner : Sampler, default MixedGp()
        Proposes new configurations. It starts again at each, from predicted full values, so a search by a model suits.

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

    relocates: ClassVar[bool] = True
    inner: Sampler = field(default_factory=MixedGp)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "FidelitySession":
        return FidelitySession(self, region, seen, Progress(rng, None))


class Configurations:
    """The configurations that were evaluated or are out, in order of arrival: x [c, d - 1], and each one's progress.

    reached [c]: the highest fidelity with a value, 0 without. value [c]: the loss there. best_full: the least loss at
    full fidelity. open [c]: whether it may be evaluated at a higher fidelity: it has a value and none is awaited.
    """

    def __init__(self, axis: FidelityAxis, seen: Observations, out: Floats) -> None:
        self.axis = axis
        self.rows: Rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))
        every = axis.without(np.vstack([seen.x, out]) + 0.0)
        self.x, first, owner = np.unique(every, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.x, owner = self.x[order], place[owner.ravel()]
        fidelities, n, c = axis.of_rows(seen.x), len(seen), len(order)
        self.reached, self.value = np.zeros(c, np.int64), np.full(c, np.nan)
        for row in self.rows[np.argsort(fidelities[self.rows], kind="stable")]:
            self.reached[owner[row]], self.value[owner[row]] = fidelities[row], seen.f[row, 0]
        self.failed: Mask = np.isin(np.arange(c), owner[:n][seen.kind == FAILED])
        self.out: Mask = np.isin(np.arange(c), owner[n:])
        self.open: Mask = (self.reached > 0) & (self.reached < axis.fidelity.high) & ~self.failed & ~self.out
        self.full: Mask = self.reached >= axis.fidelity.high


class FidelitySession(LocalSession[MultiFidelity, Progress]):
    def __init__(self, settings: MultiFidelity, region: Region, seen: Observations, progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self.axis, self._warned = axis_of(region.space), False

    @property
    def scope(self) -> Scope:
        return "space"

    def ask(self, n: int) -> Proposal:
        taken, model = np.empty((0, self.seen.dim)), model_of(self.region.space, self.axis, self.seen)
        while len(taken) < n and (row := self._next(model, taken)) is not None:
            taken = np.vstack([taken, row])
        if not len(taken):
            raise Exhausted("every configuration was evaluated at full fidelity, has failed or is out")
        return Proposal(taken, [None] * len(taken))

    def tell(self, notes: list[Note], rows: Rows) -> None:
        if not self._warned and self._ignored():
            self._warned = True
            text = (
                f"values do not depend on the fidelity {self.axis.name!r}: {EQUAL} configurations had equal values at"
            )
            warnings.warn(
                f"{text} several fidelities; use it in the objective, or leave it out", UserWarning, stacklevel=2
            )

    def _ignored(self) -> bool:
        """Return whether all configurations with several values have equal ones, and some do."""
        rows = np.flatnonzero(np.isfinite(self.seen.f[:, 0]))
        _, owner, count = np.unique(
            self.axis.without(self.seen.x[rows]), axis=0, return_inverse=True, return_counts=True
        )
        pairs = {*zip(owner.ravel().tolist(), self.seen.f[rows, 0].tolist(), strict=True)}
        return len(pairs) == len(count) and int((count > 1).sum()) >= EQUAL

    def _next(self, model: FidelityModel | None, taken: Floats) -> Floats | None:
        """Return the row [d] to evaluate next; None if no configuration is left. taken: rows of the same batch."""
        known = Configurations(self.axis, self.seen, np.vstack([self.seen.pending_x(), taken]))
        new = self._new(known, model)
        return self._chosen(known, model, new)

    def _chosen(self, known: Configurations, model: FidelityModel | None, new: Floats | None) -> Floats | None:
        """Return a new configuration or a known one at a higher fidelity, whichever gains most per cost.

        Where trainings go on, the next level comes first on the way to the fidelity that gains most.
        """
        if model is None or not known.open.any():
            return new if new is not None or not known.open.any() else self._best_open(known)
        valued = np.flatnonzero(known.reached > 0)
        mean, _ = model.full(known.x[valued])
        order = valued[np.argsort(mean, kind="stable")]
        looked = order[known.open[order]][:MOST_LOOKED]
        x, reached = known.x[looked], known.reached[looked]
        if new is not None:
            x, reached = np.vstack([x, self.axis.without(new[None])]), np.append(reached, 0)
        places, fidelities = steps(self.axis.fidelity.levels, reached)
        least = np.full(len(x), mean.min())
        least[: len(looked)][looked == order[0]] = np.partition(mean, 1)[1] if len(mean) > 1 else np.inf
        resumes = self.axis.fidelity.resumes
        gains = model.gains(self.axis.at(x[places], fidelities), least[places])
        best = int(np.argmax(gains / (fidelities - resumes * reached[places])))
        level = fidelities[places == places[best]][0] if resumes else fidelities[best]
        chosen: Floats = self.axis.at(x[places[[best]]], int(level))[0]
        return chosen

    def _best_open(self, known: Configurations) -> Floats:
        return best_unfinished(known, None)

    def _new(self, known: Configurations, model: FidelityModel | None) -> Floats | None:
        """Return a new configuration at the least fidelity, [d]; None where the sampler finds none."""
        seen = predicted_observations(known, model, identity_of(self.axis.rest))
        region = Region(self.axis.rest, (), seen.good)
        session = self.settings.inner.start(region, seen, self.progress.rng)
        session.move(region)
        try:
            found = session.ask(1).x
        except Exhausted:
            return None
        return self.axis.at(found, self.axis.fidelity.low)[0] if len(found) else None


def steps(levels: tuple[int, ...], reached: Rows) -> tuple[Rows, Rows]:
    """Return each pair of a configuration's number and a level above what it has `reached` [c], as two columns."""
    found = np.array([(i, level) for i, own in enumerate(reached) for level in levels if level > own], np.int64)
    return found[:, 0], found[:, 1]


def axis_of(space: SearchSpace) -> FidelityAxis:
    """Return the fidelity of a space; ValueError if it has none."""
    axis = FidelityAxis.of(space)
    if axis is None:
        raise ValueError("MultiFidelity: expected a space with a Fidelity, got none; leave the sampler out")
    return axis


def model_of(space: SearchSpace, axis: FidelityAxis, seen: Observations) -> FidelityModel | None:
    """Return the model of all values; None where they are too few or equal."""
    rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))
    if len(rows) < FEWEST or not np.ptp(seen.f[rows, 0]) > 0:
        return None
    return FidelityModel(Parameters(space), axis, seen.x[rows], seen.f[rows, 0])


def predicted_observations(known: Configurations, model: FidelityModel | None, identity: object) -> Observations:
    """Return the configurations with their predicted full values, and standard deviations as known noise."""
    seen = Observations(known.x.shape[1], identity=identity)  # type: ignore[arg-type]
    value, valued = known.value.copy(), np.flatnonzero(known.reached > 0)
    if model is not None and len(valued):
        value[valued], sd = model.alone(known.axis.at(known.x[valued], known.reached[valued]), known.value[valued])
        partial = ~known.full[valued]
    n = len(known.x)
    there = np.flatnonzero((known.reached > 0) | known.failed)
    none = np.full(len(there), -1)
    rows = seen.append(known.x[there], value[there], np.full(len(there), np.nan), none, none)
    if model is not None and len(valued):
        of = dict(zip(there.tolist(), rows.tolist(), strict=True))
        seen.sems |= {of[i]: (float(s),) for i, s, low in zip(valued.tolist(), sd, partial, strict=True) if low}
    for i in range(n):
        if known.out[i] and not (known.reached[i] > 0 or known.failed[i]):
            seen.expect(i, known.x[i])
    return seen


def best_unfinished(known: Configurations, model: FidelityModel | None) -> Floats:
    """Return the open configuration that should be evaluated at full fidelity next, as a row [d]: by its expected
    improvement on the best full value, or before one by its prediction.
    """
    places = np.flatnonzero(known.open)
    if model is None:
        best = places[np.lexsort((known.value[places], -known.reached[places]))[0]]
    else:
        mean, sd = model.full(known.x[places])
        full = known.x[known.full]
        worth = expected_improvement(mean, sd, float(model.full(full)[0].min())) if len(full) else -mean
        best = places[int(np.argmax(worth))]
    row: Floats = known.axis.at(known.x[[best]], known.axis.fidelity.high)[0]
    return row
