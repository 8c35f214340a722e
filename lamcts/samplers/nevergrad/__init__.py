"""Optimisers of Nevergrad by name, on the unit cube, restricted to a region."""

import math
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.nevergrad.method import Candidate, Method, library
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, Progress, bisect_into, width
from lamcts.samplers.registry import register
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region
from lamcts.types import Json, JsonValue, Rows, whole_number

PATIENCE = 8  # unusable candidates in a row before draws of the region: more cost time, fewer leave a method early
NEAR_NAMES = 3  # similar names in an error message
WHOLE_STEP = 1 / 6  # Nevergrad's first step on a bounded array
REGION_STEP = 0.3  # first step over the region's width, as for CMA-ES: with 1 / 6 methods left the best row too slowly


@register("nevergrad", "any optimiser of Nevergrad: nevergrad:NAME (extra: nevergrad)")
@dataclass(frozen=True)
class Nevergrad(LocalSampler):
    """An optimiser of Nevergrad, on the unit cube, restricted to a region (extra: nevergrad).

    Optimisers that Nevergrad runs in a separate thread (`recast`) cannot be resumed.

    Parameters
    ----------
    name : str, default "NGOpt"
        Name in Nevergrad's registry, such as "CMA", "TwoPointsDE" or "OnePlusOne". "NGOpt" chooses by the problem. The
        thesis compares with "Shiwa".
    budget : int or None, default None
        Evaluations that the method plans for. More explore longer, fewer converge earlier. None is 1000.
    workers : int or None, default None
        Largest number of pending points. None is the size of the first ask. Further points are drawn from the region,
        and their results reported to the method.
    """

    name: str = "NGOpt"
    budget: int | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        names = list(library().optimizers.registry)
        if self.name not in names:
            near = get_close_matches(str(self.name), names, n=NEAR_NAMES) or ["NGOpt", "CMA", "TwoPointsDE"]
            raise ValueError(f"nevergrad: expected one of its {len(names)} optimisers, got {self.name!r}; near: {near}")
        whole_number(self.budget, "Nevergrad: budget", optional=True)
        whole_number(self.workers, "Nevergrad: workers", optional=True)

    @classmethod
    def suited(cls, space: SearchSpace, goals: Goals | None, detail: str) -> "Nevergrad":
        return cls(detail) if detail else cls()

    @property
    def resumable(self) -> bool:
        return not library().optimizers.registry[self.name].recast

    def classes(self) -> tuple[type["_NevergradSession"], type[Progress]]:
        return _NevergradSession, Progress


class _NevergradSession(LocalSession[Nevergrad, Progress]):
    """The log has every call of the library, by notes and rows, so that replaying it restores the library's state.

    Entries: the start; ["ask", note]: a proposed candidate; ["known", row]: a candidate that was evaluated before;
    ["refused"]: a candidate outside the region; ["left"]: a candidate that is pending already; ["told", note, row]: a
    result; ["lost", note]: a candidate without a result; ["other", row]: the result of a point that the library did not
    propose (its note is None); ["failed"]: an ask that raised an exception.
    """

    def __init__(self, settings: Nevergrad, region: Region, seen: Observations, progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self._method: Method | None = None
        self._n_asked = 0  # proposed candidates, the note of the next one
        self._pending: dict[int, Candidate | None] = {}  # note -> candidate

    @property
    def done(self) -> bool:
        return self._method is not None and self._method.spent

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        method = self._method or self._begin(n)
        if method is None:
            return Proposal(batch.x, [])
        notes: list[int | None] = []
        tries_left = PATIENCE
        while batch.open and tries_left and len(self._pending) < method.workers and not method.spent:
            candidate = method.ask()
            tries_left -= 1
            if candidate is None:
                self._note("failed")
                break
            if self._place(batch, method, candidate):
                notes.append(self._n_asked)
                self._ask(candidate)
                tries_left = PATIENCE
        batch.fill(self.progress.rng)
        return Proposal(batch.x, notes + [None] * (len(batch.x) - len(notes)))

    def _ask(self, candidate: Candidate | None) -> None:
        """Add a proposed candidate."""
        self._pending[self._n_asked] = candidate
        self._note("ask", self._n_asked)
        self._n_asked += 1

    def tell(self, notes: list[int | None], rows: Rows) -> None:
        super().tell(notes, rows)
        for note, row in zip(notes, rows, strict=True):
            self._apply(["other", int(row)] if note is None else ["told", note, int(row)])

    def forget(self, notes: list[int | None]) -> None:
        for note in notes:
            if note is not None:
                self._apply(["lost", note])

    def replay(self) -> None:
        """Repeat the library's calls of the log, and log them again."""
        log, self.log = self.log, []
        for entry in log:
            if self._method is None:
                self._method = Method(self.settings.name, self.settings.budget, **entry)
                self.log.append(entry)
            elif entry[0] == "failed":
                self._method.give_up()
                self.log.append(entry)
            elif entry[0] in ("ask", "known", "refused", "left"):
                candidate = self._method.ask()
                if entry[0] == "ask":
                    self._ask(candidate)
                else:
                    self._apply(entry, candidate)
            else:
                self._apply(entry)

    def _begin(self, n: int) -> Method | None:
        """Start at the best row of the region, or at a draw of the region; None if it is empty.

        In the whole space, start as Nevergrad does: with its steps, the best of a few random rows is a worse start than
        the centre (CMA on Ackley-20 after 300 evaluations: 11.0 against 3.3).
        """
        is_whole = not self.region.steps
        if is_whole:
            start = np.full(self.seen.dim, 0.5)
        elif self.incumbent is not None:
            start = self.seen.x[self.incumbent]
        else:
            draw = Batch(self.region, self.seen, 1)
            draw.fill(self.progress.rng)
            if draw.missing:
                return None
            start = draw.x[0]
        entry: Json = {
            "start": start.tolist(),
            "sigma": WHOLE_STEP if is_whole else REGION_STEP * width(self.region, self.seen),
            "workers": self.settings.workers or n,
            "seed": int(self.progress.rng.integers(2**32)),
        }
        self._method = Method(self.settings.name, self.settings.budget, **entry)
        self.log.append(entry)
        return self._method

    def _place(self, batch: Batch, method: Method, candidate: Candidate) -> bool:
        """Take a candidate into the batch, pulled inside the region; otherwise tell the method its known result."""
        x = method.x(candidate)[None]  # [1, d]
        snapped = self.region.space.snap(x)
        if not self.region.contains(snapped)[0] and self.incumbent is not None:
            snapped = bisect_into(x, self.seen.x[self.incumbent], self.region)
        if batch.take(snapped)[0]:
            return True
        if not self.region.contains(snapped)[0]:
            self._apply(["refused"], candidate)
        else:
            rows = np.flatnonzero((self.seen.x == snapped[0]).all(1))
            self._apply(["known", int(rows[0])] if len(rows) else ["left"], candidate)
        return False

    def _apply(self, entry: list[JsonValue], candidate: Candidate | None = None) -> None:
        """Make the call of the library of a log entry, and log it."""
        self._note(*entry)
        method = self._method
        if method is None:
            return
        kind = entry[0]
        if kind in ("told", "lost"):
            candidate = self._pending.pop(entry[1])
        if kind == "other":
            method.tell_other(self.seen.x[entry[1]], float(self.seen.y[entry[1]]))
        elif kind in ("told", "known"):
            method.tell(candidate, float(self.seen.y[entry[-1]]))
        elif kind == "refused" or method.workers == 1:  # a sequential method waits for every candidate
            method.tell(candidate, math.nan)

    def _note(self, *entry: JsonValue) -> None:
        self.log.append(list(entry))
