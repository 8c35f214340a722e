"""Bayesian optimisation of categories, integers and reals by local search over exchanges."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lamcts.models.coding import Coding, Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.priors import KernelPrior
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.bayesian import CLIMBS, BayesianProgress, Look, propose
from lamcts.samplers.parts.perturb import gradient_descent
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession
from lamcts.samplers.registry import register
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows, whole_number

MIN_START, MAX_START = 8, 12  # results to begin with, where p + 2 would be fewer or more (the most: tuned)
EXCHANGED_ROWS, MUTATED_ROWS, MUTATIONS, DRAWS = 3, 5, 20, 100  # best rows whose exchanges and mutations are pool
# at, mutations of each, draws of the whole space (untuned)
OPTION_ROWS = 100  # best rows whose options are tried of a category with too many to try all (untuned)
MUTATION_MOVES = 2.0  # parameters that a mutation moves, on average (untuned)
ROUNDS = 6  # of a climb at most (untuned)
ORDER_ROUNDS = 30  # where there are orders, which take as many moves as they have items (untuned)
DIVERSE_EVERY, DIVERSE_ITEMS = 4, 0.5  # in 3 of 4 asks a permutation must differ in this share of items
# (tuned: the eight slowest of fifty tours took 60 to 113 evaluations instead of 120 to 235)
PATIENCE, PATIENCE_EACH = 20, 2  # results without a gain, and more for each parameter, after which the search stays
# near its incumbent for as long, nearer each time, and then looks everywhere again (untuned)
SHRINK = 1.5  # of the trust region, and its growth at a gain (untuned; Casmopolitan's)
LOOKUP_BLOCK = 64  # candidates at a time that are pool up among the points that are known (untuned)


@register("mixed_gp", "Gaussian process over categories, integers and reals, with local search over single changes")
@dataclass(frozen=True)
class MixedGp(LocalSampler):
    """Gaussian process over categories, integers and reals, with local search over single changes.

    Parameters
    ----------
    n_start : int or None, default None
        Results to begin with, the rows of the region included; tuned. None is p + 2 for p parameters, from 8 to 12. The
        paper uses 20.

    Notes
    -----
    The kernel is the exponential Hamming kernel of Casmopolitan, as a product over categories. One-exchange moves climb
    log expected improvement. Pending points count with their predicted losses. "Tuned" means as in
    benchmarks/notes/discrete.md.

    References
    ----------
    Wan, Nguyen, Ha, Ru, Lu and Osborne (2021), arXiv 2102.07188 (Casmopolitan).

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({"kind": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)})
    >>> len(lamcts.Optimizer(space, sampler=lamcts.samplers.MixedGp(n_start=5), seed=0).ask(4))
    4
    """

    version: ClassVar[int] = 4  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)
    n_start: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.n_start, "MixedGp: n_start", optional=True)

    def classes(self) -> tuple[type["_MixedGpSession"], type["MixedGpProgress"]]:
        return _MixedGpSession, MixedGpProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "MixedGpProgress":
        n_start = min(max(Parameters(region.space).count + 2, MIN_START), MAX_START)
        n_start = n_start if self.n_start is None else self.n_start
        return MixedGpProgress(rng, seen.best_row(region.rows), start=max(0, n_start - len(region.rows)))


@dataclass
class MixedGpProgress(BayesianProgress):
    radius: float | None = None  # most discrete parameters in which a proposal differs from the incumbent; None: any
    idle: int = 0  # results in a row without a gain at this radius
    model: ModelState = field(default_factory=ModelState)


class _MixedGpSession(LocalSession[MixedGp, MixedGpProgress]):
    def __init__(self, settings: MixedGp, region: Region, seen: Observations, progress: MixedGpProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.parameters = Parameters(region.space)
        self.coding = Coding(self.parameters)
        self.model = LocalModel(seen, self.coding.inputs, KernelPrior.of_space(self.parameters), progress.model)

    def ask(self, n: int) -> Proposal:
        return propose(self, n, self._look)

    def _look(self) -> Look | None:
        self.progress.incumbent = self._place()
        if self.incumbent is None:
            return None
        surrogate = self.model.update(self.incumbent, self.progress.rng)
        known = self.parameters.codes(self.seen.x[self._best(OPTION_ROWS)])

        def best(batch: Batch, surrogate: Surrogate) -> Floats:
            x = self._fresh(batch, surrogate, known)
            if not len(x) and self.progress.radius is not None:
                self.progress.radius = None  # all that is near is known
                x = self._fresh(batch, surrogate, known)
            return x

        return Look(surrogate, self.coding.inputs, self.model.unit, best)

    def _fresh(self, batch: Batch, surrogate: Surrogate, known: Floats) -> Floats:
        """Return the best new candidate, [1, d]; [0, d] where there is none. `known` as of `exchanges`."""
        pool = _CandidatePool(surrogate, self.coding, self._within, self._share)
        self._climb(pool, pool.at(self._candidates(known)), known)
        return self._first_fresh(batch, pool.ranked())

    def _place(self) -> int | None:
        """Return the row of the incumbent; with several objectives, a random row of the front."""
        best = self.seen.best_row(self.region.rows, self.incumbent)
        if self.seen.f.shape[1] == 1 or best is None or not len(front := self.seen.front):
            return best
        return int(self.progress.rng.choice(front))

    def recenter(self, row: int) -> None:
        """Go on from a row that others found."""
        self.progress.incumbent = row

    def tell(self, notes: list[Note], rows: Rows) -> None:
        before, progress = self.incumbent, self.progress
        super().tell(notes, rows)
        gained = self.incumbent != before or (self.seen.f.shape[1] > 1 and np.isin(rows, self.seen.front).any())
        progress.idle = 0 if gained else progress.idle + len(rows)
        if progress.idle >= max(PATIENCE, PATIENCE_EACH * self.parameters.count):
            progress.idle = 0
            radius = (self._farthest if progress.radius is None else progress.radius) / SHRINK
            progress.radius = radius if radius >= 1 else None
        elif gained and progress.radius is not None:
            radius = SHRINK * progress.radius
            progress.radius = radius if radius < self._farthest else None

    @property
    def _farthest(self) -> int:
        """Number of discrete parameters that can move; a table, a permutation and a subset are one each."""
        return int(np.count_nonzero(self.parameters.move_units & ~self.parameters.continuous))

    def _within(self, z: Floats) -> Mask:
        """Return which codes `z` [m, p] lie in the region, and in the trust region."""
        return self._near(z) & self.region.contains(self.parameters.rows(z)) if self.region.steps else self._near(z)

    def _near(self, z: Floats) -> Mask:
        """Return which codes `z` [m, p] lie in the trust region: no more parameters than its radius differ."""
        if self.progress.radius is None or self.incumbent is None:
            return np.ones(len(z), bool)
        parameters, here = self.parameters, self.parameters.codes(self.seen.x[[self.incumbent]])
        active, own = parameters.active(z), parameters.active(here)
        # what is only there because of another difference is none of its own
        differ = (z != here) & (active & own if parameters.conditional else active | own)
        for part, _ in parameters.joint:
            differ[:, part.start] = differ[:, part].any(1)
        near: Mask = (differ & parameters.move_units & ~parameters.continuous).sum(1) <= self.progress.radius
        return near

    @property
    def _share(self) -> float:
        """Return the share of the model's inputs in which a point must differ from known points.

        A round trip from another start is another point and the same trip, which the model only
        learns in time, so most points that follow a failure are different to it.
        """
        orders = self.parameters.permutations
        if not orders or self.progress.idle % DIVERSE_EVERY == 0:
            return 0.0
        return DIVERSE_ITEMS / max(int(part.stop - part.start) for part in orders)

    def _best(self, n: int, rng: np.random.Generator | None = None) -> Rows:
        """Return the `n` best rows of the region, or of all where it has none; rows that are level in drawn order."""
        rows = self.region.rows if len(self.region.rows) else self.seen.good
        rows = rows if rng is None else rng.permutation(rows)
        return rows[np.argsort(self.seen.y[rows], kind="stable")[:n]]

    def _candidates(self, known: Floats) -> Floats:
        """Return codes near the best rows, and from anywhere, [m, p]; `known` as of `exchanges`."""
        rng = self.progress.rng
        rows = self._best(MUTATED_ROWS, None if self.seen.plain else rng)  # the rows of a front are level
        best = self.parameters.codes(self.seen.x[rows])
        near = [exchanges(self.parameters, z, rng, known) for z in best[:EXCHANGED_ROWS]]
        children = mutations(self.parameters, np.repeat(best, MUTATIONS, axis=0), rng, MUTATION_MOVES)
        return np.vstack([*near, children, self.parameters.draw(DRAWS, rng)])

    def _climb(self, pool: "_CandidatePool", value: Floats, known: Floats) -> None:
        """From the best candidates go to the best neighbour while it is better, then down the slope of the numbers."""
        order = np.argsort(-value, kind="stable")[:CLIMBS]
        tops = [(pool.z[-1][i], float(value[i])) for i in order]
        peaks = []
        for _ in range(ORDER_ROUNDS if self.parameters.permutations else ROUNDS):
            near = [exchanges(self.parameters, z, self.progress.rng, known) for z, _ in tops]
            found = np.split(pool.at(np.vstack(near)), np.cumsum([len(own) for own in near])[:-1])
            best = [int(own.argmax()) if len(own) else -1 for own in found]
            moving = [i for i, k in enumerate(best) if k >= 0 and found[i][k] > tops[i][1]]
            peaks += [top for i, top in enumerate(tops) if i not in moving]
            tops = [(near[i][best[i]], float(found[i][best[i]])) for i in moving]
            if not tops:
                break
        if self.parameters.continuous.any():
            self._descend(pool, np.array([z for z, _ in peaks + tops]))

    def _descend(self, pool: "_CandidatePool", z: Floats) -> None:
        """Improve the real parameters of codes `z` [k, p] down the slope of the acquisition."""
        ordered = self.coding.ordered
        coordinate = self.parameters.starts[ordered]

        def slope(x: Floats) -> tuple[Floats, Floats]:
            value, along = pool.surrogate.slopes(self.coding.inputs(x))
            gradient = np.zeros(x.shape)
            gradient[:, coordinate] = -along
            return -value, gradient

        x = self.parameters.rows(z)
        free = np.tile(self.region.space.continuous, (len(x), 1))
        free[:, coordinate] &= self.parameters.active(z)[:, ordered]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        better = gradient_descent(self.region, x, slope, low, high, free)
        pool.at(self.parameters.codes(self.region.space.snap(better)))

    def _first_fresh(self, batch: Batch, z: Floats) -> Floats:
        """Return the first of the codes `z` [m, p] that is new and inside, as x [1, d]; [0, d] where none is."""
        for i in range(0, len(z), LOOKUP_BLOCK):
            x = self.parameters.rows(z[i : i + LOOKUP_BLOCK])
            fresh = self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :] & self.region.contains(x)
            if fresh.any():
                return x[[int(fresh.argmax())]]
        return np.empty((0, batch.x.shape[1]))


class _CandidatePool:
    """The codes that a search for the best candidate has compared, and their acquisition: -inf if not `within`."""

    def __init__(self, surrogate: Surrogate, coding: Coding, within: Callable[[Floats], Mask], share: float) -> None:
        self.surrogate, self._coding, self._within, self._share = surrogate, coding, within, share
        self.z: list[Floats] = []
        self._values: list[Floats] = []

    def at(self, z: Floats) -> Floats:
        """Return what the codes `z` [m, p] are worth, [m]."""
        value = np.full(len(z), -np.inf)
        within = self._within(z)
        if within.any():
            inputs = self._coding(z[within])
            value[within] = self.surrogate.value(inputs)
            if self._share:
                value[within] = np.where(self._known(inputs), -np.inf, value[within])
        self.z.append(z)
        self._values.append(value)
        return value

    def _known(self, inputs: Inputs) -> Mask:
        """Return which rows are all but known, [m]: they differ from one by less than a share of all that counts.

        Of several objectives none is: each tells rows apart by other parameters.
        """
        model = self.surrogate.model
        if model.losses != 1:
            return np.zeros(len(inputs), bool)
        loss = model.parts[0]
        known: Mask = -np.log(loss.kernel(inputs).max(1)) < self._share * float(loss.hyper.weights.sum())
        return known

    def ranked(self) -> Floats:
        """Return all codes that are within, the best first, [m, p]."""
        values = np.concatenate(self._values)
        order = np.argsort(-values, kind="stable")
        return np.vstack(self.z)[order[: np.count_nonzero(values > -np.inf)]]
