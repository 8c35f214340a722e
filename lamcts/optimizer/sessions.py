"""The live local searches: the choice of the one that continues in a region, and the routing of results."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from lamcts.optimizer.state import Mark, SearchState, Waiting
from lamcts.outcomes.observations import Observations
from lamcts.rng import Purpose, stream
from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.scalarised import BoundedColumns, adapt_to_goals
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note

What = TypeVar("What")

CONFIRMING = -2  # source of rows that confirm a prediction, next to the numbers of searches and -1, the design
MOST_LIVE = 24  # a trust region's model may hold a 2000 x 2000 factor: 24 stay below a gigabyte (untuned)


@dataclass
class LiveSearch:
    """A live session, the first point that it proposed, and how often it has changed."""

    session: Session
    first: Floats | None = None
    revision: int = 0


class TrialResult(NamedTuple):
    """A row of `seen`, with the number of the search that asked for it and the note that it gave."""

    search: int
    note: Note
    row: int


class LocalSearches:
    """Live sessions by number. A session is found by its incumbent, since the region around it may change.

    A new search is offered the rows of its region as first results, but none where another search has converged.
    """

    def __init__(self, sampler: Sampler, seen: Observations, seed: int) -> None:
        self.sampler, self.seed = adapt_to_goals(sampler, seen), seed
        self.seen = seen if seen.plain else BoundedColumns(seen)
        self.live: dict[int, LiveSearch] = {}
        self.converged: list[int] = []  # rows at which searches have converged
        self.proposers: dict[int, str] = {}  # row told here -> the part of its search that proposed it
        self.next = 0
        self._restored: set[int] = set()  # searches from a state that have not been asked since
        self._warned = False  # of proposals without a point

    # Where they are -------------------------------------------------------------------------------------------------

    @property
    def newest(self) -> Session | None:
        """The live session that began last; its scope sets where to search next."""
        return self.live[max(self.live)].session if self.live else None

    def inside(self, region: Region) -> int | None:
        """Return the number of the session with the best incumbent inside the region, or None."""
        anchored = [(number, x) for number in self.live if (x := self._anchor(number)) is not None]
        if not anchored:
            return None
        here = region.contains(np.array([x for _, x in anchored]))
        found = (number for (number, _), inside in zip(anchored, here, strict=True) if inside)
        return min(found, key=self._loss, default=None)

    def converged_inside(self, region: Region) -> bool:
        """Return whether a search has converged inside the region."""
        return bool(self.converged) and bool(region.contains(self.seen.x[self.converged]).any())

    def _anchor(self, number: int) -> Floats | None:
        search = self.live[number]
        return search.first if search.session.incumbent is None else self.seen.x[search.session.incumbent]

    def _loss(self, number: int) -> float:
        incumbent = self.live[number].session.incumbent
        return np.inf if incumbent is None else float(self.seen.y[incumbent])

    # What they propose, and what they are told ----------------------------------------------------------------------

    def propose(self, region: Region, number: int | None, n: int) -> tuple[Proposal, int]:
        """Return at most `n` points of the region from search `number` (None: a new one), and that search's number.

        A search without a new point is ended, and the region one step up the path is tried. Empty if the whole space
        gave none.
        """
        while True:
            number = self._start(region) if number is None else self._move(number, region)
            search = self.live[number]
            proposal = self._ask(number, n)
            if len(proposal.x):
                search.first = proposal.x[0] if search.first is None else search.first
                search.revision += 1
                return proposal, number
            self.end(number)
            if not region.steps:
                return proposal, -1
            region = region.wider(self.seen)
            number = self.inside(region)

    def _ask(self, number: int, n: int) -> Proposal:
        """Return the proposal of a search; one that raises is ended first."""
        try:
            x, notes = self.live[number].session.ask(n)
            if len(x) != len(notes):
                raise ValueError(f"{self.sampler!r}: expected a note to each of {len(x)} points, got {len(notes)}")
            proposal = self._possible(number, Proposal(x, notes))
        except Exception as error:
            self.end(number)
            if number in self._restored:
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
            warnings.warn(f"{what}; {cure}", RuntimeWarning, stacklevel=6)
        self._warned = True
        self.live[number].session.forget([proposal.notes[i] for i in np.flatnonzero(~within)])
        return Proposal(x[within], [proposal.notes[i] for i in np.flatnonzero(within)])

    def _start(self, region: Region) -> int:
        number, self.next = self.next, self.next + 1
        if len(self.live) >= MOST_LIVE:
            self.end(max(self.live, key=lambda k: (self._loss(k), -k)))
        offered = region.rows[:0] if self.converged_inside(region) else region.rows
        rng = stream(self.seed, Purpose.SESSION, number)
        self.live[number] = LiveSearch(self.sampler.start(replace(region, rows=offered), self.seen, rng))
        return self._move(number, region)

    def _move(self, number: int, region: Region) -> int:
        self.live[number].session.move(region)
        return number

    def tell(self, results: Iterable[TrialResult]) -> None:
        """Route results to the searches that proposed them, where these still live.

        A search that raises is ended with a warning, after all others have their results.
        """
        parts: dict[int, list[TrialResult]] = {}
        for result in results:
            if result.search in self.live:
                parts.setdefault(result.search, []).append(result)
        broken = [error for number, own in parts.items() if (error := self._attempt(number, self._tell, own))]
        self._warn(broken)

    def _tell(self, number: int, results: list[TrialResult]) -> None:
        search = self.live[number]
        named = ((result.row, search.session.proposer(result.note)) for result in results)
        self.proposers |= {row: name for row, name in named if name is not None}
        search.session.tell([result.note for result in results], np.array([result.row for result in results], np.int64))
        search.revision += 1
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
            self._warn([] if error is None else [error])

    def _forget(self, number: int, note: Note) -> None:
        self.live[number].session.forget([note])
        self.live[number].revision += 1

    def _attempt(self, number: int, call: Callable[[int, What], None], what: What) -> Exception | None:
        """Call a search; end it and return the error if it raises."""
        try:
            call(number, what)
        except Exception as error:  # a user's sampler may raise anything
            self.end(number)
            return error
        return None

    def _warn(self, broken: list[Exception]) -> None:
        for error in broken:
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"a search of {self.sampler!r} failed and is given up ({what})", RuntimeWarning, stacklevel=5)

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
                first = None if search.first is None else search.first.tolist()
                log = search.session.log
                changed[number] = SearchState(search.session.state(), first, logged, list(log[logged:]))
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
            self.live[number] = LiveSearch(session, None if saved.first is None else self._point(saved.first))
        for trial in lost:
            self.forget(trial.session, trial.note)

    def _point(self, first: list[float]) -> Floats:
        return np.array(first, float).reshape(self.seen.dim)
