"""Descent on quadratic models of a loss and of what bounds it: the session of `Quadratic` where there are constraints."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.models.quadratic_posterior import Place
from lamcts.models.quadrics import QuadricPosteriors, Quadrics
from lamcts.models.scale import Scale
from lamcts.samplers.base import Proposal, Scope
from lamcts.samplers.parts.batch import Batch, bisect_into, distances
from lamcts.samplers.parts.constrained_step import ConstrainedStep
from lamcts.samplers.parts.session import LocalSession, Progress
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.quadratic import Quadratic

LEAST_ROWS_EACH = 10
MOST_ROWS = 500
NEAR = 2.0
TRIES = 3
ENOUGH = 0.1  # of the fall that was predicted: a success
DEARER = 2.0  # prices in the merit, in those of the models
import os
FT = int(os.environ.get("FT", "3"))
KAPPA = float(os.environ.get("KAPPA", "1.0"))
ROWSX = float(os.environ.get("ROWSX", "1"))


@dataclass
class ConstrainedProgress(Progress):
    box: TrustRegionState
    centre: int | None = None
    prices: list[float] = field(default_factory=list)  # [c], of the merit: losses for each unit of an excess
    places: list[Place | None] = field(default_factory=list)  # [1 + c]


class ConstrainedSession(LocalSession["Quadratic", ConstrainedProgress]):
    @property
    def scope(self) -> Scope:
        return "selected" if self.incumbent is None else "incumbent"

    @property
    def done(self) -> bool:
        return self.progress.box.length < self.settings.length_min

    def ask(self, n: int) -> Proposal:
        batch, box = Batch(self.region, self.seen, n), self.progress.box
        falls = list[float]()
        if (row := self._centre()) is not None:
            self.progress.centre = row
            falls = self._propose(batch, row)
        searched = len(batch.x)
        batch.fill(self.progress.rng)
        groups = box.issue(searched) + box.begin(len(batch.x) - searched)
        return Proposal(batch.x, [list(note) for note in zip(groups, [*falls, *[0.0] * n], strict=False)])

    def _centre(self) -> int | None:
        for row in (self.progress.centre, self.incumbent):
            if row is not None and self.region.contains(self.seen.x[[row]])[0]:
                return row
        rows = self.region.rows
        return int(rows[np.argmin(self.seen.y[rows])]) if len(rows) else None

    def _merit(self, rows: Rows) -> Floats:
        """Return the losses of rows [k] with their excesses at their prices, [k]; inf where one is not known."""
        f, over = self.seen.f[rows, 0], np.maximum(self.seen.g[rows], 0.0)
        if self.progress.prices:
            f = f + np.where(over > 0, over * np.array(self.progress.prices), 0.0).sum(1)
        else:
            f = self.seen.standing(rows)
        return np.where(np.isfinite(f), f, np.inf)

    def _propose(self, batch: Batch, row: int) -> list[float]:
        half = self.progress.box.length / 2
        rows = self._rows(row, half)
        if len(rows) < 2:
            return []
        model = self._model(rows, row, half)
        problem = self._problem(model.mean(), model, row, half)
        step = problem.solve()
        self._reprice(problem, step)
        row = self._recentred(rows, row, half)
        if row != self.progress.centre:
            self.progress.centre = row
            rows = self._rows(row, half)
            model = self._model(rows, row, half)
        return self._steps(batch, model, row, half)

    def _steps(self, batch: Batch, model: QuadricPosteriors, row: int, half: float) -> list[float]:
        centre, space, settings = self.seen.x[row], self.region.space, self.settings
        falls = list[float]()
        first = self.progress.box.failures % 2 == 0
        for _ in range(TRIES):
            x, fall = [], []
            for i in range(batch.missing):
                mean = first and i == 0
                models = model.mean() if mean else model.draw(self.progress.rng, settings.temperature)
                step, down = self._step(models, model, row, half)
                x.append(np.clip(centre + half * step, 0.0, 1.0))
                fall.append(down)
            points = space.snap(np.array(x))
            outside = ~self.region.contains(points)
            points[outside] = bisect_into(points[outside], centre, self.region)
            taken = batch.take(points)
            falls += [down for down, kept in zip(fall, taken, strict=True) if kept]
            first = False
            if not batch.open:
                break
        return falls

    def _problem(self, models: Quadrics, model: QuadricPosteriors, row: int, half: float, margins: Floats | None = None) -> ConstrainedStep:
        centre = self.seen.x[row]
        free = self.region.space.continuous
        low = np.where(free, np.maximum(-1.0, -centre / half), 0.0)
        high = np.where(free, np.minimum(1.0, (1.0 - centre) / half), 0.0)
        return ConstrainedStep(models, np.zeros(len(models.level) - 1) if margins is None else margins, low, high)

    def _step(self, models: Quadrics, model: QuadricPosteriors, row: int, half: float) -> tuple[Floats, float]:
        problem = self._problem(models, model, row, half)
        step = problem.solve()
        if KAPPA:
            margins = KAPPA * model.deviations(step)[1:]
            problem = self._problem(models, model, row, half, margins)
            step = problem.solve()
        return step, self._fall(models, step)

    def _fall(self, models: Quadrics, step: Floats) -> float:
        """Return by how much the merit is to fall."""
        here, there = models.at(np.zeros(len(step))), models.at(step)
        over = np.maximum(here[1:], 0.0) - np.maximum(there[1:], 0.0)
        prices = np.array(self.progress.prices)[self._used]
        return float(((here[0] - there[0]) * self._scales[0]) + (prices * self._scales[1:]) @ over)

    def _reprice(self, problem: ConstrainedStep, step: Floats) -> None:
        prices = np.maximum(1.0, DEARER * problem.prices(step).max(initial=0.0)) * np.ones(len(self._used))
        raw = prices * problem.units[0] * self._scales[0] / (problem.units[1:] * self._scales[1:])
        full = np.zeros(self.seen.g.shape[1])
        full[self._used] = raw
        self.progress.prices = full.tolist()

    def _recentred(self, rows: Rows, row: int, half: float) -> int:
        x = self.seen.x[rows]
        near = (np.abs(x - self.seen.x[row]).max(1) <= half) & self.region.contains(x)
        near &= (self.seen.x[rows] == self.seen.x[row])[:, ~self.region.space.continuous].all(1)
        rows = np.concatenate([[row], rows[near]])
        return int(rows[np.argmin(self._merit(rows))])

    def _model(self, rows: Rows, row: int, half: float) -> QuadricPosteriors:
        f, g = self.seen.f[rows, 0], self.seen.g[rows]
        self._used = np.flatnonzero((self.seen.g[self.seen.good] > 0).any(0))
        scale = Scale.of(f)
        columns = [scale.down(f) - scale.down(self.seen.f[[row], 0])]
        self._scales = [scale.width * 2.0**scale.exponent]
        for j in self._used:
            own = Scale.of(g[:, j])
            columns.append(np.ldexp(g[:, j], -own.exponent) / own.width)
            self._scales.append(own.width * 2.0**own.exponent)
        self._scales = np.array(self._scales)
        c = self.seen.g.shape[1]
        places = self.progress.places or [None] * (1 + c)
        use = [0, *(1 + self._used)]
        model = QuadricPosteriors((self.seen.x[rows] - self.seen.x[row]) / half, np.array(columns), [places[i] for i in use], self.progress.rng)
        places = list(places)
        for i, place in zip(use, model.places, strict=True):
            places[i] = place
        self.progress.places = places
        return model

    def _rows(self, row: int, half: float) -> Rows:
        good = self.seen.good
        good = good[np.isfinite(self.seen.f[good, 0]) & np.isfinite(self.seen.g[good]).all(1)]
        far, off = distances(self.seen, good, self.seen.x[row])
        d = self.seen.dim
        most = min(max(LEAST_ROWS_EACH * d, (d + 1) * (d + 2)), MOST_ROWS)
        n = min(most, max(int(ROWSX*(2 * d + 1)), int(np.count_nonzero(off <= NEAR * half))))
        return good[np.argsort(far, kind="stable")[:n]]

    def tell(self, notes: list[Any], rows: Rows) -> None:
        before = self.progress.incumbent
        centre = self.progress.centre
        here = np.inf if centre is None else float(self._merit(np.array([centre]))[0])
        there = self._merit(rows)
        better = [bool(m < here - ENOUGH * max(note[1], 0.0)) for m, note in zip(there, notes, strict=True)]
        self.progress.box.tell([note[0] for note in notes], better)
        self.progress.box.resize(self.settings.success_tolerance, FT, self.settings.length_max)
        super().tell(notes, rows)
        i = int(np.argmin(there))
        if there[i] < here:
            self.progress.centre = int(rows[i])

    def recenter(self, row: int) -> None:
        box = self.progress.box
        if self.incumbent is not None:
            way = float(np.abs(self.seen.x[row] - self.seen.x[self.incumbent]).max())
            if way > box.length / 2:
                box.failures = 0
            box.length = max(box.length, min(2 * way, self.settings.length))
        self.progress.incumbent = self.progress.centre = row

    def forget(self, notes: list[Any]) -> None:
        self.progress.box.forget([note[0] for note in notes])
