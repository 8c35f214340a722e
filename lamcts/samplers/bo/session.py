"""The acquisition of `GpBo` and its maximisation: candidates under a model that includes pending points, polished.

The acquisition is the expected gain of a point, times its chance of being feasible. Letters: k points, n rows of the
model, m losses, q columns: the losses and the constraints that count; d coordinates.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import TINY, log_expected_hypervolume, log_expected_improvement
from lamcts.models.fit import LENGTH_LOCATION
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.multi_output import MultiOutput
from lamcts.models.success import Success, success_near
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.feasibility_penalty import INFEASIBLE_PENALTY
from lamcts.samplers.parts.perturb import box, candidates, local_search
from lamcts.samplers.parts.scalarisation import MAX_FRONT, MAX_LOSSES, Chebyshev, reference_of
from lamcts.samplers.parts.session import MAX_PENDING, Batch, LocalSession, Progress, centre
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.bo import GpBo

Acquisition = Callable[[Floats, Floats], Floats]  # of losses by means and standard deviations [k, m], [k]
DRAWS = 64  # of losses at each point, where nothing is known in closed form (untuned)
SOFTPLUS_CUTOFF = -30.0  # below it the logarithm of softplus is its argument but for 1e-13
SMOOTHING = 1e-2  # of a standard deviation: by so much improvements are smoothed, so that none is flat (untuned)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The processes of all columns, which of their rows are feasible or believed to be [n], and losses [p, m] of the
    front that are not among these rows.
    """

    model: MultiOutput
    feasible: NDArray[np.bool_]
    others: Floats

    @property
    def lengths(self) -> Floats:
        return self.model.lengths

    def fantasize(self, x: Floats) -> "Surrogate":
        model = self.model.fantasize(x)
        feasible = (model.z[-len(x) :, model.losses :] <= 0).all(1)
        return Surrogate(model, np.append(self.feasible, feasible), self.others)

    def loss(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        m, fitted = self.model.losses, self.model.fitted()
        f = np.vstack([fitted[self.feasible, :m], self.others])
        acquisition = _feasibly(f, m, rng) if len(f) else _towards(fitted[:, m:], m, rng)

        def loss(x: Floats) -> Floats:
            mean, variance = self.model.moments(x)  # [k, q]
            return -acquisition(mean, np.sqrt(np.maximum(variance, TINY)))

        return loss


def _feasibly(f: Floats, m: int, rng: np.random.Generator) -> Acquisition:
    """Return the logarithm of what losses add to feasible ones, `f` [p, m], times the probability of feasibility."""
    from scipy.special import log_ndtr

    if m == 1:
        added = _below(float(f.min()))
    else:
        front = f[non_dominated(f)]
        added = _by_volume(front) if m <= MAX_LOSSES else _by_weights(front, rng)

    def acquisition(mean: Floats, sd: Floats) -> Floats:
        if mean.shape[1] == m:
            return added(mean, sd)
        satisfied: Floats = log_ndtr(-mean[:, m:] / sd[:, m:]).sum(1)
        return satisfied + added(mean[:, :m], sd[:, :m])

    return acquisition


def _towards(g: Floats, m: int, rng: np.random.Generator) -> Acquisition:
    """Return the logarithm of how much less is violated than by any of the rows `g` [n, q - m], expected.

    The probability of feasibility alone sought what is least known instead of where less is violated: Ackley in ten
    dimensions took some 60 evaluations to a feasible row, not 31 (median of seeds 100 to 103).
    """
    best = float(np.maximum(g, 0.0).sum(1).min())
    less = _by_draws(lambda over: np.maximum(over, 0.0).sum(1), best, g.shape[1], rng)
    return lambda mean, sd: less(mean[:, m:], sd[:, m:])


def _below(best: float) -> Acquisition:
    return lambda mean, sd: log_expected_improvement(mean[:, 0], sd[:, 0], best)


def _by_volume(front: Floats) -> Acquisition:
    """Return the logarithm of the expected gain of volume over a front [p, m]: of three losses, over some of it."""
    thin = 1 if front.shape[1] == 2 else -(-len(front) // MAX_FRONT)
    cells = cells_of(front[::thin], reference_of(front))
    return lambda mean, sd: log_expected_hypervolume(mean, sd, cells)


def _by_weights(front: Floats, rng: np.random.Generator) -> Acquisition:
    """Return the logarithm of the expected improvement along random weights."""
    aim = Chebyshev.of_front(front, rng.dirichlet(np.ones(front.shape[1])))
    return _by_draws(aim.of, float(aim.of(front).min()), front.shape[1], rng)


def _by_draws(of: Callable[[Floats], Floats], best: float, columns: int, rng: np.random.Generator) -> Acquisition:
    """Return the logarithm of the expected improvement of a function of columns [k, j], by the same draws everywhere.

    Smoothed as `softplus`, so that it has a slope where no draw improves (Ament et al. 2023, arXiv 2310.20708).
    """
    normal = rng.standard_normal((DRAWS, columns))

    def acquisition(mean: Floats, sd: Floats) -> Floats:
        f = mean[:, None] + sd[:, None] * normal  # [k, draws, j]
        gain = (best - of(f.reshape(-1, columns)).reshape(f.shape[:2])) / SMOOTHING
        soft = np.where(gain < SOFTPLUS_CUTOFF, gain, np.log(np.logaddexp(0.0, np.maximum(gain, SOFTPLUS_CUTOFF))))
        result: Floats = np.logaddexp.reduce(soft, axis=1)
        return result

    return acquisition


BOX_SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes of candidates round the incumbent (untuned)
LOCAL_SEARCH_STARTS = 4  # candidates that are polished (untuned)
MOVED_SHARE = 0.5  # share of the parameters that a move of polishing changes, on average (untuned)
MAX_CENTRES = 4  # rows of a front that candidates lie near, drawn again for each point (untuned)


@dataclass
class BoProgress(Progress):
    start: int  # points still to draw before the model is asked
    model: ModelState = field(default_factory=ModelState)


class BoSession(LocalSession["GpBo", BoProgress]):
    """A search that models all columns: losses first, then the constraints that some row breaks."""

    def __init__(self, settings: "GpBo", region: Region, seen: Observations, progress: BoProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, LENGTH_LOCATION, settings.device, progress.model)

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        batch.begin(self.progress.start, self.progress.rng)
        self.progress.start -= len(batch.x)
        if batch.missing and (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self.progress.rng)  # nothing fresh among the candidates, or nothing known yet
        return Proposal(batch.x, [None] * len(batch.x))

    def _propose(self, batch: Batch, centre: Floats) -> None:
        surrogate = self._surrogate(centre)
        out = np.vstack([self.seen.pending_x()[-MAX_PENDING:], batch.x])
        if len(out):
            surrogate = surrogate.fantasize(out)
        success, everywhere = success_near(self.seen, centre), self._draws()
        while batch.missing:
            x = np.vstack([everywhere, self._nearby(self._centres(centre), surrogate.lengths)])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if not len(x):
                break
            x = self._maximize(self._loss(surrogate, success), x)
            if not batch.take(x[:1]).any() and not batch.take(x[1:2]).any():
                break
            surrogate = surrogate.fantasize(batch.x[-1:])

    def _loss(self, surrogate: Surrogate, success: Success | None) -> Callable[[Floats], Floats]:
        """Return how little points [k, d] are worth trying, [k]: less than all others where success is too unlikely."""
        loss = surrogate.loss(self.progress.rng)
        return loss if success is None else lambda x: loss(x) + INFEASIBLE_PENALTY * success.shortfall(x)

    def _surrogate(self, centre: Floats) -> Surrogate:
        """Return the model up to date with what is seen, right near `centre` [d]."""
        model, rows = self.model.update(centre), self.model.rows
        others = np.setdiff1d(self.seen.front, rows)
        return Surrogate(model, self.seen.feasible[rows], self.model.units.lost(self.seen.f[others]))

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

    def _maximize(self, loss: Callable[[Floats], Floats], x: Floats) -> Floats:
        """Return the best point found by polishing the best of `x` [m, d], then the best of `x` itself, [2, d]."""

        def each(x: Floats) -> Floats:
            return loss(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])

        order = np.argsort(each(x), kind="stable")[:LOCAL_SEARCH_STARTS]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        perturb_dims = MOVED_SHARE * len(self.region.space.blocks)
        better = local_search(
            self.region, x[order], each, low, high, perturb_dims, self.settings.local_search_rounds, self.progress.rng
        )
        return np.vstack([better[[each(better).argmin()]], x[order[:1]]])
