"""The searches of a run: the live session, restarts after convergence, and the routing of results."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
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

Argument = TypeVar("Argument")
REVISIONS = count()  # numbers of the process: a restored search has a new revision


@dataclass
class LiveSearch:
    """A live session, and its revision, a number that changes with each change of the session."""

    session: Session
    revision: int = field(default_factory=lambda: next(REVISIONS))


class TrialResult(NamedTuple):
    """A row of `seen`, with the number of the search that proposed it and the note of its point."""

    search: int
    note: Note
    row: int


class Searches:
    """The live session of a run by its number; there is one at most.

    A new session follows one that has converged or has no more points. The first session gets all rows as first
    results; after a convergence, a session gets none.
    """

    def __init__(self, sampler: Sampler, seen: Observations, seed: int) -> None:
        self.sampler = adapt_to_goals(sampler, seen)
        self.seed = seed
        self.seen = seen if seen.plain else cast(Observations, BoundedColumns(seen))
        self.live: dict[int, LiveSearch] = {}
        self.converged: list[int] = []  # rows at which searches have converged
        self.proposers: dict[int, str] = {}  # row -> the part of its search that proposed it
        self.next = 0
        self._restored: set[int] = set()  # restored searches before their first ask
        self.failed: set[int] = set()  # searches that raised at their start or in `ask`
        self._has_warned = False  # of points outside the cube
        self._warnings: list[str] = []  # messages to emit after the change is complete

    # Proposals and results ------------------------------------------------------------------------------------------

    def propose(self, region: Region, n: int) -> tuple[Proposal, int]:
        """Return at most `n` points, and the number of the search; a search without new points is ended."""
        number = next(iter(self.live)) if self.live else self._start(region)
        search = self.live[number]
        search.session.move(region)
        proposal = self._ask(number, n)
        if not len(proposal.x):
            self.end(number)
            return proposal, -1
        search.revision = next(REVISIONS)
        return proposal, number

    def _ask(self, number: int, n: int) -> Proposal:
        """Return the proposal of a search; a search that raises is ended."""
        try:
            proposal = Proposal(*self.live[number].session.ask(n))
            if (n_points := len(proposal.x)) != (n_notes := len(proposal.notes)):
                raise ValueError(f"{self.sampler!r}: expected a note to each of {n_points} points, got {n_notes}")
            proposal = self._within_cube(number, proposal)
        except Exception as error:
            self.failed.add(number)
            self.end(number)
            if number in self._restored and not isinstance(error, Exhausted):
                what = f"{type(error).__name__}: {error}"
                raise ValueError(f"state: search {number} cannot go on from what was saved ({what})") from error
            raise
        self._restored.discard(number)
        return proposal

    def _within_cube(self, number: int, proposal: Proposal) -> Proposal:
        """Return the points of a proposal within [0, 1]; the search forgets the others, with one warning."""
        x = np.asarray(proposal.x, float).reshape(len(proposal.notes), self.seen.dim)
        is_within = ((x >= 0) & (x <= 1)).all(axis=1)
        if np.all(is_within):
            return proposal
        if not self._has_warned:
            what = f"{self.sampler!r} proposed no point: expected coordinates within [0, 1], got {x[~is_within][0]}"
            cure = "another point is drawn; where values are near the largest float, return nan or a smaller penalty"
            self._warnings.append(f"{what}; {cure}")
        self._has_warned = True
        self.live[number].session.forget([proposal.notes[i] for i in np.flatnonzero(~is_within)])
        return Proposal(x[is_within], [proposal.notes[i] for i in np.flatnonzero(is_within)])

    def _start(self, region: Region) -> int:
        number = self.next
        self.next += 1
        rows = region.rows[:0] if self.converged else region.rows
        rng = stream(self.seed, Purpose.SESSION, number)
        try:
            self.live[number] = LiveSearch(self.sampler.start(replace(region, rows=rows), self.seen, rng))
        except Exception:
            self.failed.add(number)
            raise
        return number

    def tell(self, results: Iterable[TrialResult]) -> None:
        """Route results to the searches that proposed them, if these are live."""
        by_search: dict[int, list[TrialResult]] = {}
        for result in results:
            if result.search in self.live:
                by_search.setdefault(result.search, []).append(result)
        errors = [self._attempt(number, self._tell, group) for number, group in by_search.items()]
        self._warn_of(errors)

    def _tell(self, number: int, results: list[TrialResult]) -> None:
        search = self.live[number]
        proposers = ((result.row, search.session.proposer(result.note)) for result in results)
        self.proposers |= {row: name for row, name in proposers if name is not None}
        search.session.tell([result.note for result in results], np.array([result.row for result in results], np.int64))
        search.revision = next(REVISIONS)
        if search.session.done:
            incumbent = search.session.incumbent
            self.converged += [] if incumbent is None else [int(incumbent)]
            self.end(number)

    def proposers_of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the parts of searches that proposed the rows, for searches with parts."""
        return {row: self.proposers[row] for row in rows if row in self.proposers}

    def forget(self, number: int, note: Note) -> None:
        """Tell a search that a point will never be evaluated; a search that raises is ended, as in `tell`."""
        if number in self.live:
            self._warn_of([self._attempt(number, self._forget, note)])

    def _forget(self, number: int, note: Note) -> None:
        self.live[number].session.forget([note])
        self.live[number].revision = next(REVISIONS)

    def _attempt(self, number: int, call: Callable[[int, Argument], None], argument: Argument) -> Exception | None:
        """Call a search; end it and return the exception if it raises."""
        try:
            call(number, argument)
        except Exception as error:  # a user's sampler may raise anything
            self.end(number)
            return error
        return None

    def _warn_of(self, errors: list[Exception | None]) -> None:
        for error in filter(None, errors):
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}, line {frame.lineno}"
            what = f"{type(error).__name__}: {error}; {place}"
            self._warnings.append(f"a search of {self.sampler!r} failed and is given up ({what})")

    def take_warnings(self) -> list[str]:
        """Return the messages of new warnings, and clear them."""
        messages = self._warnings
        self._warnings = []
        return messages

    def end(self, number: int) -> None:
        """End a search; its outstanding results become unsolicited."""
        del self.live[number]

    # State ----------------------------------------------------------------------------------------------------------

    def states(self, since: Mark | None = None) -> dict[int, SearchState]:
        """Return the states of the searches changed since a mark (None: all), with their new log entries."""
        revisions = {} if since is None else since.known
        changed = {}
        for number, search in sorted(self.live.items()):
            revision, logged = revisions.get(number, (-1, 0))
            if search.revision != revision:
                log = search.session.log
                changed[number] = SearchState(search.session.state(), logged, list(log[logged:]))
        return changed

    def mark(self) -> dict[int, tuple[int, int]]:
        """Return the revision of each search and the length of its log."""
        return {number: (search.revision, len(search.session.log)) for number, search in self.live.items()}

    def load(self, states: dict[int, SearchState], region: Region, lost: Iterable[Waiting] = ()) -> None:
        """Restore saved searches, and make them forget the `lost` trials."""
        for number, saved in sorted(states.items()):
            session = self.sampler.restore(saved.session, list(saved.log), region, self.seen)
            row = session.incumbent
            if row is not None and not (isinstance(row, (int, np.integer)) and row in region.rows):
                raise ValueError(f"search {number}: expected an incumbent that is a row that succeeded, got {row!r}")
            self._restored.add(number)
            self.live[number] = LiveSearch(session)
        for trial in lost:
            self.forget(trial.session, trial.note)
