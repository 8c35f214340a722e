"""AutoGO's neighbourhood as a sampler: children of good networks and of the network itself (AutoGO 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal, Supports
from lamcts.types import Floats, Rows, whole_number

if TYPE_CHECKING:
    from lamcts.neural.graphs.computation import EditPaths


FRESH = 0.5  # share of children of the network itself (benchmarks/notes/evolve.md)
FRUITLESS = 50  # consecutive children that are known before the space is sampled (untuned)
Path = tuple[int, ...]


@dataclass(frozen=True)
class Evolve(LocalSampler):
    """Children of the network itself, and of the best children so far by one more edit.

    Parameters
    ----------
    paths : EditPaths
        The edits and the caps. Points of the space are paths, as in `lamcts.neural.evolve.EvolvedNetworks`.
    parents : int, default 1
        Least number of parents: the Pareto front, filled up by the smallest sums of ranks (A.5.4). AutoGO 4.2 has 10.
    fresh : float, default 0.5
        Share of children that come from the network itself, from 0 to 1; AutoGO has 0 once there are enough parents.

    Notes
    -----
    Pass `n_init=0` to the optimizer: the sampler starts at the parent itself, or where that exceeds a
    cap, at children that keep it.
    """

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    paths: "EditPaths"
    parents: int = 1
    fresh: float = FRESH

    def __post_init__(self) -> None:
        whole_number(self.parents, "Evolve: parents")
        if not 0 <= self.fresh <= 1:
            raise ValueError(f"Evolve: fresh: expected a share from 0 to 1, got {self.fresh!r}")

    def classes(self) -> tuple[type["_EvolveSession"], type[Progress]]:
        return _EvolveSession, Progress


class _EvolveSession(LocalSession[Evolve, Progress]):
    def ask(self, n: int) -> Proposal:
        batch, rng, fruitless = Batch(self.region, self.seen, n), self.progress.rng, 0
        batch.take(self._rows([()]))
        parents = self._parents()
        while batch.open and fruitless < FRUITLESS:
            fresh = rng.random() < self.settings.fresh
            path = self.settings.paths.walk(() if fresh else parents[rng.integers(len(parents))], rng)
            taken = path is not None and batch.take(self._rows([path])).any()
            fruitless = 0 if taken else fruitless + 1
        return Proposal(batch.x, [None] * len(batch.x))

    def _losses(self, rows: Rows) -> Floats:
        """Return the losses of rows [k, m]; of one loss under constraints, the constrained ranks."""
        return self.seen.f[rows] if self.seen.f.shape[1] > 1 else self.seen.y[rows][:, None]

    def _parents(self) -> list[Path]:
        """Return the paths of the best networks; of the network itself until there are as many results as parents."""
        good = self.seen.good
        if len(good) < self.settings.parents:
            return [()]
        front = np.flatnonzero(np.isin(good, self.seen.front))
        chosen = select(self._losses(good), front, max(self.settings.parents, len(front)), self.progress.rng)
        return [self._path(self.seen.x[row]) for row in good[chosen]]

    def _path(self, x: Floats) -> Path:
        point = self.region.space.decode(x)
        return tuple(int(seed) for seed in point.values() if seed)

    def _rows(self, paths: Sequence[Path]) -> Floats:
        """Return the rows of paths in the unit cube, [k, d]."""
        names = list(self.region.space.decode(np.zeros(self.seen.dim)))
        points = [dict(zip(names, [*path, *[0] * (len(names) - len(path))], strict=True)) for path in paths]
        return np.array([self.region.space.encode(point) for point in points])


def select(losses: Floats, front: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Return the rows of the parents of the next generation."""
    if len(front) > count:
        return rng.choice(front, count, replace=False)
    others = np.setdiff1d(np.arange(len(losses)), front)
    below = losses[others][:, None] > losses[others][None]
    order = np.argsort(below.sum((1, 2)), kind="stable")
    return np.concatenate([front, others[order[: count - len(front)]]]).astype(int)
