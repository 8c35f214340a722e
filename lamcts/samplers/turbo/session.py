"""The trust region of `Turbo` as it goes: what it proposes, and when it grows, shrinks and moves."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import thompson
from lamcts.models.gp import Posterior
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.paths import Paths
from lamcts.models.success import Success, success_near
from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal, Scope
from lamcts.samplers.parts.batch import Batch, centre
from lamcts.samplers.parts.feasibility_penalty import SafePaths
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import LocalSession, Progress
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.turbo import Turbo

IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
BEST_ROWS = 4  # or d of them, if more: the best rows of which the spread is taken (untuned)
ADOPTION = 1e-2  # of the distance to the model's median row: the box moves to another search's row for more (untuned)
ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region (untuned)
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000  # asked for less than the first, the second will do (untuned)
LEAST_FAILURES = 4  # arXiv 1910.01739: 4 / q batches of q points


@dataclass
class TurboProgress(Progress):
    box: TrustRegionState
    model: ModelState = field(default_factory=ModelState)


class BoxSession(LocalSession["Turbo", TurboProgress]):
    """A trust region; what is modelled, and what is a success, is said by those built on it."""

    @property
    def scope(self) -> Scope:
        beginning = self.incumbent is None or self.progress.box.start > 0
        return "selected" if beginning else self.settings.scope

    @property
    def done(self) -> bool:
        return self.progress.box.length < self.settings.length_min

    def ask(self, n: int) -> Proposal:
        batch, box = Batch(self.region, self.seen, n), self.progress.box
        batch.begin(box.start, self.progress.rng)
        started = len(batch.x)
        if batch.missing and (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self.progress.rng)  # nothing fresh near the centre, or nothing known yet
        return Proposal(batch.x, box.begin(started) + box.issue(len(batch.x) - started))

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Take into the batch what the model leads to, in the box round `centre` [d]."""
        raise NotImplementedError

    def _most_candidates(self, missing: int) -> int:
        """Return how many candidates to look at for so many points."""
        return self.settings.candidates or (FEW_CANDIDATES if missing < FEW_POINTS else CANDIDATES)

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch go down the slope, [k], evenly spread."""
        numbers = self.progress.box.issued + first + np.arange(k + 1)
        going: NDArray[np.bool_] = np.diff(np.floor(numbers * self.settings.descent_share)) > 0
        return going

    def _improving(self, rows: Rows) -> list[bool]:
        """Return of each row whether it is a success."""
        raise NotImplementedError

    def tell(self, notes: list[int], rows: Rows) -> None:
        settings, box = self.settings, self.progress.box
        box.tell(notes, self._improving(rows))
        tolerance = settings.failure_tolerance or max(LEAST_FAILURES, self.seen.dim)
        box.resize(settings.success_tolerance, tolerance, settings.length_max)
        super().tell(notes, rows)

    def forget(self, notes: list[int]) -> None:
        self.progress.box.forget(notes)


class TurboSession(BoxSession):
    """A search that models the loss."""

    def __init__(self, settings: "Turbo", region: Region, seen: Observations, progress: TurboProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, settings.prior, settings.model_budget, progress.model)

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of one posterior draw."""
        settings, space, rng = self.settings, self.region.space, self.progress.rng
        posterior = self.model.beside_pruned(self.model.update(centre), centre)
        length, perturb_dims = self.progress.box.length, settings.perturb_dims
        m = self._most_candidates(batch.missing)
        success = success_near(self.seen, centre)
        for _ in range(ROUNDS):
            low, high = box(centre, posterior.hyper.lengths, length)
            x = candidates(self.region, centre, low, high, m, perturb_dims, rng)
            if not space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if len(x):
                draws = self._draws(posterior, success, min(batch.missing, len(x)))
                best = x[thompson(draws(x))]
                free = (best != centre) & space.continuous  # the others stay where the candidate left them
                free[~self._descending(len(batch.x), len(best))] = False
                batch.take(gradient_descent(self.region, best, draws.slope, low, high, free, settings.descent))
                batch.take(best)
            if not batch.missing:
                break
            length, perturb_dims = 2 * length, 2 * perturb_dims  # the box of a discrete space is nearly spent

    def _draws(self, posterior: Posterior, success: Success | None, k: int) -> Paths | SafePaths:
        """Return `k` draws of the loss, which lead away from where evaluations fail if anything is known of that."""
        paths = Paths(posterior, k, self.progress.rng)
        return paths if success is None else SafePaths(paths, success)

    def _improving(self, rows: Rows) -> list[bool]:
        target = self._target()
        return [bool(self.seen.y[row] < target) for row in rows]

    def _target(self) -> float:
        """Return the loss below which a result is a success."""
        if self.incumbent is None:
            return math.inf
        best, y = float(self.seen.y[self.incumbent]), self.seen.y[self.model.rows]
        if not len(y):
            return best
        y = np.sort(y)[: max(self.seen.dim, BEST_ROWS)]
        return best - max(0.0, IMPROVEMENT * median(y) - IMPROVEMENT * float(y[0]))

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        y = self.seen.y
        if self.incumbent is not None and len(rows := self.model.rows):
            least = 2 * ADOPTION * max(0.0, median(y[rows]) / 2 - float(y[row]) / 2)  # halves: no overflow
            if y[row] >= float(y[self.incumbent]) - least:
                return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the box has not failed here


def median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    with np.errstate(over="ignore"):
        middle = float(np.median(y))
    return middle if math.isfinite(middle) else 2.0 * float(np.median(y / 2))
