"""Uniform sampler: points that fill the region evenly, whatever their values. It is the usual baseline."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import register
from lamcts.spaces.regions.region import Region
from lamcts.spaces.regions.sobol import SobolSequence

ROUNDS = 8  # draws of the sequence before draws of the region fill the batch: more cost time in small discrete spaces


@register("uniform", "scrambled Sobol draws inside the region")
@dataclass(frozen=True)
class Uniform(LocalSampler):
    """Scrambled Sobol sequence over the whole space; under a tree, uniform draws of the region. No settings.

    LaNAS draws in the same way inside the selected leaf (thesis 4.2.2).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 2, sampler=lamcts.samplers.Uniform(), seed=0)
    >>> len(opt.ask(4))
    4
    """

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    def classes(self) -> tuple[type["_UniformSession"], type["UniformProgress"]]:
        return _UniformSession, UniformProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "UniformProgress":
        return UniformProgress(rng, seen.best_row(region.rows), seed=int(rng.integers(2**63)))


@dataclass
class UniformProgress(Progress):
    seed: int  # seed of the Sobol sequence
    position: int = 0  # next point of the sequence


class _UniformSession(LocalSession[Uniform, UniformProgress]):
    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        if not self.region.steps:
            self._take_sequence(batch)
        batch.fill(self.progress.rng)
        return Proposal(batch.x, [None] * len(batch.x))

    def _take_sequence(self, batch: Batch) -> None:
        """Take the next points of the sequence."""
        for _ in range(ROUNDS):
            if not batch.open:
                break
            batch.take(self.region.space.spread(self._sequence.draw(batch.missing)))
        self.progress.position = self._sequence.position

    @cached_property
    def _sequence(self) -> SobolSequence:
        return SobolSequence(self.seen.dim, self.progress.seed, self.progress.position)
