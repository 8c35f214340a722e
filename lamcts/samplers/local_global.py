"""A local search with a global model next to it: a look elsewhere must promise more than the descent gains.

The local search proposes. Every few turns the global search names its best point and what it expects to gain there.
The point is evaluated if that, corrected by what such points have gained before, is at least what an evaluation of the
local search has gained lately. After looks that fail in a row, the next waits twice as long each time, until the local
search gains much less than it did.

After a warm-up of the global search alone the two take turns while the local search starts. Without one, while the
local search starts, there are only looks as long as they improve at least once in three, and more often than
local points; or more often than local points change the value at all, as where few parameters matter.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Session, Supports
from lamcts.samplers.default import local_global
from lamcts.samplers.parts.record import from_json
from lamcts.samplers.parts.session import MAX_GAIN, Batch, LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import register
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region
from lamcts.types import Json, JsonValue, Note, Rows, whole_number

LOCAL, GLOBAL = 0, 1  # the arms
EVERY = 3  # turns from one look to the next; doubled for each that failed in a row but the first (development runs: at
# each turn MA-BBOB ended higher; without doubling BBOB did)
SLOWER = 0.01  # of the pace at the last failure, below which the wait starts again (development runs: 0.3 cost more on
# BBOB at 200 evaluations; without, searches stayed on islands of the feasible set)
START = 5  # times d: rows up to which the local search starts; those of `GpCma`, one at a time
FIRST_ROWS = 3  # results before the first look (without: behind on 30 problems of MA-BBOB at 50, 1.35 : 1.65)
PACE_RESULTS = 5  # of the local search, times the batch, whose mean gain is its pace (development runs: a mean
# discounted by 0.85 ends higher outside BBOB, 5 + d are level; five of a batch of ten took many more looks)
DECAY = 0.9  # of discounted means, for each result (untuned)
FIRST_TRUST, TRUST_WEIGHT = 0.05, 2.0  # share of its promise that the global search is believed to gain before it is
# tried, and in how many points that counts (development runs: 1 and 0.25 cost more between 30 and 50 evaluations)
FEW_GAINS = 0.33  # rate of gains that looks must exceed while the local search starts (development runs: 0 and 0.2 cost
# more on MA-BBOB in 20 dimensions)
INERT = 0.01  # of the range of the losses so far: a change below it teaches nothing (0: behind on 30 problems of
# MA-BBOB at 200, 1.45 : 1.55)
MAX_SHARE = 3.0  # of what was promised, that a gain counts as at most, or a promise near 0 that gains would count for
# ever (without: level on 90 problems)


@register("local_global", "a local search, and a Gaussian process that looks elsewhere when it promises more")
@dataclass(frozen=True)
class LocalGlobal(LocalSampler):
    """A local search, and a global one that gets an evaluation when it promises more than the local one gains.

    Parameters
    ----------
    local : Sampler
        The search that proposes, such as `GpCma`, or `Quadratic` with constraints.
    whole : Sampler
        A search of the whole space whose proposals have expected gains: `GpBo`, `MixedGp`.
    warm_up : int, default 0
        Number of rows up to which the global search proposes alone.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.samplers import GpBo, GpCma, LocalGlobal
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=LocalGlobal(GpCma(), GpBo(n_start=0)), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 6  # see lamcts.journal.settings
    local: Sampler
    whole: Sampler
    warm_up: int = 0

    def __post_init__(self) -> None:
        whole_number(self.warm_up, "LocalGlobal: warm_up", least=0)

    @classmethod
    def suited(cls, space: SearchSpace, goals: Goals | None, detail: str) -> "LocalGlobal | None":
        return None if detail else local_global(space, goals)

    @property
    def supports(self) -> Supports:
        return Supports(constraints=True, centre=not self.warm_up or self.whole.supports.centre)

    @property
    def resumable(self) -> bool:
        return self.local.resumable and self.whole.resumable

    @property
    def arms(self) -> tuple[Sampler, ...]:
        return self.local, self.whole

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "LocalGlobalSession":
        arms = [adapt_to_goals(arm, seen).start(region, seen, child(rng)) for arm in self.arms]
        progress = LocalGlobalProgress(rng, seen.best_row(region.rows), len(seen), self.warm_up == 0)
        return LocalGlobalSession(self, region, seen, progress, arms)

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> "LocalGlobalSession":
        logs = [[entry for a, entry in log if a == arm] for arm in (LOCAL, GLOBAL)]
        saved = zip(self.arms, state["arms"], logs, strict=True)
        arms = [adapt_to_goals(arm, seen).restore(own, kept, region, seen) for arm, own, kept in saved]
        session = LocalGlobalSession(self, region, seen, from_json(LocalGlobalProgress, state), arms)
        session.log = list(log)
        return session

    def classes(self) -> tuple[type["LocalGlobalSession"], type["LocalGlobalProgress"]]:
        return LocalGlobalSession, LocalGlobalProgress


@dataclass
class Record:
    """How often the points of an arm improved, discounted."""

    gained: float = 0.5
    count: float = 1.0

    @property
    def rate(self) -> float:
        return self.gained / self.count

    def tell(self, improved: bool) -> None:
        self.gained, self.count = DECAY * self.gained + improved, DECAY * self.count + 1


@dataclass
class LocalGlobalProgress(Progress):
    known: int  # rows seen when it last looked for better ones from elsewhere
    warm: bool  # whether the warm-up is over
    turns: int = 0  # since the last look
    failed: int = 0  # looks in a row that gained nothing
    pace_then: float = 0.0  # at the last of them
    batch: int = 1  # points that were asked for last
    gains: list[float] = field(default_factory=list)  # of the last evaluations of the local search
    promised: float = 0.0  # points of the global search, discounted
    kept: float = 0.0  # the shares that these gained of what was promised
    records: list[Record] = field(default_factory=lambda: [Record(), Record()])  # of the gains of each arm
    taught: Record = field(default_factory=lambda: Record(1.0))  # of the changes by local points

    @property
    def pace(self) -> float:
        """What an evaluation of the local search gains."""
        return sum(gain / (PACE_RESULTS * self.batch) for gain in self.gains)  # which does not overflow


class LocalGlobalSession(LocalSession[LocalGlobal, LocalGlobalProgress]):
    """A point's note is [arm, the arm's own note], for the global arm also with the expected gain or None.

    A log entry is the same of the arm's log.
    """

    def __init__(
        self,
        settings: LocalGlobal,
        region: Region,
        seen: Observations,
        progress: LocalGlobalProgress,
        arms: list[Session],
    ) -> None:
        super().__init__(settings, region, seen, progress)
        self.arms = arms
        self._logged = [len(arm.log) for arm in arms]  # entries of each arm's log that stand in ours

    def state(self) -> Json:
        return super().state() | {"arms": [arm.state() for arm in self.arms]}

    @property
    def done(self) -> bool:
        return self.arms[LOCAL].done

    def proposer(self, note: Note) -> str:
        return type(self.settings.arms[note[0]]).__name__

    def move(self, region: Region) -> None:
        super().move(region)
        for arm in self.arms:
            arm.move(region)

    def ask(self, n: int) -> Proposal:
        self._catch_up()
        self.progress.batch = n
        batch, notes = Batch(self.region, self.seen, n), list[Note]()
        if len(self.seen) < self.settings.warm_up:
            proposal = self.arms[GLOBAL].ask(n)
            notes += self._used(GLOBAL, proposal, batch.take(proposal.x))
        else:
            self._end_warm_up()
            if looks := self._looks(n):
                notes += self._look(batch, looks)
            if batch.missing:
                proposal = self.arms[LOCAL].ask(batch.missing + len(batch.x))
                notes += self._used(LOCAL, proposal, batch.take(proposal.x))
        return Proposal(batch.x, notes)

    def _end_warm_up(self) -> None:
        """Begin the local search with all rows: from none it would search near the first alone."""
        if self.progress.warm:
            return
        arm = adapt_to_goals(self.settings.local, self.seen)
        self.arms[LOCAL], self.progress.warm = arm.start(self.region, self.seen, child(self.progress.rng)), True
        self._share_incumbent()

    def _catch_up(self) -> None:
        """Adopt a better row of the region that another source added: the initial design, a warm start.

        Done at an ask: only then is the region sure to be the same after a resume. Rows from before the session began
        do not count: it may have left them behind.
        """
        rows = np.arange(self.progress.known, len(self.seen))
        self.progress.known = len(self.seen)
        if self.incumbent is None or not len(rows):
            return
        inside = rows[self.region.contains(self.seen.x[rows])]
        self.progress.incumbent = self.seen.best_row(inside, self.incumbent)
        self._share_incumbent()

    def _share_incumbent(self) -> None:
        """Have both arms go on from the incumbent."""
        for arm in self.arms:
            if self.incumbent is not None and arm.incumbent != self.incumbent:
                arm.recenter(self.incumbent)

    def _used(self, a: int, proposal: Proposal, used: NDArray[np.bool_]) -> list[Note]:
        """Return the notes of the points of an arm that are used; it forgets the others."""
        self.arms[a].forget([proposal.notes[i] for i in np.flatnonzero(~used)])
        self._collect(a)
        if a == LOCAL:
            return [[a, proposal.notes[i]] for i in np.flatnonzero(used)]
        return [[a, proposal.notes[i], gains_of(proposal)[i]] for i in np.flatnonzero(used)]

    def _collect(self, a: int) -> None:
        """Take over what is new in an arm's log."""
        log = self.arms[a].log
        self.log += [[a, entry] for entry in log[self._logged[a] :]]
        self._logged[a] = len(log)

    @property
    def _in_turn(self) -> bool:
        """Whether the searches take turns: after a warm-up, while the local search starts."""
        return 0 < self.settings.warm_up <= len(self.seen) < START * self.seen.dim

    def _looks(self, n: int) -> int:
        """Return in how many of the next `n` turns the global search is asked."""
        p, looks, rows, d = self.progress, 0, len(self.seen), self.seen.dim
        if self._in_turn:
            looks, p.turns = divmod(p.turns + n, 2)
            return looks
        local, rate = max(p.records[LOCAL].rate, FEW_GAINS), p.records[GLOBAL].rate
        ahead = rate > min(local, p.taught.rate)
        if len(self.seen.good) < FIRST_ROWS or (rows < START * d and not ahead):
            return 0
        if p.pace <= SLOWER * p.pace_then:
            p.failed = min(p.failed, 1)
        gap = 1 if rows < d else EVERY * 2 ** max(0, p.failed - 1)
        for _ in range(n):
            p.turns += 1
            if p.turns >= gap:
                looks, p.turns = looks + 1, 0
        return looks

    def _look(self, batch: Batch, n: int) -> list[Note]:
        """Take the points of the global search that promise enough, at most `n`; return their notes."""
        p = self.progress
        proposal = self.arms[GLOBAL].ask(n)
        trust = (FIRST_TRUST * TRUST_WEIGHT + p.kept) / (TRUST_WEIGHT + p.promised)
        gains = gains_of(proposal)
        used = np.array([self._in_turn or (gain is not None and gain * trust >= p.pace) for gain in gains], bool)
        used[used] = batch.take(proposal.x[used])
        return self._used(GLOBAL, proposal, used)

    def tell(self, notes: list[Note], rows: Rows) -> None:
        self._credit(notes, rows)
        super().tell(notes, rows)
        for a, arm in enumerate(self.arms):
            if mine := [i for i, note in enumerate(notes) if note[0] == a]:
                arm.tell([notes[i][1] for i in mine], rows[mine])
                self._collect(a)
        self._share_incumbent()

    def forget(self, notes: list[Note]) -> None:
        for a, own, *_ in notes:
            self.arms[a].forget([own])
            self._collect(a)

    def _credit(self, notes: list[Note], rows: Rows) -> None:
        """Take note of what points have gained, one after the other."""
        p, losses = self.progress, np.where(self.seen.feasible, self.seen.f[:, 0], np.inf)
        before = np.delete(losses, rows)
        least, known = float(before.min(initial=np.inf)), before[np.isfinite(before)] / 2  # halves do not overflow
        change = 2 * INERT * float(np.ptp(known)) if len(known) else 0.0
        for (arm, *_, promise), row in zip(notes, rows, strict=True):
            y = float(losses[row])
            gain = min(least - y, MAX_GAIN) if y < least < np.inf else 0.0
            if arm == LOCAL:
                p.taught.tell(not abs(y - least) <= change)
            least = min(least, y)
            p.records[arm].tell(gain > 0)
            if arm == LOCAL:
                p.gains = [*p.gains, gain][-PACE_RESULTS * p.batch :]
            elif promise is not None:
                share = min(gain / max(promise, np.finfo(float).tiny), MAX_SHARE)
                p.failed, p.pace_then = (0 if gain > 0 else p.failed + 1), p.pace
                p.kept, p.promised = DECAY * p.kept + share, DECAY * p.promised + 1


def gains_of(proposal: Proposal) -> list[float | None]:
    """Return the expected gain of each point, None where unknown."""
    return [None] * len(proposal.x) if proposal.gains is None else proposal.gains
