"""GP-BO: a Gaussian process over the region and log expected improvement maximized inside it.

Candidates lie in the whole region and in boxes round the incumbent; the best of them climb. Letters: m and k points, d
coordinates.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.output_transforms import plain
from lamcts.models.priors import REAL_PRIOR
from lamcts.models.success import SLOPE_PENALTY, Success, unless_chance
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.bayesian import CLIMBS, BayesianProgress, Look, propose
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, centre
from lamcts.samplers.registry import register
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows, whole_number

CANDIDATES = 500  # half of them anywhere in the region, half near the incumbent or the front (untuned)
BOX_SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes of candidates round the incumbent (untuned)
CLIMB_STEPS = 16  # of a climb (untuned)


@register("bo", "Gaussian process with expected improvement, for up to some hundred evaluations")
@dataclass(frozen=True)
class GpBo(LocalSampler):
    """Bayesian optimisation with log expected improvement, for up to some hundred evaluations.

    Parameters
    ----------
    n_start : int, default 5
        Results to begin with, the centre and random points.

    Notes
    -----
    The best candidates climb the slope of the criterion. Pending points count with their predicted losses (kriging
    believer). With constraints, improvement is multiplied by
    the probability of feasibility (Schonlau et al. 1998); before a feasible row, the violation is reduced. With up to
    four objectives the criterion is the exact expected hypervolume improvement. With more it is the improvement along
    random weights (Knowles 2006).

    References
    ----------
    Ament, Daulton, Eriksson, Balandat and Bakshy (2023), arXiv 2310.20708.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.GpBo(n_start=3), seed=0)
    >>> len(opt.ask(2))
    2
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings
    multi_output: ClassVar[bool] = True
    starts_at_centre: ClassVar[bool] = True
    n_start: int = 5  # the default of Ax

    def __post_init__(self) -> None:
        whole_number(self.n_start, "GpBo: n_start", least=0)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_GpBoSession":
        missing = max(0, self.n_start - len(region.rows))
        return _GpBoSession(self, region, seen, GpBoProgress(rng, seen.best_row(region.rows), missing))


@dataclass
class GpBoProgress(BayesianProgress):
    model: ModelState = field(default_factory=ModelState)


class _GpBoSession(LocalSession[GpBo, GpBoProgress]):
    def __init__(self, settings: GpBo, region: Region, seen: Observations, progress: GpBoProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, Inputs.of, REAL_PRIOR, progress.model, plain, real=True)

    def ask(self, n: int) -> Proposal:
        return propose(self, n, self._look)

    def _look(self) -> Look | None:
        if (row := centre(self.region, self.seen, self.incumbent)) is None:
            return None
        look, everywhere = self.model.update(row, self.progress.rng), self._draws()
        success, look = unless_chance(look.success), replace(look, success=None)  # a price, not a factor
        lengths = look.model.lengths if look.model.parts else np.ones(self.seen.dim)

        def best(batch: Batch, surrogate: Surrogate) -> Floats:
            x = np.vstack([everywhere, self._nearby(self._centres(self.seen.x[row]), lengths)])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            return self._maximise(surrogate, success, x) if len(x) else x

        return Look(look, Inputs.of, self.model.unit, best)

    def _centres(self, usual: Floats) -> Floats:
        """Return the incumbent; of several losses some rows of the front, drawn again for each point, [p, d]."""
        if self.seen.f.shape[1] == 1:
            return usual[None]
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if not len(front):
            return usual[None]
        chosen: Rows = self.progress.rng.permutation(front)[:CLIMBS]
        return self.seen.x[chosen]

    def _draws(self) -> Floats:
        """Return points of the whole region, snapped."""
        if self.region.steps:
            return fill(self.region, CANDIDATES // 2, child(self.progress.rng), self.seen).x
        return self.region.space.spread(self.progress.rng.random((CANDIDATES // 2, self.seen.dim)))

    def _nearby(self, centres: Floats, lengths: Floats) -> Floats:
        """Return points of the region near some of it, in boxes of several sizes shaped like the length scales."""
        m = max(1, CANDIDATES // 2 // len(BOX_SIDES) // len(centres))
        d, rng = self.seen.dim, self.progress.rng
        boxes = [(at, *box(at, lengths, side)) for at in centres for side in BOX_SIDES]
        return np.vstack([candidates(self.region, at, low, high, m, d, rng) for at, low, high in boxes])

    def _maximise(self, surrogate: Surrogate, success: Success | None, x: Floats) -> Floats:
        """Return the best point that a climb from the best of `x` [m, d] ends at, then the best of `x`, [2, d]."""

        def loss(x: Floats) -> tuple[Floats, Floats]:
            value, gradient = surrogate.slopes(Inputs.of(x))
            short, way = (np.zeros(()), np.zeros(())) if success is None else success.slope(x)
            return SLOPE_PENALTY * short - value, SLOPE_PENALTY * way - gradient

        value = -surrogate.value(Inputs.of(x)) + (0.0 if success is None else SLOPE_PENALTY * success.shortfall(x))
        start = x[np.argsort(value, kind="stable")[:CLIMBS]]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        free = np.broadcast_to(self.region.space.continuous, start.shape)
        better = gradient_descent(self.region, start, loss, low, high, free, CLIMB_STEPS)
        return np.vstack([better[[loss(better)[0].argmin()]], start[:1]])
