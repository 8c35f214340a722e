"""A local search and a global search, whose points are evaluated if their expected gain exceeds the local gains.

The local search proposes. Every few turns the global search is asked for its best point, a look, with its expected
gain. The expected gain is multiplied by the ratio of actual to expected gains of earlier looks, of each at most 1. The
look is evaluated if the product is at least the recent mean gain of local evaluations. Under constraints a local gain
is that of the merit which the local search lowers: it may come from outside. Each failed look in a row doubles the wait
for the next one, until local gains are much smaller than at the last failure.

After a warm-up of the global search alone, the searches alternate while the local search starts. Without a warm-up,
looks during that time need a rate of improvement above one in three. They also need a higher rate than local points
have, of improvements or of changes of the value: few parameters may matter.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Supports
from lamcts.samplers.default import local_global
from lamcts.samplers.parts.joined import START, JoinedSampler, JoinedSession
from lamcts.samplers.parts.session import Batch, LocalSession, Progress
from lamcts.samplers.registry import register
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region
from lamcts.types import MAX_SIZE, Note, Rows, whole_number

LOCAL, GLOBAL = 0, 1  # positions of the two searches
EVERY = 3  # turns from one look to the next; each failed look in a row after the first doubles it (development runs: at
# every second turn MA-BBOB in five dimensions ends higher, 36 : 64 at 100; without doubling BBOB did)
# Share of the pace at the last failure, below which the wait is reset (development runs: 0.3 cost more on BBOB at 200
# evaluations, 0.1 is level; without, searches stayed on islands of the feasible set, also at a pace of 0: 1.40 : 1.60)
SLOWER = 0.01
FIRST_ROWS = 3  # results before the first look (without: behind on 30 problems of MA-BBOB at 50, 1.35 : 1.65)
PACE_RESULTS = 5  # local results, times the batch, whose mean gain is the pace (development runs: a mean discounted by
# 0.85 ends higher outside BBOB, 5 + d are level; five of a batch of ten took many more looks)
DECAY = 0.9  # discount of means, for each result: 0.8 is level on 372 problems of MA-BBOB and BBOB
# Prior ratio of actual to expected gains of looks, and its weight in looks (development runs: 1 and 0.25 cost more
# between 30 and 50 evaluations; 0.2 is level on 372 problems of MA-BBOB and BBOB).
FIRST_TRUST, TRUST_WEIGHT = 0.05, 2.0
FEW_GAINS = 0.33  # least rate of improvements of looks while the local search starts (development runs: 0 and 0.2 cost
# more on MA-BBOB: 0.2 is behind at 10 and 20 evaluations in 5, 10 and 20 dimensions, 45 : 94 of 300 problems at 20)
INERT = 0.01  # least change of a loss, as a share of the range of losses (0: behind on 30 problems of MA-BBOB at 200,
# 1.45 : 1.55)


@register("local_global", "a local search, and a Gaussian process that looks elsewhere when it promises more")
@dataclass(frozen=True)
class LocalGlobal(JoinedSampler):
    """A local search, and a global one whose points are evaluated if they are expected to gain more.

    Parameters
    ----------
    local : Sampler
        Local search, such as `GpCma`, or `Quadratic` with constraints.
    whole : Sampler
        Search of the whole space whose proposals have expected gains: `GpBo`, `MixedGp`.
    warm_up : int, default 0
        Number of rows until which the global search proposes alone.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.samplers import GpBo, GpCma, LocalGlobal
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=LocalGlobal(GpCma(), GpBo(n_start=0)), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 8  # see lamcts.journal.settings
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
    def searches(self) -> tuple[Sampler, ...]:
        return self.local, self.whole

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "LocalGlobalSession":
        searches = [adapt_to_goals(sampler, seen).start(region, seen, child(rng)) for sampler in self.searches]
        progress = LocalGlobalProgress(rng, seen.best_row(region.rows), len(seen), self.warm_up == 0)
        return LocalGlobalSession(self, region, seen, progress, searches)

    def classes(self) -> tuple[type["LocalGlobalSession"], type["LocalGlobalProgress"]]:
        return LocalGlobalSession, LocalGlobalProgress


@dataclass
class Record:
    """Discounted counts of points, and of those that improved."""

    improved: float = 0.5
    count: float = 1.0

    @property
    def rate(self) -> float:
        return self.improved / self.count

    def tell(self, improved: bool) -> None:
        self.improved = DECAY * self.improved + improved
        self.count = DECAY * self.count + 1


@dataclass
class LocalGlobalProgress(Progress):
    n_seen: int  # rows at the last ask
    is_warm: bool  # whether the warm-up is over
    turns: int = 0  # turns since the last look
    failures: int = 0  # failed looks in a row
    pace_at_failure: float = 0.0  # pace at the last failed look
    batch: int = 1  # number of points at the last ask
    gains: list[float] = field(default_factory=list)  # gains of the last local evaluations
    look_count: float = 0.0  # discounted count of looks with an expected gain
    look_ratios: float = 0.0  # discounted sum of their ratios of actual to expected gain
    improvements: list[Record] = field(default_factory=lambda: [Record(), Record()])  # of each search
    changes: Record = field(default_factory=lambda: Record(1.0))  # of the value, by local points

    @property
    def pace(self) -> float:
        """Recent mean gain of a local evaluation."""
        return sum(gain / (PACE_RESULTS * self.batch) for gain in self.gains)  # divided first: no overflow


class LocalGlobalSession(JoinedSession[LocalGlobal, LocalGlobalProgress]):
    """The note of a point of the global search ends with its expected gain or None."""

    def proposer(self, note: Note) -> str:
        number, search_note, *_ = note
        return self.searches[number].proposer(search_note) or type(self.settings.searches[number]).__name__

    def ask(self, n: int) -> Proposal:
        self._catch_up()
        self.progress.batch = n
        batch = Batch(self.region, self.seen, n)
        notes: list[Note] = []
        if len(self.seen) < self.settings.warm_up:
            proposal = self.searches[GLOBAL].ask(n)
            notes += self._used_looks(proposal, batch.take(proposal.x))
        else:
            self._end_warm_up()
            if n_looks := self._n_looks(n):
                notes += self._look(batch, n_looks)
            if batch.missing:
                proposal = self.searches[LOCAL].ask(batch.missing + len(batch.x))
                notes += self._used(LOCAL, proposal, batch.take(proposal.x))
        return Proposal(batch.x, notes)

    def _end_warm_up(self) -> None:
        """Start the local search after the warm-up, with all rows; without rows it stays near the first point."""
        if self.progress.is_warm:
            return
        sampler = adapt_to_goals(self.settings.local, self.seen)
        self.searches[LOCAL] = sampler.start(self.region, self.seen, child(self.progress.rng))
        self.progress.is_warm = True
        self._share_incumbent()

    def _catch_up(self) -> None:
        """Adopt a better row of the region that another source added: the initial design, a warm start.

        An ask does so, since only then the region is the same after a resume. Rows before the start of the session do
        not count: an earlier search may have converged there.
        """
        rows = np.arange(self.progress.n_seen, len(self.seen))
        self.progress.n_seen = len(self.seen)
        if self.incumbent is None or not len(rows):
            return
        inside = rows[self.region.contains(self.seen.x[rows])]
        self.progress.incumbent = self.seen.best_row(inside, self.incumbent)
        self._share_incumbent()

    @property
    def _alternates(self) -> bool:
        """Whether the searches alternate: after a warm-up, while the local search starts."""
        return 0 < self.settings.warm_up <= len(self.seen) < START * self.seen.dim

    def _n_looks(self, n: int) -> int:
        """Return the number of looks in the next `n` turns."""
        p = self.progress
        n_looks, n_rows, d = 0, len(self.seen), self.seen.dim
        if self._alternates:
            n_looks, p.turns = divmod(p.turns + n, 2)
            return n_looks
        local_rate = max(p.improvements[LOCAL].rate, FEW_GAINS)
        is_ahead = p.improvements[GLOBAL].rate > min(local_rate, p.changes.rate)
        if len(self.seen.good) < FIRST_ROWS or (n_rows < START * d and not is_ahead):
            return 0
        if p.pace <= SLOWER * p.pace_at_failure:
            p.failures = min(p.failures, 1)
        wait = 1 if n_rows < d else EVERY * 2 ** max(0, p.failures - 1)
        for _ in range(n):
            p.turns += 1
            if p.turns >= wait:
                n_looks += 1
                p.turns = 0
        return n_looks

    def _look(self, batch: Batch, n: int) -> list[Note]:
        """Take at most `n` points of the global search with sufficient expected gains; return their notes."""
        p = self.progress
        proposal = self.searches[GLOBAL].ask(n)
        trust = (FIRST_TRUST * TRUST_WEIGHT + p.look_ratios) / (TRUST_WEIGHT + p.look_count)
        gains = gains_of(proposal)
        used = np.array([self._alternates or (gain is not None and gain * trust >= p.pace) for gain in gains], bool)
        used[used] = batch.take(proposal.x[used])
        return self._used_looks(proposal, used)

    def _used_looks(self, proposal: Proposal, used: NDArray[np.bool_]) -> list[Note]:
        """Return the notes of the points of the global search that are `used`, with their expected gains."""
        gains = [gain for gain, is_used in zip(gains_of(proposal), used, strict=True) if is_used]
        return [[*note, gain] for note, gain in zip(self._used(GLOBAL, proposal, used), gains, strict=True)]

    def tell(self, notes: list[Note], rows: Rows) -> None:
        self._count_gains(notes, rows)
        super().tell(notes, rows)
        self._tell_searches(notes, rows)

    def _count_gains(self, notes: list[Note], rows: Rows) -> None:
        """Count the gains of points, one after the other."""
        p = self.progress
        losses = np.where(self.seen.feasible, self.seen.f[:, 0], np.inf)
        before = np.delete(losses, rows)
        least = float(before.min(initial=np.inf))
        halves = before[np.isfinite(before)] / 2  # differences of halves do not overflow
        least_change = 2 * INERT * float(np.ptp(halves)) if len(halves) else 0.0
        local = self.searches[LOCAL]
        merits = local.merits() if isinstance(local, LocalSession) else losses
        least_merit = float(np.delete(merits, rows).min(initial=np.inf))
        for (number, *_, expected), row in zip(notes, rows, strict=True):
            y, merit = float(losses[row]), float(merits[row])
            gain, merit_gain = fall(least, y), fall(least_merit, merit)
            if number == LOCAL:
                p.changes.tell(not abs(y - least) <= least_change)
            least, least_merit = min(least, y), min(least_merit, merit)
            p.improvements[number].tell(gain > 0)
            if number == LOCAL:
                p.gains = [*p.gains, merit_gain][-PACE_RESULTS * p.batch :]
            elif expected is not None:
                ratio = 1.0 if gain > expected else gain / max(expected, np.finfo(float).tiny)
                p.failures = 0 if gain > 0 else p.failures + 1
                p.pace_at_failure = p.pace
                p.look_ratios = DECAY * p.look_ratios + ratio
                p.look_count = DECAY * p.look_count + 1


def fall(least: float, value: float) -> float:
    """Return by how much a value falls below the least one before, 0 where it does not, or where there was none."""
    return min(least - value, MAX_SIZE) if value < least < np.inf else 0.0


def gains_of(proposal: Proposal) -> list[float | None]:
    """Return the expected gain of each point, None where unknown."""
    return [None] * len(proposal.x) if proposal.gains is None else proposal.gains
