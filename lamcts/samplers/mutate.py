"""Regularised evolution (Real et al. 2019, arXiv 1802.01548) inside a region, for discrete and mixed spaces."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.offspring import breed
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import register
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows, whole_number


@register("mutate", "regularised evolution: children of good late points, no model")
@dataclass(frozen=True)
class Mutate(LocalSampler):
    """Regularised evolution: tournament selection among the latest results, and mutation of one parameter.

    The population is the latest results inside the region, also those of other searches. Under a tree these are the
    rows of the selected leaf. Only the order of losses counts, and failed evaluations are never parents.

    Parameters
    ----------
    population : int, default 20
        Number of latest results that may be parents. More keep old parents, fewer lose variety. The paper uses 100, for
        budgets of 1,000 and more.
    sample : int, default 5
        Number of results in a tournament, whose best is the parent. More prefer the best results. The paper uses 25.

    References
    ----------
    Real, Aggarwal, Huang and Le (2019), arXiv 1802.01548.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 2, sampler=lamcts.samplers.Mutate(population=10), seed=0)
    >>> len(opt.ask(4))
    4
    """

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    population: int = 20
    sample: int = 5

    def __post_init__(self) -> None:
        whole_number(self.population, "Mutate: population")
        whole_number(self.sample, "Mutate: sample")
        if self.sample > self.population:
            got = f"{self.sample} of {self.population}"
            raise ValueError(f"Mutate: expected a sample no larger than the population, got {got}; draw fewer")

    def classes(self) -> tuple[type["_MutateSession"], type[Progress]]:
        return _MutateSession, Progress


class _MutateSession(LocalSession[Mutate, Progress]):
    def __init__(self, settings: Mutate, region: Region, seen: Observations, progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self.parameters = Parameters(region.space)

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        rng = self.progress.rng
        rows = self.region.rows[-self.settings.population :]
        if len(rows):
            z, y = self.parameters.codes(self.seen.x[rows]), self.seen.y[rows]
            breed(batch, self.parameters, lambda m: z[self._winners(y, m)], rng)
        else:
            batch.fill(rng)
        return Proposal(batch.x, [None] * len(batch.x))

    def _winners(self, y: Floats, m: int) -> Rows:
        """Return the winners of `m` tournaments in a population with losses `y`, [m]."""
        drawn = self.progress.rng.integers(0, len(y), (m, self.settings.sample))
        winners: Rows = drawn[np.arange(m), y[drawn].argmin(1)]
        return winners
