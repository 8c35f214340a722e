"""The choice of fidelities: at each proposal a new configuration at the least fidelity, or a known one at a higher one.

A configuration is a point without its fidelity. Letters: c configurations, d coordinates, n rows, m losses, q columns:
losses, then constraints.
"""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.fidelity_columns import FidelityColumns, counting
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PRUNED, WITH_LOSSES, constrained_rank, rankable
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Mask, Note, Rows

MAX_ROWS = 300  # in the model, and of each fidelity among the predictions (untuned)
MIN_VALUES = 4  # values before a model is fitted (untuned)
MAX_CANDIDATES = 60  # configurations of the best predictions whose next evaluations are compared (untuned)
EQUAL_CONFIGURATIONS = 3  # configurations with equal values at several fidelities, before a warning


@dataclass(frozen=True)
class MultiFidelity(LocalSampler):
    """Multi-fidelity search: evaluates the configuration and fidelity with the largest expected gain per cost.

    With several objectives, the gain is the expected hypervolume added to the predicted front; with constraints, it is
    multiplied by the probability of feasibility. A search in a space with a `Fidelity` wraps its sampler, `inner`.

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

    multi_output: ClassVar[bool] = True
    inner: Sampler

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "FidelitySession":
        return FidelitySession(self, region, seen, Progress(rng, None))


class FidelitySession(LocalSession[MultiFidelity, Progress]):
    def __init__(self, settings: MultiFidelity, region: Region, seen: Observations, progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        axis = FidelityAxis.of(region.space)
        if axis is None:
            raise ValueError("MultiFidelity: expected a space with a Fidelity, got none; leave the sampler out")
        self.axis, self._known = axis, Configurations(axis, *_columns(seen))
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

    def _chosen(self, model: FidelityColumns | None, forecast: "Forecast", out: Floats) -> Floats | None:
        """Return the row [d] of a new or an open configuration that gains most per cost; None if there is none.

        Rows `out` [k, d] are under evaluation. Where trainings go on, all levels on the way to the fidelity that gains
        most are evaluated first.
        """
        known, seen = self._known, self._known.observed(forecast, out)
        new, open_ = self._new(seen), known.open(out)
        if model is None or not open_.any():
            return self.axis.at(new, self.axis.fidelity.low)[0] if new is not None else known.best_open(model, open_)
        order = np.argsort(seen.y[: len(forecast.rows)], kind="stable")
        short = order[open_[forecast.rows[order]]][:MAX_CANDIDATES]
        x, reached = known.x[forecast.rows[short]], known.reached[forecast.rows[short]]
        if new is not None:
            x, reached, short = np.vstack([x, new]), np.append(reached, 0), np.append(short, -1)
        if not len(x):  # what is open has larger losses than all that is predicted
            return known.best_open(model, open_)
        fidelity = self.axis.fidelity
        pairs = [(i, level) for i, own in enumerate(reached) for level in fidelity.levels if level > own]
        owners, levels = np.array(pairs).T
        cost = levels - fidelity.resumes * reached[owners]
        positions = self.axis.at(x[owners], levels)[:, self.axis.column]
        predicted = forecast.mean, seen.front, known.full[forecast.rows]
        best = int(np.argmax(model.gains(x[owners], positions, short[owners], *predicted) / cost))
        level = levels[owners == owners[best]][0] if fidelity.resumes else levels[best]
        chosen: Floats = self.axis.at(x[owners[[best]]], int(level))[0]
        return chosen

    def _new(self, seen: Observations) -> Floats | None:
        """Return a new configuration [1, d - 1], given predictions of all; None where the sampler finds none."""
        region = Region(self.axis.rest, (), seen.good)
        session = adapt_to_goals(self.settings.inner, seen).start(region, seen, self.progress.rng)
        session.move(region)
        try:
            found = session.ask(1).x
        except Exhausted:
            return None
        return found if len(found) else None


class Forecast(NamedTuple):
    """Configurations rows [r] with values, and of each the predicted full ones [r, q] with their standard deviations.

    Without a model these are the latest values, without deviations. broken [k, q]: the same columns of configurations
    of which only the constraints are known.
    """

    rows: Rows
    mean: Floats
    sd: Floats | None
    broken: Floats


class Configurations:
    """The configurations that were evaluated, in order of arrival: x [c, d - 1].

    reached [c], values [c, q]: the highest fidelity with values, 0 without, and the values there. tried [c]: the
    highest fidelity of all rows. kind [c]: of the last evaluation without all values, OK before one.
    """

    def __init__(self, axis: FidelityAxis, losses: int, constraints: int) -> None:
        self.axis, self.losses, self._constraints, self._rows = axis, losses, constraints, 0
        self._numbers: dict[Hashable, int] = {}
        self.x, self.values = np.empty((0, axis.rest.dim)), np.empty((0, losses + constraints))
        self.reached, self.tried, self.kind = np.empty((3, 0), np.int64)

    def update(self, seen: Observations) -> None:
        """Take in the rows that have arrived since."""
        new = slice(self._rows, len(seen))
        x, values, kind = seen.x[new], np.hstack([seen.f[new], seen.g[new]]), seen.kind[new]
        c, self._rows = len(self._numbers), len(seen)
        owner = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in self.axis.owners(x)], np.int64)
        numbers, first = np.unique(owner, return_index=True)
        first = first[numbers >= c]
        self.x = np.vstack([self.x, self.axis.without(x[first]) + 0.0])
        self.values = np.vstack([self.values, np.full((len(first), values.shape[1]), np.nan)])
        self.reached, self.kind = np.append(self.reached, 0 * first), np.append(self.kind, OK + 0 * first)
        self.tried, fidelities = np.append(self.tried, 0 * first), self.axis.of_rows(x)
        np.maximum.at(self.tried, owner, fidelities)
        for row in np.flatnonzero(np.isfinite(seen.f[new]).all(1)):
            if fidelities[row] > self.reached[owner[row]]:
                self.reached[owner[row]], self.values[owner[row]] = fidelities[row], values[row]
        ended = np.isin(kind, (FAILED, PRUNED)) | ((kind == CHECKED) & rankable(seen.g[new], kind))
        self.kind[owner[ended]] = kind[ended]
        checked = np.flatnonzero(ended & (kind == CHECKED) & (self.reached[owner] == 0))
        self.values[owner[checked]] = values[checked]

    @property
    def full(self) -> Mask:
        """Which have values at full fidelity, [c]."""
        return np.asarray(self.reached >= self.axis.fidelity.high)

    def open(self, out: Floats) -> Mask:
        """Return which may be evaluated at a higher fidelity, [c]; rows `out` [k, d] are under evaluation.

        Not those whose constraints alone are known at the highest fidelity tried: losses may still arrive.
        """
        result: Mask = (self.reached > 0) & ~self.full & (self.kind == OK) & (self.tried == self.reached)
        result[[self._numbers[key] for key in self.axis.owners(out) if key in self._numbers]] = False
        return result

    def forecast(self, model: FidelityColumns | None) -> Forecast:
        """Return the predicted full values; without a model the latest ones. Of each fidelity, of the best ones."""
        levels = [np.flatnonzero(self.reached == level) for level in np.unique(self.reached[self.reached > 0])]
        rows = np.sort(np.concatenate([np.empty(0, np.int64), *(self._best(own) for own in levels)]))
        broken = self.values[self._broken]
        if model is None:
            return Forecast(rows, self.values[rows], None, broken)
        return Forecast(rows, *model.full(self.x[rows]), model.standard(broken))

    def observed(self, forecast: Forecast, out: Floats) -> Observations:
        """Return observations of the predicted full values, with the deviations of losses as known noise.

        The first rows are those of the forecast. Other configurations are known, as are those of rows `out` [k, d],
        which are pending.
        """
        seen = Observations(self.x.shape[1], False, self.axis.keys, self.losses, self._constraints, self._numbers)
        rows = np.append(forecast.rows, np.setdiff1d(np.flatnonzero(self.kind != OK), forecast.rows))
        values, none = np.full(self.values.shape, np.nan), np.full(len(rows), -1)
        values[self._broken], values[forecast.rows] = forecast.broken, forecast.mean
        if forecast.sd is not None:
            noisy = np.flatnonzero(~self.full[forecast.rows])
            seen.sems |= dict(zip(noisy.tolist(), map(tuple, forecast.sd[noisy, : self.losses].tolist()), strict=True))
        kind = np.where(np.isin(rows, forecast.rows), OK, self.kind[rows])
        f, g = np.split(values[rows], [self.losses], axis=1)
        seen.append(self.x[rows], f, np.full(len(rows), np.nan), none, none, g, kind)
        for i, (x, key) in enumerate(zip(self.axis.without(out), self.axis.owners(out), strict=True)):
            if key not in self._numbers:
                seen.expect(i, x)
        return seen

    def best_open(self, model: FidelityColumns | None, open_: Mask) -> Floats | None:
        """Return the open configuration to evaluate at full fidelity next, as a row [d]; None if none is open.

        It has the largest expected improvement on the best full values, or before any the best prediction.
        """
        rows = np.flatnonzero(open_)
        if not len(rows):
            return None
        if model is None:
            best = int(np.argmin(self._ranks(self.values[rows])))
        else:
            mean, sd = model.full(self.x[rows])
            full = model.full(self.x[self.full])[0]
            best = int(np.argmax(model.improvement(mean, sd, full) if len(full) else -self._ranks(mean)))
        row: Floats = self.axis.at(self.x[rows[[best]]], self.axis.fidelity.high)[0]
        return row

    @property
    def _broken(self) -> Rows:
        """The configurations of which only the constraints are known, and not kept."""
        return np.flatnonzero((self.kind == CHECKED) & (self.reached == 0))

    def _best(self, rows: Rows) -> Rows:
        """Return at most MAX_ROWS of configurations [k] of one fidelity, the best ones."""
        if len(rows) <= MAX_ROWS:
            return rows
        return rows[np.argsort(self._ranks(self.values[rows]), kind="stable")[:MAX_ROWS]]

    def _ranks(self, values: Floats) -> Floats:
        """Return the constrained ranks of values [k, q] at one fidelity, [k]."""
        f, g = np.split(values, [self.losses], axis=1)
        return constrained_rank(f, g, np.full(len(values), OK))


def open_at_full(axis: FidelityAxis, seen: Observations, n: int) -> Floats:
    """Return at most `n` open configurations at full fidelity [k, d], the best first (`Configurations.best_open`)."""
    known, model, out = Configurations(axis, *_columns(seen)), model_of(axis, seen), seen.pending_x()
    known.update(seen)
    while len(out) < len(seen.pending) + n and (row := known.best_open(model, known.open(out))) is not None:
        out = np.vstack([out, row])
    return np.asarray(out[len(seen.pending) :])


def model_of(axis: FidelityAxis, seen: Observations) -> FidelityColumns | None:
    """Return the model of the latest values; None where they are too few or equal."""
    rows = np.flatnonzero(np.isin(seen.kind, (*WITH_LOSSES, CHECKED)))[-MAX_ROWS:]
    x, f, g = seen.x[rows], seen.f[rows], seen.g[rows]
    if int(np.isfinite(f).all(1).sum()) < MIN_VALUES or not counting(f, g).any():
        return None
    return FidelityColumns(Parameters(axis.rest), axis.without(x), x[:, axis.column], f, g)


def _columns(seen: Observations) -> tuple[int, int]:
    """Return how many losses and constraints rows have."""
    return seen.f.shape[1], seen.g.shape[1]


def _ignored(axis: FidelityAxis, seen: Observations) -> bool | None:
    """Return whether all configurations with several values have equal ones; None where too few have several."""
    rows = np.flatnonzero(np.isfinite(seen.f).all(1))
    _, owner, count = np.unique(axis.without(seen.x[rows]), axis=0, return_inverse=True, return_counts=True)
    values = np.hstack([seen.f[rows], seen.g[rows]])
    pairs = {*zip(owner.ravel().tolist(), map(tuple, values.tolist()), strict=True)}
    if len(pairs) != len(count):
        return False
    return True if int((count > 1).sum()) >= EQUAL_CONFIGURATIONS else None
