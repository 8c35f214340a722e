"""Descent on quadratic models of a loss and of the constraints on it: the session of `Quadratic`.

Its centre minimises the exact penalty function, not the constrained rank, so that it follows a boundary through points
on either side. Its points are to keep the constraints by as much as the models may be wrong there, so that its end is
feasible. A price is twice the largest multiplier of the models (an exact penalty: Nocedal and
Wright 2006, 17.2), computed at every ask, for all rows.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.success import MIN_CHANCE, SLOPE_PENALTY, Success, success_near, unless_chance
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.session import (
    PROPOSAL_ROUNDS,
    Batch,
    LocalSession,
    Progress,
    bisect_into,
    centre,
)
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.samplers.quadratic.model import ConstrainedModel, Price, merits, violated
from lamcts.samplers.quadratic.posterior import GridIndex
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import active_coordinates
from lamcts.types import Floats, Note, Rows

if TYPE_CHECKING:
    from lamcts.samplers.quadratic import Quadratic

# Tuned: on seeds 0 to 9.
LENGTH_MAX = 2.0  # first side of the box, as a share of the cube, and the largest: more would be the same box
LENGTH_MIN = 1e-9  # side below which the search has converged (tuned)
FAILURE_TOLERANCE = 3  # evaluations in a row without improvement before the side halves (tuned)
MAX_ROWS = 500  # in the model: a step in 6000 dimensions stays below a second
MIN_ROWS_PER_DIM = 10  # for each parameter: what the model had before it was given the rows of a whole curvature
SUCCESS_TOLERANCE = 2  # improving batches in a row before the side doubles (tuned)
ROW_DISTANCE = 8.0  # boxes: rows within take part; with 2, curvature was never seen on the G problems (tuned on these)
SUFFICIENT_DECREASE = 0.1  # of the fall that was predicted: a success (Powell's, 1994)
MIN_DECREASE = 1e-7  # of the usual distance of losses: a fall below it is none (untuned)
FAILING_HALVINGS = 4  # of a step that is likely to fail, before it is tried all the same (untuned)
BOX_SCALES = (1.0, 1 / 4, 1 / 16, 1 / 64)  # of the box, tried in turn until there is something to gain (1 alone ends
# higher on islands, benchmarks/optimizer/gates.py)
DISTANCE_BLOCK = 2000  # rows whose distances are taken at once: in 1000 dimensions 16 MB
NARROW_SIDE, NARROW_SHRINKAGE = 0.1, 0.125  # a box narrower than the one shrinks this much more where nothing falls
# any more: of 200 evaluations to the end of a search of G1, a third were spent on halving (untuned)


Fall = tuple[float, bool]  # by how much the merit is to fall, and whether the models' mean sees none to speak of


@dataclass
class QuadraticProgress(Progress):
    box: TrustRegionState
    centre: int | None  # the row round which it searches
    since: int = 0  # the first row that it may go on from: where another search has converged, its own alone
    prices: list[float] = field(default_factory=list)  # [c], losses for a unit of each violation; none: by standing
    indices: list[GridIndex | None] = field(default_factory=list)  # [1 + c], where the fits of the models start


class QuadraticSession(LocalSession["Quadratic", QuadraticProgress]):
    """A point's note is its group in the box's counts, and the fall that it is to bring.

    Where a point keeps so much margin that nothing is left to gain, a shorter step is taken: the models are surer.
    Only where the mean sees nothing to gain at any length, the box is shut; draws of it may see none anywhere.
    """

    settings: "Quadratic"

    @property
    def done(self) -> bool:
        return self.progress.box.length < LENGTH_MIN

    @property
    def _half(self) -> float:
        return self.progress.box.length / 2

    def ask(self, n: int) -> Proposal:
        batch, falls = Batch(self.region, self.seen, n), list[Fall]()
        if (row := self._middle()) is not None:
            self.progress.centre = row
            falls = self._propose(batch)
        groups = self._issued(batch)
        falls += [(0.0, False)] * (len(groups) - len(falls))
        return Proposal(batch.x, [[group, *fall] for group, fall in zip(groups, falls, strict=True)])

    def _issued(self, batch: Batch) -> list[int]:
        """Fill what is left of a batch with draws; return the groups of all its points in the box's counts."""
        searched = len(batch.x)
        batch.fill(self.progress.rng)  # nothing fresh near the centre, or nothing known yet
        return self.progress.box.issue(searched) + self.progress.box.begin(len(batch.x) - searched)

    def _middle(self) -> int | None:
        """Return the centre, or the best row that is inside the region."""
        row = self.progress.centre
        if row is not None and self.region.contains(self.seen.x[[row]])[0]:
            return row
        row = centre(self.region, self.seen, self.incumbent)
        return row if row is not None and row >= self.progress.since else None

    def _propose(self, batch: Batch) -> list[Fall]:
        """Take steps from the centre into the batch; return the falls that they are to bring."""
        if (model := self._model()) is None:
            return []
        self._reprice(model)
        before, self.progress.centre = self.progress.centre, self._least()
        if self.progress.centre != before and (model := self._model()) is None:
            return []
        return self._take_steps(batch, model)

    def _take_steps(self, batch: Batch, model: ConstrainedModel) -> list[Fall]:
        mean, falls = self.progress.box.failures % 2 == 0, list[Fall]()  # else the mean's step from here was tried
        success = unless_chance(success_near(self.seen, self._x()))
        price = None if success is None else price_of_failure(success, self._x(), self._half)
        for _ in range(PROPOSAL_ROUNDS):
            tried = [self._step(model, mean and i == 0, price) for i in range(batch.missing)]
            x = self._points(self._x(), [step for step, _ in tried])
            taken = batch.take(x if success is None else shortened(x, self._x(), success, self.region.space))
            falls += [fall for (_, fall), took in zip(tried, taken, strict=True) if took]
            mean = False
            if not batch.open:
                break
        return falls

    def _step(self, model: ConstrainedModel, mean: bool, price: Price | None) -> tuple[Floats, Fall]:
        """Return a step and the fall that it is to bring, of the models' mean or of a draw of them."""
        own = model.posteriors
        models = own.mean() if mean else own.draw(self.progress.rng)
        sides, prices = self._sides(self._x()), np.array(self.progress.prices)[model.used]
        found = np.zeros(len(sides[0])), -1.0
        for scale in BOX_SCALES:
            step = model.step(models, scale * sides[0], scale * sides[1], price)
            if (fall := model.fall(models, step, prices)) > found[1]:
                found = step, fall
            if not self._settled(fall):
                break
        return found[0], (found[1], mean and self._settled(found[1]))

    def _sides(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the least and largest steps from `x` [d], in half sides; a discrete parameter stays where it is."""
        free = self.region.space.continuous & active_coordinates(self.region.space, x[None])[0]  # [d]
        low = np.where(free, np.maximum(-1.0, -x / self._half), 0.0)
        return low, np.where(free, np.minimum(1.0, (1.0 - x) / self._half), 0.0)

    def _points(self, x: Floats, steps: list[Floats]) -> Floats:
        """Return where `steps` from `x` [d] lead to, inside the region, [k, d]."""
        points = self.region.space.snap(np.clip(x + self._half * np.array(steps), 0.0, 1.0))
        outside = ~self.region.contains(points)
        points[outside] = bisect_into(points[outside], x, self.region)
        return points

    def _x(self) -> Floats:
        return np.asarray(self.seen.x[self.progress.centre])

    def _model(self) -> ConstrainedModel | None:
        """Return the models around the centre, None without other rows."""
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
        """Return the row of the least penalty function in the box, the centre of equals."""
        half, x, free = self._half, self._x(), self.region.space.continuous
        rows = self._rows(half)[0]
        way = np.abs(self.seen.x[rows] - x)
        here = (way.max(1) <= half) & (way[:, ~free] == 0).all(1) & self.region.contains(self.seen.x[rows])
        return self._better(rows[here & (rows >= self.progress.since)])[0]

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

    def tell(self, notes: list[Note], rows: Rows) -> None:
        best, gains = self._better(rows)
        wanted = [max(SUFFICIENT_DECREASE * fall, np.finfo(float).tiny) for _, fall, _ in notes]
        self.progress.box.tell(
            [group for group, *_ in notes], [bool(g >= w) for g, w in zip(gains, wanted, strict=True)]
        )
        length = self.progress.box.length
        self.progress.box.resize(SUCCESS_TOLERANCE, FAILURE_TOLERANCE, LENGTH_MAX)
        if self.progress.box.length < min(length, NARROW_SIDE) and any(settled for *_, settled in notes):
            self.progress.box.length *= NARROW_SHRINKAGE
        self.progress.centre = best
        super().tell(notes, rows)

    def _settled(self, fall: float) -> bool:
        """Return whether the predicted decrease is negligible, so that the search has converged."""
        row = self.progress.centre
        if row is None or not np.isfinite(self.seen.f[row, 0]):
            return False
        way = np.abs(self.seen.f[self.seen.good, 0] - self.seen.f[row, 0])
        return bool(fall <= MIN_DECREASE * float(np.nanmedian(way)))

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if its merit is less too."""
        self.progress.incumbent = row
        before, self.progress.centre = self.progress.centre, self._better(np.array([row]))[0]
        if self.progress.centre != before and before is not None:
            self._moved(float(np.abs(self._x() - self.seen.x[before]).max()))

    def _moved(self, way: float) -> None:
        """Take note that the centre moves to a row of another search, `way` off along some parameter."""
        box = self.progress.box
        if way > self._half:  # other ground: this box has not failed there
            box.failures = 0
        box.length = max(box.length, min(2 * way, LENGTH_MAX))  # it has to hold what the models knew

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
    """Return the number of rows in the model of `d` parameters, of which `within` are within reach."""
    return min(max(MIN_ROWS_PER_DIM * d, (d + 1) * (d + 2)), MAX_ROWS, max(2 * d + 1, within))


def price_of_failure(success: Success, centre: Floats, half: float) -> Price:
    """Return what a step [d] of `half` from `centre` [d] costs where it is likely to fail, and the slope of that."""

    def price(s: Floats) -> tuple[float, Floats]:
        short, way = success.slope((centre + half * s)[None])
        return float(SLOPE_PENALTY * short[0]), SLOPE_PENALTY * half * way[0]

    return price


def shortened(x: Floats, centre: Floats, success: Success, space: SearchSpace) -> Floats:
    """Return the points `x` [k, d], those likely to fail moved towards the `centre` [d], which did not, [k, d]."""
    x = x.copy()
    for _ in range(FAILING_HALVINGS):
        failing = success.chance(Inputs.of(x)) < MIN_CHANCE
        x[failing] = space.snap((x[failing] + centre) / 2)
    return x
