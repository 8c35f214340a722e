"""Leave the valley: where a search stands still, another begins at the lowest point of the trend of all that was seen.

The first lineage is the search that is wrapped, untouched: until it stands still every point is the same. Then points
are spread over the whole cube, and a lineage with rows of its own begins in a small box where the trend leads to
(models/trend.py): searches that share rows go back to the valley that they know. It is given up once it would end
above the best, as its gains shrink; else it is the best. When, and on how many evaluations, parts/expedition.py says.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Proposal, Sampler, Scope, Session
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.expedition import Expedition, Explorer
from lamcts.samplers.parts.lineage import BOXED, Course, Lineage
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.scalarised import fitting
from lamcts.types import Rows, whole_number

BESIDES = -2  # less a row's number: one that nobody here asked for
WIDE = -1  # in place of a lineage's number: a point that was spread out
ROUNDS = 4  # times that a batch is filled up by whoever is next, before points are spread out to fill it (untuned)


@dataclass(frozen=True)
class Lineages(LocalSampler):
    """Begins again where the trend of all rows leads to, when its search stands still; each lineage has its own rows.

    The method is ours; its closest relatives are CGU's convex underestimators of local minima (Phillips, Rosen and
    Walke 1995) and MetaMax (Gyorgy and Kocsis 2011). Of one loss without constraints, where all parameters are
    continuous; else it is `inner`.

    inner: the search that goes on until it stands still, and that begins anywhere where no trend leads elsewhere.
    near: the search of the lineages that begin in a box, with the ten results of that box.
    rough: the same where the trend's place is in doubt (None: `near`).
    box: side of that box (0.025; share of the cube); tuned: from places that a trend leads to, 260 evaluations end at
        2 on turned Rastrigin, with 0.1 at 14, and at 0.004 on turned Levy, with 0.1 at 0.11.
    rough_box: the same where the trend's place is in doubt (0.1; share of the cube); untuned.
    doubt: how far from it a draw of the trend leads at least, where it is (0.05; share of the cube, root mean square of
        the parameters); tuned: draws on turned Rastrigin and Levy lead 0.02 to 0.04 away, on bent ones mostly farther.
    distance: nearer to the best point, along every parameter, the trend leads to no new valley (0.06; share of the
        cube); tuned: Ackley's and Griewank's trends end within 0.04.
    window: results that gains are taken over (None: 5 d, at most 120, and three batches at least; results); untuned.
    """

    several: ClassVar[bool] = True
    relocates: ClassVar[bool] = True  # by itself: unless it is told otherwise, no tree says where to search
    inner: Sampler
    near: Sampler
    rough: Sampler | None = None
    box: float = 0.025
    rough_box: float = 0.1
    doubt: float = 0.05
    distance: float = 0.06
    window: int | None = None

    def __post_init__(self) -> None:
        for one in (self.inner, self.near, *([] if self.rough is None else [self.rough])):
            if not getattr(one, "resumable", False):
                raise ValueError(f"Lineages: expected searches that are resumable, got {one!r}")
        for name in ("box", "rough_box"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"Lineages: expected 0 < {name} <= 1, got {getattr(self, name)!r}")
        for name in ("doubt", "distance"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"Lineages: expected {name} >= 0, got {getattr(self, name)!r}")
        whole_number(self.window, "Lineages: window", optional=True)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        if not (seen.plain and region.space.continuous.all()):
            return fitting(self.inner, seen).start(region, seen, rng)
        first = Lineage(self.inner, seen, Course(None, len(seen), len(seen)))
        rows = first.own.take(np.arange(len(seen)))
        first.start(region, rng)
        progress = _Progress(rng.spawn(1)[0], [first.course], Expedition(), len(seen))
        session = _LineagesSession(self, region, seen, progress, [first])
        session.log += [[0, row] for row in rows.tolist()]
        return session

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Session:
        if "lineages" not in state:
            return fitting(self.inner, seen).restore(state, log, region, seen)
        session = _LineagesSession(self, region, seen, from_json(_Progress, state), [])
        session.restored(state["lineages"], log)
        return session


@dataclass
class _Progress:
    rng: np.random.Generator
    courses: list[Course]
    expedition: Expedition
    known: int  # rows of `seen` that were handed to a lineage, or spread out


class _LineagesSession:
    """A point's note is [lineage, its own note].

    A log entry is [lineage, row], [lineage, BESIDES - row], or [lineage, -1, entry of its log].
    """

    def __init__(
        self, settings: Lineages, region: Region, seen: Observations, progress: _Progress, lineages: list[Lineage]
    ) -> None:
        self.region, self.seen, self.progress, self.lineages = region, seen, progress, lineages
        self.explorer = Explorer(settings, seen, lineages, progress.expedition, progress.rng)
        self.log: list[Any] = []

    @property
    def done(self) -> bool:
        """Whether the search that it wraps is to begin anew, as if there were no others."""
        return self.progress.expedition.over

    @property
    def incumbent(self) -> int | None:
        first = self.lineages[0]
        own = first.own.best if first.session is None else first.session.incumbent
        others = [row for one in self.lineages[1:] if (row := one.incumbent) is not None]
        return self.seen.best_row(others, first.own.number(own))

    @property
    def scope(self) -> Scope:
        """That of the first lineage, until it is to be left."""
        first = self.lineages[0].session
        return "space" if first is None or self.progress.expedition.spread else first.scope

    def ask(self, n: int) -> Proposal:
        self._hand_out([], np.empty(0, np.int64))
        batch, notes = Batch(self.region, self.seen, n), list[Any]()
        self.progress.expedition.batch = n
        self._advance()
        for _ in range(ROUNDS):
            if not batch.open:
                break
            notes += self._take(batch, self.explorer.next(batch.missing))
        while batch.open and (more := self._spread(batch, batch.missing)):
            notes += more
        return Proposal(batch.x, notes)

    def _advance(self) -> None:
        self.explorer.advance()
        known = len(self.progress.courses)
        self.progress.courses += [one.course for one in self.lineages[known:]]
        self.log += [[k, one.row] for k, one in enumerate(self.progress.courses[known:], known) if one.row >= 0]

    def _take(self, batch: Batch, k: int | None) -> list[Any]:
        """Take points of lineage `k` into the batch, or spread-out ones; return their notes."""
        if k is None:
            return self._spread(batch, self.progress.expedition.wide or batch.missing)
        notes = [[k, own] for own in self.lineages[k].propose(batch, self.progress.rng)]
        self._collect(k)
        return notes

    def _spread(self, batch: Batch, n: int) -> list[Any]:
        before, state = len(batch.x), self.progress.expedition
        part = Batch(self.region, self.seen, min(n, batch.missing))
        part.fill(self.progress.rng)
        batch.take(part.x)
        k = len(batch.x) - before
        state.wide, state.out, state.spread = max(0, state.wide - k), state.out + k, state.spread + k
        return [[WIDE, None]] * k

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self._hand_out(notes, np.asarray(rows, np.int64))
        self.explorer.conclude()

    def _hand_out(self, notes: list[Any], rows: Rows) -> None:
        """Hand each lineage the rows that it asked for, and the first (the best, if that ended) those of nobody."""
        new = np.arange(self.progress.known, len(self.seen))
        besides, nothing = new[~np.isin(new, rows)], np.empty(0, np.int64)
        unasked = {*besides.tolist()}
        self.progress.known = len(self.seen)
        home = 0 if self.lineages[0].course.ended < 0 else self.explorer.ground.leader
        for k in sorted({home, *(note[0] for note in notes)}):
            mine = [i for i, note in enumerate(notes) if note[0] == k]
            if k == WIDE:
                self.progress.expedition.out -= len(mine)
            elif mine or len(besides):
                own = [notes[i][1] for i in mine]
                taken = self.lineages[k].tell(own, rows[mine], besides if k == home else nothing)
                self.log += [[k, BESIDES - row if row in unasked else row] for row in taken.tolist()]
                self._collect(k)

    def forget(self, notes: list[Any]) -> None:
        for k, own in notes:
            if k == WIDE:
                self.progress.expedition.out -= 1
            else:
                self.lineages[k].forget(own)
                self._collect(k)

    def move(self, region: Region) -> None:
        self.region = region

    def proposer(self, note: Any) -> str:
        """Return the lineage that a point's note is of, beside the first, and which part of its search."""
        k, own = note
        if k == WIDE:
            return "spread out"
        one = self.lineages[k]
        part = getattr(one.session, "proposer", None)
        name = own if own == BOXED else type(one.sampler).__name__ if part is None else part(own)
        return f"lineage {k + 1}: {name}" if k else str(name)

    def _collect(self, k: int) -> None:
        """Take over what is new in the log of a lineage's search."""
        one = self.lineages[k]
        if one.session is not None:
            self.log += [[k, -1, entry] for entry in one.session.log[one.logged :]]
            one.logged = len(one.session.log)

    # Its state ------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        own = [None if one.session is None else one.session.state() for one in self.lineages]
        state: dict[str, Any] = to_json(self.progress)
        return state | {"lineages": own}

    def restored(self, states: list[Any], log: list[Any]) -> None:
        """Make the lineages of their courses, the states of their searches, and the log."""
        rows: list[list[int]] = [[] for _ in states]
        besides: list[list[int]] = [[] for _ in states]
        logs: list[list[Any]] = [[] for _ in states]
        for k, row, *entry in log:
            if entry:
                logs[k] += entry
            elif row <= BESIDES:
                besides[k].append(len(rows[k]))
                rows[k].append(BESIDES - row)
            else:
                rows[k].append(row)
        self.log = list(log)
        for k, (course, state) in enumerate(zip(self.progress.courses, states, strict=True)):
            one = self.explorer.lineage(course)
            one.own.take(np.array(rows[k], np.int64))
            one.besides = besides[k]
            if state is not None:
                one.session = one.sampler.restore(state, logs[k], one.own.within(self.region), one.own)
                one.logged = len(logs[k])
            self.lineages.append(one)
