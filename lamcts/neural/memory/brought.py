"""What the backward pass fetches when it is needed, or makes anew: found again only where a plan has changed.

Letters: S steps, n movable storages.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from lamcts.neural.memory.plan import Action
from lamcts.neural.memory.scheme import NEVER, Scheme
from lamcts.neural.memory.there import There
from lamcts.types import Rows

# As plain numbers, which compare faster. Odd ones make anew, even ones but KEEP fetch.
KEEP, OFFLOAD = int(Action.KEEP), int(Action.OFFLOAD)
EACH = int(Action.RECOMPUTE_EACH)  # from here on: what is brought goes when the step ends


class Brought(NamedTuple):
    """What one step had brought.

    ends: until when each storage then stays; what only helped is left out. involved: the storages that this hangs on.
    times: ticks, in turns those of making anew and those of the transfer after it.
    """

    ends: dict[int, int]
    involved: set[int]
    times: list[tuple[int, int]]
    recomputes: int
    fetched_bytes: int
    beyond: int


NOTHING = Brought({}, set(), [], 0, 0, 0)  # of a plan that keeps everything


@dataclass(eq=False)
class Bringer:
    """What is brought, step by step, under the plan that it follows.

    there, beyond [S]: bytes while each step runs, and how many more while things are brought for it.
    spells [n]: when a storage that was brought is there: the ends by the steps that brought it.
    involved [n]: the steps whose bringing hangs on it.
    """

    known: Scheme
    there: There
    beyond: Rows
    chosen: bytes = b""
    last: list[int] = field(default_factory=list)
    brought: dict[int, Brought] = field(default_factory=dict)
    ticks: int = 0
    recomputes: int = 0
    fetched_bytes: int = 0

    def __post_init__(self) -> None:
        count = len(self.known.size)
        self.spells: list[dict[int, int]] = [{} for _ in range(count)]
        self.involved: list[set[int]] = [set() for _ in range(count)]
        self.needed_at: list[list[int]] = [[] for _ in range(count)]
        for t, found in enumerate(self.known.needs):
            for i in found:
                self.needed_at[i].append(t)
        self.ahead = self.known.machine.overlap

    def follow(self, chosen: bytes, last: list[int], touched: Iterable[int]) -> None:
        """Bring what a plan brings that differs from the one before in what happens to the `touched` storages.

        last [n]: until when each is wanted. What one step brings may change what later ones find.
        """
        self.chosen, self.last = chosen, last
        steps = {t for i in touched for t in (*self.involved[i], *self._asked(i))}
        queue = list(steps)
        heapify(queue)
        while queue:
            t = heappop(queue)
            if (old := self.brought.pop(t, NOTHING)) is not NOTHING:
                self._take(t, old, -1)
            missing = [i for i in self.known.needs[t] if not self._there(i, t)]
            new = self._bring(t, missing) if missing else NOTHING
            if missing:
                self.brought[t] = new
                self._take(t, new, 1)
            for i in self._settled(t, old.ends, new.ends):
                for later in (*self.involved[i], *self._asked(i)):
                    if later > t and later not in steps:
                        steps.add(later)
                        heappush(queue, later)

    def _asked(self, i: int) -> Iterable[int]:
        """Return the steps at which a storage may be missing: what is brought back stays, but for two actions."""
        action = self.chosen[i]
        if action == KEEP or (action == OFFLOAD and self.ahead) or self.known.first_need[i] == NEVER:
            return ()
        return self.needed_at[i] if action >= EACH else (self.known.first_need[i],)

    def _there(self, i: int, t: int) -> bool:
        action = self.chosen[i]
        if action == KEEP or (action == OFFLOAD and self.ahead):
            return True
        return any(enter < t <= end for enter, end in self.spells[i].items())

    def _take(self, t: int, found: Brought, sign: int) -> None:
        """Count what a step has brought, or no more."""
        self.recomputes += sign * found.recomputes
        self.fetched_bytes += sign * found.fetched_bytes
        self.ticks += sign * sum([making + fetching for making, fetching in found.times])
        self.beyond[t] = found.beyond if sign > 0 else 0
        for i in found.involved:
            if sign > 0:
                self.involved[i].add(t)
            else:
                self.involved[i].discard(t)

    def _settled(self, t: int, old: dict[int, int], new: dict[int, int]) -> list[int]:
        """Let what step t has brought be there as long as it stays; return the storages for which that has changed."""
        if old == new:
            return []
        changed = [i for i in old.keys() | new.keys() if old.get(i) != new.get(i)] if old else list(new)
        for i in changed:
            size = self.known.size[i]
            if i in old:
                self.there.add(t, old[i], -size)
                del self.spells[i][t]
            if i in new:
                self.there.add(t, new[i], size)
                self.spells[i][t] = new[i]
        return changed

    def _bring(self, t: int, missing: list[int]) -> Brought:
        """Return what it takes to fetch or make anew what step t misses."""
        known, chosen, size, ticks = self.known, self.chosen, self.known.size, self.known.ticks
        wanted = self._closure(t, missing)
        made = [i for i in wanted if chosen[i] & 1]
        user = {source: i for i in made for source in known.inputs[i]}  # the last one
        ends, helpers = {}, set()
        times, making = [], 0
        now = highest = stayed = 0  # bytes beyond those that were there
        for i in wanted:
            now += size[i]
            if chosen[i] & 1:
                making += ticks.making[i]
                highest = max(highest, now + known.scratch[i])
            else:
                times.append((making, ticks.transfer[i]))
                making = 0
                highest = max(highest, now)
            end = self._end(i, t)
            if end >= 0:
                ends[i] = end
                stayed += size[i]
            else:
                helpers.add(i)
            if helpers:
                now -= sum([size[one] for one in known.inputs[i] if one in helpers and user[one] == i])
        times.append((making, 0))
        beyond = max(0, highest - stayed + known.fixed_before[t] - known.fixed_during[t])
        fetched = sum([size[i] for i in wanted]) - sum([size[i] for i in made])
        return Brought(ends, {*wanted, *user}, times, len(made), fetched, beyond)

    def _closure(self, t: int, missing: list[int]) -> list[int]:
        """Return what has to be brought, in an order in which all that a storage is made of comes before it."""
        inputs, chosen = self.known.inputs, self.chosen
        found, stack = set(missing), list(missing)
        while stack:
            i = stack.pop()
            if chosen[i] & 1:
                for source in inputs[i]:
                    if source not in found and not self._there(source, t):
                        found.add(source)
                        stack.append(source)
        return missing if len(found) == 1 else sorted(found, key=self.known.done.__getitem__)

    def _end(self, i: int, t: int) -> int:
        """Return the step with which what was brought at step t leaves; -1 for one that only helped."""
        action, last = self.chosen[i], self.last[i]
        if action <= OFFLOAD:
            return last if last > t or i in self.known.needs[t] else -1
        if i not in self.known.needs[t]:
            return -1
        return t if action >= EACH else self.known.last_need[i]
