"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts import rng as streams
from lamcts.models.fit import Prior
from lamcts.models.local import Effort, LocalModel
from lamcts.models.paths import Paths, Singles
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.perturb import box, candidates, masks, moved
from lamcts.samplers.progress import Progress
from lamcts.samplers.proposals import Batch, leader, unclaimed

IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)

ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region
PRIOR, EFFORT = Prior(), Effort()
STEP, SHRINK, TRIES = 0.1, 0.9, 20  # of polishing: first step as a share of the box, its decay, moves a round


@dataclass(frozen=True)
class Turbo:
    """A box round the best row, shaped by the length scales of a Gaussian process, grows on success, halves on failure.

    length, length_min, length_max: the box's sides at first, at the end (below it the search has converged), at most,
    as shares of the cube. success_tolerance: batches in a row that improve before it doubles.
    failure_tolerance: evaluations in a row that do not before it halves (None: max(4, d)).
    n_start: results to begin with (None: 2 d, at most 100). candidates: points at which the posterior draws are
    looked at (None: 1000, for single points 500). few: parameters that a candidate moves at a time, on average.
    polish: rounds of shrinking moves from the best candidate of each draw.
    """

    length: float = 0.8
    length_min: float = 2**-7
    length_max: float = 1.6
    success_tolerance: int = 3
    failure_tolerance: int | None = None
    n_start: int | None = None
    candidates: int = 1000
    few: float = 5.0
    polish: int = 10
    prior: Prior = PRIOR
    effort: Effort = EFFORT

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_TurboSession":
        n_start = min(2 * seen.dim, 100) if self.n_start is None else self.n_start
        rows = unclaimed(region, seen)
        progress = Progress(self.length, start=max(0, n_start - len(rows)))
        return _TurboSession(self, region, seen, rng, leader(seen, rows), progress)

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_TurboSession":
        rng, progress = streams.restore(state["rng"]), Progress.restore(state["progress"])
        session = _TurboSession(self, region, seen, rng, state["incumbent"], progress)
        session.model.restore(state["model"])
        return session


class _TurboSession:
    def __init__(
        self,
        settings: Turbo,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        incumbent: int | None,
        progress: Progress,
    ) -> None:
        self.log: list[Any] = []
        self.incumbent = incumbent
        self.model = LocalModel(seen, settings.prior, settings.effort)
        self._settings, self._region, self._seen, self._rng = settings, region, seen, rng
        self._progress = progress

    @property
    def done(self) -> bool:
        return self._progress.length < self._settings.length_min

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch = Batch(self._region, self._seen, n)
        self._begin(batch)
        started = len(batch.x)
        if batch.missing and (centre := self._centre()) is not None:
            self._propose(batch, centre)
        batch.fill(self._rng)  # nothing fresh near the centre, or nothing known yet
        return batch.x, self._progress.issue(started, len(batch.x) - started)

    def _begin(self, batch: Batch) -> None:
        """Draw the points to begin with from the whole region."""
        first = Batch(self._region, self._seen, min(batch.size, self._progress.start))
        first.fill(self._rng)
        batch.take(first.x)

    def _centre(self) -> Floats | None:
        """Return the incumbent, or the best row of the region where the incumbent is not inside; None: no row is."""
        for row in (self.incumbent, leader(self._seen, self._region.rows)):
            if row is not None and self._region.contains(self._seen.x[[row]])[0]:
                centre: Floats = self._seen.x[row]
                return centre
        return None

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of one posterior draw."""
        settings, space = self._settings, self._region.space
        posterior = self.model.update(centre)
        length, few = self._progress.length, settings.few
        for _ in range(ROUNDS):
            low, high = box(centre, posterior.hyper.lengths, length)
            x = candidates(self._region, centre, low, high, settings.candidates, few, self._rng)
            if not space.continuous.all():
                x = x[self._seen.fresh(np.vstack([batch.x, x]))[len(batch.x) :]]
            if len(x):
                paths = Paths(posterior, min(batch.missing, len(x)), self._rng)
                best = x[distinct_best(paths(x))]
                batch.take(self._polished(paths, best, low, high))
                batch.take(best)
            if not batch.missing:
                break
            length, few = 2 * length, 2 * few  # the box of a discrete space is nearly spent

    def _polished(self, paths: Paths, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the points `x` [k, d], each improved under its own draw by shrinking moves in box and region."""
        space, rng, k = self._region.space, self._rng, len(x)
        best, values = x.copy(), paths.own(x[:, None])[:, 0]  # [k, d], [k]
        step = STEP
        for _ in range(self._settings.polish):
            start = np.repeat(best, TRIES, axis=0)  # [k TRIES, d]
            jump = start + step * (high - low) * rng.standard_normal(start.shape)
            mask = masks(space, (len(start),), self._settings.few, rng)
            near = moved(space, start, np.clip(jump, low, high), mask, rng)
            found = paths.own(near.reshape(k, TRIES, -1))  # [k, TRIES]
            found[~self._region.contains(near).reshape(k, TRIES)] = np.inf
            winner = found.argmin(1)  # [k]
            better = np.flatnonzero(found[np.arange(k), winner] < values)
            best[better] = near.reshape(k, TRIES, -1)[better, winner[better]]
            values[better] = found[better, winner[better]]
            step *= SHRINK
        return best

    def tell(self, tags: list[int], rows: Rows) -> None:
        target = self._target()
        self._progress.tell(tags, [bool(self._seen.y[row] < target) for row in rows])
        tolerance = self._settings.failure_tolerance or max(4, self._seen.dim)
        self._progress.resize(self._settings.success_tolerance, tolerance, self._settings.length_max)
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def _target(self) -> float:
        """Return the loss below which a result is a success."""
        if self.incumbent is None:
            return math.inf
        best, y = float(self._seen.y[self.incumbent]), self._seen.y[self.model.rows]
        if not len(y):
            return best
        y = np.sort(y)[: max(self._seen.dim, 4)]
        return best - max(0.0, IMPROVEMENT * float(np.median(y)) - IMPROVEMENT * float(y[0]))

    def forget(self, tags: list[int]) -> None:
        self._progress.forget(tags)

    def move(self, region: Region) -> None:
        self._region = region

    def state(self) -> dict[str, Any]:
        return {
            "rng": streams.save(self._rng),
            "incumbent": self.incumbent,
            "progress": self._progress.state(),
            "model": self.model.state(),
        }


def distinct_best(values: Singles) -> list[int]:
    """Return for each column of `values` [m, k] the row of its lowest entry that no earlier column took, [k]."""
    taken: list[int] = []
    for column in values.T.copy():
        column[taken] = np.inf
        taken.append(int(column.argmin()))
    return taken
