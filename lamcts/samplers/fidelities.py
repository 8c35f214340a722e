"""The choice of fidelities: at each proposal a new configuration at the least fidelity, or a known one at a higher one.

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
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Mask, Note, Rows

MAX_ROWS = 300  # of each fidelity among the predictions (untuned)
MIN_VALUES = 4  # values before a model is fitted (untuned)
MAX_CANDIDATES = 60  # configurations of the best predictions whose next evaluations are compared (untuned)
OFFSET, MIN_GAP = 0.1, 1e-2  # of a loss alone, see `log_gap` (tuned on benchmarks.neural: with 3 two of three problems
# ended higher; untuned)
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

    version: ClassVar[int] = 3  # see lamcts.journal.settings
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
        self.axis, self._known = axis, Configurations(axis, seen)
        self._ignored: bool | None = None  # whether values depend on the fidelity is not known yet

    def ask(self, n: int) -> Proposal:
        known, taken = self._known, np.empty((0, self.seen.dim))
        known.update(self.seen)
        surrogate = known.surrogate(self.progress.model, self.progress.rng)
        rows, predicted = known.predicted(surrogate)
        known.expect(predicted, self.seen.pending_x())
        while len(taken) < n:
            row = self._chosen(surrogate, rows, predicted, known.open(np.vstack([self.seen.pending_x(), taken])))
            if row is None:
                break
            taken = np.vstack([taken, row])
            known.expect(predicted, taken[-1:])
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

    def _chosen(self, surrogate: Surrogate | None, rows: Rows, predicted: Observations, open_: Mask) -> Floats | None:
        """Return the row [d] of a new or an open configuration that gains most per cost; None if there is none.

        Where trainings go on, all levels on the way to the fidelity that gains most are evaluated first.
        """
        known, new = self._known, self._new(predicted)
        if surrogate is None or not open_.any():
            return (
                self.axis.at(new, self.axis.fidelity.low)[0] if new is not None else known.best_open(surrogate, open_)
            )
        order = np.argsort(predicted.y, kind="stable")
        short = order[open_[rows[order]]][:MAX_CANDIDATES]
        x, reached = known.x[rows[short]], known.reached[rows[short]]
        if new is not None:
            x, reached, short = np.vstack([x, new]), np.append(reached, 0), np.append(short, -1)
        if not len(x):  # what is open has larger losses than all that is predicted
            return known.best_open(surrogate, open_)
        fidelity = self.axis.fidelity
        pairs = [(i, level) for i, own in enumerate(reached) for level in fidelity.levels if level > own]
        owners, levels = np.array(pairs).T
        cost = levels - fidelity.resumes * reached[owners]
        best = int(np.argmax(known.gains(surrogate, predicted, x[owners], levels, short[owners]) / cost))
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


class Configurations:
    """The configurations that were evaluated, in order of arrival: x [c, d - 1].

    reached [c], values [c, q]: the highest fidelity with values, 0 without, and the values there. tried [c]: the
    highest fidelity of all rows. kind [c]: of the last evaluation without all values, OK before one. evaluations: all
    rows, compared whatever their fidelities are.
    """

    def __init__(self, axis: FidelityAxis, seen: Observations) -> None:
        self.axis, self.losses = axis, seen.f.shape[1]
        self._parameters, self._numbers = Parameters(axis.rest), dict[Hashable, int]()
        self._coding = Coding(self._parameters)
        self.evaluations = Observations(seen.dim, False, None, self.losses, seen.g.shape[1])
        self.x, self.values = np.empty((0, axis.rest.dim)), np.empty((0, self.losses + seen.g.shape[1]))
        self.reached, self.tried, self.kind = np.empty((3, 0), np.int64)

    def update(self, seen: Observations) -> None:
        """Take in the rows that have arrived since."""
        new = seen.columns(len(self.evaluations))
        c, x, kind, values = len(self._numbers), new.x, new.kind, np.hstack([new.f, new.g])
        self.evaluations.append(*new._replace(kind=np.where(kind == PARTIAL, OK, kind)))
        owner = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in self.axis.owners(x)], np.int64)
        numbers, first = np.unique(owner, return_index=True)
        first = first[numbers >= c]
        self.x = np.vstack([self.x, self.axis.without(x[first]) + 0.0])
        self.values = np.vstack([self.values, np.full((len(first), values.shape[1]), np.nan)])
        self.reached, self.kind = np.append(self.reached, 0 * first), np.append(self.kind, OK + 0 * first)
        self.tried, fidelities = np.append(self.tried, 0 * first), self.axis.of_rows(x)
        np.maximum.at(self.tried, owner, fidelities)
        for row in np.flatnonzero(np.isfinite(new.f).all(1)):
            if fidelities[row] > self.reached[owner[row]]:
                self.reached[owner[row]], self.values[owner[row]] = fidelities[row], values[row]
        ended = np.isin(kind, (FAILED, PRUNED)) | ((kind == CHECKED) & rankable(new.g, kind))
        self.kind[owner[ended]] = kind[ended]
        checked = np.flatnonzero(ended & (kind == CHECKED) & (self.reached[owner] == 0))
        self.values[owner[checked]] = values[checked]

    def surrogate(self, state: ModelState, rng: np.random.Generator) -> Surrogate | None:
        """Return the model of values at all fidelities; None where they are too few."""
        seen = self.evaluations
        if seen.best is None or int(np.isfinite(seen.f[seen.good]).all(1).sum()) < MIN_VALUES:
            return None
        prior, units = KernelPrior.of_space(self._parameters), log_gap if seen.plain else half_rank
        return LocalModel(seen, self._inputs, prior, state, units).update(seen.best, rng)

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

    def predicted(self, surrogate: Surrogate | None) -> tuple[Rows, Observations]:
        """Return configurations [r], and observations of their predicted full values, or of the latest ones.

        The latest ones count without a surrogate. Deviations of losses are known noise. Of each fidelity the best ones
        have a row; others are known.
        """
        levels = [np.flatnonzero(self.reached == level) for level in np.unique(self.reached[self.reached > 0])]
        rows = np.unique(np.concatenate([np.flatnonzero(self.kind != OK), *(self._best(own) for own in levels)]))
        there, none, m = self.reached[rows] > 0, np.full(len(rows), -1), self.losses
        kind, values, sems = np.where(there, OK, self.kind[rows]), self.values[rows], dict[int, tuple[float, ...]]()
        if surrogate is not None:
            asked = np.flatnonzero((kind == OK) | (kind == CHECKED))
            mean, variance = surrogate.model.moments(self._full_inputs(rows[asked]))
            sd = np.sqrt(variance + np.concatenate([part.hyper.noise * part.signal for part in surrogate.model.parts]))
            noisy = np.flatnonzero((kind == OK) & ~self.full[rows])
            values = np.full((len(rows), mean.shape[1]), np.nan)
            values[asked] = mean
            sems = dict(zip(noisy.tolist(), map(tuple, sd[np.searchsorted(asked, noisy), :m].tolist()), strict=True))
        f, g = np.split(values, [m], axis=1)
        seen = Observations(self.x.shape[1], False, self.axis.keys, m, g.shape[1], self._numbers)
        seen.sems |= sems
        seen.append(self.x[rows], np.where(there[:, None], f, np.nan), np.full(len(rows), np.nan), none, none, g, kind)
        return rows, seen

    def expect(self, predicted: Observations, x: Floats) -> None:
        """Note that rows `x` [k, d] are under evaluation; those of known configurations are known already."""
        for row, key in zip(self.axis.without(x), self.axis.owners(x), strict=True):
            if key not in self._numbers:
                predicted.expect(len(predicted.pending), row)

    def gains(self, surrogate: Surrogate, predicted: Observations, x: Floats, levels: Rows, own: Rows) -> Floats:
        """Return what evaluations (x, levels) [k] are expected to gain on the predictions, [k].

        With one loss it is the expected fall of the least prediction, with several the volume added to their front.
        The chance of success multiplies it. own: row of `predicted` of each configuration [k], or -1.
        """
        inputs = self._inputs(self.axis.at(x, levels))
        mean, change = foreseen(surrogate.model, inputs)
        leaders, gain = np.where(np.isin(own, predicted.front), own, -1), np.empty(len(x))
        for leader in np.unique(leaders):  # a configuration is compared with all others
            mine, rest = leaders == leader, np.arange(len(predicted)) != leader
            others = _against(surrogate, predicted.f[rest], predicted.g[rest])
            now, then = others.of(mean[mine], np.zeros_like(mean[mine])), others.of(mean[mine], change[mine])
            gain[mine] = np.maximum(np.exp(then) - np.exp(now), 0.0)
        return gain if surrogate.success is None else gain * surrogate.success.chance(inputs)

    def best_open(self, surrogate: Surrogate | None, open_: Mask) -> Floats | None:
        """Return the open configuration to evaluate at full fidelity next, as a row [d]; None if none is open.

        It has the largest expected improvement on the best full values, or before any the best prediction.
        """
        rows, full = np.flatnonzero(open_), np.flatnonzero(self.full)
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
        """Return rows `x` [n, d] as the kernel takes them: the fidelity is the last number."""
        own = self._coding.inputs(self.axis.without(x))
        return own.with_numbers(np.column_stack([own.numbers, x[:, self.axis.column]]))

    def _full_inputs(self, rows: Rows) -> Inputs:
        """Return configurations [k] at full fidelity as the kernel takes them."""
        return self._inputs(self.axis.at(self.x[rows], self.axis.fidelity.high))

    def _best(self, rows: Rows) -> Rows:
        """Return at most MAX_ROWS of configurations [k] of one fidelity, the best ones."""
        if len(rows) <= MAX_ROWS:
            return rows
        return rows[np.argsort(self._ranks(self.values[rows]), kind="stable")[:MAX_ROWS]]

    def _ranks(self, values: Floats) -> Floats:
        """Return the constrained ranks of values [k, q] at one fidelity, [k]."""
        f, g = np.split(values, [self.losses], axis=1)
        return constrained_rank(f, g, np.full(len(values), OK))


def log_gap(y: Floats) -> Floats:
    """Return the logarithm of the gaps of losses `y` [n] to the least, plus OFFSET median gaps, in standard units."""
    z = plain(y)
    gap = z - z.min()
    return plain(np.log(gap + OFFSET * max(float(np.median(gap)), MIN_GAP)))


def foreseen(model: MultiOutput, inputs: Inputs) -> tuple[Floats, Floats]:
    """Return predicted full values, and the standard deviations by which they change once rows are known, [m, q] each.

    The last number of a row is its fidelity, 1 where full. The variance of a row's own prediction falls by
    `cov^2 / variance`: the knowledge gradient of one row (Frazier et al. 2008).
    """
    m, numbers = len(inputs), inputs.numbers.copy()
    numbers[:, -1] = 1.0
    rows, means, changes = inputs.joined(inputs.with_numbers(numbers)), [], []
    for part in model.parts:
        mean, share = part.joint(rows)
        left = np.maximum(np.diagonal(share)[:m], 0.0) + part.hyper.noise
        means.append(mean[m:])
        changes.append(np.outer(np.abs(np.diagonal(share[:m, m:])) / np.sqrt(left), np.sqrt(part.signal)))
    return np.hstack(means), np.hstack(changes)


def _against(surrogate: Surrogate, f: Floats, g: Floats) -> Surrogate:
    """Return the acquisition that compares with losses `f` [r, m] and constraints `g` [r, c] alone."""
    over = np.maximum(g, 0.0).sum(1)
    kept = (over == 0) & np.isfinite(f).all(1)
    return replace(surrogate, front=f[kept], violation=float(np.fmin.reduce(over, initial=np.inf)))


def open_at_full(axis: FidelityAxis, seen: Observations, n: int) -> Floats:
    """Return at most `n` open configurations at full fidelity [k, d], the best first (`Configurations.best_open`)."""
    known, out = Configurations(axis, seen), seen.pending_x()
    known.update(seen)
    surrogate = known.surrogate(ModelState(), np.random.default_rng(0))
    while len(out) < len(seen.pending) + n and (row := known.best_open(surrogate, known.open(out))) is not None:
        out = np.vstack([out, row])
    return np.asarray(out[len(seen.pending) :])


def _ignored(axis: FidelityAxis, seen: Observations) -> bool | None:
    """Return whether all configurations with several values have equal ones; None where too few have several."""
    rows = np.flatnonzero(np.isfinite(seen.f).all(1))
    _, owner, count = np.unique(axis.without(seen.x[rows]), axis=0, return_inverse=True, return_counts=True)
    values = np.hstack([seen.f[rows], seen.g[rows]])
    pairs = {*zip(owner.ravel().tolist(), map(tuple, values.tolist()), strict=True)}
    if len(pairs) != len(count):
        return False
    return True if int((count > 1).sum()) >= EQUAL_CONFIGURATIONS else None
