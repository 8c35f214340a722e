"""Sessions of `GpCma`: start, CMA-ES on a model, close-up when the model ranks badly, restart when the run stalls.

Letters: n rows, d coordinates, k points.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.models.predicted_rows import errors_of, losses_of
from lamcts.models.success import INFEASIBLE_PENALTY, Success, success_near, unless_chance
from lamcts.samplers.base import Proposal
from lamcts.samplers.gp_cma.distribution import Distribution
from lamcts.samplers.gp_cma.model import Fit, Model, fitted, nearest
from lamcts.samplers.gp_cma.start import Start
from lamcts.samplers.parts.session import Batch, LocalSession, Progress, bisect_into
from lamcts.spaces.base import is_dependent, sums_of
from lamcts.types import Floats, Note, Rows

if TYPE_CHECKING:
    from lamcts.samplers.gp_cma import GpCma

MIN_ROWS = 4  # least rows of a model
CANDIDATES = 200  # candidates of Thompson sampling; 600 are level at twice the time (development runs)
MINIMISER_DISTANCE = 2.0  # standard deviations that bound the model's minimiser (development runs: 1, 4)
GENERATIONS_PER_EVALUATION = 0.3  # on the model (development runs: 1 contracts too early)
GENERATION_SIZE = 4.0  # times 8 + 6 ln d (Bajer et al. 2019): points of a generation (development runs)
OUTSIDE_PENALTY = 0.1  # forecasts' spreads, for each squared deviation outside the cube (development runs: 0, 1)
STALL_EVALUATIONS = 5.0  # evaluations without progress, times d, after which a run ends (development runs: 10; noisy:
# 3, never)
MIN_AXIS = 1e-9  # share of the cube: a run ends when all axes are shorter (Hansen 2016: TolX)
CLOSE_UP_CORRELATION = 0.4  # leave-one-out rank correlation below which a close-up starts (development runs)
CLOSE_UP_FACTOR = 4.0  # factor by which a close-up shrinks the step: more leaves fewer rows for its model
CLOSE_UP_DISTANCE = 3.0  # standard deviations times sqrt(d) within which a close-up's rows lie (Bajer et al. 2019: 4)
PATIENCE = 2  # times d: evaluations without progress before a close-up, and values whose mean is watched


@dataclass
class GpCmaRun:
    """A run: a start, then the search distribution, with a model of the evaluations of this run."""

    first: int = 0  # number of rows at its start
    after: int = -1  # number of the last trial before its start
    origin: Floats | None = None  # first point, [d]; None: the initial design
    start: Start = field(default_factory=Start)
    distribution: Distribution | None = None  # None until the start is over
    fit: Fit = field(default_factory=Fit)
    generations: float = 1.0  # to simulate before the next batch
    stalled: int = 0  # evaluations since the last progress
    best: float | None = None  # least loss
    level: float | None = None  # least mean of the last 2 d losses
    scale_start: int = 0  # number of rows at the start of this scale
    is_close_up: bool = False


@dataclass
class GpCmaProgress(Progress):
    run: GpCmaRun = field(default_factory=GpCmaRun)


class GpCmaSession(LocalSession["GpCma", GpCmaProgress]):
    """A point has no note: results act through the model of the rows of the run."""

    settings: "GpCma"
    _success: Success | None = None  # as of the latest ask

    def ask(self, n: int) -> Proposal:
        p = self.progress
        batch = Batch(self.region, self.seen, n)
        p.incumbent = self.seen.best_row(self._usable(), p.incumbent)
        if self._ended():
            self._restart()
        rows = self._rows()
        if p.run.distribution is None and not self._started(rows, n + len(self.seen.pending)):
            self._first_points(batch, rows)
        elif len(rows) >= MIN_ROWS:
            self._model_points(batch, rows)
        batch.fill(p.rng)
        return Proposal(batch.x, [None] * len(batch.x))

    # The start ------------------------------------------------------------------------------------------------------

    def _started(self, rows: Rows, batch: int) -> bool:
        """Return whether the start is over, with `batch` points pending or asked for; if so, set the distribution."""
        run = self.progress.run
        if not run.start.over(len(rows), self.seen.dim, batch) or len(rows) < MIN_ROWS:
            return False
        sigma = min(run.start.radius, self.settings.sigma)
        run.distribution = Distribution.at(self._anchor(), sigma, self.region.space)
        run.scale_start = len(self.seen)
        return True

    def _first_points(self, batch: Batch, rows: Rows) -> None:
        run = self.progress.run
        if len(rows) > self.seen.dim:
            x, y = self.seen.x[rows], self._losses(rows)
            self._take(batch, run.start.model_steps(x, y, batch.missing, self.progress.rng))
            return
        base = self._anchor()
        if len(rows) > 1 and len(self.seen.good) == len(self.seen):  # the quadratic knows nothing of failures
            base = run.start.short_step(self.seen.x[rows], self._losses(rows))
        elif run.origin is not None and not len(rows):
            self._take(batch, run.origin[None])
        while batch.open and (step := run.start.axis_step(base)) is not None:
            self._take(batch, step[None])

    def _anchor(self) -> Floats:
        """Return the best point of this run [d], or else its origin, a pending point, or the centre."""
        best = self.seen.best_row(self._rows())
        origin = self.progress.run.origin
        if best is not None:
            return np.array(self.seen.x[best])
        if origin is not None:
            return origin
        return np.array(next(iter(self.seen.pending.values()), np.full(self.seen.dim, 0.5)))

    # A batch --------------------------------------------------------------------------------------------------------

    def _model_points(self, batch: Batch, rows: Rows) -> None:
        """Fit, simulate generations on the model, and take the minimisers of posterior samples."""
        run, d, rng = self.progress.run, self._distribution, self.progress.rng
        model = self._fit(rows)
        self._start_close_up(model)
        k = int(GENERATION_SIZE * (8 + 6 * np.log(self.seen.dim)))
        for _ in range(int(run.generations)):
            x = d.draw(k, rng)
            d.update(x[np.argsort(self._cost(model, x), kind="stable")])
            for part in sums_of(self.region.space):  # against rounding errors
                d.mean[part] += (1.0 - d.mean[part].sum()) / (part.stop - part.start)
        run.generations += GENERATIONS_PER_EVALUATION * batch.missing - int(run.generations)
        candidates = self._candidates(model)
        batch.take(candidates[self._picks(model, candidates, batch.missing)])

    def _fit(self, rows: Rows) -> Model:
        run, d = self.progress.run, self._distribution
        rows, n = self._with_predicted(rows), len(rows)
        near = nearest(d, self.seen.x[rows], CLOSE_UP_DISTANCE if run.is_close_up else None)
        failed = len(self.seen.good) < len(self.seen)
        self._success = unless_chance(success_near(self.seen, d.mean.clip(0, 1))) if failed else None
        sems = errors_of(self.seen, rows[near])
        sems = None if sems is None else sems[:, 0]
        model, run.fit = fitted(d, self.seen.x[rows[near]], self._losses(rows[near]), run.fit, n, sems)
        return model

    def _cost(self, model: Model, x: Floats) -> Floats:
        """Return the costs of draws [k, d]: forecasts, and penalties outside the cube and of likely failure, [k]."""
        inside = self.region.space.snap(x) if is_dependent(self.region.space) else x.clip(0, 1)
        forecast = model.expect(inside)
        outside = np.square((x - inside) / self._distribution.deviations).sum(1)
        cost: Floats = forecast + OUTSIDE_PENALTY * forecast.std() * outside + self._failure_penalty(inside)
        return cost

    def _failure_penalty(self, x: Floats) -> Floats:
        """Return penalties that rank points [m, d] that are likely to fail behind all others, [m]."""
        if self._success is None:
            return np.zeros(len(x))
        shortfall = self._success.shortfall(x)
        return np.where(shortfall > 0, INFEASIBLE_PENALTY + shortfall, 0.0)

    def _candidates(self, model: Model) -> Floats:
        """Return unevaluated, snapped points inside the region, [m, d]: draws, and a minimiser of the model."""
        x = self._inside(self._distribution.draw(CANDIDATES, self.progress.rng))
        if len(x):
            x = np.vstack([x, self._inside(model.minimiser(x[np.argmin(model.expect(x))], MINIMISER_DISTANCE)[None])])
        return x[self.seen.unseen(x)]

    def _inside(self, x: Floats) -> Floats:
        """Return the snapped points [k, d] inside the region; if none is inside, pull them towards the best point."""
        x = self.region.space.snap(x.clip(0, 1))
        if not self.region.steps:
            return x
        inside = self.region.contains(x)
        x = x[inside] if inside.any() else bisect_into(x, self._anchor(), self.region)
        return x[self.region.contains(x)]

    def _picks(self, model: Model, candidates: Floats, n: int) -> list[int]:
        """Return the indices of at most `n` candidates [m, d]: the minimisers of posterior samples."""
        n = min(n, len(candidates))
        if not n:
            return []
        picks: list[int] = []
        for sample in model.sample(candidates, n, self.seen.pending_x(), self.progress.rng) + self._failure_penalty(
            candidates
        ):
            sample[picks] = np.inf
            picks.append(int(np.argmin(sample)))
        return picks

    # Runs and scales ------------------------------------------------------------------------------------------------

    def _ended(self) -> bool:
        """Return whether the run has stalled or converged."""
        run = self.progress.run
        return run.distribution is not None and (
            run.stalled > STALL_EVALUATIONS * self.seen.dim or run.distribution.longest < MIN_AXIS
        )

    def _restart(self) -> None:
        """Start a new run at a uniform point; pending points belong to no run."""
        issued = [*self.seen.pending, int(self.seen.trial.max())]
        self.progress.run = GpCmaRun(len(self.seen), max(issued), self._uniform_point())

    def _uniform_point(self) -> Floats:
        batch = Batch(self.region, self.seen, 1)
        batch.fill(self.progress.rng)
        return batch.x[0] if len(batch.x) else self._anchor()

    def _start_close_up(self, model: Model) -> None:
        """Start a close-up of the best row if the model ranks badly and there is no progress."""
        run, d, patience = self.progress.run, self._distribution, PATIENCE * self.seen.dim
        if model.correlation >= CLOSE_UP_CORRELATION or min(run.stalled, len(self.seen) - run.scale_start) < patience:
            return
        rows = self._rows()
        inner = rows[np.square(d.whiten(self.seen.x[rows])).sum(1) <= CLOSE_UP_DISTANCE**2 * self.seen.dim]
        if len(inner) < patience:
            return
        d.mean = np.array(self.seen.x[inner[np.argmin(self.seen.y[inner])]])
        d.sigma /= CLOSE_UP_FACTOR
        d.step_path = d.step_path * 0
        d.widest = d.longest
        run.is_close_up = True
        run.scale_start = len(self.seen)

    # Results --------------------------------------------------------------------------------------------------------

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        run = self.progress.run
        rows = rows[self._belongs(rows)]
        if run.distribution is not None:
            self._count_stalls(rows)
        elif len(rows):
            before = least(self.seen.y[np.setdiff1d(self._rows(), rows)])
            run.start.resize(below(least(self.seen.y[rows]), before))

    def _count_stalls(self, rows: Rows) -> None:
        """Count evaluations since a new best of this run, or a new low of the mean of the last 2 d losses."""
        run = self.progress.run
        window = PATIENCE * self.seen.dim
        best = least(self.seen.y[rows])
        ready = len(self.seen) - run.scale_start >= window
        level = mean(self._losses(self._rows()[-window:])) if ready else None
        if below(best, run.best) or below(level, run.level):
            run.stalled = 0
            run.best = lower(run.best, best)
            run.level = lower(run.level, level)
        else:
            run.stalled += len(rows)

    # Helpers --------------------------------------------------------------------------------------------------------

    @property
    def _distribution(self) -> Distribution:
        if self.progress.run.distribution is None:
            raise RuntimeError("the search distribution is used before the start is over")
        return self.progress.run.distribution

    def _usable(self) -> Rows:
        """Return the rows for models: successful evaluations inside the region."""
        return self.region.rows if self.region.steps else self.seen.good

    def _rows(self) -> Rows:
        """Return the usable rows of this run, in order of arrival."""
        rows = self._usable()
        return rows[self._belongs(rows)]

    def _with_predicted(self, rows: Rows) -> Rows:
        """Return rows with the pruned rows of this run that have a prediction, in order of arrival."""
        if not self.seen.predicted or not self.seen.plain:
            return rows
        pruned = np.fromiter(self.seen.predicted, np.int64)
        pruned = pruned[self._belongs(pruned)]
        return np.union1d(rows, pruned[self.region.contains(self.seen.x[pruned])])

    def _belongs(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows [k] this run proposed, or were added since its start, [k]."""
        run = self.progress.run
        trial = self.seen.trial[rows]
        belongs: NDArray[np.bool_] = (rows >= run.first) & ((trial > run.after) | (trial < 0))
        return belongs

    def _losses(self, rows: Rows) -> Floats:
        return losses_of(self.seen, rows)[:, 0] if self.seen.plain else self.seen.y[rows]

    def _take(self, batch: Batch, x: Floats) -> None:
        """Take points [k, d] into the batch, pulled towards the best point if they lie outside the region."""
        x = self.region.space.snap(x.clip(0, 1))
        if self.region.steps:
            x = bisect_into(x, self._anchor(), self.region)
        batch.take(x)


def below(value: float | None, known: float | None) -> bool:
    """Return whether there is a value, and it is lower than the known one."""
    return value is not None and (known is None or value < known)


def lower(a: float | None, b: float | None) -> float | None:
    return min((value for value in (a, b) if value is not None), default=None)


def mean(y: Floats) -> float:
    """Return the mean of losses [k], also where their sum overflows."""
    value, k = float(y.mean()), len(y).bit_length()
    return value if np.isfinite(value) else float(np.ldexp(np.ldexp(y, -k).mean(), k))


def least(y: Floats) -> float | None:
    """Return the least finite loss of `y` [k]; None if there is none."""
    return float(np.nanmin(y)) if np.isfinite(y).any() else None
