"""The live sessions: who searches where, who is told what, and what of it must be saved."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from lamcts.observations import Floats, Observations
from lamcts.region import Region
from lamcts.rng import Purpose, stream
from lamcts.samplers.base import Sampler, Session

MOST_LIVE = 24  # a trust region's model may hold a 2000 x 2000 factor: 24 of them stay far below a gigabyte


class Lineages:
    """Live sessions by number. A session is found again by its incumbent: the region that holds it may change.

    A new session is offered the rows of its region as first results, but none where another has converged: from the
    same rows it would converge there again.
    """

    def __init__(self, sampler: Sampler, seen: Observations, seed: int) -> None:
        self.sampler, self.seen, self.seed = sampler, seen, seed
        self.live: dict[int, Session] = {}
        self._first: dict[int, Floats] = {}  # a point of each session, to find it by before its first success
        self._next = 0
        self._converged: list[int] = []  # rows at which sessions have converged
        self._changed: set[int] = set()
        self._ended: list[int] = []
        self._logged: dict[int, int] = {}

    def search(self, region: Region, n: int) -> tuple[Floats, int, list[int]]:
        """Return at most `n` new points of the region [k, d], the session that proposes them, and its tags.

        A session that finds nothing fresh is spent, and ended.
        """
        number = self._inside(region)
        if number is None:
            number = self._start(region)
        else:
            self.live[number].move(region)
        session = self.live[number]
        x, tags = session.ask(n)
        if len(x):
            self._first.setdefault(number, x[0])
            self._changed.add(number)
        else:
            self.end(number)
        return x, number, tags

    def tell(self, results: Iterable[tuple[int, int, int]]) -> None:
        """Hand `(session, tag, row)` results to the sessions that asked, where they still live."""
        parts: dict[int, tuple[list[int], list[int]]] = {}
        for number, tag, row in results:
            if number in self.live:
                tags, rows = parts.setdefault(number, ([], []))
                tags.append(tag)
                rows.append(row)
        for number, (tags, rows) in parts.items():
            self.live[number].tell(tags, np.array(rows, np.int64))
            self._changed.add(number)
            if (session := self.live[number]).done:
                self._converged += [] if session.incumbent is None else [session.incumbent]
                self.end(number)

    def forget(self, number: int, tag: int) -> None:
        """Note that a tag of a session will never be told."""
        if number in self.live:
            self.live[number].forget([tag])
            self._changed.add(number)

    def end(self, number: int) -> None:
        """Drop a session; results that it still waits for count as nobody's."""
        del self.live[number]
        self._first.pop(number, None)
        self._changed.discard(number)
        self._logged.pop(number, None)
        self._ended.append(number)

    @property
    def settled_at(self) -> Floats | None:
        """Where the newest session has settled, [d]; None if it has not, or there is none."""
        newest = max(self.live, default=None)
        return self._anchor(newest) if newest is not None and self.live[newest].settled else None

    @property
    def roams(self) -> bool:
        """Whether the newest session has settled and looks across the whole space."""
        newest = max(self.live, default=None)
        return newest is not None and self.live[newest].settled and getattr(self.live[newest], "roams", False)

    def spent(self, region: Region) -> bool:
        """Return whether a session has converged inside the region and none is live there."""
        return self._converged_inside(region) and self._inside(region) is None

    def _converged_inside(self, region: Region) -> bool:
        return bool(self._converged) and bool(region.contains(self.seen.x[self._converged]).any())

    def _anchor(self, number: int) -> Floats | None:
        incumbent = self.live[number].incumbent
        return self._first.get(number) if incumbent is None else self.seen.x[incumbent]

    def _loss(self, number: int) -> float:
        incumbent = self.live[number].incumbent
        return np.inf if incumbent is None else float(self.seen.y[incumbent])

    def _inside(self, region: Region) -> int | None:
        """Return the session of the best incumbent inside the region, or None."""
        anchored = [(number, x) for number in self.live if (x := self._anchor(number)) is not None]
        if not anchored:
            return None
        inside = region.contains(np.array([x for _, x in anchored]))
        return min(
            (number for (number, _), here in zip(anchored, inside, strict=True) if here), key=self._loss, default=None
        )

    def _start(self, region: Region) -> int:
        number, self._next = self._next, self._next + 1
        if len(self.live) >= MOST_LIVE:
            self.end(max(self.live, key=lambda k: (self._loss(k), -k)))
        offered = region.rows[:0] if self._converged_inside(region) else region.rows
        rng = stream(self.seed, Purpose.SESSION, number)
        self.live[number] = self.sampler.start(replace(region, rows=offered), self.seen, rng)
        self.live[number].move(region)
        return number

    def core(self) -> dict[str, Any]:
        """Return the small state that belongs to no single session."""
        return {"next": self._next, "converged": list(self._converged)}

    def state(self, number: int) -> dict[str, Any]:
        """Return the state of one session, without its log."""
        first = self._first.get(number)
        return {"session": self.live[number].state(), "first": None if first is None else first.tolist()}

    def sessions(self) -> dict[str, Any]:
        """Return the whole state of all live sessions."""
        return {str(k): {"state": self.state(k), "log": list(session.log)} for k, session in self.live.items()}

    def changes(self) -> tuple[dict[str, Any], list[int]]:
        """Return what is new since the last call: states with the log's new entries, and the ended sessions."""
        changed = {}
        for k in sorted(self._changed):
            log = self.live[k].log
            changed[str(k)] = {"state": self.state(k), "log": list(log[self._logged.get(k, 0) :])}
            self._logged[k] = len(log)
        ended, self._ended, self._changed = self._ended, [], set()
        return changed, ended

    def load(self, core: dict[str, Any], sessions: dict[str, Any], whole: Region) -> None:
        """Take over a saved state. Each session is moved to its region before it is next asked."""
        self._next = int(core["next"])
        self._converged = list(core["converged"])
        for key in sorted(sessions, key=int):
            number, state, log = int(key), sessions[key]["state"], list(sessions[key]["log"])
            self.live[number] = self.sampler.restore(state["session"], log, whole, self.seen)
            self._logged[number] = len(log)
            if state["first"] is not None:
                self._first[number] = np.array(state["first"])
