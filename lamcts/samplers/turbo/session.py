"""Sessions of `Turbo`: Thompson sampling in a trust region, and its growth, shrinkage and moves.

Draws of all columns choose among common candidates: Eriksson et al. 2019 (TuRBO, arXiv 1910.01739), with constraints
Eriksson and Poloczek 2021 (SCBO, arXiv 2002.08526). Letters: c candidates, k draws, q columns: the loss and the
constraints that some row violates; d coordinates.
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
PRIOR = replace(REAL_PRIOR, length=0.1)  # the model is local: shorter lengths than elsewhere
IMPROVEMENT = 1e-3  # least gain of a success over the spread of the best rows (arXiv 1910.01739: over |f|)
BEST_ROWS = 4  # or d, if more: best rows whose spread is taken; more make late successes rarer
ADOPTION = 1e-2  # least gain over the model's median for a move to another search's row: less moves the box more often
# Candidates in the box, fewer for less than FEW_POINTS points: more cost time, fewer miss optima (arXiv 1910.01739:
# min(100 d, 5000), of a Sobol sequence).
FEW_POINTS, FEW_CANDIDATES, CANDIDATES = 5, 500, 1000
PERTURB_DIMS = 10.0  # parameters that a candidate moves, on average: fewer suit sums of effects (arXiv 1910.01739: 20)
MIN_FAILURES = 4  # or d, if more: evaluations in a row without improvement before the box halves (arXiv 1910.01739:
# batches of q points, 4 / q or d / q of them)


@dataclass
class TurboProgress(Progress):
    box: TrustRegionState
    model: ModelState = field(default_factory=ModelState)


class TurboSession(LocalSession["Turbo", TurboProgress]):
    """A search with a model of all columns: the loss, then the constraints that some row violates."""

    def __init__(self, settings: "Turbo", region: Region, seen: Observations, progress: TurboProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalModel(seen, Inputs.of, PRIOR, progress.model, plain, real=True)

    @property
    def done(self) -> bool:
        return self.progress.box.length < self.settings.length_min

    # Proposals ------------------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        box = self.progress.box
        batch.begin(box.n_start, self.progress.rng)
        n_started = len(batch.x)
        if batch.missing and (row := centre(self.region, self.seen, self.incumbent)) is not None:
            self._propose(batch, self.model.update(row), self.seen.x[row])
        batch.fill(self.progress.rng)  # no new candidates, or no results yet
        return Proposal(batch.x, box.begin(n_started) + box.issue(len(batch.x) - n_started))

    def _propose(self, batch: Batch, surrogate: Surrogate, centre: Floats) -> None:
        """Thompson sampling in the box: each missing point is the best candidate of a draw of all columns."""
        if not surrogate.model.losses:  # without losses there is nothing to rank
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
            length, perturb_dims = 2 * length, 2 * perturb_dims  # few new points are left in a discrete box

    def _take(self, batch: Batch, surrogate: Surrogate, x: Floats, centre: Floats, low: Floats, high: Floats) -> None:
        """Take the best candidates of draws into the batch, some of them after a gradient descent."""
        columns = MultiOutputPaths(surrogate.model, min(batch.missing, len(x)), self.progress.rng)
        success = unless_chance(surrogate.success)
        paths = columns if success is None else PenalisedPaths(columns, success)
        best = x[picked(paths(x).astype(float))]
        free = (best != centre) & self.region.space.continuous  # unperturbed coordinates stay
        free[~self._descending(len(batch.x), len(best))] = False

        def slope(x: Floats) -> tuple[Floats, Floats]:
            return penalty(*paths.slopes(x))

        batch.take(gradient_descent(self.region, best, slope, low, high, free))
        batch.take(best)

    def _descending(self, first: int, k: int) -> NDArray[np.bool_]:
        """Return which of the `k` draws after the `first` points of a batch are minimised, [k], evenly spread."""
        numbers = self.progress.box.n_issued + first + np.arange(k + 1)
        is_minimised: NDArray[np.bool_] = np.diff(np.floor(numbers * self.settings.descent_share)) > 0
        return is_minimised

    # Successes ------------------------------------------------------------------------------------------------------

    def _improving(self, rows: Rows) -> list[bool]:
        """Return whether each row is a success."""
        seen, best = self.seen, self.incumbent
        y = seen.y
        if best is None:
            return [bool(np.isfinite(y[row])) for row in rows]
        if not seen.feasible[best]:
            return [bool(y[row] < y[best]) for row in rows]
        f = seen.f[:, 0]
        target = seen.f[best, 0] - self._least_gain(best)
        return [bool(y[row] < y[best] and f[row] < target) for row in rows]

    def _least_gain(self, best: int) -> float:
        """Return the least gain of a success: a share of the spread of the best feasible rows near the row `best`."""
        f = np.sort(self._losses_near(best))[: max(self.seen.dim, BEST_ROWS)]
        return max(0.0, IMPROVEMENT * median(f) - IMPROVEMENT * float(f[0]))

    def _losses_near(self, row: int) -> Floats:
        """Return the losses of the feasible rows in a model around a feasible `row`, [n]."""
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
        """Continue from a row of another search if it is clearly better than this box."""
        seen, best = self.seen, self.incumbent
        if best is not None:
            if not seen.y[row] < seen.y[best]:
                return
            if seen.feasible[best]:
                middle = median(self._losses_near(best))
                least_gain = 2 * ADOPTION * max(0.0, middle / 2 - float(seen.f[row, 0]) / 2)
                if seen.f[row, 0] >= seen.f[best, 0] - least_gain:  # halves above: no overflow
                    return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the failures are those of the former centre


def median(y: Floats) -> float:
    """Return the median of losses [n], which may be near the largest float."""
    middle = float(np.median(y))
    return middle if np.isfinite(middle) else 2.0 * float(np.median(y / 2))


def picked(draws: Floats) -> list[int]:
    """Return the best candidate of each of the draws [c, k, q], without repetition.

    It has the least loss of the candidates that the draw predicts as feasible, or else the least violation.
    """
    rows: list[int] = []
    for i in range(draws.shape[1]):
        value = draws[:, i, 0].copy()
        violation = np.maximum(draws[:, i, 1:], 0.0).sum(1)
        violation[rows] = np.inf
        value[violation > 0] = INFEASIBLE_PENALTY + violation[violation > 0]
        rows.append(int(value.argmin()))
    return rows


def penalty(values: Singles, gradient: Singles) -> tuple[Floats, Floats]:
    """Return the losses of draws [k, q] plus penalties of violations, [k], and the gradients of these sums [k, d].

    gradient: gradients of the draws, [k, q, d].
    """
    violations = np.maximum(values[:, 1:].astype(float), 0.0)
    slope: Floats = SLOPE_PENALTY * np.einsum("kc,kcd->kd", violations > 0, gradient[:, 1:])
    return SLOPE_PENALTY * violations.sum(1) + values[:, 0], slope + gradient[:, 0]


class MultiOutputPaths:
    """`k` draws of each column of a model."""

    def __init__(self, model: MultiOutput, k: int, rng: np.random.Generator) -> None:
        parts = [
            Posterior.of(part.inputs, column[:, None], part.hyper, part.known)
            for part in model.parts
            for column in part.z.T
        ]
        order = sorted(
            range(len(parts)), key=lambda i: parts[i].z[:, 0].tolist()
        )  # draws do not depend on the order of columns
        paths = {i: PosteriorPaths(parts[i], k, rng) for i in order}
        self.parts = [paths[i] for i in range(len(order))]

    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q]."""
        return np.stack([part(x) for part in self.parts], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d]."""
        values, gradients = zip(*(part.slopes(x) for part in self.parts), strict=True)
        return np.stack(values, axis=1), np.stack(gradients, axis=1)


class PenalisedPaths:
    """The draws `paths` and one more column: a constraint that is violated where success is too unlikely."""

    def __init__(self, paths: MultiOutputPaths, success: Success) -> None:
        self._paths = paths
        self._success = success

    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q + 1]."""
        draws = self._paths(x)
        shortfall = self._success.shortfall(x).astype(np.float32)
        return np.concatenate([draws, np.broadcast_to(shortfall[:, None, None], (*draws.shape[:2], 1))], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d]."""
        values, gradients = self._paths.slopes(x)
        shortfall, slope = (column.astype(np.float32) for column in self._success.slope(x))
        return np.column_stack([values, shortfall]), np.concatenate([gradients, slope[:, None]], axis=1)
