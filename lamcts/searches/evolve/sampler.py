"""AutoGO's neighbourhood as a sampler: children of good networks, one edit further (AutoGO 2023, algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal
from lamcts.searches.evolve.parents import select
from lamcts.types import Floats, whole_number

if TYPE_CHECKING:
    from lamcts.graphs.computation import EditPaths
    from lamcts.observations import Observations
    from lamcts.regions.region import Region

FRUITLESS = 50  # consecutive children that are known before the space is sampled (untuned)
Path = tuple[int, ...]


@dataclass(frozen=True)
class Evolve(LocalSampler):
    """Children of the best networks so far, each by one more edit.

    Parameters
    ----------
    paths : EditPaths
        The edits and the caps. Points of the space are paths, as in `lamcts.neural.evolve.EvolvedNetworks`.
    parents : int, default 10
        Number of parents: those of the Pareto front, or of the smallest sums of ranks (AutoGO 4.2 and A.5.4).

    Notes
    -----
    Pass `tree=None` and `n_init=0` to the optimizer: the sampler starts at the parent itself, or where that exceeds a
    cap, at children that keep it.
    """

    several: ClassVar[bool] = True

    paths: "EditPaths"
    parents: int = 10

    def __post_init__(self) -> None:
        whole_number(self.parents, "Evolve: parents")

    def start(self, region: "Region", seen: "Observations", rng: np.random.Generator) -> "_EvolveSession":
        return _EvolveSession(self, region, seen, Progress(rng, seen.best_row(region.rows)))


class _EvolveSession(LocalSession[Evolve, Progress]):
    def ask(self, n: int) -> Proposal:
        batch, rng, fruitless = Batch(self.region, self.seen, n), self.progress.rng, 0
        batch.take(self._rows([()]))
        parents = self._parents()
        while batch.open and fruitless < FRUITLESS:
            path = self.settings.paths.walk(parents[rng.integers(len(parents))], rng)
            taken = path is not None and batch.take(self._rows([path])).any()
            fruitless = 0 if taken else fruitless + 1
        return Proposal(batch.x, [None] * len(batch.x))

    def _parents(self) -> list[Path]:
        """Return the paths of the parents: of the network itself until there are as many results as parents."""
        good = self.seen.good
        if len(good) < self.settings.parents:
            return [()]
        f = self.seen.f[good] if self.seen.f.shape[1] else self.seen.y[good][:, None]
        front = np.flatnonzero(np.isin(good, self.seen.front))
        chosen = select(f, front, self.settings.parents, self.progress.rng)
        return [self._path(row) for row in good[chosen]]

    def _path(self, row: int) -> Path:
        point = self.region.space.decode(self.seen.x[row])
        return tuple(int(seed) for seed in point.values() if seed)

    def _rows(self, paths: Sequence[Path]) -> Floats:
        """Return the rows of paths in the unit cube, [k, d]."""
        names = list(self.region.space.decode(np.zeros(self.seen.dim)))
        points = [dict(zip(names, [*path, *[0] * (len(names) - len(path))], strict=True)) for path in paths]
        return np.array([self.region.space.encode(point) for point in points])
