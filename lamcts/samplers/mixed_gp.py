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
from lamcts.samplers.parts.bayesian import CLIMBS, Acquisition, BayesianProgress, propose
from lamcts.samplers.parts.perturb import gradient_descent
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession
from lamcts.samplers.registry import register
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows, whole_number

MIN_START, MAX_START = 8, 12  # bounds of the initial results, p + 2 (the upper one is tuned)
# The pool of candidates has all exchanges of the 3 best rows, 20 mutations of each of the 5 best, and 100 draws of the
# space: more cost time, fewer miss optima.
EXCHANGED_ROWS, MUTATED_ROWS, MUTATIONS, DRAWS = 3, 5, 20, 100
OPTION_ROWS = 100  # best rows whose options are tried for a category with many: more cost time, fewer miss options
MUTATION_MOVES = 2.0  # parameters that a mutation moves, on average: exchanges already move one
ROUNDS = 6  # most rounds of a climb: more cost time, fewer stop below the optimum
ORDER_ROUNDS = 30  # the same with permutations, which may need as many moves as they have items
DIVERSE_EVERY, DIVERSE_ITEMS = 4, 0.5  # in 3 of 4 asks a permutation must differ in this share of items
# (tuned: the eight slowest of fifty tours took 60 to 113 evaluations instead of 120 to 235)
# Results without a gain, at least 20 and 2 for each parameter, after which the trust region around the incumbent
# shrinks; below one parameter it is the space again. More cost evaluations in a poor region, fewer leave a good one.
PATIENCE, PATIENCE_EACH = 20, 2
SHRINK = 1.5  # factor of the trust region, and of its growth after a gain, as Casmopolitan
LOOKUP_BLOCK = 64  # candidates whose novelty is tested at a time: most often the first is new


@register("mixed_gp", "Gaussian process over categories, integers and reals, with local search over single changes")
@dataclass(frozen=True)
class MixedGp(LocalSampler):
    """Gaussian process over categories, integers and reals, with local search over single changes.

    Parameters
    ----------
    n_start : int or None, default None
        Number of initial results, including the rows of the region; tuned. None is p + 2 for p parameters, from 8 to
        12. The paper uses 20.

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

    version: ClassVar[int] = 6  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)
    n_start: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.n_start, "MixedGp: n_start", optional=True)

    def classes(self) -> tuple[type["_MixedGpSession"], type["MixedGpProgress"]]:
        return _MixedGpSession, MixedGpProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "MixedGpProgress":
        n_start = min(max(Parameters(region.space).count + 2, MIN_START), MAX_START)
        n_start = n_start if self.n_start is None else self.n_start
        return MixedGpProgress(rng, seen.best_row(region.rows), n_start=max(0, n_start - len(region.rows)))


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
        return propose(self, n, self._acquisition)

    def _acquisition(self) -> Acquisition | None:
        self.progress.incumbent = self._centre()
        if self.incumbent is None:
            return None
        surrogate = self.model.update(self.incumbent, self.progress.rng)
        best_codes = self.parameters.codes(self.seen.x[self._best(OPTION_ROWS)])

        def best(batch: Batch, surrogate: Surrogate) -> Floats:
            x = self._best_new(batch, surrogate, best_codes)
            if not len(x) and self.progress.radius is not None:
                self.progress.radius = None  # all points of the trust region are evaluated
                x = self._best_new(batch, surrogate, best_codes)
            return x

        return Acquisition(surrogate, self.coding.inputs, self.model.unit, best)

    def _best_new(self, batch: Batch, surrogate: Surrogate, best_codes: Floats) -> Floats:
        """Return the best new candidate, [1, d]; [0, d] if there is none. `best_codes`: see `known` of `exchanges`."""
        pool = _CandidatePool(surrogate, self.coding, self._within, self._least_difference)
        self._climb(pool, pool.add(self._candidates(best_codes)), best_codes)
        return self._first_new(batch, pool.ranked())

    def _centre(self) -> int | None:
        """Return the row of the incumbent; with several objectives, a random row of the front."""
        best = self.seen.best_row(self.region.rows, self.incumbent)
        if self.seen.f.shape[1] == 1 or best is None or not len(front := self.seen.front):
            return best
        return int(self.progress.rng.choice(front))

    def recenter(self, row: int) -> None:
        """Continue from a better row of another search."""
        self.progress.incumbent = row

    def tell(self, notes: list[Note], rows: Rows) -> None:
        before = self.incumbent
        progress = self.progress
        super().tell(notes, rows)
        has_gained = self.incumbent != before or (self.seen.f.shape[1] > 1 and np.isin(rows, self.seen.front).any())
        progress.idle = 0 if has_gained else progress.idle + len(rows)
        if progress.idle >= max(PATIENCE, PATIENCE_EACH * self.parameters.count):
            progress.idle = 0
            radius = (self._max_radius if progress.radius is None else progress.radius) / SHRINK
            progress.radius = radius if radius >= 1 else None
        elif has_gained and progress.radius is not None:
            radius = SHRINK * progress.radius
            progress.radius = radius if radius < self._max_radius else None

    @property
    def _max_radius(self) -> int:
        """Number of discrete parameters that can move; a table, a permutation and a subset count as one each."""
        return int(np.count_nonzero(self.parameters.move_units & ~self.parameters.continuous))

    def _within(self, z: Floats) -> Mask:
        """Return which codes `z` [m, p] lie in the region and in the trust region."""
        return self._near(z) & self.region.contains(self.parameters.rows(z)) if self.region.steps else self._near(z)

    def _near(self, z: Floats) -> Mask:
        """Return which codes `z` [m, p] lie in the trust region: no more parameters than its radius differ."""
        if self.progress.radius is None or self.incumbent is None:
            return np.ones(len(z), bool)
        parameters = self.parameters
        centre = parameters.codes(self.seen.x[[self.incumbent]])
        active, centre_active = parameters.active(z), parameters.active(centre)
        # a parameter that is active in one of the two only does not count: its condition does
        differs = (z != centre) & (active & centre_active if parameters.conditional else active | centre_active)
        for part, _ in parameters.joint:
            differs[:, part.start] = differs[:, part].any(1)
        is_near: Mask = (differs & parameters.move_units & ~parameters.continuous).sum(1) <= self.progress.radius
        return is_near

    @property
    def _least_difference(self) -> float:
        """Return the share of the model's inputs in which a point must differ from evaluated points.

        A round trip from another start is another point, but the same trip. The model learns that only after some
        evaluations, so after a failure most points must differ in the inputs of the model.
        """
        orders = self.parameters.permutations
        if not orders or self.progress.idle % DIVERSE_EVERY == 0:
            return 0.0
        return DIVERSE_ITEMS / max(int(part.stop - part.start) for part in orders)

    def _best(self, n: int, rng: np.random.Generator | None = None) -> Rows:
        """Return the `n` best rows of the region, or of all rows if it has none; `rng` permutes ties."""
        rows = self.region.rows if len(self.region.rows) else self.seen.good
        rows = rows if rng is None else rng.permutation(rows)
        return rows[np.argsort(self.seen.y[rows], kind="stable")[:n]]

    def _candidates(self, best_codes: Floats) -> Floats:
        """Return codes near the best rows, and draws of the space, [m, p]; `best_codes`: see `known` of `exchanges`."""
        rng = self.progress.rng
        rows = self._best(MUTATED_ROWS, None if self.seen.plain else rng)  # rows of a front are ties
        best = self.parameters.codes(self.seen.x[rows])
        near = [exchanges(self.parameters, z, rng, best_codes) for z in best[:EXCHANGED_ROWS]]
        children = mutations(self.parameters, np.repeat(best, MUTATIONS, axis=0), rng, MUTATION_MOVES)
        return np.vstack([*near, children, self.parameters.draw(DRAWS, rng)])

    def _climb(self, pool: "_CandidatePool", value: Floats, best_codes: Floats) -> None:
        """Move the best candidates to their best neighbours while these are better, then along the gradient."""
        order = np.argsort(-value, kind="stable")[:CLIMBS]
        tops = [(pool.z[-1][i], float(value[i])) for i in order]
        peaks = []
        for _ in range(ORDER_ROUNDS if self.parameters.permutations else ROUNDS):
            neighbours = [exchanges(self.parameters, z, self.progress.rng, best_codes) for z, _ in tops]
            values = np.split(pool.add(np.vstack(neighbours)), np.cumsum([len(z) for z in neighbours])[:-1])
            best = [int(value.argmax()) if len(value) else -1 for value in values]
            moving = [i for i, k in enumerate(best) if k >= 0 and values[i][k] > tops[i][1]]
            peaks += [top for i, top in enumerate(tops) if i not in moving]
            tops = [(neighbours[i][best[i]], float(values[i][best[i]])) for i in moving]
            if not tops:
                break
        if self.parameters.continuous.any():
            self._descend(pool, np.array([z for z, _ in peaks + tops]))

    def _descend(self, pool: "_CandidatePool", z: Floats) -> None:
        """Improve the real parameters of codes `z` [k, p] along the gradient of the acquisition function."""
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
        ends = gradient_descent(self.region, x, slope, low, high, free)
        pool.add(self.parameters.codes(self.region.space.snap(ends)))

    def _first_new(self, batch: Batch, z: Floats) -> Floats:
        """Return the first of the codes `z` [m, p] that is new and inside, as x [1, d]; [0, d] if none is."""
        for i in range(0, len(z), LOOKUP_BLOCK):
            x = self.parameters.rows(z[i : i + LOOKUP_BLOCK])
            is_new = self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :] & self.region.contains(x)
            if is_new.any():
                return x[[int(is_new.argmax())]]
        return np.empty((0, batch.x.shape[1]))


class _CandidatePool:
    """Candidates and their log acquisition function, which is -inf for codes that are not `within`."""

    def __init__(self, surrogate: Surrogate, coding: Coding, within: Callable[[Floats], Mask], least: float) -> None:
        self.surrogate = surrogate
        self._coding = coding
        self._within = within
        self._least_difference = least
        self.z: list[Floats] = []
        self._values: list[Floats] = []

    def add(self, z: Floats) -> Floats:
        """Add codes `z` [m, p], and return their log acquisition function, [m]."""
        value = np.full(len(z), -np.inf)
        within = self._within(z)
        if within.any():
            inputs = self._coding(z[within])
            value[within] = self.surrogate.value(inputs)
            if self._least_difference:
                value[within] = np.where(self._is_known(inputs), -np.inf, value[within])
        self.z.append(z)
        self._values.append(value)
        return value

    def _is_known(self, inputs: Inputs) -> Mask:
        """Return which rows differ from a row of the model by less than the least difference, weighted, [m].

        With several objectives no row does: each has other weights.
        """
        model = self.surrogate.model
        if model.losses != 1:
            return np.zeros(len(inputs), bool)
        loss = model.parts[0]
        is_known: Mask = -np.log(loss.kernel(inputs).max(1)) < self._least_difference * float(loss.hyper.weights.sum())
        return is_known

    def ranked(self) -> Floats:
        """Return all codes that are `within`, the best first, [m, p]."""
        values = np.concatenate(self._values)
        order = np.argsort(-values, kind="stable")
        return np.vstack(self.z)[order[: np.count_nonzero(values > -np.inf)]]
