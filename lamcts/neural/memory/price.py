"""What plans cost, without playing them step by step: searches simulate thousands.

Only steps are visited at which something is fetched or made anew; what lives when is counted by arrays. The same as
`simulator._Play`, to the last bit.

Letters: S steps, n movable storages.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamcts.neural.memory.plan import Action
from lamcts.neural.memory.scheme import NEVER, Scheme
from lamcts.neural.memory.spans import spans

# As plain numbers, which compare faster. Odd ones make anew, even ones but KEEP fetch.
KEEP, OFFLOAD, RECOMPUTE_EACH = int(Action.KEEP), int(Action.OFFLOAD), int(Action.RECOMPUTE_EACH)


class Price(NamedTuple):
    """The most bytes live at each step [S], and what else a plan costs (see `simulator.Cost`)."""

    live: Any
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int


class Pricer:
    """Prices plans on a graph; arrays that all of them share are made once."""

    def __init__(self, known: Scheme) -> None:
        self.known = known
        graph, machine = known.graph, known.machine
        self.steps, self.begin = len(graph.steps), graph.forward_count
        self.size, self.used = np.array(known.size, float), np.array(known.used, np.int64)
        self.transfer = [machine.transfer_seconds(size) for size in known.size]
        self.needed_at: list[list[int]] = [[] for _ in known.size]
        for t, found in enumerate(known.needs):
            for i in found:
                self.needed_at[i].append(t)
        # What lives if nothing outlives its last forward use: plans add to it.
        self.least = np.array(known.fixed_during, float)
        made = np.bincount(known.made, self.size, self.steps + 1)
        self.least += (made - np.bincount(self.used + 1, self.size, self.steps + 1)).cumsum()[:-1]

    def price(self, actions: Sequence[int]) -> Price:
        """Return what a plan costs that does `actions` [n] to the movable storages and frees what is not needed."""
        chosen = bytes(actions)
        first, last = spans(self.known, chosen)
        return _Run(self, chosen, first, last).price()


class _Run:
    """One plan: the intervals at which storages are there beyond their forward uses, and the seconds spent on it.

    until [n]: the last step until which a storage is there, of those that are brought as far as is known. enters,
    leaves, widths: the intervals, both ends included.
    """

    def __init__(self, of: Pricer, chosen: bytes, first: list[int], last: list[int]) -> None:
        self.of, self.known, self.chosen, self.first, self.last = of, of.known, chosen, first, last
        self.until = [-1 if action else NEVER for action in chosen]
        self.late, self.link_free = 0.0, 0.0
        self.recomputes = self.sent = self.fetched = 0
        self.enters: list[int] = []
        self.leaves: list[int] = []
        self.widths: list[int] = []
        self.at: list[int] = []  # steps at which something is brought, and the most bytes beyond those of the step
        self.beyond: list[int] = []
        self.comes: dict[int, list[int]] = {}
        self.waits: dict[int, list[int]] = {}

    def price(self) -> Price:
        self._forward()
        self.link_free = self.known.elapsed[self.of.begin] + self.late
        self._backward()
        seconds = self.known.elapsed[-1] + self.late
        return Price(self._live(), seconds, self.recomputes, self.sent, self.fetched)

    def _forward(self) -> None:
        """Find what travels, when it leaves and comes back, and what is waited for meanwhile."""
        travels = [i for i, action in enumerate(self.chosen) if action and not action & 1 and self.first[i] < NEVER]
        if not self.known.machine.overlap:
            self._sent(travels, {})
            return
        ahead = [i for i in travels if self.chosen[i] == OFFLOAD]
        held = self._held(ahead)
        stays = self._fetched(sorted(ahead, key=lambda i: (self.first[i], -i)), held)
        self._sent([i for i in travels if i not in stays], held)
        for i in ahead:
            self.until[i] = NEVER
            if i in stays:
                self._there(self.known.used[i] + 1, self.last[i], i)
            else:
                self._there(self.known.used[i] + 1, held[i], i)

    def _held(self, ahead: list[int]) -> dict[int, int]:
        """Return the forward step with which each leaves; see `forward`."""
        known, end = self.known, self.of.begin - 1
        held: dict[int, int] = {}
        for i in reversed(ahead):
            held[i] = max(end, known.used[i])
            end = known.made[i] - 1
        return held

    def _fetched(self, ahead: list[int], held: dict[int, int]) -> set[int]:
        """Note when each is asked for, and when it must be there; return those that have no time to be away."""
        begin, first, last = self.of.begin, self.first, self.last
        stays: set[int] = set()
        free = begin
        for i in ahead:
            comes = min(free, first[i])
            free = last[i] + 1
            if comes == begin and held[i] == begin - 1:
                stays.add(i)
                continue
            self.comes.setdefault(comes, []).append(i)
            self.waits.setdefault(first[i], []).append(i)
            self._there(comes, last[i], i)
        return stays

    def _there(self, enter: int, leave: int, i: int) -> None:
        self.enters.append(enter)
        self.leaves.append(leave)
        self.widths.append(i)

    def _sent(self, travels: list[int], held: dict[int, int]) -> None:
        """Count the seconds that computing waits for transfers to the host to end, each before its storage is freed."""
        known, transfer, count = self.known, self.of.transfer, len(self.chosen)
        self.sent = sum([known.size[i] for i in travels])
        ends = [(2 * held.get(i, known.used[i]) + 1) * count + i for i in travels]
        if not known.machine.overlap:
            for key in sorted(ends):
                self.late += transfer[key % count]
            return
        late, link_free, elapsed = 0.0, 0.0, known.elapsed
        done: dict[int, float] = {}
        for key in sorted(ends + [2 * known.made[i] * count + i for i in travels]):
            t, i = divmod(key, count)
            now = elapsed[(t >> 1) + 1] + late
            if t & 1:
                late += max(0.0, done[i] - now)
            else:
                done[i] = link_free = max(now, link_free) + transfer[i]
        self.late = late

    def _backward(self) -> None:
        """Visit the steps at which something is asked for, waited for, or missing."""
        comes, waits, needs, until = self.comes, self.waits, self.known.needs, self.until
        elapsed = self.known.elapsed
        arrives: dict[int, float] = {}
        for t in sorted({*self._missed(), *comes, *waits}):
            for i in comes.get(t, ()):
                arrives[i] = elapsed[t] + self.late + self._fetch(i, t)
            for i in waits.get(t, ()):
                self.late += max(0.0, arrives[i] - (elapsed[t] + self.late))
            missing = [i for i in needs[t] if until[i] < t]
            if missing:
                self._bring(t, missing)

    def _missed(self) -> Iterable[int]:
        """Return the steps at which something may be missing: what is brought back stays, but for two actions."""
        first, needed_at = self.known.first_need, self.of.needed_at
        found: set[int] = set()
        for i, end in enumerate(self.until):
            if end < 0:
                if self.chosen[i] < RECOMPUTE_EACH:
                    found.add(first[i])
                else:
                    found.update(needed_at[i])
        found.discard(NEVER)
        return found

    def _fetch(self, i: int, t: int) -> float:
        """Return the seconds until a storage is back from the host, by a link that takes one after the other."""
        waits = self.of.transfer[i]
        if self.known.machine.overlap:
            now = self.known.elapsed[t] + self.late
            waits += max(0.0, self.link_free - now)
            self.link_free = now + waits
        self.fetched += self.known.size[i]
        return waits

    def _bring(self, t: int, missing: list[int]) -> None:
        """Fetch or make anew what step t misses, and all that this takes."""
        known, chosen, size = self.known, self.chosen, self.known.size
        wanted = self._closure(t, missing)
        lone = len(wanted) == 1
        user = (
            {} if lone else {source: i for i in wanted if chosen[i] & 1 for source in known.inputs[i]}
        )  # the last one
        now, highest, stayed = 0, 0, 0  # bytes beyond those that were there
        helpers: set[int] = set()
        for i in wanted:
            now += size[i]
            if chosen[i] & 1:
                self.late += known.making[i]
                self.recomputes += 1
                highest = max(highest, now + known.scratch[i])
            else:
                self.late += self._fetch(i, t)
                highest = max(highest, now)
            end = self._end(i, t)
            if end >= 0:
                self.until[i] = end
                stayed += size[i]
                self._there(t, end, i)
            elif not lone:
                helpers.add(i)
            if helpers:
                now -= sum([size[one] for one in known.inputs[i] if one in helpers and user[one] == i])
        beyond = highest - stayed + known.fixed_before[t] - known.fixed_during[t]
        if beyond > 0:
            self.at.append(t)
            self.beyond.append(beyond)

    def _closure(self, t: int, missing: list[int]) -> list[int]:
        """Return what has to be brought, in an order in which all that a storage is made of comes before it."""
        inputs, chosen, until = self.known.inputs, self.chosen, self.until
        found, stack = set(missing), list(missing)
        while stack:
            i = stack.pop()
            if chosen[i] & 1:
                for source in inputs[i]:
                    if until[source] < t and source not in found:
                        found.add(source)
                        stack.append(source)
        return missing if len(found) == 1 else sorted(found, key=self.known.done.__getitem__)

    def _end(self, i: int, t: int) -> int:
        """Return the step with which what was brought at step t leaves; -1 for one that only helped."""
        action, last = self.chosen[i], self.last[i]
        if action <= OFFLOAD:
            return last if last > t or (self.known.last_need[i] >= t and i in self.known.needs[t]) else -1
        if i not in self.known.needs[t]:
            return -1
        return t if action >= RECOMPUTE_EACH else self.known.last_need[i]

    def _live(self) -> Any:
        """Return the most bytes live at each step [S]."""
        of, count = self.of, self.of.steps + 1
        last = np.array(self.last, np.int64)
        kept = of.size * ((np.frombuffer(self.chosen, np.uint8) == KEEP) & (last >= 0))
        change = np.bincount(of.used + 1, kept, count) - np.bincount(last + 1, kept, count)
        if self.widths:
            widths = of.size[self.widths]
            change += np.bincount(self.enters, widths, count)
            change -= np.bincount(np.array(self.leaves) + 1, widths, count)
        live = of.least + change.cumsum()[:-1]
        if self.at:
            live[self.at] += self.beyond
        return live
