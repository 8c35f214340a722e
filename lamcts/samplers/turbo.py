"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

import math
from dataclasses import dataclass, field
from typing import get_args

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
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.samplers.parts.trust_region import TrustRegionState, check_sides
from lamcts.types import Floats, Rows, whole_number

IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
BEST_ROWS = 4  # or d of them, if more: the best rows of which the spread is taken (untuned)
ADOPTION = 1e-2  # of the distance to the model's median row: the box moves to another search's row for more (untuned)
ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region (untuned)
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000  # asked for less than the first, the second will do (untuned)
LEAST_FAILURES = 4  # arXiv 1910.01739: 4 / q batches of q points
MOST_START = 100  # as the largest initial design (optimizer/design.py)
PRIOR, MODEL_BUDGET = Prior(length_location=0.7), ModelBudget()  # shorter lengths than the prior's own (untuned)


@dataclass(frozen=True)
class Turbo(LocalSampler):
    """A box round the best row, shaped by the length scales of a Gaussian process, grows on success, halves on failure.

    The paper is Eriksson et al. 2019 (arXiv 1910.01739), with its authors' code. Lengths are shares of the cube, and
    that of the box is the geometric mean of its sides. "Tuned": on seeds 0 to 9, as benchmarks/README.md tells. The
    default search takes `Turbo(length_min=2**-7, descent_share=1.0)` for its base (`registry.py`).

    length: the box's at first (0.8; share of the cube); paper: the same.
    length_min: the search has converged when the box is below it (2^-10; share of the cube); tuned: at 2^-7 it gave up
        valleys that it was still going down; paper: 2^-7.
    length_max: the box's at most (1.6; share of the cube); paper: the same.
    success_tolerance: batches in a row that improve before the box doubles (3; batches); paper: the same, but an
        improvement is one of 1e-3 of |f|, not of the spread of the best rows.
    failure_tolerance: evaluations of one box in a row that do not before it halves (None: max(4, d); evaluations);
        paper: max(4 / q, d / q) batches of q points, rounded up.
    n_start: results to begin with, those that the region has among them (None: 2 d, at most 100; results); the most is
        untuned; paper: 2 d, drawn anew at every start, where a region of the tree that has rows begins from these.
    candidates: points of the box at which the posterior draws are looked at (None: 1000, or 500 where less than five
        points are asked for; points, uniform); untuned; paper: min(100 d, 5000), of a Sobol sequence.
    perturb_dims: parameters that a candidate moves, on average (10; parameters, d if fewer); untuned; paper: 20.
    descent: steps down the slope of a draw from its best candidate, along the parameters that this one moves (8;
        steps); untuned; paper: none, the candidate is the point.
    descent_share: of the draws, how many make these steps, while the others stay at the candidate (0.5; share); tuned:
        all of them exploit the model too much, none is far slower on Ackley; paper: none.
    scope: where it looks once it has found its place ("space"; of three). "space": across the whole space; the tree
        then says where it begins and, when it has converged, where it begins again. "incumbent", as in the thesis 5.3:
        it stays in the tree's region round the incumbent. "selected": the tree selects its region, and so which search
        goes on, anew at each ask. Measured: "incumbent" was better on none of 11 problems, and worse on four.
    prior: of the model's length scales and noise (Prior(length_location=0.7); see there); untuned; paper: none, but
        length scales stay within [0.005, 2] and the noise within [5e-4, 0.2] of the losses' variance.
    model_budget: rows in the model, and the work of its fits (ModelBudget(); see there); paper: all rows of the search,
        and 50 steps of Adam from the same start at every batch.
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
        n_start = min(2 * seen.dim, MOST_START) if self.n_start is None else self.n_start
        rows = region.rows
        missing = 0 if region.steps and len(rows) else max(0, n_start - len(rows))  # a region of a tree is known ground
        progress = _Progress(rng, seen.best_row(rows), TrustRegionState(self.length, start=missing))
        return _TurboSession(self, region, seen, progress)


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
        tolerance = settings.failure_tolerance or max(LEAST_FAILURES, self.seen.dim)
        box.resize(settings.success_tolerance, tolerance, settings.length_max)
        super().tell(notes, rows)

    def _target(self) -> float:
        """Return the loss below which a result is a success."""
        if self.incumbent is None:
            return math.inf
        best, y = float(self.seen.y[self.incumbent]), self.seen.y[self.model.rows]
        if not len(y):
            return best
        y = np.sort(y)[: max(self.seen.dim, BEST_ROWS)]
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
