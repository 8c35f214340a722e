"""A mean of its own that steps by recombination: the way across ripples, which a search round one best row polishes.

CMA-ES (Hansen and Ostermeier 2001) without a library, for an arm beside others: results are those that came, late or
not, and a row that another search finds is where it begins anew, if it lies far outside what it draws. A row within
is not: that would draw the mean into the one lucky ripple which a mean is there to pass over.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal, Scope
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.evolution import Evolution
from lamcts.samplers.parts.scatter import scatter
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.types import Rows, whole_number

LEAST_POPSIZE = 4  # Hansen's 4 + 3 ln d at its least


@dataclass(frozen=True)
class Population(LocalSampler):
    """Draw round a mean, and move it to the weighted mean of the better half of what was drawn.

    sigma: first step (0.06; share of the cube); tuned: 0.12 was worse on bent ripples, 0.03 on others, seeds 0, 2, 4.
    popsize: results that close a generation (None: 4 + 3 ln d; results); Hansen's tutorial (arXiv 1604.00772).
    far: a better row of another search is begun at where it lies further away (3.0; lengths of a usual draw); untuned;
        paper: Hansen 2011 (injection) has such rows among the parents, shortened.
    length_min: the search has converged when no coordinate deviates by more (1e-9; share of the cube); untuned.
    """

    sigma: float = 0.06
    popsize: int | None = None
    far: float = 3.0
    length_min: float = 1e-9

    def __post_init__(self) -> None:
        whole_number(self.popsize, "Population: popsize", least=LEAST_POPSIZE, optional=True)
        if not 0 < self.length_min < self.sigma <= 1:
            got = f"{self.length_min!r}, {self.sigma!r}"
            raise ValueError(f"Population: expected 0 < length_min < sigma <= 1, got {got}")
        if not self.far > 0:
            raise ValueError(f"Population: expected far above 0, got {self.far!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_PopulationSession":
        return _PopulationSession(self, region, seen, _Progress(rng, seen.best_row(region.rows)))


@dataclass
class _Progress(Progress):
    anew: bool = True  # whether the next ask begins at the incumbent
    flat: bool = False  # whether the last generation was all of one value
    waiting: list[int] = field(default_factory=list)  # results since the last generation was closed


class _PopulationSession(LocalSession[Population, _Progress]):
    """A point's note is the number of the start that drew it. The log: {"row": where a start began}, then the rows of
    its generations. The distribution depends on these alone, never on the draws: replaying them restores it exactly.
    """

    def __init__(self, settings: Population, region: Region, seen: Observations, progress: _Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self._evolution: Evolution | None = None
        self._starts = 0

    @property
    def scope(self) -> Scope:
        return "selected" if self.incumbent is None else "incumbent"

    @property
    def done(self) -> bool:
        if self._evolution is None or self.progress.anew:
            return False
        return self.progress.flat or self._evolution.widest < self.settings.length_min

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        if self.progress.anew and self.incumbent is not None:
            self.progress.anew, self.progress.flat, self.progress.waiting = False, False, []
            self.log.append({"row": self.incumbent})
            self._begin(self.incumbent)
        if (run := self._evolution) is not None:
            anchors = [run.mean.clip(0.0, 1.0)] + ([] if self.incumbent is None else [self.seen.x[self.incumbent]])
            scatter(batch, lambda k, wider: run.draw(k, self.progress.rng, wider), anchors)
        batch.fill(self.progress.rng)
        return Proposal(batch.x, [self._starts] * len(batch.x))

    def _begin(self, row: int) -> None:
        popsize = self.settings.popsize or LEAST_POPSIZE + int(3 * math.log(self.seen.dim))
        self._evolution = Evolution(self.seen.x[row], self.settings.sigma, popsize)
        self._starts += 1

    def tell(self, notes: list[int], rows: Rows) -> None:
        super().tell(notes, rows)
        own = [int(row) for note, row in zip(notes, rows, strict=True) if note == self._starts]
        waiting = self.progress.waiting = self.progress.waiting + own
        run = self._evolution
        if run is None or len(waiting) < run.popsize or np.isfinite(self.seen.y[waiting]).sum() < run.parents:
            return
        # More results than a generation needs (a large batch) make one large generation with as many parents.
        self.log.append(waiting)
        self.progress.waiting = []
        self.progress.flat = self._close(run, waiting)

    def _close(self, run: Evolution, rows: list[int]) -> bool:
        """Close a generation; return whether it is all of one value."""
        y = self.seen.y[rows]
        good = np.isfinite(y)
        run.close(self.seen.x[rows][good], y[good])
        return bool(good.all() and y.min() == y.max())

    def replay(self) -> None:
        """Go through the starts and the closed generations of the log again, without touching the generator."""
        for entry in self.log:
            if isinstance(entry, dict):
                self._begin(entry["row"])
            elif self._evolution is not None:
                self._close(self._evolution, entry)

    def recenter(self, row: int) -> None:
        """Go on from a better row of another search. It begins there at the next ask: only then is its log kept."""
        self.progress.incumbent = row
        if self._evolution is not None and self._evolution.away(self.seen.x[row]) > self.settings.far:
            self.progress.anew = True
