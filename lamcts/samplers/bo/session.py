"""How `GpBo` proposes: the best of many candidates under a model that believes in what is out, polished."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.local import LocalModel, ModelState
from lamcts.models.success import Success, success_near
from lamcts.observations import Observations
from lamcts.regions.fill import fill
from lamcts.regions.region import Region
from lamcts.rng import child
from lamcts.samplers.base import Proposal
from lamcts.samplers.bo.acquisition import Outlook
from lamcts.samplers.parts.feasibility_penalty import BEYOND
from lamcts.samplers.parts.perturb import box, candidates, local_search
from lamcts.samplers.parts.session import Batch, LocalSession, Progress, centre
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.bo import GpBo

SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes round the incumbent in which candidates lie, besides the region (untuned)
STARTS = 4  # candidates that are polished (untuned)
POLISHED = 0.5  # share of the parameters that a move of polishing changes, on average (untuned)
CENTRES = 4  # rows of a front that candidates lie near, drawn again for each point (untuned)
PENDING = 200  # most pending points that are believed, the latest: bounds the factor (untuned)


@dataclass
class BoProgress(Progress):
    start: int  # points still to draw before the model is asked
    model: ModelState = field(default_factory=ModelState)


class BoSession(LocalSession["GpBo", BoProgress]):
    """A search that models all columns: losses first, then the constraints that some row breaks."""

    def __init__(self, settings: "GpBo", region: Region, seen: Observations, progress: BoProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, settings.prior, settings.model_budget, progress.model)

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        batch.begin(self.progress.start, self.progress.rng)
        self.progress.start -= len(batch.x)
        if batch.missing and (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self.progress.rng)  # nothing fresh among the candidates, or nothing known yet
        return Proposal(batch.x, [None] * len(batch.x))

    def _propose(self, batch: Batch, centre: Floats) -> None:
        outlook = self._outlook(centre)
        out = np.vstack([self.seen.pending_x()[-PENDING:], batch.x])
        if len(out):
            outlook = outlook.believing(out)
        success, everywhere = success_near(self.seen, centre), self._draws()
        while batch.missing:
            x = np.vstack([everywhere, self._nearby(self._centres(centre), outlook.lengths)])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if not len(x):
                break
            x = self._maximize(self._loss(outlook, success), x)
            if not batch.take(x[:1]).any() and not batch.take(x[1:2]).any():
                break
            outlook = outlook.believing(batch.x[-1:])

    def _loss(self, outlook: Outlook, success: Success | None) -> Callable[[Floats], Floats]:
        """Return how little points [k, d] are worth trying, [k]: less than all others where success is too unlikely."""
        loss = outlook.loss(self.progress.rng)
        return loss if success is None else lambda x: loss(x) + BEYOND * success.shortfall(x)

    def _outlook(self, centre: Floats) -> Outlook:
        """Return the model up to date with what is seen, right near `centre` [d]."""
        model, rows = self.model.update(centre), self.model.rows
        others = np.setdiff1d(self.seen.front, rows)
        return Outlook(model, self.seen.feasible[rows], self.model.units.lost(self.seen.f[others]))

    def _centres(self, usual: Floats) -> Floats:
        """Return the incumbent; of several losses some rows of the front, [p, d]."""
        if self.seen.f.shape[1] == 1:
            return usual[None]
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if not len(front):
            return usual[None]
        chosen: Rows = self.progress.rng.permutation(front)[:CENTRES]
        return self.seen.x[chosen]

    def _draws(self) -> Floats:
        """Return points of the whole region, snapped."""
        m = self.settings.candidates // 2
        if self.region.steps:
            return fill(self.region, m, child(self.progress.rng), self.seen).x
        return self.region.space.spread(self.progress.rng.random((m, self.seen.dim)))

    def _nearby(self, centres: Floats, lengths: Floats) -> Floats:
        """Return points of the region near some of it, in boxes of several sizes shaped like the length scales."""
        m = max(1, self.settings.candidates // 2 // len(SIDES) // len(centres))
        d, rng = self.seen.dim, self.progress.rng
        boxes = [(at, *box(at, lengths, side)) for at in centres for side in SIDES]
        return np.vstack([candidates(self.region, at, low, high, m, d, rng) for at, low, high in boxes])

    def _maximize(self, loss: Callable[[Floats], Floats], x: Floats) -> Floats:
        """Return the best point found by polishing the best of `x` [m, d], then the best of `x` itself, [2, d]."""

        def each(x: Floats) -> Floats:
            return loss(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])

        order = np.argsort(each(x), kind="stable")[:STARTS]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        perturb_dims = POLISHED * len(self.region.space.blocks)
        better = local_search(
            self.region, x[order], each, low, high, perturb_dims, self.settings.local_search_rounds, self.progress.rng
        )
        return np.vstack([better[[each(better).argmin()]], x[order[:1]]])
