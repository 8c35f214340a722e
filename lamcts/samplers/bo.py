"""GP-BO: a Gaussian process over the region and log expected improvement maximised inside it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts import rng as streams
from lamcts.fill import fill
from lamcts.models.acquisition import log_expected_improvement
from lamcts.models.fit import Prior
from lamcts.models.gp import Posterior
from lamcts.models.local import Effort, LocalModel
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.local import Local
from lamcts.samplers.perturb import box, candidates, polish
from lamcts.samplers.proposals import Batch, centre, leader

SIDES = (1.0, 0.3, 0.1, 0.03)  # of the boxes round the incumbent in which candidates lie, besides the whole region
STARTS = 4  # candidates that are polished
PENDING = 200  # most pending points that are believed: the latest
PRIOR, EFFORT = Prior(), Effort()


@dataclass(frozen=True)
class GpBo:
    """Log expected improvement (arXiv 2310.20708) by candidates and polishing; for up to some hundred evaluations.

    Pending points count as if their losses had come out as expected (kriging believer), which spreads a batch.
    n_start: results to begin with (None: d + 1, at most 50). candidates: points looked at for each proposal.
    polish: rounds of shrinking moves from the best of them. prior, effort: see `lamcts.models`.
    """

    n_start: int | None = None
    candidates: int = 500
    polish: int = 10
    prior: Prior = PRIOR
    effort: Effort = EFFORT

    def __post_init__(self) -> None:
        for name, least in (("n_start", 1), ("candidates", 1), ("polish", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ValueError(f"GpBo: expected {name} to be a whole number of at least {least}, got {value!r}")

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_GpBoSession":
        rows = region.rows
        n_start = min(seen.dim + 1, 50) if self.n_start is None else self.n_start
        return _GpBoSession(self, region, seen, rng, leader(seen, rows), max(0, n_start - len(rows)))

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_GpBoSession":
        rng = streams.restore(state["rng"])
        session = _GpBoSession(self, region, seen, rng, state["incumbent"], state["start"], state["tag"])
        session.model.restore(state["model"])
        return session


class _GpBoSession(Local):
    done = False
    settled = False

    def __init__(
        self,
        settings: GpBo,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        incumbent: int | None,
        start: int,
        tag: int = 0,
    ) -> None:
        super().__init__(region, seen, rng, incumbent)
        self.model = LocalModel(seen, settings.prior, settings.effort)
        self._settings = settings
        self._start, self._tag = start, tag  # points still to draw before the model is asked; the next tag

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch = Batch(self._region, self._seen, n)
        batch.begin(self._start, self._rng)
        self._start -= len(batch.x)
        if batch.missing and (middle := centre(self._region, self._seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self._rng)  # nothing fresh among the candidates, or nothing known yet
        tags = list(range(self._tag, self._tag + len(batch.x)))
        self._tag += len(tags)
        return batch.x, tags

    def _propose(self, batch: Batch, centre: Floats) -> None:
        model = self.model.update(centre)
        out = np.vstack([self._seen.pending_x()[-PENDING:], batch.x])
        if len(out):
            model = model.believing(out)
        everywhere = self._draws()
        while batch.missing:
            x = np.vstack([everywhere, self._nearby(centre, model)])
            if not self._region.space.continuous.all():
                x = x[self._seen.fresh(np.vstack([batch.x, x]))[len(batch.x) :]]
            if not len(x):
                break
            x = self._maximise(model, x)
            if not batch.take(x[:1]).any() and not batch.take(x[1:2]).any():
                break
            model = model.believing(batch.x[-1:])

    def _draws(self) -> Floats:
        """Return points of the whole region, snapped."""
        m = self._settings.candidates // 2
        if self._region.steps:
            own = np.random.default_rng(int(self._rng.integers(2**63)))  # for scipy's Sobol; see `proposals.Batch.fill`
            return fill(self._region, m, own, self._seen).x
        return self._region.space.spread(self._rng.random((m, self._seen.dim)))

    def _nearby(self, centre: Floats, model: Posterior) -> Floats:
        """Return points of the region near the incumbent, in boxes of several sizes shaped like the length scales."""
        m = max(1, self._settings.candidates // 2 // len(SIDES))
        d = self._seen.dim
        boxes = [box(centre, model.hyper.lengths, side) for side in SIDES]
        return np.vstack([candidates(self._region, centre, low, high, m, d, self._rng) for low, high in boxes])

    def _maximise(self, model: Posterior, x: Floats) -> Floats:
        """Return the best point found by polishing the best of `x` [m, d], then the best of `x` itself, [2, d]."""
        best = float(model.fitted().min())  # what is believed counts: a batch looks for more than its first point

        def loss(x: Floats) -> Floats:
            mean, variance = model.moments(x.reshape(-1, x.shape[-1]))
            return -log_expected_improvement(mean, np.sqrt(variance), best).reshape(x.shape[:-1])

        order = np.argsort(loss(x), kind="stable")[:STARTS]
        low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
        few = 0.5 * len(self._region.space.blocks)
        better = polish(self._region, x[order], loss, low, high, few, self._settings.polish, self._rng)
        return np.vstack([better[[loss(better).argmin()]], x[order[:1]]])

    def tell(self, tags: list[int], rows: Rows) -> None:
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def forget(self, tags: list[int]) -> None:
        pass  # a point that is not pending any more is no longer believed

    def state(self) -> dict[str, Any]:
        return {
            **self.core(),
            "start": self._start,
            "tag": self._tag,
            "model": self.model.state(),
        }
