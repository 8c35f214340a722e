"""Choice of fidelities: a proposal is a new configuration at the least fidelity, or a known one at a higher fidelity.

A new configuration is that of the inner sampler. With a single loss alone, two for each parameter are drawn at random,
too.
A configuration is a point without its fidelity. Letters: c configurations, d coordinates, n rows, m losses, q columns:
losses, then constraints.
"""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.coding import Coding, Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import half_rank, plain
from lamcts.models.priors import KernelPrior
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PARTIAL, PRUNED, constrained_rank, rankable
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler, Supports
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.fill import draw_unseen
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Mask, Note, Rows

MAX_ROWS = 300  # predictions a fidelity: more cost time of the inner model, fewer omit good configurations
MIN_VALUES = 4  # least values for a model: fewer determine no trend along the fidelity
MAX_CANDIDATES = 60  # best configurations whose next evaluations are compared: more cost time, fewer omit good ones
OFFSET = 0.1  # see `log_gap` (tuned on benchmarks.neural: with 3 two of three problems ended higher)
MIN_GAP = 1e-2  # least median gap in `log_gap`: keeps the logarithm finite where most losses are equal
REVEALED_GAIN = 0.01  # gain of a deviation of a full value that an evaluation reveals: without, models that were sure
# of one optimum refined its fourth digit (ten seeds of benchmarks.neural.fidelities: 0 and 0.03 are behind)
EQUAL_CONFIGURATIONS = 3  # configurations with equal values at several fidelities, before a warning


@dataclass(frozen=True)
class MultiFidelity(LocalSampler):
    """Multi-fidelity search: evaluates the configuration and fidelity with the largest expected gain per cost.

    With several objectives, the gain is the expected hypervolume added to the predicted front; with constraints, it is
    multiplied by the probability of feasibility. A search in a space with a `Fidelity` wraps its sampler, `inner`.

    Parameters
    ----------
    inner : Sampler
        Sampler of new configurations. A session starts for each of them, with predicted full values and their standard
        deviations as known noise. So a sampler with a model of all values is suitable.
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

    version: ClassVar[int] = 4  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)
    inner: Sampler

    def classes(self) -> tuple[type["FidelitySession"], type["FidelityProgress"]]:
        return FidelitySession, FidelityProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "FidelityProgress":
        return FidelityProgress(rng, None)


@dataclass
class FidelityProgress(Progress):
    model: ModelState = field(default_factory=ModelState)


class FidelitySession(LocalSession[MultiFidelity, FidelityProgress]):
    def __init__(self, settings: MultiFidelity, region: Region, seen: Observations, progress: FidelityProgress) -> None:
        super().__init__(settings, region, seen, progress)
        axis = FidelityAxis.of(region.space)
        if axis is None:
            raise ValueError("MultiFidelity: expected a space with a Fidelity, got none; leave the sampler out")
        self.axis = axis
        self._configurations = Configurations(axis, seen)
        self._is_ignored: bool | None = None  # None: unknown whether values depend on the fidelity

    def ask(self, n: int) -> Proposal:
        configurations = self._configurations
        points = np.empty((0, self.seen.dim))
        configurations.update(self.seen)
        surrogate = configurations.surrogate(self.progress.model, self.progress.rng)
        rows, predicted = configurations.predicted(surrogate)
        configurations.expect(predicted, self.seen.pending_x())
        while len(points) < n:
            is_open = configurations.open(np.vstack([self.seen.pending_x(), points]))
            point = self._chosen(surrogate, rows, predicted, is_open)
            if point is None:
                break
            points = np.vstack([points, point])
            configurations.expect(predicted, points[-1:])
        if not len(points):
            raise Exhausted("every configuration was evaluated at full fidelity, has failed or is out")
        return Proposal(points, [None] * len(points))

    def tell(self, notes: list[Note], rows: Rows) -> None:
        if self._is_ignored is not None:
            return
        self._is_ignored = _is_ignored(self.axis, self.seen)
        if self._is_ignored:
            text = f"values do not depend on the fidelity {self.axis.name!r}: {EQUAL_CONFIGURATIONS} configurations had"
            warnings.warn(
                f"{text} equal values at several; use it in the objective, or leave it out", UserWarning, stacklevel=2
            )

    def _chosen(self, surrogate: Surrogate | None, rows: Rows, predicted: Observations, is_open: Mask) -> Floats | None:
        """Return the point [d] of a new or an open configuration with the largest gain per cost; None if there is none.

        If evaluations resume, the levels below the fidelity with the largest gain are evaluated first.
        """
        configurations = self._configurations
        new = self._new(predicted)
        if surrogate is None or not is_open.any():
            if new is None:
                return configurations.best_open(surrogate, is_open)
            first: Floats = self.axis.at(new, self.axis.fidelity.low)[0]
            return first
        order = np.argsort(predicted.y, kind="stable")
        candidates = order[is_open[rows[order]]][:MAX_CANDIDATES]
        x, reached = configurations.x[rows[candidates]], configurations.reached[rows[candidates]]
        if new is not None:
            n = 2 * configurations.parameters.count if self.seen.plain else 0
            drawn = draw_unseen(self.axis.rest, predicted, n, self.progress.rng)
            further = np.vstack([new, drawn])
            x = np.vstack([x, further])
            reached = np.append(reached, np.zeros(len(further), np.int64))
            candidates = np.append(candidates, np.full(len(further), -1))
        if not len(x):  # open configurations are worse than all predicted ones
            return configurations.best_open(surrogate, is_open)
        fidelity = self.axis.fidelity
        pairs = [(i, level) for i, highest in enumerate(reached) for level in fidelity.levels if level > highest]
        owners, levels = np.array(pairs).T
        cost = levels - fidelity.resumes * reached[owners]
        best = int(np.argmax(configurations.gains(surrogate, predicted, x[owners], levels, candidates[owners]) / cost))
        level = levels[owners == owners[best]][0] if fidelity.resumes else levels[best]
        chosen: Floats = self.axis.at(x[owners[[best]]], int(level))[0]
        return chosen

    def _new(self, seen: Observations) -> Floats | None:
        """Return a new configuration [1, d - 1] given all predictions; None if the sampler has none."""
        region = Region(self.axis.rest, (), seen.good)
        session = adapt_to_goals(self.settings.inner, seen).start(region, seen, self.progress.rng)
        session.move(region)
        try:
            x = session.ask(1).x
        except Exhausted:
            return None
        return x if len(x) else None


class Configurations:
    """Evaluated configurations, in order of arrival: x [c, d - 1].

    reached [c], values [c, q]: the highest fidelity with values, 0 without, and its values. tried [c]: the highest
    fidelity of all rows. kind [c]: kind of the last evaluation without all values, OK before it. evaluations: all rows,
    whatever their fidelities.
    """

    def __init__(self, axis: FidelityAxis, seen: Observations) -> None:
        self.axis = axis
        self.losses = seen.f.shape[1]
        self.parameters = Parameters(axis.rest)
        self._numbers: dict[Hashable, int] = {}
        self._coding = Coding(self.parameters)
        self.evaluations = Observations(seen.dim, False, None, self.losses, seen.g.shape[1])
        self.x = np.empty((0, axis.rest.dim))
        self.values = np.empty((0, self.losses + seen.g.shape[1]))
        self.reached, self.tried, self.kind = np.empty((3, 0), np.int64)

    def update(self, seen: Observations) -> None:
        """Add the rows that have arrived since the last call."""
        new = seen.columns(len(self.evaluations))
        x, kind, values = new.x, new.kind, np.hstack([new.f, new.g])
        c = len(self._numbers)
        self.evaluations.append(*new._replace(kind=np.where(kind == PARTIAL, OK, kind)))
        owner = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in self.axis.owners(x)], np.int64)
        numbers, first = np.unique(owner, return_index=True)
        first = first[numbers >= c]
        self.x = np.vstack([self.x, self.axis.without(x[first]) + 0.0])
        self.values = np.vstack([self.values, np.full((len(first), values.shape[1]), np.nan)])
        self.reached = np.append(self.reached, 0 * first)
        self.kind = np.append(self.kind, OK + 0 * first)
        self.tried = np.append(self.tried, 0 * first)
        fidelities = self.axis.of_rows(x)
        np.maximum.at(self.tried, owner, fidelities)
        for row in np.flatnonzero(np.isfinite(new.f).all(1)):
            if fidelities[row] > self.reached[owner[row]]:
                self.reached[owner[row]] = fidelities[row]
                self.values[owner[row]] = values[row]
        has_ended = np.isin(kind, (FAILED, PRUNED)) | ((kind == CHECKED) & rankable(new.g, kind))
        self.kind[owner[has_ended]] = kind[has_ended]
        checked = np.flatnonzero(has_ended & (kind == CHECKED) & (self.reached[owner] == 0))
        self.values[owner[checked]] = values[checked]

    def surrogate(self, state: ModelState, rng: np.random.Generator) -> Surrogate | None:
        """Return the model of values at all fidelities; None if they are too few."""
        seen = self.evaluations
        if seen.best is None or int(np.isfinite(seen.f[seen.good]).all(1).sum()) < MIN_VALUES:
            return None
        prior = KernelPrior.of_space(self.parameters)
        units = log_gap if seen.plain else half_rank
        return LocalModel(seen, self._inputs, prior, state, units).update(seen.best, rng)

    @property
    def full(self) -> Mask:
        """Whether each configuration has values at full fidelity, [c]."""
        return np.asarray(self.reached >= self.axis.fidelity.high)

    def open(self, pending: Floats) -> Mask:
        """Return which configurations may be evaluated at a higher fidelity, [c]; points `pending` [k, d] are pending.

        A configuration with only constraints at the highest fidelity tried is not open: losses may still arrive.
        """
        result: Mask = (self.reached > 0) & ~self.full & (self.kind == OK) & (self.tried == self.reached)
        result[[self._numbers[key] for key in self.axis.owners(pending) if key in self._numbers]] = False
        return result

    def predicted(self, surrogate: Surrogate | None) -> tuple[Rows, Observations]:
        """Return configurations [r], and observations of their predicted full values.

        Without a surrogate, the predictions are the latest values. Standard deviations of losses are known noise. The
        best configurations of each fidelity have a row; others are excluded as known points.
        """
        levels = [np.flatnonzero(self.reached == level) for level in np.unique(self.reached[self.reached > 0])]
        rows = np.unique(np.concatenate([np.flatnonzero(self.kind != OK), *(self._best(level) for level in levels)]))
        m = self.losses
        has_values = self.reached[rows] > 0
        kind = np.where(has_values, OK, self.kind[rows])
        values = self.values[rows]
        sems: dict[int, tuple[float, ...]] = {}
        if surrogate is not None:
            modelled = np.flatnonzero((kind == OK) | (kind == CHECKED))
            mean, variance = surrogate.model.moments(self._full_inputs(rows[modelled]))
            sd = np.sqrt(variance + np.concatenate([part.hyper.noise * part.signal for part in surrogate.model.parts]))
            noisy = np.flatnonzero((kind == OK) & ~self.full[rows])
            values = np.full((len(rows), mean.shape[1]), np.nan)
            values[modelled] = mean
            sems = dict(zip(noisy.tolist(), map(tuple, sd[np.searchsorted(modelled, noisy), :m].tolist()), strict=True))
        f, g = np.split(values, [m], axis=1)
        seen = Observations(self.x.shape[1], False, self.axis.keys, m, g.shape[1], self._numbers)
        seen.sems |= sems
        none, seconds = np.full(len(rows), -1), np.full(len(rows), np.nan)
        seen.append(self.x[rows], np.where(has_values[:, None], f, np.nan), seconds, none, none, g, kind)
        return rows, seen

    def expect(self, predicted: Observations, x: Floats) -> None:
        """Add points `x` [k, d] to the pending points of `predicted`, except those of known configurations."""
        for row, key in zip(self.axis.without(x), self.axis.owners(x), strict=True):
            if key not in self._numbers:
                predicted.expect(len(predicted.pending), row)

    def gains(self, surrogate: Surrogate, predicted: Observations, x: Floats, levels: Rows, owners: Rows) -> Floats:
        """Return the expected gains of evaluations (x, levels) [k] over the predictions, [k].

        With a single loss the gain is the decrease of the least prediction, with several the volume added to their
        front. With a single loss alone, REVEALED_GAIN deviations of the full value that an evaluation reveals are
        added. It is multiplied by the probability of success. owners: row of each configuration in `predicted`, or -1.
        """
        inputs = self._inputs(self.axis.at(x, levels))
        mean, change = foreseen(surrogate.model, inputs)
        leaders = np.where(np.isin(owners, predicted.front), owners, -1)
        gain = np.empty(len(x))
        for leader in np.unique(leaders):  # a configuration is compared with all others
            rows = leaders == leader
            rest = np.arange(len(predicted)) != leader
            others = _against(surrogate, predicted.f[rest], predicted.g[rest])
            before = others.of(mean[rows], np.zeros_like(mean[rows]))
            after = others.of(mean[rows], change[rows])
            gain[rows] = np.maximum(np.exp(after) - np.exp(before), 0.0)
        if self.evaluations.plain:  # fronts end lower and constrained runs higher with it
            gain += REVEALED_GAIN * change[:, 0]
        return gain if surrogate.success is None else gain * surrogate.success.chance(inputs)

    def best_open(self, surrogate: Surrogate | None, is_open: Mask) -> Floats | None:
        """Return the open configuration to evaluate at full fidelity next, as a point [d]; None if none is open.

        It has the largest expected improvement on the best full values, or the best prediction before the first one.
        """
        rows = np.flatnonzero(is_open)
        full = np.flatnonzero(self.full)
        if not len(rows):
            return None
        if surrogate is not None and len(full):
            best = np.split(surrogate.model.expect(self._full_inputs(full)), [self.losses], axis=1)
            gain = _against(surrogate, *best).of(*foreseen(surrogate.model, self._full_inputs(rows)))
        else:
            gain = -self._ranks(
                self.values[rows] if surrogate is None else surrogate.model.expect(self._full_inputs(rows))
            )
        row: Floats = self.axis.at(self.x[rows[[int(np.argmax(gain))]]], self.axis.fidelity.high)[0]
        return row

    def _inputs(self, x: Floats) -> Inputs:
        """Return the inputs of points `x` [n, d]; the fidelity is the last number."""
        inputs = self._coding.inputs(self.axis.without(x))
        return inputs.with_numbers(np.column_stack([inputs.numbers, x[:, self.axis.column]]))

    def _full_inputs(self, rows: Rows) -> Inputs:
        """Return the inputs of configurations [k] at full fidelity."""
        return self._inputs(self.axis.at(self.x[rows], self.axis.fidelity.high))

    def _best(self, rows: Rows) -> Rows:
        """Return the best configurations [k] of a fidelity, at most MAX_ROWS."""
        if len(rows) <= MAX_ROWS:
            return rows
        return rows[np.argsort(self._ranks(self.values[rows]), kind="stable")[:MAX_ROWS]]

    def _ranks(self, values: Floats) -> Floats:
        """Return the constrained ranks of values [k, q] at a fidelity, [k]."""
        f, g = np.split(values, [self.losses], axis=1)
        return constrained_rank(f, g, np.full(len(values), OK))


def log_gap(y: Floats) -> Floats:
    """Return the logarithm of the gaps of losses `y` [n] to the least, plus OFFSET median gaps, in standard units."""
    z = plain(y)
    gap = z - z.min()
    return plain(np.log(gap + OFFSET * max(float(np.median(gap)), MIN_GAP)))


def foreseen(model: MultiOutput, inputs: Inputs) -> tuple[Floats, Floats]:
    """Return predicted full values, and the standard deviations of their changes by evaluations of rows, [m, q] each.

    The last number of a row is its fidelity, 1 where full. An evaluation reduces the variance of the full value of its
    row by `cov^2 / variance`: the knowledge gradient of a row (Frazier et al. 2008).
    """
    m = len(inputs)
    numbers = inputs.numbers.copy()
    numbers[:, -1] = 1.0
    rows = inputs.joined(inputs.with_numbers(numbers))
    means, changes = [], []
    for part in model.parts:
        mean, share = part.joint(rows)
        variance = np.maximum(np.diagonal(share)[:m], 0.0) + part.hyper.noise
        means.append(mean[m:])
        changes.append(np.outer(np.abs(np.diagonal(share[:m, m:])) / np.sqrt(variance), np.sqrt(part.signal)))
    return np.hstack(means), np.hstack(changes)


def _against(surrogate: Surrogate, f: Floats, g: Floats) -> Surrogate:
    """Return the acquisition function given losses `f` [r, m] and constraints `g` [r, c] only."""
    violations = np.maximum(g, 0.0).sum(1)
    is_feasible = (violations == 0) & np.isfinite(f).all(1)
    return replace(surrogate, front=f[is_feasible], violation=float(np.fmin.reduce(violations, initial=np.inf)))


def open_at_full(axis: FidelityAxis, seen: Observations, n: int) -> Floats:
    """Return at most `n` open configurations at full fidelity [k, d], the best first (`Configurations.best_open`)."""
    configurations = Configurations(axis, seen)
    configurations.update(seen)
    surrogate = configurations.surrogate(ModelState(), np.random.default_rng(0))
    pending = seen.pending_x()
    while len(pending) < len(seen.pending) + n:
        if (point := configurations.best_open(surrogate, configurations.open(pending))) is None:
            break
        pending = np.vstack([pending, point])
    return np.asarray(pending[len(seen.pending) :])


def _is_ignored(axis: FidelityAxis, seen: Observations) -> bool | None:
    """Return whether all configurations with several values have equal values; None if too few have several."""
    rows = np.flatnonzero(np.isfinite(seen.f).all(1))
    _, owner, count = np.unique(axis.without(seen.x[rows]), axis=0, return_inverse=True, return_counts=True)
    values = np.hstack([seen.f[rows], seen.g[rows]])
    pairs = {*zip(owner.ravel().tolist(), map(tuple, values.tolist()), strict=True)}
    if len(pairs) != len(count):
        return False
    return True if int((count > 1).sum()) >= EQUAL_CONFIGURATIONS else None
