"""The choice of fidelities: at each proposal a new configuration at the least fidelity, or a known one at a higher one.

A configuration is a point without its fidelity. Letters: c configurations, d coordinates, n rows.
"""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.acquisition import expected_improvement
from lamcts.models.fidelity_model import FidelityModel
from lamcts.outcomes.constrained_rank import FAILED, OK, PRUNED
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Mask, Note, Rows

MAX_ROWS = 300  # in the model, and of each fidelity among the predictions (untuned)
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
        self.axis, self._known = axis, Configurations(axis)
        self._ignored: bool | None = None  # whether values depend on the fidelity is not known yet

    def ask(self, n: int) -> Proposal:
        self._known.update(self.seen)
        taken, model = np.empty((0, self.seen.dim)), model_of(self.axis, self.seen)
        forecast = self._known.forecast(model)
        while len(taken) < n:
            out = np.vstack([self.seen.pending_x(), taken])
            if (row := self._chosen(model, forecast, out)) is None:
                break
            taken = np.vstack([taken, row])
        if not len(taken):
            raise Exhausted("every configuration was evaluated at full fidelity, has failed or is out")
        return Proposal(taken, [None] * len(taken))

    def tell(self, notes: list[Note], rows: Rows) -> None:
        if self._ignored is not None:
            return
        self._ignored = _ignored(self.axis, self.seen)
        if self._ignored:
            text = f"values do not depend on the fidelity {self.axis.name!r}: {EQUAL_CONFIGURATIONS} configurations had"
            warnings.warn(
                f"{text} equal values at several; use it in the objective, or leave it out", UserWarning, stacklevel=2
            )

    def _chosen(self, model: FidelityModel | None, forecast: "Forecast", out: Floats) -> Floats | None:
        """Return the row [d] of a new or an open configuration that gains most per cost; None if there is none.

        Rows `out` [k, d] are under evaluation. Where trainings go on, all levels on the way to the fidelity that gains
        most are evaluated first.
        """
        known, new = self._known, self._new(forecast, out)
        open_ = known.open(out)
        if model is None or not open_.any():
            return self.axis.at(new, self.axis.fidelity.low)[0] if new is not None else known.best_open(model, open_)
        mean = forecast.mean
        order = np.argsort(mean, kind="stable")
        short = order[open_[forecast.rows[order]]][:MAX_CANDIDATES]
        shortlist, least = forecast.rows[short], np.full(len(short), mean.min())
        x, reached = known.x[shortlist], known.reached[shortlist]
        least[short == order[0]] = mean[order[:2]][-1]
        if new is not None:
            x, reached, least = np.vstack([x, new]), np.append(reached, 0), np.append(least, mean.min())
        if not len(x):  # what is open has larger losses than all that is predicted
            return known.best_open(model, open_)
        fidelity = self.axis.fidelity
        pairs = [(i, level) for i, own in enumerate(reached) for level in fidelity.levels if level > own]
        owners, levels = np.array(pairs).T
        cost = levels - fidelity.resumes * reached[owners]
        positions = self.axis.at(x[owners], levels)[:, self.axis.column]
        best = int(np.argmax(model.gains(x[owners], positions, least[owners]) / cost))
        level = levels[owners == owners[best]][0] if fidelity.resumes else levels[best]
        chosen: Floats = self.axis.at(x[owners[[best]]], int(level))[0]
        return chosen

    def _new(self, forecast: "Forecast", out: Floats) -> Floats | None:
        """Return a new configuration [1, d - 1]; None where the sampler finds none."""
        seen = self._known.observed(forecast, out)
        region = Region(self.axis.rest, (), seen.good)
        session = self.settings.inner.start(region, seen, self.progress.rng)
        session.move(region)
        try:
            found = session.ask(1).x
        except Exhausted:
            return None
        return found if len(found) else None


class Forecast(NamedTuple):
    """Configurations rows [r] with a value, and of each the predicted full loss and its standard deviation, or none."""

    rows: Rows
    mean: Floats
    sd: Floats | None


class Configurations:
    """The configurations that were evaluated, in order of arrival: x [c, d - 1].

    reached, value [c]: the highest fidelity with a value, 0 without, and the loss there. failed, closed [c]: whether it
    failed; whether it failed or was pruned.
    """

    def __init__(self, axis: FidelityAxis) -> None:
        self.axis, self._rows = axis, 0
        self._numbers: dict[Hashable, int] = {}
        self.x = np.empty((0, axis.rest.dim))
        self.reached, self.value = np.empty(0, np.int64), np.empty(0)
        self.failed, self.closed = np.empty((2, 0), bool)

    def update(self, seen: Observations) -> None:
        """Take in the rows that have arrived since."""
        new = slice(self._rows, len(seen))
        x, f, kind = seen.x[new], seen.f[new, 0], seen.kind[new]
        c, self._rows = len(self._numbers), len(seen)
        owner = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in self.axis.owners(x)], np.int64)
        numbers, first = np.unique(owner, return_index=True)
        first = first[numbers >= c]
        self.x = np.vstack([self.x, self.axis.without(x[first]) + 0.0])
        none = np.zeros(len(first), bool)
        self.failed, self.closed = np.append(self.failed, none), np.append(self.closed, none)
        self.reached, self.value = np.append(self.reached, none), np.append(self.value, np.full(len(first), np.nan))
        fidelities = self.axis.of_rows(x)
        for row in np.flatnonzero(np.isfinite(f)):
            if fidelities[row] > self.reached[owner[row]]:
                self.reached[owner[row]], self.value[owner[row]] = fidelities[row], f[row]
        self.failed[owner[kind == FAILED]] = True
        self.closed[owner[np.isin(kind, (FAILED, PRUNED))]] = True

    @property
    def full(self) -> Mask:
        """Which have a value at full fidelity, [c]."""
        return np.asarray(self.reached >= self.axis.fidelity.high)

    def open(self, out: Floats) -> Mask:
        """Return which may be evaluated at a higher fidelity, [c]; rows `out` [k, d] are under evaluation."""
        result: Mask = (self.reached > 0) & ~self.full & ~self.closed
        result[[self._numbers[key] for key in self.axis.owners(out) if key in self._numbers]] = False
        return result

    def forecast(self, model: FidelityModel | None) -> Forecast:
        """Return the predicted full losses; without a model the losses. Of each fidelity, of the lowest losses."""
        levels = [np.flatnonzero(self.reached == level) for level in np.unique(self.reached[self.reached > 0])]
        best = [own[np.argsort(self.value[own], kind="stable")[:MAX_ROWS]] for own in levels]
        rows = np.sort(np.concatenate([np.empty(0, np.int64), *best]))
        return Forecast(rows, self.value[rows], None) if model is None else Forecast(rows, *model.full(self.x[rows]))

    def observed(self, forecast: Forecast, out: Floats) -> Observations:
        """Return observations of the predicted full losses, with their standard deviations as known noise.

        Other configurations are known, as are those of rows `out` [k, d], which are pending.
        """
        seen = Observations(self.x.shape[1], keys=self.axis.keys, known=self._numbers)
        rows = np.union1d(forecast.rows, np.flatnonzero(self.closed))
        value, none = np.full(len(self.x), np.nan), np.full(len(rows), -1)
        value[forecast.rows] = forecast.mean
        if forecast.sd is not None:
            noisy = ~self.full[forecast.rows]
            at = np.searchsorted(rows, forecast.rows[noisy])
            seen.sems |= {row: (sd,) for row, sd in zip(at.tolist(), forecast.sd[noisy].tolist(), strict=True)}
        kind = np.where(np.isfinite(value[rows]), OK, np.where(self.failed[rows], FAILED, PRUNED))
        seen.append(self.x[rows], value[rows], np.full(len(rows), np.nan), none, none, kind=kind)
        for i, (x, key) in enumerate(zip(self.axis.without(out), self.axis.owners(out), strict=True)):
            if key not in self._numbers:
                seen.expect(i, x)
        return seen

    def best_open(self, model: FidelityModel | None, open_: Mask) -> Floats | None:
        """Return the open configuration to evaluate at full fidelity next, as a row [d]; None if none is open.

        It has the largest expected improvement on the best full value, or before one the best prediction.
        """
        rows = np.flatnonzero(open_)
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


def open_at_full(axis: FidelityAxis, seen: Observations, n: int) -> Floats:
    """Return at most `n` open configurations at full fidelity [k, d], the best first (`Configurations.best_open`)."""
    known, model, out = Configurations(axis), model_of(axis, seen), seen.pending_x()
    known.update(seen)
    while len(out) < len(seen.pending) + n and (row := known.best_open(model, known.open(out))) is not None:
        out = np.vstack([out, row])
    return np.asarray(out[len(seen.pending) :])


def model_of(axis: FidelityAxis, seen: Observations) -> FidelityModel | None:
    """Return the model of the latest values; None where they are too few or equal."""
    rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))[-MAX_ROWS:]
    if len(rows) < MIN_VALUES or not np.ptp(seen.f[rows, 0]) > 0:
        return None
    x = seen.x[rows]
    return FidelityModel(Parameters(axis.rest), axis.without(x), x[:, axis.column], seen.f[rows, 0], offset=OFFSET)


def _ignored(axis: FidelityAxis, seen: Observations) -> bool | None:
    """Return whether all configurations with several values have equal ones; None where too few have several."""
    rows = np.flatnonzero(np.isfinite(seen.f[:, 0]))
    _, owner, count = np.unique(axis.without(seen.x[rows]), axis=0, return_inverse=True, return_counts=True)
    pairs = {*zip(owner.ravel().tolist(), seen.f[rows, 0].tolist(), strict=True)}
    if len(pairs) != len(count):
        return False
    return True if int((count > 1).sum()) >= EQUAL_CONFIGURATIONS else None
