"""LA-MCTS: a tree of regions learned from the evaluations, and a sampler inside the selected region.

Latent action Monte Carlo tree search (Wang, Fonseca and Tian 2020; thesis of Linnan Wang, ch. 5). Several searches of
the inner sampler may be live, each with its incumbent. The search with the best incumbent in a region continues there.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Session, Supports
from lamcts.samplers.default import make
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import find, register
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region
from lamcts.tree import LatentTree
from lamcts.types import Floats, Json, JsonValue, Note, Rows

MAX_LIVE = 24  # live searches: more use memory (a factor of 2,000 rows has 32 MB), fewer end searches too early


def _turbo() -> Sampler:
    turbo: Any = find("turbo")
    sampler: Sampler = turbo()
    return sampler


@register(
    "la_mcts", "LA-MCTS: a tree of regions around turbo, or around NAME by la_mcts:NAME; as published by la_mcts:paper"
)
@dataclass(frozen=True)
class LaMcts(LocalSampler):
    """Latent action Monte Carlo tree search around another sampler.

    Parameters
    ----------
    inner : Sampler, default Turbo()
        Sampler inside the regions.
    tree : LatentTree, default LatentTree()
        Splits the space, and selects a region.
    keep_region : bool, default False
        Whether a search stays in its first region until it has converged, and starts with new points there, as in the
        paper. Otherwise the tree selects a region at each ask. The search with the best incumbent there continues, or a
        new one starts with the rows there.

    Notes
    -----
    After a search has converged in a region, the next one is in the whole space. `LaMcts.paper()` is the published
    method.

    References
    ----------
    Wang, Fonseca and Tian (2020), arXiv 2007.00708.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.samplers import LaMcts, Uniform
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=LaMcts(Uniform()), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 4  # see lamcts.journal.settings
    inner: Sampler = field(default_factory=_turbo)
    tree: LatentTree = field(default_factory=LatentTree)
    keep_region: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.inner, "start") or not isinstance(self.tree, LatentTree):
            raise ValueError(f"LaMcts: expected a sampler and a LatentTree, got {self.inner!r} and {self.tree!r}")

    @classmethod
    def paper(cls, theta: int = 20, cp: float = 1.0) -> "LaMcts":
        """Return LA-MCTS around TuRBO as published (thesis 5.3).

        TuRBO starts in the selected leaf with new points, and stays there until its trust region collapses. Then the
        tree is learned again from all rows. Differences: those of `LatentTree.paper` and `Turbo.published`; TuRBO's
        model includes the rows of earlier searches; a leaf without new points is widened to its parent.

        Parameters
        ----------
        theta : int, default 20
            Rows from which on a node is split (thesis 5.6.1); 100 on MuJoCo.
        cp : float, default 1.0
            Exploration constant, in the unit of the objective: 1 to 10 % of the largest value (thesis 5.4.4).
        """
        turbo: Any = find("turbo")
        return cls(turbo.published(), LatentTree.paper(theta, cp), keep_region=True)

    @classmethod
    def suited(cls, space: SearchSpace, goals: Goals | None, detail: str) -> "LaMcts | None":
        """Return the wrapper of the sampler named `detail`, by default Turbo, or `paper()`; None for unknown names."""
        if detail == "paper":
            return cls.paper()
        name = detail or "turbo"
        return None if name.startswith("la_mcts") else cls(make(name, space))

    @property
    def resumable(self) -> bool:
        return self.inner.resumable

    @property
    def supports(self) -> Supports:
        return Supports(constraints=True, fronts=True, centre=self.inner.supports.centre)

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> "LaMctsSession":
        session: LaMctsSession = super().restore(state, log, region, seen)  # type: ignore[assignment]
        session.restore_searches(state["live"])
        return session

    def classes(self) -> tuple[type["LaMctsSession"], type["LaMctsProgress"]]:
        return LaMctsSession, LaMctsProgress


@dataclass
class LaMctsProgress(Progress):
    n_searches: int = 0  # started
    converged: list[int] = field(default_factory=list)  # rows at which searches have converged
    first_points: dict[int, Floats] = field(default_factory=dict)  # of live searches
    regions: dict[int, list[int]] = field(default_factory=dict)  # of live searches with `keep_region`: rows, sides


class LaMctsSession(LocalSession[LaMcts, LaMctsProgress]):
    """The note of a point is [number of the search, its note]; a log entry is [number, entry of the search's log]."""

    def __init__(self, settings: LaMcts, region: Region, seen: Observations, progress: LaMctsProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._inner = adapt_to_goals(settings.inner, seen)
        self._tree = settings.tree.incremental(region.space, seen)
        self._live: dict[int, Session] = {}
        self._first_regions: dict[int, Region] = {}
        self._logged: dict[int, int] = {}  # number of entries of each search's log in this log

    def restore_searches(self, states: dict[str, Json]) -> None:
        """Restore the live searches from their states, by number, and the log."""
        logs: dict[int, list[JsonValue]] = {int(number): [] for number in states}
        for number, entry in self.log:
            if number in logs:
                logs[number].append(entry)
        for number, log in logs.items():
            self._live[number] = self._inner.restore(states[str(number)], log, self.region, self.seen)
            self._logged[number] = len(log)

    def state(self) -> Json:
        return super().state() | {"live": {str(i): search.state() for i, search in sorted(self._live.items())}}

    # Where ----------------------------------------------------------------------------------------------------------

    def _selected(self) -> Region:
        """Return the region of the newest search with `keep_region`, or a region selected by the tree."""
        if self.settings.keep_region and self._live:
            return self._region_of(max(self._live))
        selected = self._tree.select(self.progress.rng)
        if self.settings.keep_region:
            return selected
        return self.region if self._has_converged(selected) and self._inside(selected) is None else selected

    def _region_of(self, number: int) -> Region:
        """Return the region in which a live search started."""
        if number not in self._first_regions:  # after a resume
            n, *sides = self.progress.regions[number]
            self._first_regions[number] = self._tree.region(tuple(map(bool, sides)), n)
        return self._first_regions[number]

    def _inside(self, region: Region) -> int | None:
        """Return the number of the search with the best incumbent inside a region, or None."""
        anchors = {number: x for number in self._live if (x := self._anchor(number)) is not None}
        if not anchors:
            return None
        inside = region.contains(np.array([*anchors.values()]))
        numbers = [number for number, is_inside in zip(anchors, inside, strict=True) if is_inside]
        return min(numbers, key=self._loss, default=None)

    def _has_converged(self, region: Region) -> bool:
        """Return whether a search has converged inside a region."""
        rows = self.progress.converged
        return bool(rows) and bool(region.contains(self.seen.x[rows]).any())

    def _anchor(self, number: int) -> Floats | None:
        row = self._live[number].incumbent
        return self.progress.first_points.get(number) if row is None else self.seen.x[row]

    def _loss(self, number: int) -> float:
        row = self._live[number].incumbent
        return np.inf if row is None else float(self.seen.y[row])

    # Points and results ---------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        """Propose points of the selected region; if it has no new points, of its ancestors in the tree."""
        region = self._selected()
        while True:
            number = self._inside(region)
            number = self._begin(region) if number is None else number
            self._live[number].move(region)
            proposal = self._live[number].ask(n)
            self._collect(number)
            if len(proposal.x):
                self.progress.first_points.setdefault(number, proposal.x[0])
                return proposal._replace(notes=[[number, note] for note in proposal.notes])
            self._end(number)
            if not region.steps:
                return proposal._replace(notes=[], gains=None)
            region = region.wider(self.seen)

    def _begin(self, region: Region) -> int:
        """Start a search with the rows of the region, or without rows if a search has converged there."""
        if len(self._live) >= MAX_LIVE:
            self._end(max(self._live, key=lambda number: (self._loss(number), -number)))
        number = self.progress.n_searches
        self.progress.n_searches += 1
        without_rows = self.settings.keep_region or self._has_converged(region)
        first_region = replace(region, rows=region.rows[:0]) if without_rows else region
        if self.settings.keep_region:
            self._first_regions[number] = region
            self.progress.regions[number] = [len(self.seen), *(int(step.good) for step in region.steps)]
        self._live[number] = self._inner.start(first_region, self.seen, child(self.progress.rng))
        self._logged[number] = 0
        return number

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        results: dict[int, tuple[list[Note], list[int]]] = {}
        for (number, note), row in zip(notes, rows.tolist(), strict=True):
            if number in self._live:
                search_notes, search_rows = results.setdefault(number, ([], []))
                search_notes.append(note)
                search_rows.append(row)
        for number, (search_notes, search_rows) in results.items():
            search = self._live[number]
            search.tell(search_notes, np.array(search_rows, np.int64))
            self._collect(number)
            if search.done:
                self.progress.converged += [] if search.incumbent is None else [int(search.incumbent)]
                self._end(number)

    def forget(self, notes: list[Note]) -> None:
        for number, note in notes:
            if number in self._live:
                self._live[number].forget([note])
                self._collect(number)

    def proposer(self, note: Any) -> str | None:
        """Return the part of the search that proposed a point, if the search is live and has parts."""
        search = self._live.get(note[0])
        return None if search is None else search.proposer(note[1])

    def _collect(self, number: int) -> None:
        """Add the new entries of a search's log."""
        log = self._live[number].log
        self.log += [[number, entry] for entry in log[self._logged[number] :]]
        self._logged[number] = len(log)

    def _end(self, number: int) -> None:
        """End a search; its pending results are ignored."""
        del self._live[number], self._logged[number]
        self.progress.first_points.pop(number, None)
        self.progress.regions.pop(number, None)
        self._first_regions.pop(number, None)
