"""Descent on a quadratic model inside any region: fast along narrow valleys and in rippled bowls.

A trust-region method of the kind of Powell's (COBYLA 1994, NEWUOA 2006), with a Bayesian polynomial as interpolation.
Every row nearby counts, and results may be late or missing. Further points of a batch descend posterior samples. The
box begins over the whole cube, where the model is the trend of all rows, and ends narrow, as a Taylor polynomial. For
small batches most points are samples too, since the mean alone follows the first valley. Around a conical minimum such
as Ackley's, the squared losses are modelled.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lamcts.models.output_transforms import Scale, squared
from lamcts.models.quadratic_posterior import GridIndex, QuadraticPosterior, Slope, unknowns
from lamcts.models.success import success_near
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import MultiOutputSupport, Proposal
from lamcts.samplers.parts.feasibility_penalty import shortened, step_penalty
from lamcts.samplers.parts.session import PROPOSAL_ROUNDS, Batch, LocalSampler, centre, distances
from lamcts.samplers.parts.trust_region import TrustRegionState, check_sides
from lamcts.samplers.quadratic.constrained import ConstrainedProgress, ConstrainedSession
from lamcts.samplers.quadratic.descent import LENGTH_MAX, DescentProgress, DescentSession
from lamcts.samplers.registry import register
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows, whole_number

# Tuned: on seeds 0 to 9, as benchmarks/notes/portfolio.md tells.
MAX_ROWS = 500  # in the model: a step in 6000 dimensions stays below a second
MIN_ROWS_PER_DIM = 10  # for each parameter: what the model had before it was given the rows of a whole curvature
NEAR_DISTANCE = 2.0  # boxes: rows within take part (untuned)
ROW_DISTANCES = (np.inf, 8.0, NEAR_DISTANCE)  # boxes: all rows take part where they lie on one polynomial (without
# them a turned ellipsoid took 1000 evaluations, so 500), else those within 8 where they tell the near ones better
MAX_SCALED_LOSS = 1e100  # losses above it, in the spread of those within 8 boxes, count as it: squares stay doubles
RESTART_SIDE = 0.25  # of the first side, where a search with constraints begins from a draw: as COBYLA's half cube
# (untuned)
MEAN_EVERY = 10  # results at least from one step of the model's mean to the next, whose model is else all but the same:
# as many as the batches that the rest was tuned in (tuned: after every success it crept into the first valley)
# Tuned on turned Ackley in 20 and 100 dimensions, seeds 0 to 2, and on bent ones:
CONE_EVIDENCE = 25.0  # of the evidence's logarithm, by which squared losses must tell the rows better: with 10 two of
# three bent Ackleys ended in a ripple, with 0 five of five (and Schaffer's function at half as much)
APEX_DISTANCE = 0.12  # half sides: nearer than that to the apex of a cone the box halves; with 0.06 and 0.25 slower in
# one of them
MAX_CONE_NOISE = 0.1  # noise of a cone's model above which an apex is not believed: without, ripples in 100 dimensions
# held it


@register("quadratic", "trust-region descent on a quadratic model")
@dataclass(frozen=True)
class Quadratic(LocalSampler):
    """Trust-region descent on a quadratic model, of the kind of NEWUOA (Powell 2006).

    Each step goes to the minimum of a quadratic model within a box around the best row. The box grows after successes
    and shrinks after failures.

    Parameters
    ----------
    length : float, default 2.0
        First side of the box, as a share of the cube; untuned. 2 covers the cube from any point.
    length_min : float, default 1e-9
        The search has converged when the side is below this share of the cube; tuned.
    failure_tolerance : int, default 6
        Evaluations in a row without improvement before the side halves; half as many under constraints; tuned.
    rows : int or None, default None
        Largest number of rows in the model, the nearest first; tuned. None is (d + 1)(d + 2), twice the unknowns of a
        quadratic polynomial, from 10 d to 500. NEWUOA keeps 2 d + 1.

    Notes
    -----
    The model uses rows within twice the box, within eight times where that predicts the near rows better, and all rows
    where they lie on one polynomial. It uses at least 2 d + 1. "Tuned" means on seeds 0 to 9, see
    benchmarks/notes/portfolio.md.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Quadratic(rows=40), seed=0)
    >>> len(opt.ask(4))
    4
    """

    multi_output: ClassVar[MultiOutputSupport] = "constraints"
    length: float = 2.0
    length_min: float = 1e-9
    failure_tolerance: int = 6
    rows: int | None = None

    def __post_init__(self) -> None:
        check_sides("Quadratic", self.length_min, self.length, LENGTH_MAX)
        whole_number(self.failure_tolerance, "Quadratic: failure_tolerance")
        whole_number(self.rows, "Quadratic: rows", optional=True)

    def start(
        self, region: Region, seen: Observations, rng: np.random.Generator
    ) -> "_QuadraticSession | ConstrainedSession":
        best, box = seen.best_row(region.rows), TrustRegionState(self.length)
        if seen.plain or seen.f.shape[1] > 1:
            return _QuadraticSession(self, region, seen, QuadraticProgress(rng, best, box, child(rng)))
        if best is None:  # nothing known, or all of it searched: the next optimum should be another
            box.length *= RESTART_SIDE
        since = len(seen) if best is None else 0
        return ConstrainedSession(self, region, seen, ConstrainedProgress(rng, best, box, best, since))

    def most_rows(self, d: int, within: int) -> int:
        """Return the number of rows in the model of `d` parameters, of which `within` are within reach."""
        most = self.rows or min(max(MIN_ROWS_PER_DIM * d, 2 * unknowns(d)), MAX_ROWS)
        return min(most, max(2 * d + 1, within))


@dataclass
class QuadraticProgress(DescentProgress):
    cones: np.random.Generator  # of fits to squared losses: without a cone every point is what it is without them
    indices: list[GridIndex | None] = field(default_factory=lambda: [None] * len(ROW_DISTANCES))  # where fits start
    cone: GridIndex | None = None  # the same for squared losses
    mean_at: int | None = None  # rows seen when the model's mean was last followed


class _QuadraticSession(DescentSession[QuadraticProgress]):
    def ask(self, n: int) -> Proposal:
        batch, greedy, apex = Batch(self.region, self.seen, n), False, np.inf
        if (middle := centre(self.region, self.seen, self.incumbent)) is not None:
            greedy, apex = self._propose(batch, middle)
        notes = self._issued(batch, greedy)
        if apex < APEX_DISTANCE:
            self.progress.box.reopen(self.progress.box.length / 2)
        return Proposal(batch.x, notes)

    def _propose(self, batch: Batch, centre: Floats) -> tuple[bool, float]:
        """Take steps from `centre` [d] into the batch; return whether they are greedy, and how far off an apex is.

        The apex of a cone in half sides, along the parameter where that is most; infinity where the mean sees none.
        """
        low, high = self._sides(centre)
        model = self._model(centre, self._half)
        success = success_near(self.seen, centre)
        price = None if success is None else step_penalty(success, centre, self._half)
        greedy, apex = self._mean_is_due(), np.inf
        if greedy:
            self.progress.mean_at = len(self.seen)
        for tried in range(PROPOSAL_ROUNDS):
            means = greedy and not tried
            steps = [self._step(model, low, high, means and i == 0, price) for i in range(batch.missing)]
            if means and model is not None and _is_cone(model):
                apex = float(np.abs(steps[0]).max())
            x = self._points(centre, steps)
            batch.take(x if success is None else shortened(x, centre, success, self.region.space))
            if not batch.open:
                break
        return greedy, apex

    def _mean_is_due(self) -> bool:
        """Return whether the next batch begins with the step of the model's mean."""
        if self.progress.box.failures % 2 or self.progress.box.out:  # its step from here was tried, or is being tried
            return False
        return self.progress.mean_at is None or len(self.seen) - self.progress.mean_at >= MEAN_EVERY

    def _step(
        self, model: QuadraticPosterior | None, low: Floats, high: Floats, mean: bool, price: Slope | None
    ) -> Floats:
        if model is None:
            return np.asarray(low + self.progress.rng.random(len(low)) * (high - low))
        quadric = model.mean() if mean else model.draw(self.progress.rng)
        return quadric.lowest(low, high, price)

    def _model(self, centre: Floats, half: float) -> QuadraticPosterior | None:
        """Return the model of the rows around `centre` [d], None without other rows."""
        good = self.seen.good
        far, off = distances(self.seen, good, centre)
        within = (int(np.count_nonzero(off <= reach * half)) for reach in ROW_DISTANCES)
        counts = [self.settings.most_rows(self.seen.dim, n) for n in within]
        if counts[0] <= unknowns(self.seen.dim):
            counts[0] = counts[1]
        near = np.arange(len(good))
        if len(good) > counts[0]:
            near = np.argpartition(far, counts[0] - 1)[: counts[0]]
        near = near[np.argsort(far[near], kind="stable")]
        if far[near[-1]] == 0:
            return None
        y = self.seen.y[good[near]]
        losses = Scale.of(y[: counts[1]]).down(y)  # whatever the farthest lose, a descent is to see the near ones apart
        return self._fitted(
            (self.seen.x[good[near]] - centre) / half, np.minimum(losses - losses[0], MAX_SCALED_LOSS), counts
        )

    def _fitted(self, steps: Floats, losses: Floats, counts: list[int]) -> QuadraticPosterior:
        """Return the model of all steps [n, d] and losses [n] if they lie on one polynomial, else of the first ones.

        counts: how many rows lie within each of ROW_DISTANCES, at most.
        """
        if counts[0] > counts[1] and (whole := self._model_of(0, steps, losses)).exact:
            return whole
        model = self._model_of(1, steps[: counts[1]], losses[: counts[1]])
        if (n := counts[2]) < counts[1]:
            near = self._model_of(2, steps[:n], losses[:n])
            model = near if near.evidence > model.evidence_of(n) else model
        return self._cone(model, losses)

    def _cone(self, model: QuadraticPosterior, losses: Floats) -> QuadraticPosterior:
        """Return the model of squared losses of the same rows, where those lie on a quadratic rather than the losses.

        The square of a cone is a quadratic along every line through its apex.
        """
        if (other := squared(losses[: len(model.steps)])) is None:
            return model
        squares, slopes = other
        cone = QuadraticPosterior(model.steps, squares - squares[0], self.progress.cone, self.progress.cones, order=2)
        self.progress.cone = cone.index
        return cone if cone.evidence + slopes > model.evidence + CONE_EVIDENCE else model

    def _model_of(self, i: int, steps: Floats, losses: Floats) -> QuadraticPosterior:
        model = QuadraticPosterior(steps, losses, self.progress.indices[i], self.progress.rng, whole=i == 0)
        self.progress.indices[i] = model.index
        return model

    def tell(self, notes: list[int], rows: Rows) -> None:
        best = np.inf if self.incumbent is None else self.seen.y[self.incumbent]
        self.progress.box.tell(notes, [bool(self.seen.y[row] < best) for row in rows])
        self._resize(self.settings.failure_tolerance)
        super().tell(notes, rows)

    def recenter(self, row: int) -> None:
        if self.incumbent is not None:
            self._moved(float(np.abs(self.seen.x[row] - self.seen.x[self.incumbent]).max()))
        self.progress.incumbent = row

    def forget(self, notes: list[int]) -> None:
        self.progress.box.forget(notes)


def _is_cone(model: QuadraticPosterior) -> bool:
    """Return whether the model was fitted to squared losses with little noise."""
    return model.order == 2 and model.noise <= MAX_CONE_NOISE
