"""One lineage: a search with rows of its own, from ten points round a place to where it ends; what it may still reach.

Letters: d coordinates, k points.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.rng import child
from lamcts.samplers.base import Sampler, Session
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.own_rows import OwnRows
from lamcts.types import Floats, Rows

Pace = Literal["moving", "slow", "still", "stuck"]
Kind = Literal["trend", "kick", "anywhere"]  # of the place that a lineage begins at

OPENING = 10  # points in the box that a lineage begins with, before its search is started (untuned)
DRAWS = 5 * OPENING  # of its box at most, where points are known already, or are not to be proposed (untuned)
BOXED = "box"  # in place of a note of its search: a point of the box
AGAIN = 0.6, 0.8  # of a window's gain, at least and at most, is taken to come again in the next one (untuned)
# With no least a lineage on turned Levy was given up at 0.35 on its way to 0; a gain that stays would have no end.
# Tuned: on seeds 0 and 1 of turned functions in 20 dimensions, straight and bent, as benchmarks/README.md tells.
NEARBY = 0.01  # sides of the cube: a best point that moves less over a window stays where it is
STILL, STUCK = 0.02, 1e-3  # of the last window's gain: less than that in this one is the end of a descent
LEAPT = 1.2  # windows since a search along whole parameters gained that hardly interact: while it does it finds other
# valleys itself (tuned: plain Rastrigin and Levy lost two digits at 1000 to lineages)
NOTHING = 1e-9  # of the distance from the best to what the run began with: a gain that is none (untuned)
SLOW = 0.1  # of the distance from the best to a good row: a gain over a window that is small


@dataclass
class Course:
    """What the state of a lineage holds beside its search's.

    middle: of the box that it began in, [d]; None for one that began anywhere, as the first did.
    began: rows there were when it began; knew: how many of them are its own, all for the first and none for others.
    kind: of the place it began at, as parts/starts.py has them. box: side of the box. opened: points of its box so far,
    of as many draws as tried. row: the one that it began at, where that is known, else -1. ended: rows when it was
    given up, -1 before.
    """

    middle: list[float] | None = None
    began: int = 0
    knew: int = 0
    kind: Kind = "anywhere"
    box: float = 0.0
    opened: int = 0
    tried: int = 0
    row: int = -1
    ended: int = -1


class Lineage:
    """A search, the rows that it knows, and the course that it took. Notes are BOXED for points of the opening."""

    def __init__(self, sampler: Sampler, seen: Observations, course: Course) -> None:
        self.sampler, self.own, self.course = sampler, OwnRows(seen), course
        self.session: Session | None = None
        self.logged = 0  # entries of its search's log that stand in ours
        self.besides: list[int] = []  # rows of its own that nobody here asked for

    @property
    def incumbent(self) -> int | None:
        """The best of its rows, by its number in `seen`."""
        return self.own.number(self.own.best)

    @property
    def best(self) -> float:
        return math.inf if self.own.best is None else float(self.own.y[self.own.best])

    @property
    def told(self) -> int:
        """How many results it took since it began."""
        return len(self._y)

    @property
    def done(self) -> bool:
        """Whether it proposes nothing any more."""
        return self.course.ended >= 0 or (self.session is not None and self.session.done)

    @property
    def failed(self) -> bool:
        """Whether nothing in its box succeeded, or next to nothing there can be proposed."""
        if self.session is not None:
            return False
        back = len(self.own) - (self.course.row >= 0)  # results of its box
        none_good = back >= OPENING and not len(self.own.good)
        return none_good or (self._is_spent and not self._ready and back >= self.course.opened)

    @property
    def waits(self) -> bool:
        """Whether the points of its box are out, and too few are back to start its search."""
        boxed = self.session is None and self.course.middle is not None
        return boxed and (self.course.opened >= OPENING or self._is_spent) and not self._ready

    @property
    def _ready(self) -> bool:
        return len(self.own) >= OPENING / 2 and len(self.own.good) > 0

    @property
    def _is_spent(self) -> bool:
        """Whether its box has been drawn from often enough."""
        return self.course.tried >= DRAWS

    def start(self, region: Region, rng: np.random.Generator) -> None:
        self.session = self.sampler.start(region, self.own, rng)

    def end(self) -> None:
        """Give it up, with what its search holds; its results may still come."""
        self.course.ended, self.session = self.own.of, None

    def propose(self, batch: Batch, rng: np.random.Generator) -> list[Any]:
        """Take points into the batch, of its box or of its search; return the notes of those taken."""
        region = self.own.within(batch.region)
        if self.session is None:
            if self.course.middle is not None and (self.course.opened < OPENING or not self._ready):
                if not self._is_spent:
                    return self._open(batch, np.array(self.course.middle), rng)
                if not self._ready:
                    return []
            offered = region.rows if self.course.middle is not None else region.rows[:0]
            self.start(replace(region, rows=offered), child(rng))
        assert self.session is not None
        self.session.move(region)
        x, notes = self.session.ask(batch.missing)
        taken = batch.take(x)
        self.session.forget([note for note, used in zip(notes, taken, strict=True) if not used])
        return [note for note, used in zip(notes, taken, strict=True) if used]

    def _open(self, batch: Batch, middle: Floats, rng: np.random.Generator) -> list[Any]:
        """Take the middle of its box, then draws of it."""
        n = min(batch.missing, max(OPENING - self.course.opened, 1))
        x = middle + self.course.box * (rng.random((n, len(middle))) - 0.5)
        if not self.course.tried:
            x[0] = middle
        taken = int(batch.take(batch.region.space.snap(np.clip(x, 0.0, 1.0))).sum())
        self.course.tried += n
        self.course.opened += taken
        return [BOXED] * taken

    def tell(self, notes: list[Any], rows: Rows, besides: Rows) -> Rows:
        """Take results, rows of `seen`, and rows that nobody asked for; return all that were taken, as they arrived."""
        taken = np.sort(np.concatenate([rows, besides]))
        own = self.own.take(taken)
        self.besides += own[np.isin(taken, besides)].tolist()
        asked = [i for i, note in enumerate(notes) if note != BOXED]
        if asked and self.session is not None:
            self.session.tell([notes[i] for i in asked], own[np.searchsorted(taken, rows[asked])])
        return taken

    def forget(self, note: Any) -> None:
        if note == BOXED:
            self.course.opened -= 1
        elif self.session is not None:
            self.session.forget([note])

    # How it goes ----------------------------------------------------------------------------------------------------

    def pace(self, window: int, good: float, first: float) -> Pace:
        """Return how it gets on; `good` and `first`: the losses of a good row and of one that the run began with.

        "stuck" has ended, or is about to; "still" polishes one place; "slow" gains little, and may be on its way yet.
        """
        now, before = self.gains(window)
        if self.done:
            return "stuck"
        if not math.isfinite(before) or self._leaps(window):
            return "moving"
        if now <= NOTHING * (first - self.best):
            return "stuck"
        if now <= STILL * before and self._moved(window) < NEARBY:
            return "stuck" if now <= STUCK * before else "still"
        return "slow" if now <= SLOW * (good - self.best) else "moving"

    def gained(self, first: float) -> bool:
        """Return whether it is better than what it knew when it began; `first` as of `pace`."""
        return _least(self.own.y[: self.course.knew]) - self.best > NOTHING * (first - self.best)

    def ended(self, window: int, first: float) -> bool:
        """Return whether two windows in a row gained nothing; `first` as of `pace`."""
        now, before = self.gains(window)
        return self.done or now + before <= NOTHING * (first - self.best)

    def reach(self, window: int) -> float:
        """Return the loss that it would end at, if its gains go on to shrink about as they do."""
        now, before = self.gains(window)
        if not math.isfinite(before):
            return -math.inf
        ratio = float(np.clip(now / before, *AGAIN)) if before > 0 else AGAIN[1]
        return self.best - now * ratio / (1 - ratio)

    def gains(self, window: int) -> tuple[float, float]:
        """Return what the last window of its results gained, and the one before; infinity where there was none yet."""
        y = self._y
        marks = [_least(y[: max(0, len(y) - back * window)]) for back in (0, 1, 2)]
        if not math.isfinite(marks[2]):
            return math.inf, math.inf
        return marks[1] - marks[0], marks[2] - marks[1]

    def _leaps(self, window: int) -> bool:
        """Return whether it leaves its valleys by itself: one parameter at a time, over the last two windows."""
        return getattr(self.session, "leapt", math.inf) <= LEAPT * window and self._moved(2 * window) >= NEARBY

    def _moved(self, results: int) -> float:
        """Return how far its best point moved over so many results, along the parameter where that is most."""
        y, x = self._y, self.own.x[self._asked]
        old, new = int(np.nanargmin(y[: len(y) - results])), int(np.nanargmin(y))
        return float(np.abs(x[new] - x[old]).max())

    @property
    def _asked(self) -> Rows:
        """Its rows since it began, but for those that nobody here asked for."""
        rows = np.arange(self.course.knew, len(self.own))
        return rows[~np.isin(rows, self.besides)] if self.besides else rows

    @property
    def _y(self) -> Floats:
        """The losses of those."""
        y: Floats = self.own.y[self._asked] if self.besides else self.own.y[self.course.knew :]
        return y


def _least(y: Floats) -> float:
    return float(np.fmin.reduce(y, initial=math.inf))
