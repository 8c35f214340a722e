"""The loop of `GpCma`: start, CMA-ES on a model, close-up when the model is blind, restart when it stalls.

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

MIN_ROWS = 4  # rows that a model is fitted to
CANDIDATES = 200  # draws that Thompson samples choose among; 600 are level at twice the time (development runs)
MINIMISER_DISTANCE = 2.0  # standard deviations within which the model's minimiser is looked for (development runs: 1,
# 4)
GENERATIONS_PER_EVALUATION = 0.3  # played for each evaluation (development runs: 1 contracts too early)
GENERATION_SIZE = 4.0  # times 8 + 6 ln d (Bajer et al. 2019): points of a generation (development runs)
OUTSIDE_PENALTY = 0.1  # of the forecasts' spread, for each squared deviation outside the cube (development runs: 0, 1)
STALL_EVALUATIONS = 5.0  # evaluations without progress, times d, after which a run ends (development runs: 10; noisy:
# 3, never)
MIN_AXIS = 1e-9  # of the cube: a run whose axes are all shorter ends (Hansen 2016: TolX)
CLOSE_UP_CORRELATION = 0.4  # leave-one-out rank correlation below which a close-up starts (development runs)
CLOSE_UP_FACTOR = 4.0  # the factor of a close-up (untuned)
CLOSE_UP_DISTANCE = 3.0  # standard deviations times sqrt(d) within which a close-up's rows lie (Bajer et al. 2019: 4)
PATIENCE = 2  # times d: evaluations without progress before a close-up, and values whose mean is watched


@dataclass
class GpCmaRun:
    """One run: a start, then the search distribution, on a model of its own evaluations alone."""

    first: int = 0  # rows there were when it began
    after: int = -1  # number of the last trial issued before it
    origin: Floats | None = None  # where it begins, [d]; None: at the initial design
    start: Start = field(default_factory=Start)
    distribution: Distribution | None = None  # None until the start is over
    fit: Fit = field(default_factory=Fit)
    due: float = 1.0  # generations to play before the next batch
    since: int = 0  # evaluations since the last progress
    best: float | None = None  # least loss
    level: float | None = None  # least mean of the last 2 d losses
    mark: int = 0  # rows there were when this scale was begun
    close: bool = False  # whether this is a close-up


@dataclass
class GpCmaProgress(Progress):
    run: GpCmaRun = field(default_factory=GpCmaRun)


class GpCmaSession(LocalSession["GpCma", GpCmaProgress]):
    """A point needs no note: results act through the model of the run's rows."""

    settings: "GpCma"
    _success: Success | None = None  # where evaluations fail, as of the latest ask

    def ask(self, n: int) -> Proposal:
        p, batch = self.progress, Batch(self.region, self.seen, n)
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
        """Return whether the start is over, `batch` points being out or asked for; if so the search begins."""
        run = self.progress.run
        if not run.start.over(len(rows), self.seen.dim, batch) or len(rows) < MIN_ROWS:
            return False
        sigma = min(run.start.radius, self.settings.sigma)
        run.distribution = Distribution.at(self._anchor(), sigma, self.region.space)
        run.mark = len(self.seen)
        return True

    def _first_points(self, batch: Batch, rows: Rows) -> None:
        run = self.progress.run
        if len(rows) > self.seen.dim:
            x, y = self.seen.x[rows], self._losses(rows)
            self._take(batch, run.start.model_steps(x, y, batch.missing, self.progress.rng))
            return
        base = self._anchor()
        if len(rows) > 1:
            base = run.start.short_step(self.seen.x[rows], self._losses(rows))
        elif run.origin is not None and not len(rows):
            self._take(batch, run.origin[None])
        while batch.open and (step := run.start.axis_step(base)) is not None:
            self._take(batch, step[None])

    def _anchor(self) -> Floats:
        """Return the best point of this run [d]; before there is one its origin, a point that is out, or the centre."""
        best, origin = self.seen.best_row(self._rows()), self.progress.run.origin
        if best is not None:
            return np.array(self.seen.x[best])
        if origin is not None:
            return origin
        return np.array(next(iter(self.seen.pending.values()), np.full(self.seen.dim, 0.5)))

    # A batch --------------------------------------------------------------------------------------------------------

    def _model_points(self, batch: Batch, rows: Rows) -> None:
        """Fit, play generations on the model, and take the minimisers of posterior samples."""
        run, d, rng = self.progress.run, self._distribution, self.progress.rng
        model = self._fit(rows)
        self._look_closer(model)
        k = int(GENERATION_SIZE * (8 + 6 * np.log(self.seen.dim)))
        for _ in range(int(run.due)):
            x = d.draw(k, rng)
            d.update(x[np.argsort(self._cost(model, x), kind="stable")])
            for part in sums_of(self.region.space):  # rounding would add up
                d.mean[part] += (1.0 - d.mean[part].sum()) / (part.stop - part.start)
        run.due += GENERATIONS_PER_EVALUATION * batch.missing - int(run.due)
        candidates = self._candidates(model)
        batch.take(candidates[self._picks(model, candidates, batch.missing)])

    def _fit(self, rows: Rows) -> Model:
        run, d = self.progress.run, self._distribution
        rows, n = self._with_predicted(rows), len(rows)
        near = nearest(d, self.seen.x[rows], CLOSE_UP_DISTANCE if run.close else None)
        failed = len(self.seen.good) < len(self.seen)
        self._success = unless_chance(success_near(self.seen, d.mean.clip(0, 1))) if failed else None
        sems = errors_of(self.seen, rows[near])
        sems = None if sems is None else sems[:, 0]
        model, run.fit = fitted(d, self.seen.x[rows[near]], self._losses(rows[near]), run.fit, n, sems)
        return model

    def _cost(self, model: Model, x: Floats) -> Floats:
        """Return what draws [k, d] are ranked by: forecasts within the cube, and how far outside they lie."""
        inside = self.region.space.snap(x) if is_dependent(self.region.space) else x.clip(0, 1)
        forecast = model.expect(inside)
        outside = np.square((x - inside) / self._distribution.deviations).sum(1)
        cost: Floats = forecast + OUTSIDE_PENALTY * forecast.std() * outside + self._failing(inside)
        return cost

    def _failing(self, x: Floats) -> Floats:
        """Return what puts points [m, d] that are likely to fail behind all others, [m]."""
        if self._success is None:
            return np.zeros(len(x))
        short = self._success.shortfall(x)
        return np.where(short > 0, INFEASIBLE_PENALTY + short, 0.0)

    def _candidates(self, model: Model) -> Floats:
        """Return unknown points inside the region, snapped, [m, d]: draws, and the model's minimiser near the best."""
        x = self._inside(self._distribution.draw(CANDIDATES, self.progress.rng))
        if len(x):
            x = np.vstack([x, self._inside(model.minimiser(x[np.argmin(model.expect(x))], MINIMISER_DISTANCE)[None])])
        return x[self.seen.unseen(x)]

    def _inside(self, x: Floats) -> Floats:
        """Return points [k, d] snapped and inside the region; if none is, pulled towards the best point."""
        x = self.region.space.snap(x.clip(0, 1))
        if not self.region.steps:
            return x
        inside = self.region.contains(x)
        x = x[inside] if inside.any() else bisect_into(x, self._anchor(), self.region)
        return x[self.region.contains(x)]

    def _picks(self, model: Model, candidates: Floats, n: int) -> list[int]:
        """Return the indices of at most `n` candidates [m, d], those where posterior samples are least."""
        n = min(n, len(candidates))
        if not n:
            return []
        out = self.seen.pending_x()
        picks: list[int] = []
        for sample in model.sample(candidates, n, out, self.progress.rng) + self._failing(candidates):
            sample[picks] = np.inf
            picks.append(int(np.argmin(sample)))
        return picks

    # Runs and scales ------------------------------------------------------------------------------------------------

    def _ended(self) -> bool:
        """Return whether the run has stalled or converged."""
        run = self.progress.run
        return run.distribution is not None and (
            run.since > STALL_EVALUATIONS * self.seen.dim or run.distribution.longest < MIN_AXIS
        )

    def _restart(self) -> None:
        """Begin another run at a uniform point; points that are out belong to none."""
        issued = [*self.seen.pending, int(self.seen.trial.max())]
        self.progress.run = GpCmaRun(len(self.seen), max(issued), self._anywhere())

    def _anywhere(self) -> Floats:
        one = Batch(self.region, self.seen, 1)
        one.fill(self.progress.rng)
        return one.x[0] if len(one.x) else self._anchor()

    def _look_closer(self, model: Model) -> None:
        """Start a close-up of the best row where the model is blind and nothing gets better."""
        run, d, patience = self.progress.run, self._distribution, PATIENCE * self.seen.dim
        if model.correlation >= CLOSE_UP_CORRELATION or min(run.since, len(self.seen) - run.mark) < patience:
            return
        rows = self._rows()
        inner = rows[np.square(d.whiten(self.seen.x[rows])).sum(1) <= CLOSE_UP_DISTANCE**2 * self.seen.dim]
        if len(inner) < patience:
            return
        d.mean = np.array(self.seen.x[inner[np.argmin(self.seen.y[inner])]])
        d.sigma, d.step_path = d.sigma / CLOSE_UP_FACTOR, d.step_path * 0
        d.widest, run.close, run.mark = d.longest, True, len(self.seen)

    # Results --------------------------------------------------------------------------------------------------------

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        run, own = self.progress.run, rows[self._belongs(rows)]
        if run.distribution is not None:
            self._note_progress(own)
        elif len(own):
            before = lowest(self.seen.y[np.setdiff1d(self._rows(), own)])
            run.start.told(below(lowest(self.seen.y[own]), before))

    def _note_progress(self, rows: Rows) -> None:
        """Count evaluations since a new best of this run, or a new low of the mean of the last 2 d losses."""
        run, window = self.progress.run, PATIENCE * self.seen.dim
        best = lowest(self.seen.y[rows])
        ready = len(self.seen) - run.mark >= window
        level = mean(self._losses(self._rows()[-window:])) if ready else None
        if below(best, run.best) or below(level, run.level):
            run.since, run.best, run.level = 0, lower(run.best, best), lower(run.level, level)
        else:
            run.since += len(rows)

    # Helpers --------------------------------------------------------------------------------------------------------

    @property
    def _distribution(self) -> Distribution:
        if self.progress.run.distribution is None:
            raise RuntimeError("the search distribution is used before the start is over")
        return self.progress.run.distribution

    def _usable(self) -> Rows:
        """Return the rows that may be modelled: those that succeeded, inside the region."""
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
        """Return which rows [k] this run asked for, or came unasked since it began, [k]."""
        run, trial = self.progress.run, self.seen.trial[rows]
        belongs: NDArray[np.bool_] = (rows >= run.first) & ((trial > run.after) | (trial < 0))
        return belongs

    def _losses(self, rows: Rows) -> Floats:
        return losses_of(self.seen, rows)[:, 0] if self.seen.plain else self.seen.y[rows]

    def _take(self, batch: Batch, x: Floats) -> None:
        """Take points [k, d] into the batch, pulled towards the best point where the region ends before them."""
        x = self.region.space.snap(x.clip(0, 1))
        if self.region.steps:
            x = bisect_into(x, self._anchor(), self.region)
        batch.take(x)


def below(value: float | None, known: float | None) -> bool:
    """Return whether there is a value, and it is lower than the one known."""
    return value is not None and (known is None or value < known)


def lower(a: float | None, b: float | None) -> float | None:
    return min((value for value in (a, b) if value is not None), default=None)


def mean(y: Floats) -> float:
    """Return the mean of losses [k], also where their sum overflows."""
    found, k = float(y.mean()), len(y).bit_length()
    return found if np.isfinite(found) else float(np.ldexp(np.ldexp(y, -k).mean(), k))


def lowest(y: Floats) -> float | None:
    """Return the least of losses [k] that are not nan, None where there is none."""
    return float(np.nanmin(y)) if np.isfinite(y).any() else None
