"""The session of `GpBo`: candidates under a model that includes pending points, the best of which are climbed from.

Letters: m and k points, d coordinates.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.priors import LENGTH_LOCATION
from lamcts.models.success import Success, success_near
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.feasibility_penalty import SLOPE_PENALTY, penalised
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import MAX_GAIN, MAX_PENDING, Batch, LocalSession, Progress, centre
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

if TYPE_CHECKING:
    from lamcts.samplers.bo import GpBo

BOX_SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes of candidates round the incumbent (untuned)
CLIMBS, CLIMB_STEPS = 4, 16  # candidates that are climbed from, and steps of a climb (untuned)
MAX_CENTRES = 4  # rows of a front that candidates lie near, drawn again for each point (untuned)


@dataclass
class BoProgress(Progress):
    start: int  # points still to draw before the model is asked
    model: ModelState = field(default_factory=ModelState)


class BoSession(LocalSession["GpBo", BoProgress]):
    """A search that models all columns: losses first, then the constraints that some row breaks."""

    def __init__(self, settings: "GpBo", region: Region, seen: Observations, progress: BoProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, LENGTH_LOCATION, progress.model)

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        batch.begin(self.progress.start, self.progress.rng)
        self.progress.start -= len(batch.x)
        gains: list[Note] = [None] * len(batch.x)
        if batch.missing and (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            gains += self._propose(batch, middle)
        batch.fill(self.progress.rng)  # nothing fresh among the candidates, or nothing known yet
        return Proposal(batch.x, gains + [None] * (len(batch.x) - len(gains)))

    def _propose(self, batch: Batch, centre: Floats) -> list[Note]:
        """Take points into the batch; return what each is expected to gain, of one loss."""
        gains: list[Note] = []
        surrogate = self._surrogate(centre)
        out = np.vstack([self.seen.pending_x()[-MAX_PENDING:], batch.x])
        if len(out):
            surrogate = surrogate.fantasize(Inputs.of(out))
        success, everywhere = success_near(self.seen, centre), self._draws()
        lengths = surrogate.model.lengths
        while batch.missing:
            x = np.vstack([everywhere, self._nearby(self._centres(centre), lengths)])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if not len(x):
                break
            x = self._maximise(surrogate, success, x)
            if not batch.take(x[:1]).any() and not batch.take(x[1:2]).any():
                break
            gains.append(self._gain(surrogate, batch.x[-1:]))
            surrogate = surrogate.fantasize(Inputs.of(batch.x[-1:]))

        return gains

    def _gain(self, surrogate: Surrogate, x: Floats) -> float | None:
        """Return the expected improvement at `x` [1, d] in the units of the loss; None before a feasible row."""
        if self.seen.f.shape[1] > 1 or not self.seen.feasible.any():
            return None
        unit = self.model.units.losses[0]
        with np.errstate(over="ignore"):
            return float(min(np.ldexp(np.exp(surrogate.value(Inputs.of(x))[0]) * unit.width, unit.exponent), MAX_GAIN))

    def _surrogate(self, centre: Floats) -> Surrogate:
        """Return the acquisition up to date with what is seen, right near `centre` [d]."""
        return self.model.surrogate(self.model.update(centre), self.progress.rng)

    def _centres(self, usual: Floats) -> Floats:
        """Return the incumbent; of several losses some rows of the front, [p, d]."""
        if self.seen.f.shape[1] == 1:
            return usual[None]
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if not len(front):
            return usual[None]
        chosen: Rows = self.progress.rng.permutation(front)[:MAX_CENTRES]
        return self.seen.x[chosen]

    def _draws(self) -> Floats:
        """Return points of the whole region, snapped."""
        m = self.settings.candidates // 2
        if self.region.steps:
            return fill(self.region, m, child(self.progress.rng), self.seen).x
        return self.region.space.spread(self.progress.rng.random((m, self.seen.dim)))

    def _nearby(self, centres: Floats, lengths: Floats) -> Floats:
        """Return points of the region near some of it, in boxes of several sizes shaped like the length scales."""
        m = max(1, self.settings.candidates // 2 // len(BOX_SIDES) // len(centres))
        d, rng = self.seen.dim, self.progress.rng
        boxes = [(at, *box(at, lengths, side)) for at in centres for side in BOX_SIDES]
        return np.vstack([candidates(self.region, at, low, high, m, d, rng) for at, low, high in boxes])

    def _maximise(self, surrogate: Surrogate, success: Success | None, x: Floats) -> Floats:
        """Return the best point that a climb from the best of `x` [m, d] ends at, then the best of `x`, [2, d]."""

        def climbed(x: Floats) -> tuple[Floats, Floats]:
            value, gradient = surrogate.slopes(Inputs.of(x))
            return -value, -gradient

        value = -surrogate.value(Inputs.of(x)) + (0.0 if success is None else SLOPE_PENALTY * success.shortfall(x))
        start = x[np.argsort(value, kind="stable")[:CLIMBS]]
        low, high, loss = np.zeros(x.shape[1]), np.ones(x.shape[1]), penalised(climbed, success)
        free = np.broadcast_to(self.region.space.continuous, start.shape)
        better = gradient_descent(self.region, start, loss, low, high, free, CLIMB_STEPS)
        return np.vstack([better[[loss(better)[0].argmin()]], start[:1]])
