"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import thompson
from lamcts.models.fit import Prior
from lamcts.models.local import LocalModel, ModelBudget, ModelState
from lamcts.models.paths import Paths
from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal, Scope
from lamcts.samplers.parts.batch import Batch, centre
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import LocalSession, Progress
from lamcts.samplers.parts.trust_region import TrustRegionState, check_sides
from lamcts.types import Floats, Rows, whole_number

IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
ADOPTION = 1e-2  # of the distance to the model's median row: a gain for which the box moves to another search's row
ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000  # asked for less than the first, the second will do (untuned)
PRIOR, MODEL_BUDGET = Prior(length_location=0.7), ModelBudget()


@dataclass(frozen=True)
class Turbo:
    """A box round the best row, shaped by the length scales of a Gaussian process, grows on success, halves on failure.

    length, length_min, length_max: the box's sides at first, at the end (below it the search has converged), at most,
    as shares of the cube. success_tolerance: batches in a row that improve before it doubles.
    failure_tolerance: evaluations in a row that do not before it halves (None: max(4, d)).
    n_start: results to begin with (None: 2 d, at most 100). candidates: points at which the posterior draws are
    looked at (None: 1000, or 500 where less than five points are asked for). perturb_dims: parameters that a candidate
    moves at a time, on average. descent: steps down the slope of a draw from its best candidate, along the parameters that this
    one moves. descent_share: share of the draws that make them (the others stay at the candidate, and exploit the model
    less). settle: keep the search until it has converged (thesis 5.3); False: the tree selects its region, and so which
    search goes on, anew at every ask. roam: once settled, look across the whole space, so that the tree says where the
    search begins and, when it has converged, where it begins again; False: stay in the tree's region round the
    incumbent too, as in the thesis: it costs evaluations on some functions and gains none on any (see benchmarks).
    """

    length: float = 0.8
    length_min: float = 2**-10
    length_max: float = 1.6
    success_tolerance: int = 3
    failure_tolerance: int | None = None
    n_start: int | None = None
    candidates: int | None = None
    perturb_dims: float = 10.0
    descent: int = 8
    descent_share: float = 0.5
    scope: Scope = "space"
    prior: Prior = PRIOR
    model_budget: ModelBudget = MODEL_BUDGET
    resumable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_sides("Turbo", self.length_min, self.length, self.length_max)
        whole_number(self.success_tolerance, "Turbo: success_tolerance")
        for name in ("failure_tolerance", "n_start", "candidates"):
            whole_number(getattr(self, name), f"Turbo: {name}", optional=True)
        if self.scope not in get_args(Scope):
            raise ValueError(f"Turbo: expected a scope of {', '.join(get_args(Scope))}, got {self.scope!r}")
        if not self.perturb_dims > 0 or self.descent < 0:
            raise ValueError(
                f"Turbo: expected perturb_dims > 0 and descent >= 0, got {self.perturb_dims!r} and {self.descent!r}"
            )
        if not 0 <= self.descent_share <= 1:
            raise ValueError(f"Turbo: expected descent_share between 0 and 1, got {self.descent_share!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_TurboSession":
        n_start = min(2 * seen.dim, 100) if self.n_start is None else self.n_start
        rows = region.rows
        missing = 0 if region.steps and len(rows) else max(0, n_start - len(rows))  # a region of a tree is known ground
        progress = _Progress(rng, seen.best_row(rows), TrustRegionState(self.length, start=missing))
        return _TurboSession(self, region, seen, progress)

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_TurboSession":
        return _TurboSession.restored(self, _Progress, state, log, region, seen)


@dataclass
class _Progress(Progress):
    box: TrustRegionState
    model: ModelState = field(default_factory=ModelState)


class _TurboSession(LocalSession[Turbo, _Progress]):
    def __init__(self, settings: Turbo, region: Region, seen: Observations, progress: _Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, settings.prior, settings.model_budget, progress.model)

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
        """Thompson sampling in the box: each missing point is the best candidate of one posterior draw."""
        settings, space, rng = self.settings, self.region.space, self.progress.rng
        posterior = self.model.update(centre)
        length, perturb_dims = self.progress.box.length, settings.perturb_dims
        m = settings.candidates or (FEW_CANDIDATES if batch.missing < FEW_POINTS else CANDIDATES)
        for _ in range(ROUNDS):
            low, high = box(centre, posterior.hyper.lengths, length)
            x = candidates(self.region, centre, low, high, m, perturb_dims, rng)
            if not space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if len(x):
                paths = Paths(posterior, min(batch.missing, len(x)), rng)
                best = x[thompson(paths(x))]
                free = (best != centre) & space.continuous  # the others stay where the candidate left them
                free[~self._descending(len(batch.x), len(best))] = False
                batch.take(gradient_descent(self.region, best, paths.slope, low, high, free, settings.descent))
                batch.take(best)
            if not batch.missing:
                break
            length, perturb_dims = 2 * length, 2 * perturb_dims  # the box of a discrete space is nearly spent

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch go down the slope, [k], evenly spread."""
        numbers = self.progress.box.issued + first + np.arange(k + 1)
        going: NDArray[np.bool_] = np.diff(np.floor(numbers * self.settings.descent_share)) > 0
        return going

    def tell(self, notes: list[int], rows: Rows) -> None:
        target, settings, box = self._target(), self.settings, self.progress.box
        box.tell(notes, [bool(self.seen.y[row] < target) for row in rows])
        tolerance = settings.failure_tolerance or max(4, self.seen.dim)
        box.resize(settings.success_tolerance, tolerance, settings.length_max)
        super().tell(notes, rows)

    def _target(self) -> float:
        """Return the loss below which a result is a success."""
        if self.incumbent is None:
            return math.inf
        best, y = float(self.seen.y[self.incumbent]), self.seen.y[self.model.rows]
        if not len(y):
            return best
        y = np.sort(y)[: max(self.seen.dim, 4)]
        return best - max(0.0, IMPROVEMENT * _median(y) - IMPROVEMENT * float(y[0]))

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        y = self.seen.y
        if self.incumbent is not None and len(rows := self.model.rows):
            least = 2 * ADOPTION * max(0.0, _median(y[rows]) / 2 - float(y[row]) / 2)  # halves: no overflow
            if y[row] >= float(y[self.incumbent]) - least:
                return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the box has not failed here

    def forget(self, notes: list[int]) -> None:
        self.progress.box.forget(notes)


def _median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    with np.errstate(over="ignore"):
        middle = float(np.median(y))
    return middle if math.isfinite(middle) else 2.0 * float(np.median(y / 2))
