"""CMA-ES (Hansen and Ostermeier 2001) inside a region, by the library `cma`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.batch import Batch, width
from lamcts.samplers.parts.cma_run import CmaRun, library
from lamcts.samplers.parts.scatter import scatter
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.types import Floats, Rows, whole_number

LEAST_POPSIZE = 4  # Hansen's 4 + 3 ln d at its least


@dataclass(frozen=True)
class Cma(LocalSampler):
    """CMA-ES restricted to the region; one session is one run of it, and a restart is a new session.

    Only the order of values counts, so proposals are the same under any increasing transform of the objective.

    sigma: first step (0.3; share of the region's width); Hansen's tutorial (arXiv 1604.00772); paper: the thesis's runs
        have 0.5.
    popsize: results that close a generation (None: Hansen's 4 + 3 ln d; results).
    diagonal: learn variances only (None: from 1000 dimensions on); for the cost of a full covariance.
    tolx: the run has converged when steps are below it (1e-9; share of the space's width); untuned; the library: 1e-11.
    tolfun: ... or when values differ by less (1e-9; share of the spread of the first generation's); untuned; the
        library: 1e-11, in the unit of the values.
    """

    sigma: float = 0.3
    popsize: int | None = None
    diagonal: bool | None = None
    tolx: float = 1e-9
    tolfun: float = 1e-9

    def __post_init__(self) -> None:
        library()  # before anything is evaluated, not after the initial design
        if not 0 < self.sigma <= 1:
            raise ValueError(f"sigma: expected a share of the width in (0, 1], got {self.sigma!r}")
        whole_number(self.popsize, "Cma: popsize", least=LEAST_POPSIZE, optional=True)
        if not (self.tolx >= 0 and self.tolfun >= 0):
            raise ValueError(f"tolx, tolfun: expected numbers of at least 0, got {self.tolx!r}, {self.tolfun!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_CmaSession":
        return _CmaSession(self, region, seen, _Progress(rng, seen.best_row(region.rows)))


@dataclass
class _Progress(Progress):
    waiting: list[int] = field(default_factory=list)  # results since the last generation was closed


class _CmaSession(LocalSession[Cma, _Progress]):
    """The log holds the start (mean and step) and then the rows of each closed generation.

    The distribution depends on these alone, never on the draws, so that replaying them restores it exactly.
    """

    def __init__(self, settings: Cma, region: Region, seen: Observations, progress: _Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self.done = False
        self._run: CmaRun | None = None

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        run = self._run or self._begin()
        if run is not None:
            scatter(batch, lambda k, wider: run.draw(k, self.progress.rng, wider), self._anchors(run))
            batch.fill(self.progress.rng)
        return Proposal(batch.x, [None] * len(batch.x))  # a generation closes by the number of results, whichever

    def tell(self, notes: list[Any], rows: Rows) -> None:
        super().tell(notes, rows)
        waiting = self.progress.waiting = self.progress.waiting + [int(row) for row in rows]
        good = int(np.isfinite(self.seen.y[waiting]).sum())
        if self._run is None or self.done or len(waiting) < self._run.popsize or good < self._run.parents:
            return
        # More results than a generation needs (a large batch) make one large generation with as many parents:
        # they were drawn from one distribution, and a second update on them would move on stale points.
        self._close(self._run, waiting)
        self.log.append(waiting)
        self.progress.waiting = []

    def replay(self) -> None:
        """Go through the start and the closed generations of the log again, without touching the generator."""
        for entry in self.log:
            if self._run is None:
                self._run = self._started(entry)
            else:
                self._close(self._run, entry)

    def _begin(self) -> "CmaRun | None":
        """Start round the best row that is offered, else round a draw of the region; None if it is empty."""
        mean = Batch(self.region, self.seen, 1)
        if self.incumbent is None:
            mean.fill(self.progress.rng)
            if mean.missing:
                return None
        start = mean.x[0] if self.incumbent is None else self.seen.x[self.incumbent]
        sigma = self.settings.sigma * width(self.region, self.seen)
        self.log.append({"mean": start.tolist(), "sigma": sigma})
        self._run = self._started(self.log[-1])
        return self._run

    def _started(self, entry: dict[str, Any]) -> CmaRun:
        """Return the run that begins with the mean and the step of a log's first entry."""
        own = self.settings
        limits = {"popsize": own.popsize, "diagonal": own.diagonal, "tolx": own.tolx, "tolfun": own.tolfun}
        return CmaRun(np.array(entry["mean"]), entry["sigma"], **limits)  # type: ignore[arg-type]

    def _anchors(self, run: "CmaRun") -> list[Floats]:
        """Return the mean, and the incumbent: what draws are pulled towards."""
        return [run.mean()] if self.incumbent is None else [run.mean(), self.seen.x[self.incumbent]]

    def _close(self, run: "CmaRun", rows: list[int]) -> None:
        run.update(self.seen.x[rows], self.seen.y[rows])
        self.done = run.converged
