"""Sessions of several searches that share the observations: whose point is whose, their logs, and their states."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Session
from lamcts.samplers.parts.record import from_json
from lamcts.samplers.parts.session import Batch, LocalSession, Progress
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.regions.region import Region
from lamcts.types import Json, JsonValue, Note, Rows


@dataclass
class ArmsProgress(Progress):
    starts: list[int]  # times that each arm was started again
    known: int  # rows seen when it last looked for better ones from elsewhere


S = TypeVar("S")
P = TypeVar("P", bound=ArmsProgress)


class ArmsSession(LocalSession[S, P]):
    """A point's note is [arm, which start of it, the arm's own note]; a log entry is the same of the arm's log.

    `settings.arms` are the samplers.
    """

    settings: Any

    def __init__(self, settings: S, region: Region, seen: Observations, progress: P, arms: list[Session]) -> None:
        super().__init__(settings, region, seen, progress)
        self.arms = arms
        self._logged = [len(arm.log) for arm in arms]  # entries of each arm's log that stand in ours

    def restored(self, state: Json, log: list[JsonValue]) -> "ArmsSession[S, P]":
        progress = from_json(type(self.progress), state)
        logs: list[list[JsonValue]] = [[] for _ in self.arms]
        for a, start, entry in log:
            if start == progress.starts[a]:
                logs[a].append(entry)
        saved = zip(self.settings.arms, state["arms"], logs, strict=True)
        arms = [adapt_to_goals(arm, self.seen).restore(own, kept, self.region, self.seen) for arm, own, kept in saved]
        session = type(self)(self.settings, self.region, self.seen, progress, arms)
        session.log = list(log)
        return session

    def _take(self, batch: Batch, a: int, k: int, spare: int) -> list[Note]:
        """Take `k` points of arm `a` into the batch, asking for some to spare; return their notes."""
        x, own = self.arms[a].ask(k + spare)
        taken = batch.take(x)
        self.arms[a].forget([note for note, used in zip(own, taken, strict=True) if not used])
        self._collect(a)
        return [[a, self.progress.starts[a], note] for note, used in zip(own, taken, strict=True) if used]

    def _credit(self, notes: list[Note], rows: Rows) -> None:
        """Take note of what the points of each arm have gained; called before the incumbent changes."""
        raise NotImplementedError

    def tell(self, notes: list[Note], rows: Rows) -> None:
        told: list[tuple[list[Note], list[int]]] = [([], []) for _ in self.arms]
        for (a, start, own), row in zip(notes, rows, strict=True):
            if start == self.progress.starts[a]:  # else the session that asked has gone
                told[a][0].append(own)
                told[a][1].append(int(row))
        self._credit(notes, rows)
        super().tell(notes, rows)
        for a, (own_notes, own_rows) in enumerate(told):
            if own_notes:
                self.arms[a].tell(own_notes, np.array(own_rows, np.int64))
                self._collect(a)
        for a in range(len(self.arms)):
            self._share_incumbent(a)

    def _share_incumbent(self, a: int) -> None:
        """Have arm `a` go on from the incumbent, if another arm found it."""
        arm = self.arms[a]
        if self.incumbent is None or arm.incumbent == self.incumbent or (a and arm.done):
            return
        if self.seen.f.shape[1] > 1:  # each goes its own way along the front
            return
        arm.recenter(self.incumbent)

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
        for a in range(len(self.arms)):
            self._share_incumbent(a)

    def _start_again(self, a: int) -> None:
        arm = adapt_to_goals(self.settings.arms[a], self.seen)
        self.arms[a] = arm.start(self.region, self.seen, child(self.progress.rng))
        self.progress.starts[a] += 1
        self._logged[a] = 0
        self._share_incumbent(a)

    def proposer(self, note: Note) -> str:
        """Return the name of the arm that a point's note is of."""
        return type(self.settings.arms[note[0]]).__name__

    def forget(self, notes: list[Note]) -> None:
        for a, start, own in notes:
            if start == self.progress.starts[a]:
                self.arms[a].forget([own])
                self._collect(a)

    def move(self, region: Region) -> None:
        super().move(region)
        for arm in self.arms:
            arm.move(region)

    def _collect(self, a: int) -> None:
        """Take over what is new in an arm's log."""
        log = self.arms[a].log
        self.log += [[a, self.progress.starts[a], entry] for entry in log[self._logged[a] :]]
        self._logged[a] = len(log)

    def state(self) -> Json:
        return super().state() | {"arms": [arm.state() for arm in self.arms]}
