"""Base of sessions that share their turns among several searches: notes, logs, states and the incumbent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.parts.record import from_json
from lamcts.samplers.parts.session import AnySession, LocalSampler, LocalSession, P, Settings
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.regions.region import Region
from lamcts.types import Json, JsonValue, Note, Rows

START = 5  # times d: number of rows until the local search has started, as the start of `GpCma`


class JoinedSession(LocalSession[Settings, P]):
    """Session of several searches. The note of a point begins with [search, its note].

    A log entry is [search, entry of its log]. Searches are numbered from 0; a later search may be added.
    """

    def __init__(
        self, settings: Settings, region: Region, seen: Observations, progress: P, searches: list[Session]
    ) -> None:
        super().__init__(settings, region, seen, progress)
        self.searches = searches
        self._logged = [len(search.log) for search in searches]  # number of entries of each log in this log

    def state(self) -> Json:
        return super().state() | {"searches": [search.state() for search in self.searches]}

    @property
    def done(self) -> bool:
        return self.searches[0].done

    def move(self, region: Region) -> None:
        super().move(region)
        for search in self.searches:
            search.move(region)

    def forget(self, notes: list[Note]) -> None:
        for number, note, *_ in notes:
            self.searches[number].forget([note])
            self._collect(number)

    def add(self, search: Session) -> None:
        """Add a search, which continues at the incumbent."""
        self.searches.append(search)
        self._logged.append(0)
        search.move(self.region)
        self._collect(len(self.searches) - 1)
        self._share_incumbent()

    def _share_incumbent(self) -> None:
        """Recenter all searches on the incumbent."""
        for search in self.searches:
            if self.incumbent is not None and search.incumbent != self.incumbent:
                search.recenter(self.incumbent)

    def _used(self, number: int, proposal: Proposal, used: NDArray[np.bool_]) -> list[Note]:
        """Return the notes of the points of a search that are `used`; the search forgets the others."""
        self.searches[number].forget([proposal.notes[i] for i in np.flatnonzero(~used)])
        self._collect(number)
        return [[number, proposal.notes[i]] for i in np.flatnonzero(used)]

    def _collect(self, number: int) -> None:
        """Add the new entries of a search's log."""
        log = self.searches[number].log
        self.log += [[number, entry] for entry in log[self._logged[number] :]]
        self._logged[number] = len(log)

    def _tell_searches(self, notes: list[Note], rows: Rows) -> None:
        """Tell each search its results, then the incumbent."""
        for number, search in enumerate(self.searches):
            if positions := [i for i, note in enumerate(notes) if note[0] == number]:
                search.tell([notes[i][1] for i in positions], rows[positions])
                self._collect(number)
        self._share_incumbent()


class JoinedSampler(LocalSampler):
    """Base of samplers whose sessions are `JoinedSession`: settings with `classes` and the samplers of the searches."""

    @property
    def searches(self) -> tuple[Sampler, ...]:
        raise NotImplementedError

    @property
    def resumable(self) -> bool:
        return all(sampler.resumable for sampler in self.searches)

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> AnySession:
        session_class: Any  # a `JoinedSession`
        session_class, progress_class = self._named()
        entries: list[Any] = log
        restored = []
        for i, saved in enumerate(state["searches"]):
            search_log = [entry for number, entry in entries if number == i]
            restored.append(adapt_to_goals(self.searches[i], seen).restore(saved, search_log, region, seen))
        session: AnySession = session_class(self, region, seen, from_json(progress_class, state), restored)
        session.log = list(log)
        return session
