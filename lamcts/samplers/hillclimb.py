"""First-improvement local search: one parameter of the best point at a time, until no neighbour is better."""

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

MIN_PATIENCE = 20  # evaluations without gain before a search among real numbers gives up (untuned)
DOUBLE_MOVES = 2.0  # parameters that a point differs in while the results of all neighbours are awaited


@register("hillclimb", "first-improvement local search, one parameter at a time")
@dataclass(frozen=True)
class HillClimb(LocalSampler):
    """First-improvement local search over the neighbours of the best point, in random order.

    Neighbours differ in one parameter. The search has converged when no neighbour is better. In batches several
    neighbours are evaluated at once.

    Notes
    -----
    Of a category with more than 256 options, and of real numbers, neighbours are drawn at random. Then the search has
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

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    def classes(self) -> tuple[type["_HillClimbSession"], type["HillClimbProgress"]]:
        return _HillClimbSession, HillClimbProgress


@dataclass
class HillClimbProgress(Progress):
    centre_number: int = 0  # the number of the incumbent, among those of the search: the note of its neighbours
    out: int = 0  # neighbours of the incumbent without a result yet
    failures: int = 0  # results in a row that were no better
    spent: bool = False  # whether no neighbour is left that is neither seen nor out


class _HillClimbSession(LocalSession[HillClimb, HillClimbProgress]):
    """What has been tried is not kept here: `seen` knows it, also of other searches."""

    def __init__(self, settings: HillClimb, region: Region, seen: Observations, progress: HillClimbProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.parameters = Parameters(region.space)
        self.endless = any(
            levels is None or is_long(self.parameters, i) for i, levels in enumerate(self.parameters.levels)
        )

    @property
    def done(self) -> bool:
        progress = self.progress
        tired = self.endless and progress.failures >= max(MIN_PATIENCE, 2 * self.parameters.count)
        return self.incumbent is not None and (tired or (progress.spent and progress.out == 0))

    def ask(self, n: int) -> Proposal:
        batch, progress = Batch(self.region, self.seen, n), self.progress
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
        """Take neighbours of `z` [p] in random order, and note whether any are left."""
        progress = self.progress
        x = self.parameters.rows(exchanges(self.parameters, z, progress.rng))
        x = x[self.region.contains(x)]
        x = progress.rng.permutation(x[self.seen.unseen(x)])
        batch.take(x)
        progress.out += len(batch.x)
        progress.spent = not self.endless and len(batch.x) == len(x)

    def tell(self, notes: list[int | None], rows: Rows) -> None:
        progress, before = self.progress, self.incumbent
        super().tell(notes, rows)
        if self.incumbent == before:
            progress.out -= notes.count(progress.centre_number)
            progress.failures += len(notes)
        else:
            progress.centre_number, progress.out, progress.failures, progress.spent = (
                progress.centre_number + 1,
                0,
                0,
                False,
            )

    def forget(self, notes: list[int | None]) -> None:
        lost = notes.count(self.progress.centre_number)
        self.progress.out -= lost
        self.progress.spent &= not lost  # these were not tried
