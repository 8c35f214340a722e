"""LA-MCTS: a tree of regions learned from the evaluations, and any sampler inside the region that it selects.

Latent action Monte Carlo tree search (Wang, Fonseca and Tian 2020; thesis of Linnan Wang, ch. 5). Several searches of
the inner sampler may live, each with its incumbent; the search with the best incumbent in a region goes on there.
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

MAX_LIVE = 24  # a trust region's model may hold a 2000 x 2000 factor: 24 stay below a gigabyte (untuned)


def _turbo() -> Sampler:
    kind: Any = find("turbo")
    made: Sampler = kind()
    return made


@register(
    "la_mcts", "LA-MCTS: a tree of regions around turbo, or around NAME by la_mcts:NAME; as published by la_mcts:paper"
)
@dataclass(frozen=True)
class LaMcts(LocalSampler):
    """Latent action Monte Carlo tree search around another sampler.

    Parameters
    ----------
    inner : Sampler, default Turbo()
        Searches inside the regions.
    tree : LatentTree, default LatentTree()
        How the space is split, and how a region is selected.
    keep_region : bool, default False
        Whether a search stays in the region where it began until it has converged, and begins with new points there, as
        in the paper. Else the tree selects a region at each ask. The search with the best incumbent there goes on, or
        one begins with the rows there.

    Notes
    -----
    A search that has converged in a region is followed by one from the whole space. `LaMcts.paper()` is the published
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

    version: ClassVar[int] = 3  # see lamcts.journal.settings
    inner: Sampler = field(default_factory=_turbo)
    tree: LatentTree = field(default_factory=LatentTree)
    keep_region: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.inner, "start") or not isinstance(self.tree, LatentTree):
            raise ValueError(f"LaMcts: expected a sampler and a LatentTree, got {self.inner!r} and {self.tree!r}")

    @classmethod
    def paper(cls, theta: int = 20, cp: float = 1.0) -> "LaMcts":
        """Return LA-MCTS around TuRBO as published (thesis 5.3).

        A leaf is selected, TuRBO begins there with new points and stays there until its box has collapsed; then the
        tree is learned again from all rows. What differs: `LatentTree.paper` and `Turbo.published` say it; TuRBO's
        model knows the rows of earlier searches too; a leaf without new points is widened to its parent.

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
        """Return the wrapper of the sampler that `detail` names, Turbo without one, or `paper()`; None for no name."""
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
    searches: int = 0  # begun so far
    converged: list[int] = field(default_factory=list)  # rows at which searches have converged
    firsts: dict[int, Floats] = field(default_factory=dict)  # the first point of each live search that proposed one
    kept: dict[int, list[int]] = field(default_factory=dict)  # of live searches that keep it: rows, sides of the region


class LaMctsSession(LocalSession[LaMcts, LaMctsProgress]):
    """A point's note is [number of the search, its own note]; a log entry is the same of the search's log."""

    def __init__(self, settings: LaMcts, region: Region, seen: Observations, progress: LaMctsProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._inner = adapt_to_goals(settings.inner, seen)
        self._tree = settings.tree.incremental(region.space, seen)
        self._live: dict[int, Session] = {}
        self._began_in: dict[int, Region] = {}
        self._logged: dict[int, int] = {}  # entries of each search's log that are in ours

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
        return super().state() | {"live": {str(number): own.state() for number, own in sorted(self._live.items())}}

    # Where ----------------------------------------------------------------------------------------------------------

    def _selected(self) -> Region:
        """Return where to search next: what the newest search keeps, or the region that the tree selects."""
        if self.settings.keep_region and self._live:
            return self._region_of(max(self._live))
        selected = self._tree.select(self.progress.rng)
        if self.settings.keep_region:
            return selected
        return self.region if self._has_converged(selected) and self._inside(selected) is None else selected

    def _region_of(self, number: int) -> Region:
        """Return the region in which a live search began."""
        if number not in self._began_in:  # after a resume
            n, *sides = self.progress.kept[number]
            self._began_in[number] = self._tree.region(tuple(map(bool, sides)), n)
        return self._began_in[number]

    def _inside(self, region: Region) -> int | None:
        """Return the number of the search with the best incumbent inside a region, or None."""
        anchors = {number: x for number in self._live if (x := self._anchor(number)) is not None}
        if not anchors:
            return None
        inside = region.contains(np.array([*anchors.values()]))
        return min((number for number, held in zip(anchors, inside, strict=True) if held), key=self._loss, default=None)

    def _has_converged(self, region: Region) -> bool:
        """Return whether a search has converged inside a region."""
        rows = self.progress.converged
        return bool(rows) and bool(region.contains(self.seen.x[rows]).any())

    def _anchor(self, number: int) -> Floats | None:
        row = self._live[number].incumbent
        return self.progress.firsts.get(number) if row is None else self.seen.x[row]

    def _loss(self, number: int) -> float:
        row = self._live[number].incumbent
        return np.inf if row is None else float(self.seen.y[row])

    # Points and results ---------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        """Propose points of the selected region, or of one that contains it where it has no new points."""
        region = self._selected()
        while True:
            number = self._inside(region)
            number = self._begin(region) if number is None else number
            self._live[number].move(region)
            proposal = self._live[number].ask(n)
            self._collect(number)
            if len(proposal.x):
                self.progress.firsts.setdefault(number, proposal.x[0])
                return proposal._replace(notes=[[number, note] for note in proposal.notes])
            self._end(number)
            if not region.steps:
                return proposal._replace(notes=[], gains=None)
            region = region.wider(self.seen)

    def _begin(self, region: Region) -> int:
        """Begin a search, which is offered the rows of the region, but none where another has converged."""
        if len(self._live) >= MAX_LIVE:
            self._end(max(self._live, key=lambda number: (self._loss(number), -number)))
        number = self.progress.searches
        self.progress.searches += 1
        fresh = self.settings.keep_region or self._has_converged(region)
        offered = replace(region, rows=region.rows[:0]) if fresh else region
        if self.settings.keep_region:
            self._began_in[number] = region
            self.progress.kept[number] = [len(self.seen), *(int(step.good) for step in region.steps)]
        self._live[number] = self._inner.start(offered, self.seen, child(self.progress.rng))
        self._logged[number] = 0
        return number

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        parts: dict[int, tuple[list[Note], list[int]]] = {}
        for (number, note), row in zip(notes, rows.tolist(), strict=True):
            if number in self._live:
                own = parts.setdefault(number, ([], []))
                own[0].append(note)
                own[1].append(row)
        for number, (own_notes, own_rows) in parts.items():
            search = self._live[number]
            search.tell(own_notes, np.array(own_rows, np.int64))
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
        """Return the part of the search that proposed a point, where that is still live and has parts."""
        search = self._live.get(note[0])
        return None if search is None else search.proposer(note[1])

    def _collect(self, number: int) -> None:
        """Take over what is new in a search's log."""
        log = self._live[number].log
        self.log += [[number, entry] for entry in log[self._logged[number] :]]
        self._logged[number] = len(log)

    def _end(self, number: int) -> None:
        """End a search; its outstanding results belong to none."""
        del self._live[number], self._logged[number]
        self.progress.firsts.pop(number, None)
        self.progress.kept.pop(number, None)
        self._began_in.pop(number, None)
