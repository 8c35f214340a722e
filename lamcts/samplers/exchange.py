"""Bayesian optimisation by exchanges: the search for categories, integers, and numbers beside them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lamcts.models.discrete import DiscreteModel, DiscreteModelState, Surrogate
from lamcts.models.hamming_fit import HammingPrior
from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, whole_number

FEWEST_START, MOST_START = 8, 20  # results to begin with, where p + 2 would be fewer or more (shared/mixed.md)
CLIMBED, MUTATED, CHILDREN, DRAWN = 3, 5, 20, 100  # best rows whose exchanges and mutations are looked at, mutations of
# each, draws of the whole space (shared/mixed.md)
CLIMBS, ROUNDS = 3, 6  # climbs from the best candidates, and rounds of each at most (shared/mixed.md)
LOOKS = 64  # candidates at a time that are looked up among the points that are known (untuned)
PENDING = 200  # most pending points that are believed, the latest: bounds the factor, as in bo.py (untuned)
PRIOR = HammingPrior()


@dataclass(frozen=True)
class Exchange(LocalSampler):
    """A Gaussian process with an exponential Hamming kernel; log expected improvement climbed by one-exchange moves.

    n_start: results to begin with, those that are there among them (None: p + 2, between 8 and 20, p parameters;
        results); untuned.
    prior: of the kernel's weights, length scales and noise (HammingPrior(); see there).
    """

    n_start: int | None = None
    prior: HammingPrior = PRIOR

    def __post_init__(self) -> None:
        whole_number(self.n_start, "Exchange: n_start", optional=True)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_ExchangeSession":
        n_start = min(max(len(region.space.blocks) + 2, FEWEST_START), MOST_START)
        n_start = n_start if self.n_start is None else self.n_start
        progress = _Progress(rng, seen.best_row(region.rows), start=max(0, n_start - len(region.rows)))
        return _ExchangeSession(self, region, seen, progress)


@dataclass
class _Progress(Progress):
    start: int  # points still to draw before the model is asked
    model: DiscreteModelState = field(default_factory=DiscreteModelState)


class _ExchangeSession(LocalSession[Exchange, _Progress]):
    scope: Any = "space"

    def __init__(self, settings: Exchange, region: Region, seen: Observations, progress: _Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self.parameters = Parameters(region.space)
        self.model = DiscreteModel(seen, self.parameters, settings.prior, progress.model)

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        batch.begin(self.progress.start, self.progress.rng)
        self.progress.start -= len(batch.x)
        if batch.missing and self.incumbent is not None:
            self._propose(batch)
        batch.fill(self.progress.rng)
        return Proposal(batch.x, [None] * len(batch.x))

    def _propose(self, batch: Batch) -> None:
        assert self.incumbent is not None
        surrogate = self.model.update(self.incumbent)
        out = np.vstack([self.seen.pending_x()[-PENDING:], batch.x])
        if len(out):
            surrogate = surrogate.believing(self.model.inputs(self.parameters.codes(out)))
        while batch.open:
            known = len(batch.x)
            self._take_best(batch, surrogate)
            if len(batch.x) == known:
                break
            if batch.open:
                surrogate = surrogate.believing(self.model.inputs(self.parameters.codes(batch.x[known:])))

    def _take_best(self, batch: Batch, surrogate: Surrogate) -> None:
        """Take the best candidate that is new, of all that the climbs have looked at."""
        z = self._candidates()
        value = surrogate.value(self.model.inputs(z))
        everything, values = [z], [value]
        top = z[np.argsort(-value, kind="stable")[:CLIMBS]]
        best = np.sort(value)[::-1][:CLIMBS]
        for _ in range(ROUNDS):
            near = [exchanges(self.parameters, start, self.progress.rng) for start in top]
            if not sum(map(len, near)):
                break
            found = surrogate.value(self.model.inputs(np.vstack(near)))
            everything.append(np.vstack(near))
            values.append(found)
            climbing = []
            for i, part in enumerate(np.split(found, np.cumsum([len(own) for own in near])[:-1])):
                if len(part) and part.max() > best[i]:
                    climbing.append((near[i][part.argmax()], part.max()))
            if not climbing:
                break
            top, best = np.array([c[0] for c in climbing]), np.array([c[1] for c in climbing])
        z, value = np.vstack(everything), np.concatenate(values)
        order = np.argsort(-value, kind="stable")
        for i in range(0, len(order), LOOKS):
            x = self.parameters.rows(z[order[i : i + LOOKS]])
            fresh = self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :] & self.region.contains(x)
            if fresh.any():
                batch.take(x[[int(fresh.argmax())]])
                return

    def _candidates(self) -> Floats:
        rows = self.region.rows if len(self.region.rows) else self.seen.good
        rows = rows[np.argsort(self.seen.y[rows], kind="stable")[:MUTATED]]
        best = self.parameters.codes(self.seen.x[rows])
        rng = self.progress.rng
        near = [exchanges(self.parameters, z, rng) for z in best[:CLIMBED]]
        children = mutations(self.parameters, np.repeat(best, CHILDREN, axis=0), rng)
        return np.vstack([*near, children, self.parameters.draw(DRAWN, rng)])
