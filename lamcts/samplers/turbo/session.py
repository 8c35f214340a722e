"""The trust region of `Turbo`: what it proposes, and when it grows, shrinks and moves.

Draws of all columns decide on one set of candidates. One loss: Eriksson et al. 2019 (TuRBO, arXiv 1910.01739), with
constraints Eriksson and Poloczek 2021 (SCBO, arXiv 2002.08526). Several losses: Daulton et al. 2022 (MORBO, arXiv
2109.10964), but one box, which lies round several rows of the front in turn.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.models.coding import Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.multi_output import MultiOutput, MultiOutputPaths
from lamcts.models.success import success_near
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import REFERENCE_MARGIN, contributions
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.scalarisation import MAX_LOSSES, Chebyshev, Hypervolume, dominated, reference_of
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.feasibility_penalty import PenalisedPaths, penalised
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import Batch, LocalSession, Progress, centre
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.samplers.turbo.acquisition import picked
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.turbo import Turbo

LENGTH_MAX = 1.6  # largest side, as in the paper
SUCCESS_TOLERANCE = 3  # improving batches in a row before the box doubles, as in the paper
LENGTH_LOCATION = 0.7  # prior mean of log(length / sqrt(d)): shorter than the default of `priors.py` (untuned)
IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
BEST_ROWS = 4  # or d of them, if more: the best rows of which the spread is taken (untuned)
ADOPTION = 1e-2  # of the distance to the model's median row: the box moves to another search's row for more (untuned)
ROUNDS = 3  # boxes tried, each twice as wide, before the rest of a batch is drawn from the whole region (untuned)
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000  # points of the box at which draws are looked at; asked for less
# than the first, the second will do (untuned; arXiv 1910.01739: min(100 d, 5000), of a Sobol sequence)
PERTURB_DIMS = 10.0  # parameters that a candidate moves, on average (untuned; arXiv 1910.01739: 20)
DESCENT_STEPS = 8  # steps down the slope of a draw, along the parameters that its candidate moves (untuned; the
# paper: none)
MIN_FAILURES = 4  # arXiv 1910.01739: 4 / q batches of q points
AXIS_SHARE = 0.3  # candidates that move one parameter or two anywhere, for each of the box: without them the ends of
# a front stayed unknown (ZDT1: 115.9 with none, 120.2 with them, of 120.67; seeds 0 and 1)
CENTRES_SHARING = 2  # centres that the usual number of candidates is for; more have as many each (untuned)
# Exact expected gains for two losses, used instead of a draw.
EXACT_MAX_DIM = 5  # most dimensions (BraninCurrin at 100 from log10 0.01 to -0.30 by it; in ten ZDT3 was worse)
EXACT_ROWS = 512  # in the model: more cost too much (untuned)
EXACT_CANDIDATES, EXACT_STARTS, EXACT_STEPS = 1000, 4, 16  # candidates, those of them that are climbed from, and how
# far (untuned)
MAX_CENTRES, VOLUME_CENTRES = 4, 3  # rows of a front that a batch lies round, and those of them by what they add
# (untuned)
CENTRE_WAIT = 20  # asks before a row is a centre again (untuned; MORBO: 100)
MIN_VOLUME_GAIN = 1e-3  # of the volume between a front's best and its reference: a row that adds less is no success
# (untuned)


@dataclass
class TurboProgress(Progress):
    """used: at which ask a row was last a centre."""

    box: TrustRegionState
    model: ModelState = field(default_factory=ModelState)
    asks: int = 0
    used: dict[int, int] = field(default_factory=dict)


class CandidatePool(NamedTuple):
    """Candidates `x`, the centre that each is a move of, and the box of the move: all [c, d]."""

    x: Floats
    centre: Floats
    low: Floats
    high: Floats


class TurboSession(LocalSession["Turbo", TurboProgress]):
    """A search that models all columns: losses first, then the constraints that some row breaks."""

    def __init__(self, settings: "Turbo", region: Region, seen: Observations, progress: TurboProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, LENGTH_LOCATION, progress.model)
        self.losses = seen.f.shape[1]

    @property
    def done(self) -> bool:
        """Whether the box is shut; of several losses it begins again, wide, since the front goes on elsewhere.

        ZDT1 in ten dimensions gained 0.2 by it, ZDT3 0.5 (means of seeds 100 to 102, 500 evaluations).
        """
        return self.losses == 1 and self.progress.box.length < self.settings.length_min

    # What it proposes -----------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        batch, box = Batch(self.region, self.seen, n), self.progress.box
        batch.begin(box.start, self.progress.rng)
        started = len(batch.x)
        if batch.missing and (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        batch.fill(self.progress.rng)  # nothing fresh near the centre, or nothing known yet
        return Proposal(batch.x, box.begin(started) + box.issue(len(batch.x) - started))

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of one draw of each column."""
        if self.losses > 1 and self.progress.box.length < self.settings.length_min:
            self.progress.box.reopen(self.settings.length)
        model = self.model.update(centre)
        front, centres = self._front(), self._centres(centre)
        length, perturb_dims = self.progress.box.length, PERTURB_DIMS
        for _ in range(ROUNDS):
            pool = self._pool(batch, model, centres, length, perturb_dims)
            if len(pool.x):
                if not len(batch.x) and self._exact(model, front):
                    front = self._expect(batch, model, pool, front)
                if batch.missing:
                    self._take(batch, model, pool, front)
            if not batch.missing:
                break
            length, perturb_dims = 2 * length, 2 * perturb_dims  # the box of a discrete space is nearly spent

    def _take(self, batch: Batch, model: MultiOutput, pool: CandidatePool, front: Floats) -> None:
        drawn = MultiOutputPaths(model, min(batch.missing, len(pool.x)), self.progress.rng)
        success = success_near(self.seen, pool.centre[0])
        paths = drawn if success is None else PenalisedPaths(drawn, success)
        picks = picked(paths(pool.x).astype(float), self.losses, front, self.progress.rng)
        best, middle, low, high = (own[picks.rows] for own in pool)
        free = (best != middle) & self.region.space.continuous  # the others stay where the candidate left them
        free[~self._descending(len(batch.x), len(best))] = False

        def slope(x: Floats) -> tuple[Floats, Floats]:
            return picks.slope(*paths.slopes(x))

        batch.take(gradient_descent(self.region, best, slope, low, high, free, DESCENT_STEPS))
        batch.take(best)

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch go down the slope, [k], evenly spread."""
        numbers = self.progress.box.issued + first + np.arange(k + 1)
        going: NDArray[np.bool_] = np.diff(np.floor(numbers * self.settings.descent_share)) > 0
        return going

    def _exact(self, model: MultiOutput, front: Floats) -> bool:
        """Return whether a point is by what it is expected to add: always in few dimensions, else at every other ask.

        Where a model cannot know the whole space, draws find what lies elsewhere.
        """
        if self.losses != 2 or not len(front) or len(model.parts[0].z) > EXACT_ROWS:
            return False
        return self.seen.dim <= EXACT_MAX_DIM or self.progress.asks % 2 == 0

    def _expect(self, batch: Batch, model: MultiOutput, pool: CandidatePool, front: Floats) -> Floats:
        """Take the point that is expected to add most to the front; return the front as if it had."""
        surrogate = Surrogate(model, front, np.inf, self.progress.rng, margin=REFERENCE_MARGIN)

        def loss(x: Floats) -> tuple[Floats, Floats]:
            value, gradient = surrogate.slopes(Inputs.of(x))
            return -value, -gradient

        acquisition = penalised(loss, success_near(self.seen, pool.centre[0]))
        thin = -(-len(pool.x) // EXACT_CANDIDATES)
        pool = CandidatePool(*(own[::thin] for own in pool))
        starts = self._likely(model, pool.x, front)
        starts = starts[acquisition(pool.x[starts])[0].argsort(kind="stable")[:EXACT_STARTS]]
        start, middle, low, high = (own[starts] for own in pool)
        free = (start != middle) & self.region.space.continuous
        x = gradient_descent(self.region, start, acquisition, low, high, free, EXACT_STEPS)
        x = x[[acquisition(x)[0].argmin()]]
        batch.take(x)
        z = model.expect(Inputs.of(x))
        feasible = (z[:, self.losses :] <= 0).all(1)
        return np.vstack([front, z[feasible, : self.losses]])

    def _likely(self, model: MultiOutput, x: Floats, front: Floats) -> Rows:
        """Return candidates [c, d] that some draws lead to, and those that add most where all comes out as expected."""
        rng, mean = self.progress.rng, model.expect(Inputs.of(x))
        paths = MultiOutputPaths(model, min(EXACT_STARTS, len(x)), rng)
        drawn = picked(paths(x).astype(float), self.losses, front, rng).rows
        value = Hypervolume(front, REFERENCE_MARGIN).of(mean[:, : self.losses])
        value = value + np.maximum(mean[:, self.losses :], 0.0).sum(1)
        return np.unique(np.r_[drawn, value.argsort(kind="stable")[:EXACT_STARTS]])

    def _pool(
        self, batch: Batch, model: MultiOutput, centres: Floats, length: float, perturb_dims: float
    ) -> CandidatePool:
        """Return candidates round all centres; of several losses, some that move little, but anywhere."""
        usual = FEW_CANDIDATES if batch.missing < FEW_POINTS else CANDIDATES
        m = usual // min(len(centres), CENTRES_SHARING)
        zero, one = np.zeros(self.seen.dim), np.ones(self.seen.dim)
        parts = []
        for at in centres:
            parts.append(self._round(at, *box(at, model.lengths, length), m, perturb_dims))
            if self.losses > 1:
                parts.append(self._round(at, zero, one, int(AXIS_SHARE * m), 1.0))
        pool = parts[0] if len(parts) == 1 else CandidatePool(*map(np.vstack, zip(*parts, strict=True)))
        if self.region.space.continuous.all():
            return pool
        fresh = self.seen.unseen(np.vstack([batch.x, pool.x]))[len(batch.x) :]
        return CandidatePool(*(own[fresh] for own in pool))

    def _round(self, centre: Floats, low: Floats, high: Floats, m: int, perturb_dims: float) -> CandidatePool:
        x = candidates(self.region, centre, low, high, m, perturb_dims, self.progress.rng)
        return CandidatePool(x, *(np.broadcast_to(own, x.shape) for own in (centre, low, high)))

    def _front(self) -> Floats:
        """Return the front in standard units [p, m]; of one loss it decides nothing, [0, 1]."""
        return np.empty((0, 1)) if self.losses == 1 else self._lost(self.seen.front)

    def _centres(self, usual: Floats) -> Floats:
        """Return where to search, [p, d]: of several losses some rows of the front."""
        if self.losses == 1:
            return usual[None]
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if not len(front):
            return usual[None]
        chosen = front_centres(front, self._lost(front), self.progress)
        self.progress.incumbent = chosen[0]
        return self.seen.x[np.unique(chosen)]

    def _lost(self, rows: Rows) -> Floats:
        """Return the losses of rows in standard units, [n, m]."""
        return self.model.units.lost(self.seen.f[rows])

    # What is a success ----------------------------------------------------------------------------------------------

    def _improving(self, rows: Rows) -> list[bool]:
        """Return of each row whether it is a success."""
        seen, best = self.seen, self.incumbent
        y = seen.y
        if best is None:
            return [bool(np.isfinite(y[row])) for row in rows]
        if not seen.feasible[best]:
            return [bool(y[row] < y[best]) for row in rows]
        if self.losses > 1:
            before, new = seen.feasible.copy(), seen.feasible[rows]
            before[rows] = False
            return growing(self._lost(np.flatnonzero(before)), self._lost(rows), new)
        f, target = seen.f[:, 0], seen.f[best, 0] - self._least_gain()
        return [bool(y[row] < y[best] and f[row] < target) for row in rows]

    def _least_gain(self) -> float:
        """Return the gain of the least success: a share of the spread of the best feasible rows of the model."""
        rows = self.model.rows
        f = np.sort(self.seen.f[rows[self.seen.feasible[rows]], 0])[: max(self.seen.dim, BEST_ROWS)]
        return max(0.0, IMPROVEMENT * median(f) - IMPROVEMENT * float(f[0])) if len(f) else 0.0

    def tell(self, notes: list[int], rows: Rows) -> None:
        settings, box = self.settings, self.progress.box
        box.tell(notes, self._improving(rows))
        tolerance = settings.failure_tolerance or max(MIN_FAILURES, self.seen.dim)
        box.resize(SUCCESS_TOLERANCE, tolerance, LENGTH_MAX)
        super().tell(notes, rows)

    def forget(self, notes: list[int]) -> None:
        self.progress.box.forget(notes)

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        seen, best = self.seen, self.incumbent
        if best is not None:
            if not seen.y[row] < seen.y[best]:
                return
            rows = self.model.rows[seen.feasible[self.model.rows]]
            if seen.feasible[best] and len(rows):
                least = 2 * ADOPTION * max(0.0, median(seen.f[rows, 0]) / 2 - float(seen.f[row, 0]) / 2)
                if seen.f[row, 0] >= seen.f[best, 0] - least:  # halves above: no overflow
                    return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the box has not failed here


def median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    with np.errstate(over="ignore"):
        middle = float(np.median(y))
    return middle if np.isfinite(middle) else 2.0 * float(np.median(y / 2))


def front_centres(front: Rows, f: Floats, progress: "TurboProgress") -> list[int]:
    """Return the rows to search round, of a front [p] with losses `f` [p, m]: by what they add, and by weights."""
    m = f.shape[1]
    chosen = _adding(front, f, progress) if m == 2 else []
    weights = progress.rng.dirichlet(np.ones(m), MAX_CENTRES - len(chosen))
    return chosen + [int(front[Chebyshev.of_front(f, own).of(f).argmin()]) for own in weights]


def _adding(front: Rows, f: Floats, progress: "TurboProgress") -> list[int]:
    """Return the rows that add most to the front's volume, of those that were no centre lately if there are."""
    progress.asks += 1
    progress.used = {row: ask for row, ask in progress.used.items() if progress.asks - ask < CENTRE_WAIT}
    volumes = contributions(f, reference_of(f))
    last = np.array([progress.used.get(int(row), -1) for row in front])
    chosen: list[int] = front[np.lexsort((-volumes, last))[:VOLUME_CENTRES]].tolist()
    progress.used |= dict.fromkeys(chosen, progress.asks)
    return chosen


def growing(old: Floats, f: Floats, feasible: NDArray[np.bool_]) -> list[bool]:
    """Return of each result `f` [n, m] whether the front of losses `old` grows by more than a little, if feasible."""
    front = old[non_dominated(old)]
    result = np.zeros(len(f), bool)
    if f.shape[1] > MAX_LOSSES:
        result[feasible] = ~dominated(f[feasible], front)
    else:
        volume = Hypervolume(front)
        with np.errstate(over="ignore", invalid="ignore"):  # a volume beyond all floats grows by no share of it
            least = MIN_VOLUME_GAIN * np.prod(volume.reference - front.min(0))
        result[feasible] = -volume.of(f[feasible]) > least
    return result.tolist()
