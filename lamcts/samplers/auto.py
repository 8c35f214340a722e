"""The default: several local searches round one incumbent, and a bandit that says how many points each may propose.

No local method is first everywhere: trust-region Gaussian processes cross rough ground, descent on a quadratic model is
far quicker down a smooth valley, a search along the parameters where they hardly interact. Here the tree picks the
region where they begin, and the methods share all that is seen: a row that one of them finds becomes the incumbent of
all. Each is credited with what its evaluations gained. Once settled, they look across the whole space: the next valley
along a parameter lies outside any region round the present one, and the others fare no worse for it.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lamcts import rng as streams
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.base import Sampler, Session
from lamcts.samplers.proposals import Batch, leader
from lamcts.samplers.shares import Shares
from lamcts.spaces.base import Space

GOOD = 0.25  # share of rows that are better than the one that gains are measured by
MOST = float(np.finfo(float).max)  # differences of losses near it overflow
ROUNDS = 3  # times that points are asked for in place of those that two methods both propose


def choose(space: Space) -> Sampler:
    """Return the sampler for a space when the user names none."""
    from lamcts.samplers.coordinate import Coordinate
    from lamcts.samplers.quadratic import Quadratic
    from lamcts.samplers.turbo import Turbo

    if not space.continuous.any():
        return Turbo()
    base = Turbo(length_min=2**-7, descent_share=1.0)  # the quadratic search goes to the bottom, this one leaps
    return Auto((base, Quadratic(), Coordinate()))


@runtime_checkable
class Adopting(Protocol):
    """A session that can go on from a row that it did not ask for."""

    def adopt(self, row: int) -> None:
        """Take a row of the region, better than the incumbent, as the incumbent."""


@dataclass(frozen=True)
class Auto:
    """Shares each batch among `parts`. The first is the base: it proposes alone until it has settled (so it must be a
    search that settles, as Turbo does), and when it has converged and no other gains any more, the search ends.

    least: share of the points that every part keeps, whatever it gained lately; the base keeps `base`. memory: number
    of evaluations over which gains are remembered.
    """

    parts: tuple[Sampler, ...]
    least: float = 0.07
    base: float = 0.15
    memory: float = 60.0

    def __post_init__(self) -> None:
        if not self.parts or not all(part.resumable for part in self.parts):
            raise ValueError(f"Auto: expected at least one sampler, all of them resumable, got {self.parts!r}")
        if not (0 <= self.least <= self.base and self.base + self.least * (len(self.parts) - 1) <= 1):
            raise ValueError(f"Auto: expected 0 <= least <= base, in all at most 1, got {self.least!r}, {self.base!r}")
        if not self.memory > 0:
            raise ValueError(f"Auto: expected a memory above 0, got {self.memory!r}")

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_AutoSession":
        sessions = [
            part.start(region, seen, own) for part, own in zip(self.parts, rng.spawn(len(self.parts)), strict=True)
        ]
        return _AutoSession(self, region, seen, rng, sessions, self._shares())

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_AutoSession":
        logs: list[list[Any]] = [[] for _ in self.parts]
        for arm, start, entry in log:
            if start == state["starts"][arm]:
                logs[arm].append(entry)
        saved = zip(self.parts, state["parts"], logs, strict=True)
        sessions = [part.restore(own, kept, region, seen) for part, own, kept in saved]
        session = _AutoSession(self, region, seen, streams.restore(state["rng"]), sessions, self._shares())
        session.load(state, log)
        return session

    def _shares(self) -> Shares:
        return Shares([self.base, *[self.least] * (len(self.parts) - 1)], self.memory)


class _AutoSession:
    roams = True

    def __init__(
        self,
        settings: Auto,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        parts: list[Session],
        shares: Shares,
    ) -> None:
        self.log: list[Any] = []  # [arm, which start of it, entry] of the parts' logs
        self.incumbent = leader(seen, [part.incumbent for part in parts if part.incumbent is not None])
        self.parts, self.shares = parts, shares
        self._others = range(1, len(parts))
        self._settings, self._region, self._seen, self._rng = settings, region, seen, rng
        self._starts = [0] * len(parts)  # times that each arm was started again
        self._logged = [0] * len(parts)  # entries of each arm's log that stand in ours
        self._known = len(seen)  # rows seen when it last looked for better ones from elsewhere
        self._idle = [0] * len(parts)  # results of all arms since each last gained
        self._tag = 0
        self._tags: dict[int, tuple[int, int, int]] = {}  # points out -> arm, which start of it, its own tag

    @property
    def settled(self) -> bool:
        return self.parts[0].settled

    @property
    def done(self) -> bool:
        """Whether the base has converged, and no other arm still gains, be it little: it may be closing in."""
        gaining = any(self._idle[a] < self._settings.memory and not self.parts[a].done for a in self._others)
        return self.parts[0].done and not gaining

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        self._overtake()
        self._restart()
        batch, tags = Batch(self._region, self._seen, n), list[int]()
        closed = [part.done for part in self.parts]
        if self.parts[0].incumbent is None or not self.settled or all(closed):
            closed = [arm > 0 for arm in range(len(self.parts))]  # the base begins alone
        for again in range(ROUNDS):
            for arm, k in enumerate(self.shares.split(batch.missing, [not c for c in closed])):
                if k:
                    tags += self._take(batch, arm, k, len(batch.x) if again else 0)
            if not batch.open:
                break
            closed = [arm > 0 for arm in range(len(self.parts))]
        return batch.x, tags

    def _take(self, batch: Batch, arm: int, k: int, spare: int) -> list[int]:
        """Take `k` points of an arm into the batch, asking for some to spare; return their tags."""
        part = self.parts[arm]
        x, own = part.ask(k + spare)
        taken = batch.take(x)
        part.forget([tag for tag, used in zip(own, taken, strict=True) if not used])
        self._collect(arm)
        tags = list(range(self._tag, self._tag + int(taken.sum())))
        self._tag += len(tags)
        start = self._starts[arm]
        theirs = ((arm, start, tag) for tag, used in zip(own, taken, strict=True) if used)
        self._tags |= dict(zip(tags, theirs, strict=True))
        return tags

    def tell(self, tags: list[int], rows: Rows) -> None:
        told: list[tuple[list[int], list[int]]] = [([], []) for _ in self.parts]
        found: list[list[int]] = [[] for _ in self.parts]
        for tag, row in zip(tags, rows, strict=True):
            arm, start, own = self._tags.pop(tag)
            found[arm].append(int(row))
            if start == self._starts[arm]:  # else the session that asked has gone
                told[arm][0].append(own)
                told[arm][1].append(int(row))
        self._credit(found)
        self.incumbent = leader(self._seen, rows, self.incumbent)
        for arm, (own_tags, own_rows) in enumerate(told):
            if own_tags:
                self.parts[arm].tell(own_tags, np.array(own_rows, np.int64))
                self._collect(arm)
        for arm in range(len(self.parts)):
            self._lead(arm)

    def _credit(self, rows: list[list[int]]) -> None:
        """Credit each arm with what its rows gained on the incumbent, in units of its distance to a good row."""
        y = self._seen.y
        best = np.inf if self.incumbent is None else float(y[self.incumbent])
        values = y[self._seen.good]
        rank = int(GOOD * len(values))
        usual = float(np.partition(values, rank)[rank]) if len(values) else np.inf
        gains = np.zeros(len(rows))
        told = sum(len(own) for own in rows)
        self._idle = [idle + told for idle in self._idle]
        if np.isfinite(best):
            for arm, own in enumerate(rows):
                found = float(np.nanmin(y[own], initial=np.inf)) if own else np.inf
                if found < best:
                    gain = min(best - found, MOST)
                    gains[arm] = gain / min(max(usual - best, gain), MOST)
                    self._idle[arm] = 0
        self.shares.credit(gains, np.array([float(len(own)) for own in rows]))

    def _lead(self, arm: int) -> None:
        """Have an arm go on from the incumbent, if another arm found it."""
        part = self.parts[arm]
        if self.incumbent is None or part.incumbent == self.incumbent or (arm and part.done):
            return
        if isinstance(part, Adopting):
            part.adopt(self.incumbent)

    def _overtake(self) -> None:
        """Go on from a better row of the region that came from elsewhere since: the initial design, a warm start.

        At an ask, as `_restart`. Rows from before the session began do not count: it may have left them behind.
        """
        rows = np.arange(self._known, len(self._seen))
        self._known = len(self._seen)
        if self.incumbent is None or not len(rows):
            return
        self.incumbent = leader(self._seen, rows[self._region.contains(self._seen.x[rows])], self.incumbent)
        for arm in range(len(self.parts)):
            self._lead(arm)

    def _restart(self) -> None:
        """Start arms again that have converged, where another arm has found a better row since.

        Done at an ask, not at a tell: only then is the region sure to be the same after a resume.
        """
        for arm, part in enumerate(self.parts):
            if arm and part.done and part.incumbent != self.incumbent:
                own = np.random.default_rng(int(self._rng.integers(2**63)))
                self.parts[arm] = self._settings.parts[arm].start(self._region, self._seen, own)
                self._starts[arm], self._logged[arm] = self._starts[arm] + 1, 0
                self._lead(arm)

    def forget(self, tags: list[int]) -> None:
        for tag in tags:
            arm, start, own = self._tags.pop(tag)
            if start == self._starts[arm]:
                self.parts[arm].forget([own])
                self._collect(arm)

    def move(self, region: Region) -> None:
        self._region = region
        for part in self.parts:
            part.move(region)

    def _collect(self, arm: int) -> None:
        """Take over what is new in an arm's log."""
        log = self.parts[arm].log
        self.log += [[arm, self._starts[arm], entry] for entry in log[self._logged[arm] :]]
        self._logged[arm] = len(log)

    def state(self) -> dict[str, Any]:
        return {
            "rng": streams.save(self._rng),
            "incumbent": self.incumbent,
            "parts": [part.state() for part in self.parts],
            "starts": list(self._starts),
            "shares": self.shares.state(),
            "known": self._known,
            "idle": list(self._idle),
            "tag": self._tag,
            "tags": [[tag, *theirs] for tag, theirs in self._tags.items()],
        }

    def load(self, state: dict[str, Any], log: list[Any]) -> None:
        """Take over a saved state; the parts have theirs already."""
        self.log, self.incumbent, self._tag = list(log), state["incumbent"], state["tag"]
        self._tags = {tag: (arm, start, own) for tag, arm, start, own in state["tags"]}
        self._starts, self._logged = list(state["starts"]), [len(part.log) for part in self.parts]
        self._known, self._idle = state["known"], list(state["idle"])
        self.shares.restore(state["shares"])
