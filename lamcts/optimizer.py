"""The optimiser: ask for points, tell their values. START HERE: `ask`, `_search` and `tell` are the whole loop."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lamcts import samplers, snapshot
from lamcts.design import Design, Kind
from lamcts.errors import Exhausted
from lamcts.lineages import Lineages
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.rng import Purpose, derive, stream
from lamcts.samplers.base import Sampler
from lamcts.settings import checked_sampler, checked_seed, checked_space, checked_tree
from lamcts.spaces.base import Space
from lamcts.tree import LatentTree
from lamcts.tree.node import Node
from lamcts.trial import Trial
from lamcts.values import as_list, losses_of, many, seconds_of


class Best(NamedTuple):
    """The best evaluation so far, in the user's units and sign; `trial` is -1 for a point nobody asked for."""

    point: Any
    value: float
    trial: int


class Optimizer:
    """Minimise (or maximise) a black box over `space` by learning where to look (LA-MCTS; Wang, Fonseca, Tian 2020).

    sampler: the local search used inside the region that the tree selects: a name or a `Sampler`.
    tree: how the space is split: "auto", a `LatentTree`, or None to search the whole space.
    seed: one number governs every draw; None takes a fresh one, kept in `self.seed`.
    n_init, design, x0: size and kind ("sobol", "lhs", "uniform") of the initial design, and points to put first.
    repeat: allow points to be proposed again (useful only under noise).
    """

    def __init__(
        self,
        space: Space,
        *,
        maximise: bool = False,
        sampler: str | Sampler = "auto",
        tree: LatentTree | str | None = "auto",
        seed: int | None = None,
        n_init: int | None = None,
        design: Kind = "sobol",
        x0: Any = None,
        repeat: bool = False,
    ) -> None:
        self.space, self.maximise, self.repeat = checked_space(space), bool(maximise), bool(repeat)
        self.seed = checked_seed(seed)
        self.sampler = samplers.make(sampler, space) if isinstance(sampler, str) else checked_sampler(sampler)
        self.tree = checked_tree(tree)
        self.seen = Observations(space.dim, repeat=self.repeat)
        self.failures: dict[int, str] = {}  # row -> what went wrong
        self._design = Design(space, design, n_init, x0, self.seed)
        self._designed = 0  # points of the design that were issued or skipped
        self._growth = self.tree.plant(space, self.seen, self.seed) if self.tree else None
        self._lineages = Lineages(self.sampler, self.seen, self.seed)
        self._rng = stream(self.seed, Purpose.SELECT)
        self._trials: dict[int, Trial] = {}  # pending, by number
        self._late: dict[int, Trial] = {}  # told as failed: a late worker may still bring a value
        self._next = 0

    # The loop -------------------------------------------------------------------------------------------------------

    def ask(self, n: int = 1) -> list[Trial]:
        """Return `n` new trials to evaluate, all distinct; fewer, then `Exhausted`, when a finite space runs out."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"ask: expected a whole number of trials of at least 1, got {n!r}")
        trials: list[Trial] = []
        while len(trials) < n:
            x, session, tags = self._draw(n - len(trials))
            if not len(x):
                break
            trials += [self._issue(point, session, tag) for point, tag in zip(x, tags, strict=True)]
        if not trials:
            raise Exhausted(
                f"all {self.space.size:.0f} points of the space have been handed out; repeat=True allows repeats"
            )
        return trials

    def _draw(self, n: int) -> tuple[Floats, int, list[int]]:
        """Return points [k, d], the session that proposes them (-1: none) and a tag for each."""
        unasked = int(np.count_nonzero(self.seen.trial == -1))
        while self._designed + unasked < self._design.n or self._designed < len(self._design.given):
            x = self._design.rows(self._designed, self._designed + n)
            self._designed += len(x)
            if len(x := x[self.seen.fresh(x)]):
                return x, -1, [-1] * len(x)
        return self._search(n)

    def _search(self, n: int) -> tuple[Floats, int, list[int]]:
        """Data -> tree -> region -> the session that searches there -> points."""
        region = self.region()
        while True:
            x, session, tags = self._lineages.search(region, n)
            if len(x):
                return x, session, tags
            if not region.steps:
                x = self._leftovers(n)
                return x, -1, [-1] * len(x)
            region = region.wider(self.seen)  # nothing fresh in here: look one step up

    def tell(self, trials: Trial | Sequence[Trial], values: Any, seconds: Any = None) -> None:
        """Take the values of some pending trials, in any order.

        A value of None, nan, infinity or an exception says that the evaluation failed; such a trial may be told
        once more with a value. `seconds`: what each evaluation took. Nothing is taken in if anything is wrong.
        """
        told, losses, messages, times = self._receive(trials, values, seconds)
        x = np.array([trial.x for trial in told]).reshape(-1, self.space.dim)
        numbers = np.array([trial.id for trial in told], np.int64)
        sessions = np.array([trial.session for trial in told], np.int64)
        rows = self.seen.append(x, losses, times, numbers, sessions)
        self._settle(told, rows, messages)

    # The same in other words ----------------------------------------------------------------------------------------

    def tell_point(self, point: Any, value: Any) -> None:
        """Take the value of a point that nobody asked for; equal to a pending trial's point, it closes that trial."""
        self.tell_points([point], [value])

    def tell_points(self, points: Sequence[Any], values: Sequence[Any]) -> None:
        """Take many points and their values at once (warm start). Nothing is taken in if anything is wrong."""
        points = many(points, "tell_points: expected points")
        x = np.array([self.space.encode(point) for point in points]).reshape(len(points), self.space.dim)
        losses, messages = losses_of(as_list(values, len(points), "values"), self.maximise)
        # Equal points have equal codes; a trial's own x may differ from its point's code in the last bit.
        pending = {self.space.encode(trial.point).tobytes(): trial for trial in self._trials.values()}
        met = [pending.pop(code.tobytes(), None) for code in x]  # the pending trial of each point, or None
        numbers = np.array([-1 if trial is None else trial.id for trial in met], np.int64)
        sessions = np.array([-1 if trial is None else trial.session for trial in met], np.int64)
        x = np.array([code if trial is None else trial.x for code, trial in zip(x, met, strict=True)]).reshape(x.shape)
        rows = self.seen.append(x, losses, np.full(len(x), math.nan), numbers, sessions)
        self.failures |= {int(row): message for row, message in zip(rows, messages, strict=True) if message}
        closed = [i for i, trial in enumerate(met) if trial is not None]
        self._settle([t for t in met if t is not None], rows[closed], [messages[i] for i in closed])

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told, such as one whose worker is lost."""
        trial = self._known(trial)
        if trial.id in self._late:
            raise ValueError(f"trial {trial.id} was told as failed: it is not pending any more")
        self._close([trial])
        self._lineages.forget(trial.session, trial.tag)

    @property
    def best(self) -> Best:
        """The best evaluation so far; RuntimeError before the first success."""
        row = self.seen.best
        if row is None:
            raise RuntimeError("best: no evaluation has succeeded yet; tell a finite value first")
        value = float(self.seen.y[row])
        return Best(self.space.decode(self.seen.x[row]), -value if self.maximise else value, int(self.seen.trial[row]))

    @property
    def n_init(self) -> int:
        """Number of points in the initial design."""
        return self._design.n

    @property
    def pending(self) -> list[Trial]:
        """Trials that were asked for and not yet told, in the order of their numbers."""
        return list(self._trials.values())

    def tree_root(self) -> Node | None:
        """Return the root of the tree over all rows seen, or None where the optimizer has no tree."""
        return self._growth.root() if self._growth else None

    def region(self) -> Region:
        """Select a region as the next `ask` does (each call draws afresh where UCB ties)."""
        whole = Region(self.space, (), self.seen.good)
        if self.tree is None or self._growth is None or self._lineages.roams:
            return whole
        root = self._growth.root()
        if (settled := self._lineages.settled_at) is not None:
            return self.tree.around(root, settled)
        region = self.tree.select(root, self._rng)
        return whole if self._lineages.spent(region) else region  # a search converged here: start afresh, as TuRBO does

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return snapshot.fingerprint(self)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that goes on bit for bit after a restart, as JSON values and plain arrays."""
        return snapshot.take(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of an optimizer of equal settings; only a fresh optimizer can."""
        snapshot.load(self, state)

    def changes(self) -> dict[str, Any]:
        """Return what a journal must write beside new rows and trials, since the last call: small JSON values."""
        return snapshot.changes(self)

    # Helpers, in order of call --------------------------------------------------------------------------------------

    def _leftovers(self, n: int) -> Floats:
        """Return fresh points from anywhere in the space, [k, d]: the local search found none near its incumbent."""
        wanted = min(n, self.space.size - self.seen.distinct) if not self.repeat else n
        found = np.empty((0, self.space.dim))
        draws = max(n, 64)
        while len(found) < wanted:  # ends: every point has a chance in every draw
            x = np.vstack([found, self.space.sample(draws, self._rng)])
            found, draws = x[self.seen.fresh(x)][:n], min(2 * draws, 65536)
        return found

    def _issue(self, x: Floats, session: int, tag: int) -> Trial:
        """Number a point and remember who asked for it."""
        number, self._next = self._next, self._next + 1
        return self._remember(number, x, session, tag)

    def _remember(self, number: int, x: Floats, session: int, tag: int) -> Trial:
        x = np.array(x, dtype=float) + 0.0
        x.flags.writeable = False
        seed = derive(self.seed, Purpose.EVALUATION, number)
        trial = Trial(number, self.space.decode(x), x, seed, int(session), int(tag))
        self._trials[number] = trial
        self.seen.expect(number, x)
        return trial

    def _receive(
        self, trials: Trial | Sequence[Trial], values: Any, seconds: Any
    ) -> tuple[list[Trial], Floats, list[str | None], Floats]:
        """Check everything, change nothing: trials, losses [k], what failed (or None) and seconds [k]."""
        trials = [trials] if isinstance(trials, Trial) else many(trials, "tell: expected trials that ask() returned")
        values, times = as_list(values, len(trials), "values"), seconds_of(seconds, len(trials))
        told = [self._known(trial) for trial in trials]
        numbers = [trial.id for trial in told]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"tell: expected each trial once in a call, got the numbers {numbers}")
        losses, messages = losses_of(values, self.maximise)
        for trial, message in zip(told, messages, strict=True):
            if trial.id in self._late and message is not None:
                raise ValueError(f"trial {trial.id} was told as failed already: expected a value now, got {message}")
        return told, losses, messages, times

    def _known(self, trial: Trial) -> Trial:
        """Return our own record of a trial that may be told, or raise ValueError."""
        if not isinstance(trial, Trial):
            raise ValueError(
                f"expected a Trial that ask() returned, got {type(trial).__name__}; tell_point takes points"
            )
        own = self._trials.get(trial.id) or self._late.get(trial.id)
        if own is not None and np.array_equal(own.x, trial.x):
            return own
        if own is None and trial.id < self._next:
            raise ValueError(f"trial {trial.id} is not pending: it was told or forgotten already")
        raise ValueError(
            f"trial {trial.id} is unknown here: it comes from another optimizer; tell_point takes its point"
        )

    def _settle(self, told: list[Trial], rows: Rows, messages: list[str | None]) -> None:
        """Close the told trials, note failures, and hand each result to the session that asked."""
        first = [(trial, row) for trial, row in zip(told, rows, strict=True) if trial.id in self._trials]
        self._close([trial for trial, _ in first])
        for trial, row, message in zip(told, rows, messages, strict=True):
            if message is None:
                self._late.pop(trial.id, None)
            else:
                self._late[trial.id] = trial
                self.failures[int(row)] = message
        self._lineages.tell((trial.session, trial.tag, int(row)) for trial, row in first)

    def _close(self, trials: list[Trial]) -> None:
        self.seen.close([trial.id for trial in trials])
        for trial in trials:
            del self._trials[trial.id]
