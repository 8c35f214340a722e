"""The trust region of `Turbo`: what it proposes, and when it grows, shrinks and moves.

Draws of all columns decide on one set of candidates: Eriksson et al. 2019 (TuRBO, arXiv 1910.01739), with constraints
Eriksson and Poloczek 2021 (SCBO, arXiv 2002.08526). Letters: c candidates, k draws, q columns: the loss and the
constraints that count; d coordinates.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.models.coding import Inputs
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import plain
from lamcts.models.posterior import Posterior
from lamcts.models.posterior_paths import PosteriorPaths, Singles
from lamcts.models.priors import REAL_PRIOR
from lamcts.models.success import INFEASIBLE_PENALTY, SLOPE_PENALTY, Success, unless_chance
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.session import PROPOSAL_ROUNDS, Batch, LocalSession, Progress, centre
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.turbo import Turbo

LENGTH, LENGTH_MAX = 0.8, 1.6  # first and largest side, the geometric mean over coordinates; as in the paper
SUCCESS_TOLERANCE = 3  # improving batches in a row before the box doubles, as in the paper
PRIOR = replace(REAL_PRIOR, length=0.1)  # shorter lengths than elsewhere (untuned)
IMPROVEMENT = 1e-3  # of the spread of the best rows: less is no success (arXiv 1910.01739: 1e-3 |f|, which has a zero)
BEST_ROWS = 4  # or d of them, if more: the best rows of which the spread is taken (untuned)
ADOPTION = 1e-2  # of the distance to the model's median row: the box moves to another search's row for more (untuned)
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000  # points of the box at which draws are looked at; asked for less
# than the first, the second will do (untuned; arXiv 1910.01739: min(100 d, 5000), of a Sobol sequence)
PERTURB_DIMS = 10.0  # parameters that a candidate moves, on average (untuned; arXiv 1910.01739: 20)
MIN_FAILURES = 4  # evaluations in a row without improvement, or d, before the box halves (arXiv 1910.01739: batches of
# q points, 4 / q or d / q of them)


@dataclass
class TurboProgress(Progress):
    box: TrustRegionState
    model: ModelState = field(default_factory=ModelState)


class TurboSession(LocalSession["Turbo", TurboProgress]):
    """A search that models all columns: the loss first, then the constraints that some row breaks."""

    def __init__(self, settings: "Turbo", region: Region, seen: Observations, progress: TurboProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, Inputs.of, PRIOR, progress.model, plain, real=True)

    @property
    def done(self) -> bool:
        return self.progress.box.length < self.settings.length_min

    # What it proposes -----------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        batch, box = Batch(self.region, self.seen, n), self.progress.box
        batch.begin(box.start, self.progress.rng)
        started = len(batch.x)
        if batch.missing and (row := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, self.model.update(row), self.seen.x[row])
        batch.fill(self.progress.rng)  # nothing fresh near the centre, or nothing known yet
        return Proposal(batch.x, box.begin(started) + box.issue(len(batch.x) - started))

    def _propose(self, batch: Batch, surrogate: Surrogate, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of one draw of each column."""
        if not surrogate.model.losses:  # draws rank nothing before a loss is known
            return
        length, perturb_dims = self.progress.box.length, PERTURB_DIMS
        for _ in range(PROPOSAL_ROUNDS):
            low, high = box(centre, surrogate.model.lengths, length)
            m = FEW_CANDIDATES if batch.missing < FEW_POINTS else CANDIDATES
            x = candidates(self.region, centre, low, high, m, perturb_dims, self.progress.rng)
            if not self.region.space.continuous.all():
                x = x[self.seen.unseen(np.vstack([batch.x, x]))[len(batch.x) :]]
            if len(x):
                self._take(batch, surrogate, x, centre, low, high)
            if not batch.missing:
                break
            length, perturb_dims = 2 * length, 2 * perturb_dims  # the box of a discrete space is nearly spent

    def _take(self, batch: Batch, surrogate: Surrogate, x: Floats, centre: Floats, low: Floats, high: Floats) -> None:
        """Take the best candidates of draws, improved by gradient for some, into the batch."""
        drawn = MultiOutputPaths(surrogate.model, min(batch.missing, len(x)), self.progress.rng)
        success = unless_chance(surrogate.success)
        paths = drawn if success is None else PenalisedPaths(drawn, success)
        best = x[picked(paths(x).astype(float))]
        free = (best != centre) & self.region.space.continuous  # the others stay where the candidate left them
        free[~self._descending(len(batch.x), len(best))] = False

        def slope(x: Floats) -> tuple[Floats, Floats]:
            return penalty(*paths.slopes(x))

        batch.take(gradient_descent(self.region, best, slope, low, high, free))
        batch.take(best)

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch go down the slope, [k], evenly spread."""
        numbers = self.progress.box.issued + first + np.arange(k + 1)
        going: NDArray[np.bool_] = np.diff(np.floor(numbers * self.settings.descent_share)) > 0
        return going

    # What is a success ----------------------------------------------------------------------------------------------

    def _improving(self, rows: Rows) -> list[bool]:
        """Return of each row whether it is a success."""
        seen, best = self.seen, self.incumbent
        y = seen.y
        if best is None:
            return [bool(np.isfinite(y[row])) for row in rows]
        if not seen.feasible[best]:
            return [bool(y[row] < y[best]) for row in rows]
        f, target = seen.f[:, 0], seen.f[best, 0] - self._least_gain(best)
        return [bool(y[row] < y[best] and f[row] < target) for row in rows]

    def _least_gain(self, best: int) -> float:
        """Return the gain of the least success: a share of the spread of the best feasible rows near the `best`."""
        f = np.sort(self._losses_near(best))[: max(self.seen.dim, BEST_ROWS)]
        return max(0.0, IMPROVEMENT * median(f) - IMPROVEMENT * float(f[0]))

    def _losses_near(self, row: int) -> Floats:
        """Return the losses of the feasible rows that a model round a feasible `row` has, [n]."""
        losses: Floats = self.seen.f[self.model.nearest(np.flatnonzero(self.seen.feasible), row), 0]
        return losses

    def tell(self, notes: list[int], rows: Rows) -> None:
        box = self.progress.box
        box.tell(notes, self._improving(rows))
        box.resize(SUCCESS_TOLERANCE, max(MIN_FAILURES, self.seen.dim), LENGTH_MAX)
        super().tell(notes, rows)

    def forget(self, notes: list[int]) -> None:
        self.progress.box.forget(notes)

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        seen, best = self.seen, self.incumbent
        if best is not None:
            if not seen.y[row] < seen.y[best]:
                return
            if seen.feasible[best]:
                middle = median(self._losses_near(best))
                least = 2 * ADOPTION * max(0.0, middle / 2 - float(seen.f[row, 0]) / 2)
                if seen.f[row, 0] >= seen.f[best, 0] - least:  # halves above: no overflow
                    return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the box has not failed here


def median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    middle = float(np.median(y))
    return middle if np.isfinite(middle) else 2.0 * float(np.median(y / 2))


def picked(draws: Floats) -> list[int]:
    """Return the candidate that each of the draws [c, k, q] leads to, one that no earlier draw took.

    Among candidates drawn feasible the one of the least loss, else the one of the least drawn violation.
    """
    rows: list[int] = []
    for i in range(draws.shape[1]):
        value, over = draws[:, i, 0].copy(), np.maximum(draws[:, i, 1:], 0.0).sum(1)
        over[rows] = np.inf
        value[over > 0] = INFEASIBLE_PENALTY + over[over > 0]
        rows.append(int(value.argmin()))
    return rows


def penalty(values: Singles, gradient: Singles) -> tuple[Floats, Floats]:
    """Return the losses of draws [k, q] with the price of their violations [k], and the slopes of these [k, d].

    gradient: of the draws, [k, q, d].
    """
    over = np.maximum(values[:, 1:].astype(float), 0.0)
    way: Floats = SLOPE_PENALTY * np.einsum("kc,kcd->kd", over > 0, gradient[:, 1:])
    return SLOPE_PENALTY * over.sum(1) + values[:, 0], way + gradient[:, 0]


class MultiOutputPaths:
    """`k` draws of each of the columns of a model."""

    def __init__(self, model: MultiOutput, k: int, rng: np.random.Generator) -> None:
        parts = [
            Posterior.of(own.inputs, column[:, None], own.hyper, own.known) for own in model.parts for column in own.z.T
        ]
        order = sorted(range(len(parts)), key=lambda i: parts[i].z[:, 0].tolist())  # by content
        drawn = {i: PosteriorPaths(parts[i], k, rng) for i in order}
        self.parts = [drawn[i] for i in range(len(order))]

    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q]."""
        return np.stack([part(x) for part in self.parts], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d]."""
        values, gradients = zip(*(part.slopes(x) for part in self.parts), strict=True)
        return np.stack(values, axis=1), np.stack(gradients, axis=1)


class PenalisedPaths:
    """The draws of columns that are `paths`, and one column more: a constraint broken where success is too unlikely."""

    def __init__(self, paths: MultiOutputPaths, success: Success) -> None:
        self._paths, self._success = paths, success

    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q + 1]."""
        draws, short = self._paths(x), self._success.shortfall(x).astype(np.float32)
        return np.concatenate([draws, np.broadcast_to(short[:, None, None], (*draws.shape[:2], 1))], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d]."""
        values, gradients = self._paths.slopes(x)
        short, way = (own.astype(np.float32) for own in self._success.slope(x))
        return np.column_stack([values, short]), np.concatenate([gradients, way[:, None]], axis=1)
