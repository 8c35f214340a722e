"""The search of a run: its session, the next one once that has converged, and the routing of results."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, TypeVar, cast

import numpy as np

from lamcts.errors import Exhausted
from lamcts.journal.state import Mark, SearchState, Waiting
from lamcts.outcomes.observations import Observations
from lamcts.rng import Purpose, stream
from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.scalarised import BoundedColumns, adapt_to_goals
from lamcts.spaces.regions.region import Region
from lamcts.types import Note

What = TypeVar("What")
REVISIONS = count()  # of the process: a search that was restored has another number than any before


@dataclass
class LiveSearch:
    """A live session, and a number that is another one after each change."""

    session: Session
    revision: int = field(default_factory=lambda: next(REVISIONS))


class TrialResult(NamedTuple):
    """A row of `seen`, with the number of the search that asked for it and the note that it gave."""

    search: int
    note: Note
    row: int


class Searches:
    """The live session of a run by its number; there is one at most.

    A session that has converged, or has no more points, is followed by another. The first is offered all rows as first
    results, those after one that has converged are offered none.
    """

    def __init__(self, sampler: Sampler, seen: Observations, seed: int) -> None:
        self.sampler, self.seed = adapt_to_goals(sampler, seen), seed
        self.seen = seen if seen.plain else cast(Observations, BoundedColumns(seen))
        self.live: dict[int, LiveSearch] = {}
        self.converged: list[int] = []  # rows at which searches have converged
        self.proposers: dict[int, str] = {}  # row told here -> the part of its search that proposed it
        self.next = 0
        self._restored: set[int] = set()  # searches from a state that have not been asked since
        self.failed: set[int] = set()  # searches that raised when they were begun or asked
        self._warned = False  # of proposals without a point
        self._warnings: list[str] = []  # texts, for when the change is complete

    # What it proposes, and what it is told --------------------------------------------------------------------------

    def propose(self, whole: Region, n: int) -> tuple[Proposal, int]:
        """Return at most `n` points, and the number of the search; a search without a new point is ended."""
        number = next(iter(self.live)) if self.live else self._start(whole)
        search = self.live[number]
        search.session.move(whole)
        proposal = self._ask(number, n)
        if not len(proposal.x):
            self.end(number)
            return proposal, -1
        search.revision = next(REVISIONS)
        return proposal, number

    def _ask(self, number: int, n: int) -> Proposal:
        """Return the proposal of a search; one that raises is ended first."""
        try:
            proposal = Proposal(*self.live[number].session.ask(n))
            if (points := len(proposal.x)) != (notes := len(proposal.notes)):
                raise ValueError(f"{self.sampler!r}: expected a note to each of {points} points, got {notes}")
            proposal = self._possible(number, proposal)
        except Exception as error:
            self.failed.add(number)
            self.end(number)
            if number in self._restored and not isinstance(error, Exhausted):
                what = f"{type(error).__name__}: {error}"
                raise ValueError(f"state: search {number} cannot go on from what was saved ({what})") from error
            raise
        self._restored.discard(number)
        return proposal

    def _possible(self, number: int, proposal: Proposal) -> Proposal:
        """Return the points within [0, 1] of a proposal; the search forgets the others, with one warning."""
        x = np.asarray(proposal.x, float).reshape(len(proposal.notes), self.seen.dim)
        within = ((x >= 0) & (x <= 1)).all(axis=1)
        if np.all(within):
            return proposal
        if not self._warned:
            what = f"{self.sampler!r} proposed no point: expected coordinates within [0, 1], got {x[~within][0]}"
            cure = "another point is drawn; where values are near the largest float, return nan or a smaller penalty"
            self._warnings.append(f"{what}; {cure}")
        self._warned = True
        self.live[number].session.forget([proposal.notes[i] for i in np.flatnonzero(~within)])
        return Proposal(x[within], [proposal.notes[i] for i in np.flatnonzero(within)])

    def _start(self, whole: Region) -> int:
        number, self.next = self.next, self.next + 1
        offered = whole.rows[:0] if self.converged else whole.rows
        rng = stream(self.seed, Purpose.SESSION, number)
        try:
            self.live[number] = LiveSearch(self.sampler.start(replace(whole, rows=offered), self.seen, rng))
        except Exception:
            self.failed.add(number)
            raise
        return number

    def tell(self, results: Iterable[TrialResult]) -> None:
        """Route results to the searches that proposed them, where these still live."""
        parts: dict[int, list[TrialResult]] = {}
        for result in results:
            if result.search in self.live:
                parts.setdefault(result.search, []).append(result)
        broken = [error for number, own in parts.items() if (error := self._attempt(number, self._tell, own))]
        self._note(broken)

    def _tell(self, number: int, results: list[TrialResult]) -> None:
        search = self.live[number]
        named = ((result.row, search.session.proposer(result.note)) for result in results)
        self.proposers |= {row: name for row, name in named if name is not None}
        search.session.tell([result.note for result in results], np.array([result.row for result in results], np.int64))
        search.revision = next(REVISIONS)
        if search.session.done:
            incumbent = search.session.incumbent
            self.converged += [] if incumbent is None else [int(incumbent)]
            self.end(number)

    def named(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the parts of searches that proposed rows, where they have parts."""
        return {row: self.proposers[row] for row in rows if row in self.proposers}

    def forget(self, number: int, note: Note) -> None:
        """Note that a point of a search will never be told; one that raises is ended with a warning, as in `tell`."""
        if number in self.live:
            error = self._attempt(number, self._forget, note)
            self._note([] if error is None else [error])

    def _forget(self, number: int, note: Note) -> None:
        self.live[number].session.forget([note])
        self.live[number].revision = next(REVISIONS)

    def _attempt(self, number: int, call: Callable[[int, What], None], what: What) -> Exception | None:
        """Call a search; end it and return the error if it raises."""
        try:
            call(number, what)
        except Exception as error:  # a user's sampler may raise anything
            self.end(number)
            return error
        return None

    def _note(self, broken: list[Exception]) -> None:
        for error in broken:
            what = f"{type(error).__name__}: {error}"
            self._warnings.append(f"a search of {self.sampler!r} failed and is given up ({what})")

    def take_warnings(self) -> list[str]:
        """Return the texts of new warnings, each once."""
        texts, self._warnings = self._warnings, []
        return texts

    def end(self, number: int) -> None:
        """End a search; its outstanding results become unsolicited."""
        del self.live[number]

    # Their state ----------------------------------------------------------------------------------------------------

    def states(self, since: Mark | None = None) -> dict[int, SearchState]:
        """Return the state of each search changed since a mark (None: all), with its new log entries."""
        known = {} if since is None else since.known
        changed = {}
        for number, search in sorted(self.live.items()):
            revision, logged = known.get(number, (-1, 0))
            if search.revision != revision:
                log = search.session.log
                changed[number] = SearchState(search.session.state(), logged, list(log[logged:]))
        return changed

    def mark(self) -> dict[int, tuple[int, int]]:
        """Return the revision of each search and the length of its log."""
        return {number: (search.revision, len(search.session.log)) for number, search in self.live.items()}

    def load(self, states: dict[int, SearchState], whole: Region, lost: Iterable[Waiting] = ()) -> None:
        """Restore saved searches, which forget the `lost` trials."""
        for number, saved in sorted(states.items()):
            session = self.sampler.restore(saved.session, list(saved.log), whole, self.seen)
            row = session.incumbent
            if row is not None and not (isinstance(row, (int, np.integer)) and row in whole.rows):
                raise ValueError(f"search {number}: expected an incumbent that is a row that succeeded, got {row!r}")
            self._restored.add(number)
            self.live[number] = LiveSearch(session)
        for trial in lost:
            self.forget(trial.session, trial.note)
