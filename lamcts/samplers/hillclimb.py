"""First-improvement local search: changes single parameters of the best point until no neighbour is better."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.offspring import breed
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import register
from lamcts.spaces.exchanges import exchanges, is_long
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

MIN_PATIENCE = (
    20  # least evaluations without gain before a search in reals ends: more cost evaluations, fewer end early
)
DOUBLE_MOVES = 2.0  # parameters that further points change, on average, while all neighbours are pending


@register("hillclimb", "first-improvement local search, one parameter at a time")
@dataclass(frozen=True)
class HillClimb(LocalSampler):
    """First-improvement local search over the neighbours of the best point, in random order.

    Neighbours differ in one parameter. The search has converged when no neighbour is better. In batches several
    neighbours are evaluated at once.

    Notes
    -----
    For a category with more than 256 options, and for real numbers, neighbours are drawn at random. Then the search has
    converged after two evaluations for each parameter without improvement, at least 20.

    References
    ----------
    White, Nolen and Savani (2020), arXiv 2005.02960.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({"kind": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)})
    >>> len(lamcts.Optimizer(space, sampler=lamcts.samplers.HillClimb(), seed=0).ask(4))
    4
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    def classes(self) -> tuple[type["_HillClimbSession"], type["HillClimbProgress"]]:
        return _HillClimbSession, HillClimbProgress


@dataclass
class HillClimbProgress(Progress):
    centre_number: int = 0  # number of the incumbent in this search, the note of its neighbours
    n_pending: int = 0  # neighbours of the incumbent without a result
    failures: int = 0  # results in a row without improvement
    is_exhausted: bool = False  # whether all neighbours are evaluated or pending


class _HillClimbSession(LocalSession[HillClimb, HillClimbProgress]):
    """Evaluated neighbours are looked up in `seen`, which also has those of other searches."""

    def __init__(self, settings: HillClimb, region: Region, seen: Observations, progress: HillClimbProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.parameters = Parameters(region.space)
        self.is_endless = any(
            levels is None or is_long(self.parameters, i) for i, levels in enumerate(self.parameters.levels)
        )

    @property
    def done(self) -> bool:
        progress = self.progress
        is_stalled = self.is_endless and progress.failures >= max(MIN_PATIENCE, 2 * self.parameters.count)
        return self.incumbent is not None and (is_stalled or (progress.is_exhausted and progress.n_pending == 0))

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        progress = self.progress
        notes: list[int | None] = []
        if self.incumbent is None:
            batch.fill(progress.rng)
        else:
            z = self.parameters.codes(self.seen.x[[self.incumbent]])
            self._take_neighbours(batch, z[0])
            notes = [progress.centre_number] * len(batch.x)
            breed(batch, self.parameters, lambda m: np.repeat(z, m, axis=0), progress.rng, DOUBLE_MOVES)
        return Proposal(batch.x, notes + [None] * (len(batch.x) - len(notes)))

    def _take_neighbours(self, batch: Batch, z: Floats) -> None:
        """Take neighbours of `z` [p] in random order, and set whether they are exhausted."""
        progress = self.progress
        x = self.parameters.rows(exchanges(self.parameters, z, progress.rng))
        x = x[self.region.contains(x)]
        x = progress.rng.permutation(x[self.seen.unseen(x)])
        batch.take(x)
        progress.n_pending += len(batch.x)
        progress.is_exhausted = not self.is_endless and len(batch.x) == len(x)

    def tell(self, notes: list[int | None], rows: Rows) -> None:
        progress = self.progress
        before = self.incumbent
        super().tell(notes, rows)
        if self.incumbent == before:
            progress.n_pending -= notes.count(progress.centre_number)
            progress.failures += len(notes)
        else:
            progress.centre_number += 1
            progress.n_pending = 0
            progress.failures = 0
            progress.is_exhausted = False

    def forget(self, notes: list[int | None]) -> None:
        n_lost = notes.count(self.progress.centre_number)
        self.progress.n_pending -= n_lost
        self.progress.is_exhausted &= not n_lost  # lost neighbours are unevaluated
