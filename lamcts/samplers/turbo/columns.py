"""The trust region of `Turbo` where rows have several columns: draws of all of them decide on one set of candidates.

One loss with constraints: Eriksson and Poloczek 2021 (SCBO, arXiv 2002.08526). Several losses: Daulton et al. 2022
(MORBO, arXiv 2109.10964), but one box, which stands round several rows of the front in turn.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.models.groups import GroupPaths, Groups
from lamcts.models.local_columns import ColumnsState, LocalColumns
from lamcts.models.success import success_near
from lamcts.observations import Observations
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import contributions
from lamcts.regions.region import Region
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.feasibility_penalty import SafeGroupPaths, safely
from lamcts.samplers.parts.perturb import box, candidates, gradient_descent
from lamcts.samplers.parts.scalarisation import MOST_LOSSES, Nearest, Volume, dominated, reference_of
from lamcts.samplers.turbo.acquisition import ExpectedVolume, picked
from lamcts.samplers.turbo.session import (
    ADOPTION,
    BEST_ROWS,
    IMPROVEMENT,
    ROUNDS,
    BoxSession,
    TurboProgress,
    median,
)
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.samplers.turbo import Turbo

CENTRES, BY_VOLUME = 4, 3  # rows of a front that a batch stands round, and those of them by what they add (untuned)
BARRED = 20  # asks before a row is a centre again (untuned; MORBO: 100)
FAR = 0.3  # candidates that move one parameter or two anywhere, for each of the box: without them the ends of a front
# stayed unknown (ZDT1: 115.9 with none, 120.2 with them, of 120.67; seeds 0 and 1)
SHARED = 2  # centres that the usual number of candidates is for; more have as many each (untuned)
# What a point is expected to add: exactly, of two losses, in place of a draw.
FEW = 5  # dimensions in which the model can know the whole space (BraninCurrin at 100 from log10 0.01 to -0.30 by it,
# the base alone; in ten, at every ask, ZDT3 was at 123.4 in place of 128.0; seeds 100 to 104, 100 and 101)
EXACT_ROWS = 512  # in the model: more cost too much (untuned)
NEAR = 0.1  # as MARGIN, here: expected gains at the ends need no more (at 1, BraninCurrin -0.16; seeds 100 to 104)
LOOKED, STARTS, STEPS = 1000, 4, 16  # candidates, those of them that are climbed from, and how far (untuned)
GROWN = 1e-3  # of the volume between a front's best and its reference: a row that adds less is no success (untuned)


@dataclass
class ColumnsProgress(TurboProgress):
    """used: at which ask a row was last a centre."""

    model: ColumnsState = field(default_factory=ColumnsState)
    asks: int = 0
    used: dict[int, int] = field(default_factory=dict)


class Ground(NamedTuple):
    """Candidates `x`, the centre that each is a move of, and the box of the move: all [c, d]."""

    x: Floats
    centre: Floats
    low: Floats
    high: Floats


class ColumnsSession(BoxSession):
    """A search that models all columns."""

    progress: ColumnsProgress

    def __init__(self, settings: "Turbo", region: Region, seen: Observations, progress: ColumnsProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self.model = LocalColumns(seen, settings.prior, settings.model_budget, progress.model)
        self.losses = seen.f.shape[1]

    @property
    def done(self) -> bool:
        """Of several losses never: where its box is shut it begins again, wide, since the front goes on elsewhere.

        ZDT1 in ten dimensions gained 0.2 by it, ZDT3 0.5 (means of seeds 100 to 102, 500 evaluations).
        """
        return self.losses == 1 and super().done

    # What it proposes -----------------------------------------------------------------------------------------------

    def _propose(self, batch: Batch, centre: Floats) -> None:
        """Thompson sampling of all columns: each missing point is the best candidate of one draw of each."""
        if self.losses > 1 and self.progress.box.length < self.settings.length_min:
            self.progress.box.reopen(self.settings.length)
        groups = self.model.update(centre)
        front = self._lost(self.seen.front)
        centres = self._centres(centre)
        length, perturb_dims = self.progress.box.length, self.settings.perturb_dims
        for _ in range(ROUNDS):
            ground = self._ground(batch, groups, centres, length, perturb_dims)
            if len(ground.x):
                if not len(batch.x) and self._exact(groups, front):
                    front = self._expect(batch, groups, ground, front)
                if batch.missing:
                    self._take(batch, groups, ground, front)
            if not batch.missing:
                break
            length, perturb_dims = 2 * length, 2 * perturb_dims  # as in the search of one column

    def _take(self, batch: Batch, groups: Groups, ground: Ground, front: Floats) -> None:
        drawn = GroupPaths(groups, min(batch.missing, len(ground.x)), self.progress.rng)
        success = success_near(self.seen, ground.centre[0])
        paths = drawn if success is None else SafeGroupPaths(drawn, success)
        picks = picked(paths(ground.x).astype(float), self.losses, front, self.progress.rng)
        best, middle, low, high = (own[picks.rows] for own in ground)
        free = (best != middle) & self.region.space.continuous  # the others stay where the candidate left them
        free[~self._descending(len(batch.x), len(best))] = False

        def slope(x: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
            return picks.slope(*paths.slopes(x))

        batch.take(gradient_descent(self.region, best, slope, low, high, free, self.settings.descent))
        batch.take(best)

    def _exact(self, groups: Groups, front: Floats) -> bool:
        """Return whether a point is by what it is expected to add: always in few dimensions, else at every other ask.

        Where a model cannot know the whole space, draws find what lies elsewhere.
        """
        if self.losses != 2 or not len(front) or len(groups.x) > EXACT_ROWS:
            return False
        return self.seen.dim <= FEW or self.progress.asks % 2 == 0

    def _expect(self, batch: Batch, groups: Groups, ground: Ground, front: Floats) -> Floats:
        """Take the point that is expected to add most to the front; return the front as if it had."""
        success = success_near(self.seen, ground.centre[0])
        worth = safely(ExpectedVolume(groups, Volume(front, NEAR)).slope, success)
        thin = -(-len(ground.x) // LOOKED)
        ground = Ground(*(own[::thin] for own in ground))
        starts = self._likely(groups, ground.x, front)
        starts = starts[worth(ground.x[starts])[0].argsort(kind="stable")[:STARTS]]
        start, middle, low, high = (own[starts] for own in ground)
        free = (start != middle) & self.region.space.continuous
        x = gradient_descent(self.region, start, worth, low, high, free, STEPS)
        x = x[[worth(x)[0].argmin()]]
        batch.take(x)
        z = groups.expect(x)
        kept = (z[:, self.losses :] <= 0).all(1)
        return np.vstack([front, z[kept, : self.losses]])

    def _likely(self, groups: Groups, x: Floats, front: Floats) -> Rows:
        """Return candidates [c, d] that some draws lead to, and those that add most where all comes out as expected."""
        rng, mean = self.progress.rng, groups.expect(x)
        paths = GroupPaths(groups, min(STARTS, len(x)), rng)
        drawn = picked(paths(x).astype(float), self.losses, front, rng).rows
        value = Volume(front, NEAR).of(mean[:, : self.losses]) + np.maximum(mean[:, self.losses :], 0.0).sum(1)
        return np.unique(np.r_[drawn, value.argsort(kind="stable")[:STARTS]])

    def _ground(self, batch: Batch, groups: Groups, centres: Floats, length: float, perturb_dims: float) -> Ground:
        """Return candidates round all centres; of several losses, some that move little, but anywhere."""
        m = self._most_candidates(batch.missing) // min(len(centres), SHARED)
        zero, one = np.zeros(self.seen.dim), np.ones(self.seen.dim)
        parts = []
        for centre in centres:
            parts.append(self._round(centre, *box(centre, groups.lengths, length), m, perturb_dims))
            if self.losses > 1:
                parts.append(self._round(centre, zero, one, int(FAR * m), 1.0))
        ground = Ground(*map(np.vstack, zip(*parts, strict=True)))
        if self.region.space.continuous.all():
            return ground
        fresh = self.seen.unseen(np.vstack([batch.x, ground.x]))[len(batch.x) :]
        return Ground(*(own[fresh] for own in ground))

    def _round(self, centre: Floats, low: Floats, high: Floats, m: int, perturb_dims: float) -> Ground:
        x = candidates(self.region, centre, low, high, m, perturb_dims, self.progress.rng)
        return Ground(x, *(np.broadcast_to(own, x.shape) for own in (centre, low, high)))

    def _centres(self, usual: Floats) -> Floats:
        """Return where to search, [p, d]: of several losses some rows of the front, by what they add and by weights."""
        front = self.seen.front
        front = front[self.region.contains(self.seen.x[front])]
        if self.losses == 1 or not len(front):
            return usual[None]
        f, rng = self._lost(front), self.progress.rng
        chosen = self._adding(front, f) if self.losses == 2 else []
        weights = rng.dirichlet(np.ones(self.losses), CENTRES - len(chosen))
        chosen += [int(front[Nearest.beside(f, own).of(f).argmin()]) for own in weights]
        self.progress.incumbent = chosen[0]
        return self.seen.x[np.unique(chosen)]

    def _adding(self, front: Rows, f: Floats) -> list[int]:
        """Return the rows that add most to the front's volume, of those that were no centre lately if there are."""
        progress = self.progress
        progress.asks += 1
        progress.used = {row: ask for row, ask in progress.used.items() if progress.asks - ask < BARRED}
        worth = contributions(f, reference_of(f))
        last = np.array([progress.used.get(int(row), -1) for row in front])
        chosen: list[int] = front[np.lexsort((-worth, last))[:BY_VOLUME]].tolist()
        progress.used |= dict.fromkeys(chosen, progress.asks)
        return chosen

    # What is a success ----------------------------------------------------------------------------------------------

    def _improving(self, rows: Rows) -> list[bool]:
        seen, best = self.seen, self.incumbent
        y = seen.y
        if best is None:
            return [bool(np.isfinite(y[row])) for row in rows]
        if not seen.feasible[best]:
            return [bool(y[row] < y[best]) for row in rows]
        if self.losses > 1:
            return self._growing(rows)
        f, target = seen.f[:, 0], seen.f[best, 0] - IMPROVEMENT * self._spread()
        return [bool(y[row] < y[best] and f[row] < target) for row in rows]

    def _spread(self) -> float:
        """Return how far the best feasible rows of the model are apart in the one loss."""
        rows = self.model.rows
        f = np.sort(self.seen.f[rows[self.seen.feasible[rows]], 0])[: max(self.seen.dim, BEST_ROWS)]
        return max(0.0, median(f) - float(f[0])) if len(f) else 0.0

    def _growing(self, rows: Rows) -> list[bool]:
        """Return of each row whether the front of those before grows by it, and by more than a little."""
        before, new = self.seen.feasible.copy(), self.seen.feasible[rows]
        before[rows] = False
        old, f = self._lost(np.flatnonzero(before)), self._lost(rows)
        front = old[non_dominated(old)]
        result = np.zeros(len(rows), bool)
        if self.losses > MOST_LOSSES:
            result[new] = ~dominated(f[new], front)
        else:
            volume = Volume(front)
            with np.errstate(over="ignore", invalid="ignore"):  # a volume beyond all floats grows by no share of it
                least = GROWN * np.prod(volume.reference - front.min(0))
            result[new] = -volume.of(f[new]) > least
        return result.tolist()

    def _lost(self, rows: Rows) -> Floats:
        """Return the losses of rows in standard units, [n, m]."""
        return self.model.units.lost(self.seen.f[rows])

    def recenter(self, row: int) -> None:
        """Go on from a row that others found, if it is better by more than a little: else this box is as good."""
        seen, best = self.seen, self.incumbent
        if best is not None:
            if not seen.y[row] < seen.y[best]:
                return
            rows = self.model.rows[seen.feasible[self.model.rows]]
            if seen.feasible[best] and len(rows):
                least = 2 * ADOPTION * max(0.0, median(seen.f[rows, 0]) / 2 - float(seen.f[row, 0]) / 2)
                if seen.f[row, 0] >= seen.f[best, 0] - least:
                    return
        self.progress.incumbent = row
        self.progress.box.failures = 0  # the box has not failed here
