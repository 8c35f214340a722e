"""What plans cost, without playing them step by step: searches simulate thousands, most of them much alike.

A pricer remembers the plan before, and looks again at what differs alone. The same as `simulator._Play`, to the last
bit.

Letters: S steps, n movable storages.
"""

from typing import NamedTuple

import numpy as np

from lamcts.neural.memory.brought import KEEP, Bringer
from lamcts.neural.memory.forward import ahead_of, fetched_at, held_until, waited
from lamcts.neural.memory.scheme import NEVER, TICKS, Scheme
from lamcts.neural.memory.spans import moved_spans, spans
from lamcts.neural.memory.there import There
from lamcts.types import Rows

FEW, SHARE = 3, 8  # so many storages, or one in so many, are a small change (untuned)


class Price(NamedTuple):
    """The most bytes live at each step [S], and what else a plan costs (see `simulator.Cost`)."""

    live: Rows
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int


class Pricer:
    """Prices plans on a graph, each by what it changes of the one before, or of keeping everything if that is less.

    recent: the plan that was asked for last, priced here or not.
    first, last, latest [n]: see `spans`. kept [n]: the step until which a storage is kept, -1 for none. trips: by
    storage that is fetched ahead, the intervals at which it is there beyond its forward uses, both ends included.
    """

    def __init__(self, known: Scheme) -> None:
        self.known, self.size = known, len(known.size)
        self.there = There(np.array(known.fixed_during, np.int64))
        for i, size in enumerate(known.size):
            self.there.add(known.made[i], max(known.used[i], known.last_need[i]), size)
        self.everything = self.there.live()
        self.recent = bytes(self.size)
        self._keep_everything()

    def _keep_everything(self) -> None:
        known = self.known
        self.chosen = bytes(self.size)
        self.first, self.last, self.latest = known.first_need.copy(), known.last_need.copy(), known.once.copy()
        self.there = There(self.everything.copy())
        self.kept = known.last_need.copy()
        self.moved: set[int] = set()
        self.trips: dict[int, tuple[tuple[int, int], ...]] = {}
        self.comes: dict[int, list[int]] = {}
        self.waits: dict[int, list[int]] = {}
        self.forward_late = self.sent = self.ahead_bytes = 0
        self.bringer = Bringer(known, self.there, np.zeros(len(known.graph.steps), np.int64))

    def price(self, chosen: bytes) -> Price | None:
        """Return what a plan costs that does `chosen` [n] to the movable storages and frees what is not needed.

        None where too much of it is new: that is simulated faster step by step.
        """
        changed = self._changed(chosen)
        if changed is None:
            return None
        if changed:
            self._move(chosen, changed)
        bringer = self.bringer
        late = self._late() if self.known.machine.overlap else self.forward_late + bringer.ticks
        seconds = (self.known.ticks.elapsed[-1] + late) / TICKS
        fetched = bringer.fetched_bytes + self.ahead_bytes
        return Price(self.there.live() + bringer.beyond, seconds, bringer.recomputes, self.sent, fetched)

    def _changed(self, chosen: bytes) -> list[int] | None:
        """Return what this plan changes of the one before, if that is little, or if plans like it come in a row."""
        few = max(FEW, self.size // SHARE)
        changed = differing(chosen, self.chosen)
        alike = len(differing(chosen, self.recent)) <= few
        self.recent = chosen
        if len(changed) <= few:
            return changed
        if len(others := differing(chosen, bytes(self.size))) < len(changed):
            self._keep_everything()
            changed = others
        return changed if alike or len(changed) <= few else None

    def _move(self, chosen: bytes, changed: list[int]) -> None:
        """Turn the plan before into this one."""
        touched = {*changed, *self._spanned(chosen, changed)}
        travelled = not self.moved.isdisjoint(touched)
        self.chosen = chosen
        self.moved.difference_update(changed)
        self.moved.update([i for i in changed if chosen[i] and not chosen[i] & 1])
        for i in touched:
            self._keep(i)
        if travelled or not self.moved.isdisjoint(touched):
            self._travel()
        self.bringer.follow(chosen, self.last, touched)

    def _spanned(self, chosen: bytes, changed: list[int]) -> list[int]:
        """Find when storages are wanted, and return those for which that is another time than before."""
        if len(changed) <= max(FEW, self.size // SHARE):
            return moved_spans(self.known, chosen, changed, self.first, self.last, self.latest)
        first, last = self.first, self.last
        self.first, self.last, self.latest = spans(self.known, chosen)
        return [i for i in range(self.size) if first[i] != self.first[i] or last[i] != self.last[i]]

    def _keep(self, i: int) -> None:
        """Let a storage be there from its last forward use on, if it is kept, or no more."""
        until = self.last[i] if self.chosen[i] == KEEP else -1
        if until != self.kept[i]:
            begin, size = self.known.used[i] + 1, self.known.size[i]
            self.there.add(begin, self.kept[i], -size)
            self.there.add(begin, until, size)
            self.kept[i] = until

    def _travel(self) -> None:
        """Find what is sent, when it leaves and comes back, and what the forward pass waits for."""
        known, travels = self.known, sorted(i for i in self.moved if self.first[i] < NEVER)
        begin = known.graph.forward_count
        trips: dict[int, tuple[tuple[int, int], ...]] = {}
        ahead = ahead_of(known, self.chosen, travels, self.first)
        held = held_until(known, ahead)
        comes, waits = fetched_at(ahead, self.first, self.last, begin)
        stays = {i for i in comes.get(begin, ()) if held[i] == begin - 1}  # no time to be away
        self.comes, self.waits = without(comes, stays), without(waits, stays)
        for t, some in comes.items():
            for i in some:
                away = (known.used[i] + 1, held[i]), (t, self.last[i])
                trips[i] = ((known.used[i] + 1, self.last[i]),) if i in stays else away
        self._trip(trips)
        sent = [i for i in travels if i not in stays]
        self.sent = sum([known.size[i] for i in sent])
        self.ahead_bytes = sum([known.size[i] for i in ahead if i not in stays])
        self.forward_late = waited(known, sent, held)

    def _trip(self, trips: dict[int, tuple[tuple[int, int], ...]]) -> None:
        """Let what is fetched ahead be there when it is, in the place of when it was."""
        for i in self.trips.keys() | trips:
            old, new = self.trips.get(i, ()), trips.get(i, ())
            if old != new:
                for sign, intervals in ((-1, old), (1, new)):
                    for enter, leave in intervals:
                        self.there.add(enter, leave, sign * self.known.size[i])
        self.trips = trips

    def _late(self) -> int:
        """Return the ticks spent beside the steps, where transfers run beside computing, one after the other."""
        elapsed, transfer = self.known.ticks.elapsed, self.known.ticks.transfer
        brought, comes, waits = self.bringer.brought, self.comes, self.waits
        late, arrives = self.forward_late, {}
        link_free = elapsed[self.known.graph.forward_count] + late
        for t in sorted({*brought, *comes, *waits}):
            begins = elapsed[t]
            for i in comes.get(t, ()):
                link_free = arrives[i] = max(link_free, begins + late) + transfer[i]
            for i in waits.get(t, ()):
                late = max(late, arrives[i] - begins)
            if t in brought:
                for making, fetching in brought[t].times:
                    late += making
                    if fetching:
                        link_free = max(link_free, begins + late) + fetching
                        late = link_free - begins
        return late


def differing(one: bytes, other: bytes) -> list[int]:
    """Return where two plans differ."""
    found: list[int] = np.flatnonzero(np.frombuffer(one, np.uint8) != np.frombuffer(other, np.uint8)).tolist()
    return found


def without(steps: dict[int, list[int]], stays: set[int]) -> dict[int, list[int]]:
    """Return the storages by step, those that stay left out."""
    return {t: left for t, some in steps.items() if (left := [i for i in some if i not in stays])} if stays else steps
