"""A local search that tests whether the loss is a sum over the parameters, and then also searches them one by one.

The test takes two evaluated points a and b, and exchanges the values of half of the parameters. For a sum over the
parameters, f(a) + f(b) = f(a') + f(b') with any half. Two successes with random halves turn the coordinate search on.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Supports
from lamcts.samplers.default import local_global, separable
from lamcts.samplers.parts.joined import START, JoinedSampler, JoinedSession
from lamcts.samplers.parts.session import Batch, Progress
from lamcts.samplers.registry import register
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.base import SearchSpace, is_dependent
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

LOCAL, COORDINATE, TEST = 0, 1, 2  # positions of the two searches, and the number of a test's points
SUCCESSES = 2  # tests: one half misses each pair of interacting parameters with probability 1/2
TOLERANCE = 1e-6  # of the spread of the four values: far above rounding errors, far below interactions that matter
# Points of the coordinate search for each of the local search (development runs: with 2, Rastrigin and Levy in 20
# dimensions end higher; with 6, the ellipsoid of BBOB in few dimensions does).
TURNS = 3


@register("separable", "local_global, joined by the coordinate search where the loss is a sum over the parameters")
@dataclass(frozen=True)
class Separable(JoinedSampler):
    """A local search, joined by a coordinate search where the loss is a sum over the parameters.

    After 5 d results at most two tests, of two evaluations each, look for interactions between parameters. Only the
    whole of a space of independent parameters is tested.

    Parameters
    ----------
    local : Sampler
        The local search.
    coordinate : Sampler
        The search for sums over the parameters: `Coordinate()`.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.samplers import Coordinate, GpCma, Separable
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=Separable(GpCma(), Coordinate()), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings
    local: Sampler
    coordinate: Sampler

    @classmethod
    def suited(cls, space: SearchSpace, goals: Goals | None, detail: str) -> "Separable | None":
        return None if detail else separable(local_global(space, goals))

    @property
    def supports(self) -> Supports:
        return Supports(centre=self.local.supports.centre)

    @property
    def searches(self) -> tuple[Sampler, ...]:
        return self.local, self.coordinate

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "SeparableSession":
        local = adapt_to_goals(self.local, seen).start(region, seen, child(rng))
        return SeparableSession(self, region, seen, SeparableProgress(rng, seen.best_row(region.rows)), [local])

    def classes(self) -> tuple[type["SeparableSession"], type["SeparableProgress"]]:
        return SeparableSession, SeparableProgress


@dataclass
class SumTest:
    """A test: the rows of two points, the coordinates that they exchange, and the results so far."""

    rows: list[int]
    exchanged: list[int]
    n_asked: int = 0
    losses: list[float] = field(default_factory=list)

    def point(self, x: Floats, k: int) -> Floats:
        """Return exchanged point `k` (0 or 1), where `x` [n, d] are the evaluated points."""
        point: Floats = x[self.rows[k]].copy()
        point[self.exchanged] = x[self.rows[1 - k], self.exchanged]
        return point


@dataclass
class SeparableProgress(Progress):
    is_open: bool = True  # whether further tests may follow
    n_successes: int = 0
    test: SumTest | None = None
    turns: int = 0  # points since the last one of the local search


class SeparableSession(JoinedSession[Separable, SeparableProgress]):
    """The note of a point of a test is [TEST, None]."""

    def proposer(self, note: Note) -> str:
        number, search_note = note
        if number == TEST:
            return "Separable"
        return self.searches[number].proposer(search_note) or type(self.settings.searches[number]).__name__

    def recenter(self, row: int) -> None:
        self.progress.incumbent = row
        self._share_incumbent()

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        notes = self._test_points(batch)
        if len(self.searches) > COORDINATE and not self.searches[COORDINATE].done:
            p = self.progress
            n_local, p.turns = divmod(p.turns + batch.missing, TURNS + 1)
            notes += self._take(COORDINATE, batch, batch.missing - n_local)
        notes += self._take(LOCAL, batch, batch.missing)
        return Proposal(batch.x, notes)

    def _take(self, number: int, batch: Batch, n: int) -> list[Note]:
        """Take at most `n` points of a search into the batch; return their notes."""
        if not n:
            return []
        proposal = self.searches[number].ask(n + len(batch.x))
        used = np.zeros(len(proposal.x), bool)
        for i, x in enumerate(proposal.x):
            used[i] = used.sum() < n and batch.take(x[None])[0]
        return self._used(number, proposal, used)

    def _test_points(self, batch: Batch) -> list[Note]:
        """Take the points of the current test, or of a new one, into the batch; return their notes."""
        p = self.progress
        if p.is_open and p.test is None:
            p.test = self._new_test()
        notes: list[Note] = []
        while p.test is not None and p.test.n_asked < 2 and batch.missing:
            point = p.test.point(self.seen.x, p.test.n_asked)[None]
            if not (np.array_equal(self.region.space.snap(point), point) and batch.take(point)[0]):
                self._end_tests()
                break
            p.test.n_asked += 1
            notes.append([TEST, None])
        return notes

    def _new_test(self) -> SumTest | None:
        """Return a test of the incumbent and a far row of the better half; None too early, or if a point is known."""
        seen, rng = self.seen, self.progress.rng
        if self.incumbent is None or len(seen.good) < START * seen.dim:
            return None
        blocks = self.region.space.blocks
        if self.region.steps or len(blocks) == 1 or not seen.plain or is_dependent(self.region.space):
            self._end_tests()
            return None
        order = seen.good[np.argsort(seen.y[seen.good], kind="stable")]
        better = order[1 : (len(order) + 1) // 2]
        changes = seen.x[better] != seen.x[self.incumbent]
        differs = np.column_stack([changes[:, block].any(1) for block in blocks])  # [rows, blocks]
        counts = differs.sum(1)
        distance = np.abs(seen.x[better] - seen.x[self.incumbent]).sum(1)
        i = int(np.lexsort((distance, counts))[-1])
        if counts[i] < 2:
            return None
        half = rng.permutation(np.flatnonzero(differs[i]))[: counts[i] // 2]
        exchanged = [j for k in half for j in range(blocks[k].start, blocks[k].stop)]
        test = SumTest([int(self.incumbent), int(better[i])], exchanged)
        points = np.array([test.point(seen.x, k) for k in range(2)])
        return test if seen.unseen(points).all() else None

    def _end_tests(self) -> None:
        self.progress.is_open = False
        self.progress.test = None

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        self._tell_searches(notes, rows)
        p = self.progress
        for note, row in zip(notes, rows, strict=True):
            if note[0] == TEST and p.test is not None:
                p.test.losses.append(float(self.seen.y[row]))
        if p.test is not None and len(p.test.losses) == 2:
            self._judge(p.test)

    def _judge(self, test: SumTest) -> None:
        """Judge the test by its four values; start the coordinate search after enough successes.

        Each half must change the value: a half of parameters that do not matter says nothing about a sum.
        """
        p = self.progress
        before, after = self.seen.y[test.rows], np.array(test.losses)
        p.test = None
        with np.errstate(over="ignore", invalid="ignore"):  # then the test fails
            spread = float(np.ptp(np.append(before, after)))
            is_sum = abs((before[0] - after[0]) + (before[1] - after[1])) <= TOLERANCE * spread
            is_changed = (np.abs(np.subtract.outer(before, after)) > TOLERANCE * spread).all()
        if not (is_sum and is_changed):
            self._end_tests()
            return
        p.n_successes += 1
        if p.n_successes == SUCCESSES:
            self.add(self.settings.coordinate.start(self.region, self.seen, child(p.rng)))
            self._end_tests()

    def forget(self, notes: list[Note]) -> None:
        super().forget([note for note in notes if note[0] != TEST])
        if any(note[0] == TEST for note in notes):
            self._end_tests()
