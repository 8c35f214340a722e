"""GP-BO: a Gaussian process over the region and log expected improvement maximized inside it."""

from dataclasses import dataclass, field

import numpy as np

from lamcts.models.acquisition import log_expected_improvement
from lamcts.models.fit import Prior
from lamcts.models.gp import Posterior
from lamcts.models.local import LocalModel, ModelBudget, ModelState
from lamcts.models.success import Success, success_near
from lamcts.observations import Observations
from lamcts.regions.fill import fill
from lamcts.regions.region import Region
from lamcts.rng import child
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.batch import Batch, centre
from lamcts.samplers.parts.keep_away import BEYOND
from lamcts.samplers.parts.perturb import box, candidates, local_search
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.types import Floats, whole_number

SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes round the incumbent in which candidates lie, besides the region (untuned)
STARTS = 4  # candidates that are polished (untuned)
POLISHED = 0.5  # share of the parameters that a move of polishing changes, on average (untuned)
PENDING = 200  # most pending points that are believed, the latest: bounds the factor (untuned)
MOST_START = 50  # results to begin with (untuned)
PRIOR, MODEL_BUDGET = Prior(), ModelBudget()


@dataclass(frozen=True)
class GpBo(LocalSampler):
    """Log expected improvement (arXiv 2310.20708) by candidates and polishing; for up to some hundred evaluations.

    Pending points count as if their losses had come out as expected (kriging believer), which spreads a batch.

    n_start: results to begin with, those that the region has among them (None: d + 1, at most 50; results); untuned.
    candidates: points looked at for each proposal, half of them anywhere in the region, half near the incumbent (500;
        points); untuned; paper: the thesis (5.3) draws all round the rows inside.
    local_search_rounds: rounds of shrinking moves from the best of the candidates (10; rounds); untuned; paper: the
        thesis takes the best candidate as it is, Ament et al. climb the gradient.
    prior: of the model's length scales and noise (Prior(); see there); Hvarfner et al. 2024.
    model_budget: rows in the model, and the work of its fits (ModelBudget(); see there).
    """

    n_start: int | None = None
    candidates: int = 500
    local_search_rounds: int = 10
    prior: Prior = PRIOR
    model_budget: ModelBudget = MODEL_BUDGET

    def __post_init__(self) -> None:
        whole_number(self.n_start, "GpBo: n_start", optional=True)
        whole_number(self.candidates, "GpBo: candidates")
        whole_number(self.local_search_rounds, "GpBo: local_search_rounds", least=0)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_GpBoSession":
        n_start = min(seen.dim + 1, MOST_START) if self.n_start is None else self.n_start
        progress = _Progress(rng, seen.best_row(region.rows), start=max(0, n_start - len(region.rows)))
        return _GpBoSession(self, region, seen, progress)


@dataclass
class _Progress(Progress):
    start: int  # points still to draw before the model is asked
    model: ModelState = field(default_factory=ModelState)


class _GpBoSession(LocalSession[GpBo, _Progress]):
    def __init__(self, settings: GpBo, region: Region, seen: Observations, progress: _Progress) -> None:
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
        model = self.model.update(centre)
        out = np.vstack([self.seen.pending_x()[-PENDING:], batch.x])
        if len(out):
            model = model.believing(out)
        success, everywhere = success_near(self.seen, centre), self._draws()
        while batch.missing:
            x = np.vstack([everywhere, self._nearby(centre, model)])
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if not len(x):
                break
            x = self._maximize(model, success, x)
            if not batch.take(x[:1]).any() and not batch.take(x[1:2]).any():
                break
            model = model.believing(batch.x[-1:])

    def _draws(self) -> Floats:
        """Return points of the whole region, snapped."""
        m = self.settings.candidates // 2
        if self.region.steps:
            return fill(self.region, m, child(self.progress.rng), self.seen).x
        return self.region.space.spread(self.progress.rng.random((m, self.seen.dim)))

    def _nearby(self, centre: Floats, model: Posterior) -> Floats:
        """Return points of the region near the incumbent, in boxes of several sizes shaped like the length scales."""
        m = max(1, self.settings.candidates // 2 // len(SIDES))
        d = self.seen.dim
        boxes = [box(centre, model.hyper.lengths, side) for side in SIDES]
        return np.vstack([candidates(self.region, centre, low, high, m, d, self.progress.rng) for low, high in boxes])

    def _maximize(self, model: Posterior, success: Success | None, x: Floats) -> Floats:
        """Return the best point found by polishing the best of `x` [m, d], then the best of `x` itself, [2, d]."""
        best = float(model.fitted().min())  # what is believed counts: a batch looks for more than its first point

        def loss(x: Floats) -> Floats:
            rows = x.reshape(-1, x.shape[-1])
            mean, variance = model.moments(rows)
            worth = log_expected_improvement(mean, np.sqrt(variance), best)
            if success is not None:
                worth -= BEYOND * success.shortfall(rows)
            return -worth.reshape(x.shape[:-1])

        order = np.argsort(loss(x), kind="stable")[:STARTS]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        perturb_dims = POLISHED * len(self.region.space.blocks)
        better = local_search(
            self.region, x[order], loss, low, high, perturb_dims, self.settings.local_search_rounds, self.progress.rng
        )
        return np.vstack([better[[loss(better).argmin()]], x[order[:1]]])
