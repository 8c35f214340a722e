"""Descent on a quadratic model, inside any region: the quick way down a valley, and to the middle of a rippled bowl.

A trust-region method of the kind of Powell's (COBYLA 1994, NEWUOA 2006), with a Bayesian polynomial for the
interpolation: every row nearby counts, whoever asked for it, results may be late or missing, and the points of a batch
beside the first go down draws of the posterior (Thompson sampling). It begins with a box over the whole cube, where
the model is the trend of all rows, and ends in a narrow one, where it is a Taylor polynomial. Where few points
are asked for at a time, most of them are such draws too: the mean's step after every result follows the first valley.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts import rng as streams
from lamcts.models.scale import Scale
from lamcts.models.taylor import Place, Taylor
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.local import Local
from lamcts.samplers.progress import Progress
from lamcts.samplers.proposals import Batch, centre, distances, leader, pull

MOST_ROWS = 500  # in the model: a step in 6000 dimensions stays below a second
NEAR = 2.0  # boxes: rows within take part
FAR = 8.0  # boxes: rows within take part where they help to tell the near ones
MEAN_EVERY = 10  # results at least from one step of the model's mean to the next, whose model is else all but the same
TRIES = 3  # rounds of proposals before the rest of a batch is drawn from the region


@dataclass(frozen=True)
class Quadratic:
    """Step to the lowest point of a quadratic model within a box round the best row; grow it on success, else shrink.

    length, length_min, length_max: sides of the box at first, at the end (below it the search has converged), at most,
    as shares of the cube. success_tolerance: batches in a row that improve before it doubles. failure_tolerance:
    evaluations in a row that do not before it halves. rows: most rows in the model, the nearest ones (None: twice
    the unknowns of a quadratic polynomial, and 10 d at least, but 500 at most): those within twice the box, those
    within eight times where they tell the near ones better, and 2 d + 1 at least. temperature: of the draws, 1 the
    posterior's own.
    """

    length: float = 2.0
    length_min: float = 1e-9
    length_max: float = 2.0
    success_tolerance: int = 2
    failure_tolerance: int = 6
    rows: int | None = None
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.length_min < self.length <= self.length_max:
            got = f"{self.length_min!r}, {self.length!r}, {self.length_max!r}"
            raise ValueError(f"Quadratic: expected 0 < length_min < length <= length_max, got {got}")
        for name in ("success_tolerance", "failure_tolerance", "rows"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"Quadratic: expected {name} to be a whole number of at least 1, got {value!r}")
        if not self.temperature >= 0:
            raise ValueError(f"Quadratic: expected a temperature of at least 0, got {self.temperature!r}")

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_QuadraticSession":
        return _QuadraticSession(self, region, seen, rng, leader(seen, region.rows), Progress(self.length, start=0))

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_QuadraticSession":
        rng, progress = streams.restore(state["rng"]), Progress.restore(state["progress"])
        session = _QuadraticSession(self, region, seen, rng, state["incumbent"], progress)
        session.places = [None if place is None else tuple(place) for place in state["places"]]
        session.mean_at = state["mean_at"]
        return session


class _QuadraticSession(Local):
    def __init__(
        self,
        settings: Quadratic,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        incumbent: int | None,
        progress: Progress,
    ) -> None:
        super().__init__(region, seen, rng, incumbent)
        self.places: list[Place | None] = [None, None]  # where the next fits start: of the far rows, of the near ones
        self.mean_at: int | None = None  # rows seen when the model's mean was last followed
        self._settings = settings
        self._progress = progress

    @property
    def settled(self) -> bool:
        return self.incumbent is not None

    @property
    def done(self) -> bool:
        return self._progress.length < self._settings.length_min

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch = Batch(self._region, self._seen, n)
        if (middle := centre(self._region, self._seen, self.incumbent)) is not None:
            self._propose(batch, middle)
        searched = len(batch.x)
        batch.fill(self._rng)  # nothing fresh near the centre, or nothing known yet
        drawn = len(batch.x) - searched
        tags = self._progress.issue(drawn, searched)  # those of the drawn points come first
        return batch.x, tags[drawn:] + tags[:drawn]

    def _propose(self, batch: Batch, centre: Floats) -> None:
        half = self._progress.length / 2
        free = self._region.space.continuous  # [d]; a discrete parameter stays where the centre has it
        low = np.where(free, np.maximum(-1.0, -centre / half), 0.0)
        high = np.where(free, np.minimum(1.0, (1.0 - centre) / half), 0.0)
        model = self._model(centre, half)
        first = self._follows_mean()
        for _ in range(TRIES):
            steps = [self._step(model, low, high, first and i == 0) for i in range(batch.missing)]
            x = self._region.space.snap(np.clip(centre + half * np.array(steps), 0.0, 1.0))
            outside = ~self._region.contains(x)
            x[outside] = pull(x[outside], centre, self._region)
            batch.take(x)
            first = False
            if not batch.open:
                break

    def _follows_mean(self) -> bool:
        """Return whether the next batch begins with the step of the model's mean, and take note of it."""
        if self._progress.failures % 2 or self._progress.tags:  # it was tried already
            return False
        if self.mean_at is not None and len(self._seen) - self.mean_at < MEAN_EVERY:
            return False
        self.mean_at = len(self._seen)
        return True

    def _step(self, model: Taylor | None, low: Floats, high: Floats, mean: bool) -> Floats:
        if model is None:
            return np.asarray(low + self._rng.random(len(low)) * (high - low))
        quadric = model.mean() if mean else model.draw(self._rng, self._settings.temperature)
        return quadric.lowest(low, high)

    def _model(self, centre: Floats, half: float) -> Taylor | None:
        """Return the model of the rows round `centre` [d], None where there are none beside it."""
        good = self._seen.good
        far, off = distances(self._seen, good, centre)
        first, most = (self._rows(int(np.count_nonzero(off <= reach * half))) for reach in (NEAR, FAR))
        near = np.arange(len(good))
        if len(good) > most:
            near = np.argpartition(far, most - 1)[:most]
        near = near[np.argsort(far[near], kind="stable")]
        if far[near[-1]] == 0:
            return None
        y = self._seen.y[good[near]]
        losses = Scale.of(y).down(y)
        return self._fitted((self._seen.x[good[near]] - centre) / half, losses - losses[0], first)

    def _rows(self, within: int) -> int:
        """Return how many rows take part where so many lie within reach."""
        d = self._seen.dim
        most = self._settings.rows or min(max(10 * d, (d + 1) * (d + 2)), MOST_ROWS)
        return min(most, max(2 * d + 1, within))

    def _fitted(self, steps: Floats, losses: Floats, first: int) -> Taylor:
        """Return the model of all steps [n, d] and losses [n], or of the `first` ones if it tells those better."""
        model = Taylor(steps, losses, self.places[0], self._rng)
        self.places[0] = model.place
        if first >= len(losses):
            return model
        narrow = Taylor(steps[:first], losses[:first], self.places[1], self._rng)
        self.places[1] = narrow.place
        return narrow if narrow.evidence > model.evidence_of(first) else model

    def tell(self, tags: list[int], rows: Rows) -> None:
        best = np.inf if self.incumbent is None else self._seen.y[self.incumbent]
        self._progress.tell(tags, [bool(self._seen.y[row] < best) for row in rows])
        settings = self._settings
        self._progress.resize(settings.success_tolerance, settings.failure_tolerance, settings.length_max)
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def adopt(self, row: int) -> None:
        if self.incumbent is not None:
            way = float(np.abs(self._seen.x[row] - self._seen.x[self.incumbent]).max())
            if way > self._progress.length / 2:  # other ground: this box has not failed there
                self._progress.failures = 0
            # The box has to hold what the model knew.
            self._progress.length = max(self._progress.length, min(2 * way, self._settings.length))
        self.incumbent = row

    def forget(self, tags: list[int]) -> None:
        self._progress.forget(tags)

    def state(self) -> dict[str, Any]:
        return {
            **self.core(),
            "progress": self._progress.state(),
            "places": [None if place is None else list(place) for place in self.places],
            "mean_at": self.mean_at,
        }
