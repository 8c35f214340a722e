"""Sessions of `Quadratic`: descent on quadratic models of a loss and its constraints.

The centre minimises the exact penalty function, not the constrained rank, so that it follows a boundary through points
on either side. The points satisfy the constraints by a margin of the models' errors, so that the last ones are
feasible. A price is twice the largest multiplier of the models (an exact penalty: Nocedal and Wright 2006, 17.2). Each
ask computes the prices, for all rows.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.success import MIN_CHANCE, SLOPE_PENALTY, Success, success_near, unless_chance
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.session import PROPOSAL_ROUNDS, Batch, LocalSession, Progress, bisect_into, centre
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.samplers.quadratic.model import ConstrainedModel, Price, merits, violated
from lamcts.samplers.quadratic.posterior import GridIndex
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import active_coordinates
from lamcts.types import Floats, Note, Rows

if TYPE_CHECKING:
    from lamcts.samplers.quadratic import Quadratic

# Tuned: on seeds 0 to 9.
LENGTH_MAX = 2.0  # first and largest side of the box, as a share of the cube: larger boxes are clipped to the same
LENGTH_MIN = 1e-9  # side below which the search has converged (tuned)
FAILURE_TOLERANCE = 3  # evaluations in a row without improvement before the side halves (tuned)
MAX_ROWS = 500  # rows of the model: a step in 6000 dimensions stays below a second
MIN_ROWS_PER_DIM = 10  # bound of the rows for each parameter, where (d + 1)(d + 2) is less
SUCCESS_TOLERANCE = 2  # improving batches in a row before the side doubles (tuned)
ROW_DISTANCE = 8.0  # boxes within which rows enter the model; 2 missed curvature on the G problems (tuned on these)
SUFFICIENT_DECREASE = 0.1  # share of the predicted decrease that is a success (Powell 1994)
MIN_DECREASE = 1e-7  # least relevant decrease over the median gap of losses: less gives more digits, and ends later
FAILING_HALVINGS = 4  # halvings of a step that is likely to fail: more avoid failures, and shorten steps
BOX_SCALES = (1.0, 1 / 4, 1 / 16, 1 / 64)  # scales of the box, tried in turn until there is a gain (1 alone ends higher
# on islands, benchmarks/optimizer/gates.py)
DISTANCE_BLOCK = 2000  # rows whose distances are computed at once: in 1000 dimensions 16 MB
# A box below NARROW_SIDE shrinks by this factor, too, if no decrease is predicted: of 200 evaluations to the end of a
# search of G1, a third were spent on halving.
NARROW_SIDE, NARROW_SHRINKAGE = 0.1, 0.125


Fall = tuple[float, bool]  # predicted decrease of the merit, and whether the models' mean predicts a negligible one


@dataclass
class QuadraticProgress(Progress):
    box: TrustRegionState
    centre: int | None  # row of the centre of the box
    since: int = 0  # first row that may become the centre: after a converged search, the rows of this one
    prices: list[float] = field(default_factory=list)  # [c], losses for a unit of each violation; none: ranks count
    indices: list[GridIndex | None] = field(default_factory=list)  # [1 + c], grid indices of the last fits


class QuadraticSession(LocalSession["Quadratic", QuadraticProgress]):
    """The note of a point is [its group in the box's counts, predicted decrease, whether that is negligible].

    Where the margin of a step leaves no gain, a shorter step is taken, as the models are surer there. Only if the mean
    predicts no gain at any length, the box shrinks faster; a draw may predict none by chance.
    """

    settings: "Quadratic"

    @property
    def done(self) -> bool:
        return self.progress.box.length < LENGTH_MIN

    @property
    def _half(self) -> float:
        return self.progress.box.length / 2

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        falls: list[Fall] = []
        if (row := self._middle()) is not None:
            self.progress.centre = row
            falls = self._propose(batch)
        groups = self._issued(batch)
        falls += [(0.0, False)] * (len(groups) - len(falls))
        return Proposal(batch.x, [[group, *fall] for group, fall in zip(groups, falls, strict=True)])

    def _issued(self, batch: Batch) -> list[int]:
        """Fill the batch with draws; return the groups of its points in the box's counts."""
        n_steps = len(batch.x)
        batch.fill(self.progress.rng)  # no new points near the centre, or no results yet
        return self.progress.box.issue(n_steps) + self.progress.box.begin(len(batch.x) - n_steps)

    def _middle(self) -> int | None:
        """Return the centre, or the best row inside the region."""
        row = self.progress.centre
        if row is not None and self.region.contains(self.seen.x[[row]])[0]:
            return row
        row = centre(self.region, self.seen, self.incumbent)
        return row if row is not None and row >= self.progress.since else None

    def _propose(self, batch: Batch) -> list[Fall]:
        """Take steps from the centre into the batch; return their predicted decreases.

        Where all steps lead to known points, the box shrinks until one is new, or the search has converged.
        """
        while not self.done and (model := self._model()) is not None:
            self._reprice(model)
            before = self.progress.centre
            self.progress.centre = self._least()
            if self.progress.centre != before and (model := self._model()) is None:
                break
            falls = self._take_steps(batch, model)
            if len(batch.x) or self.seen.pending:
                return falls
            self.progress.box.reopen(NARROW_SHRINKAGE * self.progress.box.length)
        return []

    def _take_steps(self, batch: Batch, model: ConstrainedModel) -> list[Fall]:
        mean = self.progress.box.failures % 2 == 0  # after a failure the mean's step was tried
        falls: list[Fall] = []
        success = unless_chance(success_near(self.seen, self._x()))
        price = None if success is None else price_of_failure(success, self._x(), self._half)
        for _ in range(PROPOSAL_ROUNDS):
            steps = [self._step(model, mean and i == 0, price) for i in range(batch.missing)]
            x = self._points(self._x(), [step for step, _ in steps])
            is_taken = batch.take(x if success is None else shortened(x, self._x(), success, self.region.space))
            falls += [fall for (_, fall), taken in zip(steps, is_taken, strict=True) if taken]
            mean = False
            if not batch.open:
                break
        return falls

    def _step(self, model: ConstrainedModel, mean: bool, price: Price | None) -> tuple[Floats, Fall]:
        """Return a step and its predicted decrease, by the models' mean or by a draw of them."""
        posteriors = model.posteriors
        models = posteriors.mean() if mean else posteriors.draw(self.progress.rng)
        low, high = self._sides(self._x())
        prices = np.array(self.progress.prices)[model.used]
        best, best_fall = np.zeros(len(low)), -1.0
        for scale in BOX_SCALES:
            step = model.step(models, scale * low, scale * high, price)
            if (fall := model.fall(models, step, prices)) > best_fall:
                best, best_fall = step, fall
            if not self._is_negligible(fall):
                break
        return best, (best_fall, mean and self._is_negligible(best_fall))

    def _sides(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the least and largest steps from `x` [d], in half sides; discrete parameters do not move."""
        free = self.region.space.continuous & active_coordinates(self.region.space, x[None])[0]  # [d]
        low = np.where(free, np.maximum(-1.0, -x / self._half), 0.0)
        return low, np.where(free, np.minimum(1.0, (1.0 - x) / self._half), 0.0)

    def _points(self, x: Floats, steps: list[Floats]) -> Floats:
        """Return the ends of `steps` from `x` [d], inside the region, [k, d]."""
        points = self.region.space.snap(np.clip(x + self._half * np.array(steps), 0.0, 1.0))
        is_outside = ~self.region.contains(points)
        points[is_outside] = bisect_into(points[is_outside], x, self.region)
        return points

    def _x(self) -> Floats:
        return np.asarray(self.seen.x[self.progress.centre])

    def _model(self) -> ConstrainedModel | None:
        """Return the models around the centre; None without other rows."""
        row = self.progress.centre
        rows, squares = self._rows(self._half)
        if row is None or not len(rows) or not squares.max() > 0:
            return None
        self.progress.indices = self.progress.indices or [None] * (1 + self.seen.g.shape[1])
        return ConstrainedModel(self.seen, row, rows, self._half, self.progress.indices, self.progress.rng)

    def _rows(self, half: float) -> tuple[Rows, Floats]:
        """Return the rows of the models, the nearest first, and their squared distances."""
        good = self.seen.good
        good = good[np.isfinite(self.seen.g[good][:, violated(self.seen)]).all(1)]
        squares, largest = distances(self.seen, good, self._x())
        n = most_rows(self.seen.dim, int(np.count_nonzero(largest <= ROW_DISTANCE * half)))
        nearest = np.argsort(squares, kind="stable")[:n]
        return good[nearest], squares[nearest]

    def _reprice(self, model: ConstrainedModel) -> None:
        prices = np.zeros(self.seen.g.shape[1])
        prices[model.used] = model.prices(*self._sides(self._x()))
        self.progress.prices = prices.tolist()

    def _least(self) -> int | None:
        """Return the row with the least penalty function in the box; the centre wins ties."""
        half, x, free = self._half, self._x(), self.region.space.continuous
        rows = self._rows(half)[0]
        distance = np.abs(self.seen.x[rows] - x)
        inside = (distance.max(1) <= half) & (distance[:, ~free] == 0).all(1) & self.region.contains(self.seen.x[rows])
        return self._better(rows[inside & (rows >= self.progress.since)])[0]

    def _better(self, rows: Rows) -> tuple[int | None, Floats]:
        """Return the best of the centre and `rows` [k] by the penalty function, and the gain of each row, [k]."""
        row = self.progress.centre
        if row is None:
            return self.seen.best_row(rows), np.full(len(rows), np.inf)
        rows = np.concatenate([[row], rows])
        if (self.progress.prices or self.seen.plain) and np.isfinite(self.seen.f[row, 0]):
            merit = merits(self.seen, rows, self.progress.prices)
        else:
            merit = self.seen.constrained_rank(rows)
        merit = np.where(np.isfinite(merit), merit, np.inf)
        gains = np.where(merit < merit[0], merit[0] - np.where(np.isfinite(merit), merit, 0.0), 0.0)
        return int(rows[np.argmin(merit)]), gains[1:]

    def merits(self) -> Floats:
        if not self.progress.prices:
            return super().merits()
        return merits(self.seen, np.arange(len(self.seen)), self.progress.prices)

    def tell(self, notes: list[Note], rows: Rows) -> None:
        best, gains = self._better(rows)
        least = [max(SUFFICIENT_DECREASE * fall, np.finfo(float).tiny) for _, fall, _ in notes]
        is_success = [bool(gain >= least_gain) for gain, least_gain in zip(gains, least, strict=True)]
        self.progress.box.tell([group for group, *_ in notes], is_success)
        length = self.progress.box.length
        self.progress.box.resize(SUCCESS_TOLERANCE, FAILURE_TOLERANCE, LENGTH_MAX)
        if self.progress.box.length < min(length, NARROW_SIDE) and any(is_negligible for *_, is_negligible in notes):
            self.progress.box.length *= NARROW_SHRINKAGE
        self.progress.centre = best
        super().tell(notes, rows)

    def _is_negligible(self, fall: float) -> bool:
        """Return whether a predicted decrease is negligible."""
        row = self.progress.centre
        if row is None or not np.isfinite(self.seen.f[row, 0]):
            return False
        gaps = np.abs(self.seen.f[self.seen.good, 0] - self.seen.f[row, 0])
        return bool(fall <= MIN_DECREASE * float(np.nanmedian(gaps)))

    def recenter(self, row: int) -> None:
        """Continue from a row of another search if its merit is lower, too."""
        self.progress.incumbent = row
        before = self.progress.centre
        self.progress.centre = self._better(np.array([row]))[0]
        if self.progress.centre != before and before is not None:
            self._widen(float(np.abs(self._x() - self.seen.x[before]).max()))

    def _widen(self, distance: float) -> None:
        """Widen the box after a move of the centre over a largest coordinate `distance`."""
        box = self.progress.box
        if distance > self._half:  # the failures are those of the former centre
            box.failures = 0
        box.length = max(box.length, min(2 * distance, LENGTH_MAX))  # it contains the rows of the models

    def forget(self, notes: list[Note]) -> None:
        self.progress.box.forget([group for group, *_ in notes])


def distances(seen: Observations, rows: Rows, x: Floats) -> tuple[Floats, Floats]:
    """Return squared Euclidean and largest coordinate-wise distances of `rows` from `x` [d], both [n]."""
    squares, largest = np.empty(len(rows)), np.empty(len(rows))
    for i in range(0, len(rows), DISTANCE_BLOCK):
        gap = seen.x[rows[i : i + DISTANCE_BLOCK]] - x
        squares[i : i + DISTANCE_BLOCK] = np.einsum("ij,ij->i", gap, gap)
        largest[i : i + DISTANCE_BLOCK] = np.abs(gap, out=gap).max(axis=1)
    return squares, largest


def most_rows(d: int, within: int) -> int:
    """Return the number of rows in the model of `d` parameters, if `within` rows are near enough."""
    return min(max(MIN_ROWS_PER_DIM * d, (d + 1) * (d + 2)), MAX_ROWS, max(2 * d + 1, within))


def price_of_failure(success: Success, centre: Floats, half: float) -> Price:
    """Return the penalty of likely failure for steps [d] of `half` from `centre` [d]."""

    def price(s: Floats) -> tuple[float, Floats]:
        shortfall, slope = success.slope((centre + half * s)[None])
        return float(SLOPE_PENALTY * shortfall[0]), SLOPE_PENALTY * half * slope[0]

    return price


def shortened(x: Floats, centre: Floats, success: Success, space: SearchSpace) -> Floats:
    """Return the points `x` [k, d]; points that are likely to fail are moved towards the `centre` [d]."""
    x = x.copy()
    for _ in range(FAILING_HALVINGS):
        is_failing = success.chance(Inputs.of(x)) < MIN_CHANCE
        x[is_failing] = space.snap((x[is_failing] + centre) / 2)
    return x
