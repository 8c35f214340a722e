"""Incremental cost of on-demand fetches and recomputation: only steps that a changed plan affects are computed again.

A missing storage is materialised when a backward step needs it: fetched from the host or recomputed.
Letters: S steps, n movable storages.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from lamcts.neural.memory.graph_tables import NEVER, GraphTables
from lamcts.neural.memory.plan import Action
from lamcts.types import Rows

# Plain integers compare faster. Odd actions recompute; even ones, except KEEP, fetch.
KEEP, OFFLOAD = int(Action.KEEP), int(Action.OFFLOAD)
EACH = int(Action.RECOMPUTE_EACH)  # from here on a materialised storage is freed after its step or the step's node
FEW = 24  # intervals added one by one; more are summed at once (untuned)


class LiveBytes:
    """Live bytes per step [S], updated by adding intervals of steps; both ends are included."""

    def __init__(self, begin: Rows) -> None:
        self.sums = begin
        self.first: list[int] = []
        self.after: list[int] = []
        self.sizes: list[int] = []

    def add(self, first: int, last: int, size: int) -> None:
        """Add `size` bytes to the steps from `first` to `last`; an empty interval adds none."""
        if last >= first:
            self.first.append(first)
            self.after.append(last + 1)
            self.sizes.append(size)

    def live(self) -> Rows:
        """Return the live bytes of each step; the array changes with further intervals."""
        if len(self.sizes) <= FEW:
            for first, after, size in zip(self.first, self.after, self.sizes, strict=True):
                self.sums[first:after] += size
        else:
            count = len(self.sums) + 1
            sizes = np.array(self.sizes, float)  # integers below 2^53, whose float sums are exact
            change = np.bincount(self.first, sizes, count) - np.bincount(self.after, sizes, count)
            self.sums += change[:-1].cumsum().astype(np.int64)
        self.first, self.after, self.sizes = [], [], []
        return self.sums


class Materialised(NamedTuple):
    """Storages that one step materialises.

    ends: last step of each, without those that only serve as inputs of a recomputation. involved: storages that the
    result depends on. times: ticks in pairs, of recomputation and of the transfer after it. extra_bytes: peak above
    the bytes live after the step.
    """

    ends: dict[int, int]
    involved: set[int]
    times: list[tuple[int, int]]
    recomputes: int
    fetched_bytes: int
    extra_bytes: int


NOTHING = Materialised({}, set(), [], 0, 0, 0)  # for a plan that keeps everything


@dataclass(eq=False)
class OnDemand:
    """On-demand costs of a plan, step by step.

    live, extra [S]: live bytes of each step, and the bytes above them while it materialises storages.
    ranges [n]: live ranges of materialised storages: last steps by first steps.
    involved [n]: steps whose materialisation depends on the storage.
    """

    tables: GraphTables
    live: LiveBytes
    extra: Rows
    chosen: bytes = b""
    last: list[int] = field(default_factory=list)
    steps: dict[int, Materialised] = field(default_factory=dict)
    ticks: int = 0
    recomputes: int = 0
    fetched_bytes: int = 0

    def __post_init__(self) -> None:
        count = len(self.tables.size)
        self.ranges: list[dict[int, int]] = [{} for _ in range(count)]
        self.involved: list[set[int]] = [set() for _ in range(count)]
        self.needed_at: list[list[int]] = [[] for _ in range(count)]
        for t, needed in enumerate(self.tables.needs):
            for i in needed:
                self.needed_at[i].append(t)
        self.ahead = self.tables.machine.overlap

    def update(self, chosen: bytes, last: list[int], touched: Iterable[int]) -> None:
        """Recompute the steps that `touched` storages affect, in order: one step's result may change later ones.

        last [n]: last need of each storage.
        """
        self.chosen, self.last = chosen, last
        affected = {t for i in touched for t in (*self.involved[i], *self._may_miss(i))}
        queue = list(affected)
        heapify(queue)
        while queue:
            t = heappop(queue)
            if (old := self.steps.pop(t, NOTHING)) is not NOTHING:
                self._count(t, old, -1)
            missing = [i for i in self.tables.needs[t] if not self._resident(i, t)]
            new = self._materialise(t) if missing else NOTHING
            if missing:
                self.steps[t] = new
                self._count(t, new, 1)
            for i in self._set_ranges(t, old.ends, new.ends):
                for later in (*self.involved[i], *self._may_miss(i)):
                    if later > t and later not in affected:
                        affected.add(later)
                        heappush(queue, later)

    def _may_miss(self, i: int) -> Iterable[int]:
        """Return the steps at which a storage may be missing: the first need, or each need for two actions."""
        action = self.chosen[i]
        if action == KEEP or (action == OFFLOAD and self.ahead) or self.tables.first_need[i] == NEVER:
            return ()
        return self.needed_at[i] if action >= EACH else (self.tables.first_need[i],)

    def _resident(self, i: int, t: int) -> bool:
        action = self.chosen[i]
        if action == KEEP or (action == OFFLOAD and self.ahead):
            return True
        return any(first < t <= last for first, last in self.ranges[i].items())

    def _count(self, t: int, found: Materialised, sign: int) -> None:
        """Add (+1) or remove (-1) the costs of a step."""
        self.recomputes += sign * found.recomputes
        self.fetched_bytes += sign * found.fetched_bytes
        self.ticks += sign * sum([recompute + transfer for recompute, transfer in found.times])
        self.extra[t] = found.extra_bytes if sign > 0 else 0
        for i in found.involved:
            if sign > 0:
                self.involved[i].add(t)
            else:
                self.involved[i].discard(t)

    def _set_ranges(self, t: int, old: dict[int, int], new: dict[int, int]) -> list[int]:
        """Replace the live ranges that begin at step t; return the storages whose range changed."""
        if old == new:
            return []
        changed = [i for i in old.keys() | new.keys() if old.get(i) != new.get(i)] if old else list(new)
        for i in changed:
            size = self.tables.size[i]
            if i in old:
                self.live.add(t, old[i], -size)
                del self.ranges[i][t]
            if i in new:
                self.live.add(t, new[i], size)
                self.ranges[i][t] = new[i]
        return changed

    def _materialise(self, t: int) -> Materialised:
        """Return the fetches and recomputations of the storages that step t misses, group by group."""
        tables, size = self.tables, self.tables.size
        ends: dict[int, int] = {}
        involved, times, recomputes, fetched, highest = set(), [], 0, 0, 0
        for group in tables.need_groups[t]:
            found = self._materialise_group(t, group, ends)
            highest = max(highest, sum([size[i] for i in ends]) + found.extra_bytes)
            ends |= found.ends
            involved |= found.involved
            times += found.times
            recomputes, fetched = recomputes + found.recomputes, fetched + found.fetched_bytes
        stayed = sum([size[i] for i in ends])
        extra = max(0, highest - stayed + tables.fixed_before[t] - tables.fixed_during[t])
        return Materialised(ends, involved, times, recomputes, fetched, extra)

    def _materialise_group(self, t: int, group: list[int], before: dict[int, int]) -> Materialised:
        """Return the costs of one group after `before`; `extra_bytes` is the peak above the bytes before the group."""
        tables, chosen, size, ticks = self.tables, self.chosen, self.tables.size, self.tables.ticks
        missing = [i for i in group if i not in before and not self._resident(i, t)]
        if not missing:
            return NOTHING
        order = self._closure(t, missing, before)
        recomputed = [i for i in order if chosen[i] & 1]
        last_user = {source: i for i in recomputed for source in tables.inputs[i]}
        ends, helpers = {}, set()
        times, recompute = [], 0
        now = highest = 0  # bytes above those live before the group
        for i in order:
            now += size[i]
            if chosen[i] & 1:
                recompute += ticks.recompute[i]
                highest = max(highest, now + tables.scratch[i])
            else:
                times.append((recompute, ticks.transfer[i]))
                recompute = 0
                highest = max(highest, now)
            end = self._end(i, t, group)
            if end >= 0:
                ends[i] = end
            else:
                helpers.add(i)
            if helpers:
                now -= sum([size[one] for one in tables.inputs[i] if one in helpers and last_user[one] == i])
        times.append((recompute, 0))
        fetched = sum([size[i] for i in order]) - sum([size[i] for i in recomputed])
        return Materialised(ends, {*order, *last_user}, times, len(recomputed), fetched, highest)

    def _closure(self, t: int, missing: list[int], before: dict[int, int]) -> list[int]:
        """Return the storages to materialise, each after the inputs of its recomputation."""
        inputs, chosen = self.tables.inputs, self.chosen
        found, stack = set(missing), list(missing)
        while stack:
            i = stack.pop()
            if chosen[i] & 1:
                for source in inputs[i]:
                    if source not in found and source not in before and not self._resident(source, t):
                        found.add(source)
                        stack.append(source)
        return missing if len(found) == 1 else sorted(found, key=self.tables.last_write.__getitem__)

    def _end(self, i: int, t: int, group: list[int]) -> int:
        """Return the last step of a storage materialised at step t, or -1 if it only serves as an input."""
        action, last = self.chosen[i], self.last[i]
        if action <= OFFLOAD:
            return last if last > t or i in self.tables.needs[t] else -1
        if i not in group:
            return -1
        return self.tables.node_ends[t] if action >= EACH else self.tables.last_need[i]
