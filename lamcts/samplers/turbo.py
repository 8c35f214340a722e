"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts import rng as streams
from lamcts.models.acquisition import thompson
from lamcts.models.fit import Prior
from lamcts.models.local import Effort, LocalModel
from lamcts.models.paths import Paths
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.local import Local
from lamcts.samplers.perturb import box, candidates, descend
from lamcts.samplers.progress import Progress
from lamcts.samplers.proposals import Batch, centre, leader

IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
ADOPTION = 1e-2  # of the distance to the model's median row: a gain for which the box moves to another search's row
ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region
PRIOR, EFFORT = Prior(length_location=0.7), Effort()


@dataclass(frozen=True)
class Turbo:
    """A box round the best row, shaped by the length scales of a Gaussian process, grows on success, halves on failure.

    length, length_min, length_max: the box's sides at first, at the end (below it the search has converged), at most,
    as shares of the cube. success_tolerance: batches in a row that improve before it doubles.
    failure_tolerance: evaluations in a row that do not before it halves (None: max(4, d)).
    n_start: results to begin with (None: 2 d, at most 100). candidates: points at which the posterior draws are
    looked at (None: 1000, or 500 where less than five points are asked for). few: parameters that a candidate moves at
    a time, on average. descent: steps down the slope of a draw from its best candidate, along the parameters that this
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
    few: float = 10.0
    descent: int = 8
    descent_share: float = 0.5
    settle: bool = True
    roam: bool = True
    prior: Prior = PRIOR
    effort: Effort = EFFORT

    def __post_init__(self) -> None:
        if not 0 < self.length_min < self.length <= self.length_max:
            got = f"{self.length_min!r}, {self.length!r}, {self.length_max!r}"
            raise ValueError(f"Turbo: expected 0 < length_min < length <= length_max, got {got}")
        for name, least in (("success_tolerance", 1), ("failure_tolerance", 1), ("n_start", 1), ("candidates", 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ValueError(f"Turbo: expected {name} to be a whole number of at least {least}, got {value!r}")
        if not self.few > 0 or self.descent < 0:
            raise ValueError(f"Turbo: expected few > 0 and descent >= 0, got {self.few!r} and {self.descent!r}")
        if not 0 <= self.descent_share <= 1:
            raise ValueError(f"Turbo: expected descent_share between 0 and 1, got {self.descent_share!r}")

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_TurboSession":
        n_start = min(2 * seen.dim, 100) if self.n_start is None else self.n_start
        rows = region.rows
        missing = 0 if region.steps and len(rows) else max(0, n_start - len(rows))  # a region of a tree is known ground
        progress = Progress(self.length, start=missing)
        return _TurboSession(self, region, seen, rng, leader(seen, rows), progress)

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_TurboSession":
        rng, progress = streams.restore(state["rng"]), Progress.restore(state["progress"])
        session = _TurboSession(self, region, seen, rng, state["incumbent"], progress)
        session.model.restore(state["model"])
        return session


class _TurboSession(Local):
    def __init__(
        self,
        settings: Turbo,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        incumbent: int | None,
        progress: Progress,
    ) -> None:
        super().__init__(region, seen, rng, incumbent)
        self.model = LocalModel(seen, settings.prior, settings.effort)
        self.roams = settings.roam
        self._settings = settings
        self._progress = progress

    @property
    def settled(self) -> bool:
        return self._settings.settle and self.incumbent is not None and not self._progress.start

    @property
    def done(self) -> bool:
        return self._progress.length < self._settings.length_min

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch = Batch(self._region, self._seen, n)
        batch.begin(self._progress.start, self._rng)
        started = len(batch.x)
        if batch.missing and (middle := centre(self._region, self._seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self._rng)  # nothing fresh near the centre, or nothing known yet
        return batch.x, self._progress.issue(started, len(batch.x) - started)

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of one posterior draw."""
        settings, space = self._settings, self._region.space
        posterior = self.model.update(centre)
        length, few = self._progress.length, settings.few
        m = settings.candidates or (500 if batch.missing < 5 else 1000)
        for _ in range(ROUNDS):
            low, high = box(centre, posterior.hyper.lengths, length)
            x = candidates(self._region, centre, low, high, m, few, self._rng)
            if not space.continuous.all():
                x = x[self._seen.fresh(np.vstack([batch.x, x]))[len(batch.x) :]]
            if len(x):
                paths = Paths(posterior, min(batch.missing, len(x)), self._rng)
                best = x[thompson(paths(x))]
                free = (best != centre) & space.continuous  # the others stay where the candidate left them
                free[~self._descending(len(batch.x), len(best))] = False
                batch.take(descend(self._region, best, paths.slope, low, high, free, settings.descent))
                batch.take(best)
            if not batch.missing:
                break
            length, few = 2 * length, 2 * few  # the box of a discrete space is nearly spent

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch go down the slope, [k], evenly spread."""
        numbers = self._progress.tag + first + np.arange(k + 1)
        going: NDArray[np.bool_] = np.diff(np.floor(numbers * self._settings.descent_share)) > 0
        return going

    def tell(self, tags: list[int], rows: Rows) -> None:
        target = self._target()
        self._progress.tell(tags, [bool(self._seen.y[row] < target) for row in rows])
        tolerance = self._settings.failure_tolerance or max(4, self._seen.dim)
        self._progress.resize(self._settings.success_tolerance, tolerance, self._settings.length_max)
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def _target(self) -> float:
        """Return the loss below which a result is a success."""
        if self.incumbent is None:
            return math.inf
        best, y = float(self._seen.y[self.incumbent]), self._seen.y[self.model.rows]
        if not len(y):
            return best
        y = np.sort(y)[: max(self._seen.dim, 4)]
        return best - max(0.0, IMPROVEMENT * _median(y) - IMPROVEMENT * float(y[0]))

    def adopt(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        y = self._seen.y
        if self.incumbent is not None and len(rows := self.model.rows):
            least = 2 * ADOPTION * max(0.0, _median(y[rows]) / 2 - float(y[row]) / 2)  # halves: no overflow
            if y[row] >= float(y[self.incumbent]) - least:
                return
        self.incumbent = row
        self._progress.failures = 0  # the box has not failed here

    def forget(self, tags: list[int]) -> None:
        self._progress.forget(tags)

    def state(self) -> dict[str, Any]:
        return {
            **self.core(),
            "progress": self._progress.state(),
            "model": self.model.state(),
        }


def _median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    with np.errstate(over="ignore"):
        middle = float(np.median(y))
    return middle if math.isfinite(middle) else 2.0 * float(np.median(y / 2))
