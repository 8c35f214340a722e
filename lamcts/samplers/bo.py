"""GP-BO: log expected improvement of a Gaussian process, maximised inside the region.

Candidates lie in the whole region and in boxes around the incumbent; the best of them climb. With a trust region, all
candidates lie in a cube around the incumbent. Letters: m and k points, d coordinates.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.lbfgsb import lowest
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.output_transforms import plain
from lamcts.models.priors import REAL_PRIOR
from lamcts.models.success import SLOPE_PENALTY, Success, unless_chance
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.bayesian import CLIMBS, Acquisition, BayesianProgress, propose
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, bisect_into, centre
from lamcts.samplers.registry import register
from lamcts.spaces.base import is_dependent
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows, is_number, whole_number

CANDIDATES = 500  # half in the region, half near the incumbent or the front: more cost time, fewer miss optima
BOX_SIDES = (1.0, 0.3, 0.1, 0.03)  # sides of the boxes around the incumbent: from the cube down to close points
CLIMB_STEPS = 16  # steps of a climb: more cost time, fewer stop below the optimum
GROWTH, SHRINKAGE = 1.4, 0.8  # factors of the trust region after a gain and without one (development runs)
LEAST_SHARE = 0.1  # share of the first half width below which the trust region is reset
MAX_RADIUS = 0.5  # largest half width, as a share of the cube
MEAN_EVERY, MEAN_STEPS = 5, 50  # one point in five minimises the posterior mean; L-BFGS steps (development runs)


@register("bo", "Gaussian process with expected improvement, for up to some hundred evaluations")
@dataclass(frozen=True)
class GpBo(LocalSampler):
    """Bayesian optimisation with log expected improvement, for up to some hundred evaluations.

    Parameters
    ----------
    n_start : int, default 5
        Number of initial results: the centre and random points.
    radius : float or None, default None
        First half width of a trust region, a cube around the best point, as a share of each range, at most 0.5. It
        grows after a gain and shrinks without one; below a tenth it is reset. One point in five minimises the posterior
        mean in it, for a single loss without constraints. None is the whole region. The default search has 0.2 in more
        than 40 dimensions.
    device : str or None, default None
        Device of torch, such as "cpu" or "cuda" (extra: torch). With more than 1,000 evaluations, the model then has
        the 3,000 nearest to the best point, and gpytorch fits its hyper-parameters to all of them on the device. None:
        the nearest 500, of which NumPy fits the best 250.

    Notes
    -----
    The best candidates climb the gradient of the acquisition function. Pending points count with their predicted losses
    (kriging believer). With constraints, improvement is multiplied by the probability of feasibility (Schonlau et al.
    1998); before a feasible row, the violation is reduced. With up to four objectives the acquisition function is the
    exact expected hypervolume improvement. With more it is the improvement along random weights (Knowles 2006).

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

    version: ClassVar[int] = 5  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True, centre=True)
    n_start: int = 5  # the default of Ax
    radius: float | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.n_start, "GpBo: n_start", least=0)
        if self.radius is not None and not (is_number(self.radius) and 0 < self.radius <= MAX_RADIUS):
            raise ValueError(
                f"GpBo: radius: expected a share above 0, at most {MAX_RADIUS}, or None; got {self.radius!r}"
            )
        if self.device is not None:
            from lamcts.models.gpytorch_loss import check_device  # imports torch: if later, its threads are not limited

            check_device(self.device)

    def classes(self) -> tuple[type["_GpBoSession"], type["GpBoProgress"]]:
        return _GpBoSession, GpBoProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "GpBoProgress":
        n_start = max(0, self.n_start - len(region.rows))
        return GpBoProgress(rng, seen.best_row(region.rows), n_start, self.radius or MAX_RADIUS)


@dataclass
class GpBoProgress(BayesianProgress):
    radius: float = MAX_RADIUS  # half width of the trust region
    n_proposed: int = 0  # points by the model
    model: ModelState = field(default_factory=ModelState)


class _GpBoSession(LocalSession[GpBo, GpBoProgress]):
    def __init__(self, settings: GpBo, region: Region, seen: Observations, progress: GpBoProgress) -> None:
        super().__init__(settings, region, seen, progress)
        device = settings.device
        self.model = LocalModel(seen, Inputs.of, REAL_PRIOR, progress.model, plain, real=True, device=device)

    def ask(self, n: int) -> Proposal:
        return propose(self, n, self._acquisition)

    def _acquisition(self) -> Acquisition | None:
        if (row := centre(self.region, self.seen, self.incumbent)) is None:
            return None
        middle = self.seen.x[row]
        surrogate = self.model.update(row, self.progress.rng)
        success = unless_chance(surrogate.success)
        surrogate = replace(surrogate, success=None)  # a penalty, not a factor
        lengths = surrogate.model.lengths if surrogate.model.parts else np.ones(self.seen.dim)
        low, high = self._trust_region(middle)
        draws = self._draws(low, high)

        def best(batch: Batch, surrogate: Surrogate) -> Floats:
            self.progress.n_proposed += 1
            if self._minimises_mean(surrogate, success):
                point = self._lowest_mean(surrogate, middle, low, high)
                if self.seen.unseen(np.vstack([batch.x, point]))[-1]:
                    return point
            nearby = self._nearby(self._centres(middle), lengths)
            if self.settings.radius is not None:
                nearby = self.region.space.snap(nearby.clip(low, high))
            x = np.vstack([draws, nearby])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            return self._maximise(surrogate, success, x, low, high) if len(x) else x

        return Acquisition(surrogate, Inputs.of, self.model.unit, best)

    def _trust_region(self, middle: Floats) -> tuple[Floats, Floats]:
        """Return low and high [d] of the trust region around `middle` [d]; it bounds real parameters only."""
        radius = 1.0 if self.settings.radius is None else self.progress.radius
        is_real = self.region.space.continuous
        return np.where(is_real, middle - radius, 0.0).clip(0, 1), np.where(is_real, middle + radius, 1.0).clip(0, 1)

    def _minimises_mean(self, surrogate: Surrogate, success: Success | None) -> bool:
        """Return whether the next point minimises the posterior mean."""
        is_single = len(surrogate.model.parts) == 1 and surrogate.model.losses == 1 and success is None
        is_real = bool(self.region.space.continuous.all()) and not is_dependent(self.region.space)
        return self.settings.radius is not None and is_single and is_real and self.progress.n_proposed % MEAN_EVERY == 0

    def _lowest_mean(self, surrogate: Surrogate, start: Floats, low: Floats, high: Floats) -> Floats:
        """Return the minimiser of the posterior mean in a box, inside the region, [1, d]."""
        (part,) = surrogate.model.parts

        def slope(u: Floats) -> tuple[float, Floats]:
            mean, gradient = part.mean_slopes(Inputs.of(u[None]))
            return float(mean[0, 0]), gradient[0, 0]

        x = lowest(slope, start, low, high, MEAN_STEPS)[0][None]
        return bisect_into(x, start, self.region) if self.region.steps else self.region.space.snap(x)

    def _centres(self, incumbent: Floats) -> Floats:
        """Return the incumbent; with several losses, random rows of the front, [p, d]."""
        if self.seen.f.shape[1] == 1:
            return incumbent[None]
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if not len(front):
            return incumbent[None]
        chosen: Rows = self.progress.rng.permutation(front)[:CLIMBS]
        return self.seen.x[chosen]

    def _draws(self, low: Floats, high: Floats) -> Floats:
        """Return snapped points of the region, or of the trust region `low` to `high` [d]."""
        space = self.region.space
        if self.region.steps:
            x = fill(self.region, CANDIDATES // 2, child(self.progress.rng), self.seen).x
        else:
            x = space.spread(self.progress.rng.random((CANDIDATES // 2, self.seen.dim)))
        if self.settings.radius is None:
            return x
        return space.snap(np.where(space.continuous, low + (high - low) * x, x))

    def _nearby(self, centres: Floats, lengths: Floats) -> Floats:
        """Return points of the region near the centres [p, d], in boxes of several sizes."""
        m = max(1, CANDIDATES // 2 // len(BOX_SIDES) // len(centres))
        d, rng = self.seen.dim, self.progress.rng
        boxes = [(centre, *box(centre, lengths, side)) for centre in centres for side in BOX_SIDES]
        return np.vstack([candidates(self.region, centre, low, high, m, d, rng) for centre, low, high in boxes])

    def _maximise(self, surrogate: Surrogate, success: Success | None, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the best end of climbs from the best of `x` [m, d], then the best of `x`, [2, d]."""

        def loss(x: Floats) -> tuple[Floats, Floats]:
            value, gradient = surrogate.slopes(Inputs.of(x))
            shortfall, slope = (np.zeros(()), np.zeros(())) if success is None else success.slope(x)
            return SLOPE_PENALTY * shortfall - value, SLOPE_PENALTY * slope - gradient

        value = -surrogate.value(Inputs.of(x)) + (0.0 if success is None else SLOPE_PENALTY * success.shortfall(x))
        start = x[np.argsort(value, kind="stable")[:CLIMBS]]
        free = np.broadcast_to(self.region.space.continuous, start.shape)
        ends = gradient_descent(self.region, start, loss, low, high, free, CLIMB_STEPS)
        return np.vstack([ends[[loss(ends)[0].argmin()]], start[:1]])

    def tell(self, notes: list[Note], rows: Rows) -> None:
        before = self.incumbent
        first_radius = self.settings.radius
        super().tell(notes, rows)
        if first_radius is not None:
            radius = min(self.progress.radius * (SHRINKAGE if self.incumbent == before else GROWTH), MAX_RADIUS)
            self.progress.radius = radius if radius >= LEAST_SHARE * first_radius else first_radius
