"""Incremental plan costs, for plans that differ little from the last one: searches cost thousands of similar plans.

The results equal those of `simulator._Playback` to the last bit. Letters: S steps, n movable storages.
"""

from typing import NamedTuple

import numpy as np

from lamcts.neural.memory.forward import offloaded_at, prefetch_steps, prefetched, stall_ticks
from lamcts.neural.memory.graph_tables import NEVER, TICKS, GraphTables
from lamcts.neural.memory.live_ranges import live_ranges, update_live_ranges
from lamcts.neural.memory.on_demand import KEEP, LiveBytes, OnDemand
from lamcts.types import Rows

FEW, SHARE = 3, 8  # at most 3 storages, or one in 8, are a small change (untuned)


class PlanCost(NamedTuple):
    """The peak of each step in bytes, `live` [S], and the other costs of a plan (see `simulator.Cost`)."""

    live: Rows
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int


class IncrementalCosts:
    """Costs of plans on a graph, updated from the previous plan, or from keeping everything if that is nearer.

    recent: the last plan passed to `cost`, whether it was computed here or not.
    first, last, latest [n]: see `live_ranges`. kept [n]: the last step of a kept storage, or -1.
    prefetch_windows: by prefetched storage, its live intervals after the last forward use, both ends included.
    """

    def __init__(self, tables: GraphTables) -> None:
        self.tables, self.size = tables, len(tables.size)
        self.live = LiveBytes(np.array(tables.fixed_during, np.int64))
        for i, size in enumerate(tables.size):
            self.live.add(tables.first_write[i], max(tables.last_forward_use[i], tables.last_need[i]), size)
        self.everything = self.live.live()
        self.recent = bytes(self.size)
        self._keep_everything()

    def _keep_everything(self) -> None:
        tables = self.tables
        self.chosen = bytes(self.size)
        self.first, self.last, self.latest = (
            tables.first_need.copy(),
            tables.last_need.copy(),
            tables.first_need_or_none.copy(),
        )
        self.live = LiveBytes(self.everything.copy())
        self.kept = tables.last_need.copy()
        self.offloaded: set[int] = set()
        self.prefetch_windows: dict[int, tuple[tuple[int, int], ...]] = {}
        self.prefetches: dict[int, list[int]] = {}
        self.waits: dict[int, list[int]] = {}
        self.forward_stall = self.sent = self.ahead_bytes = 0
        self.on_demand = OnDemand(tables, self.live, np.zeros(len(tables.graph.steps), np.int64))

    def cost(self, chosen: bytes) -> PlanCost | None:
        """Return the cost of the actions `chosen` [n], or None if a full simulation is faster.

        Storages are freed after their last need.
        """
        changed = self._changed(chosen)
        if changed is None:
            return None
        if changed:
            self._apply(chosen, changed)
        on_demand = self.on_demand
        late = self._stall() if self.tables.machine.overlap else self.forward_stall + on_demand.ticks
        seconds = (self.tables.ticks.elapsed[-1] + late) / TICKS
        fetched = on_demand.fetched_bytes + self.ahead_bytes
        return PlanCost(self.live.live() + on_demand.extra, seconds, on_demand.recomputes, self.sent, fetched)

    def _changed(self, chosen: bytes) -> list[int] | None:
        """Return the changed storages, if few changed or if recent plans were similar; else None."""
        few = max(FEW, self.size // SHARE)
        changed = differing(chosen, self.chosen)
        similar = len(differing(chosen, self.recent)) <= few
        self.recent = chosen
        if len(changed) <= few:
            return changed
        if len(others := differing(chosen, bytes(self.size))) < len(changed):
            self._keep_everything()
            changed = others
        return changed if similar or len(changed) <= few else None

    def _apply(self, chosen: bytes, changed: list[int]) -> None:
        """Update the state from the previous plan to this one."""
        touched = {*changed, *self._update_ranges(chosen, changed)}
        had_offloads = not self.offloaded.isdisjoint(touched)
        self.chosen = chosen
        self.offloaded.difference_update(changed)
        self.offloaded.update([i for i in changed if chosen[i] and not chosen[i] & 1])
        for i in touched:
            self._keep(i)
        if had_offloads or not self.offloaded.isdisjoint(touched):
            self._transfers()
        self.on_demand.update(chosen, self.last, touched)

    def _update_ranges(self, chosen: bytes, changed: list[int]) -> list[int]:
        """Update the live ranges; return the storages whose range changed."""
        if len(changed) <= max(FEW, self.size // SHARE):
            return update_live_ranges(self.tables, chosen, changed, self.first, self.last, self.latest)
        first, last = self.first, self.last
        self.first, self.last, self.latest = live_ranges(self.tables, chosen)
        return [i for i in range(self.size) if first[i] != self.first[i] or last[i] != self.last[i]]

    def _keep(self, i: int) -> None:
        """Set the live interval of a kept storage after its last forward use."""
        until = self.last[i] if self.chosen[i] == KEEP else -1
        if until != self.kept[i]:
            begin, size = self.tables.last_forward_use[i] + 1, self.tables.size[i]
            self.live.add(begin, self.kept[i], -size)
            self.live.add(begin, until, size)
            self.kept[i] = until

    def _transfers(self) -> None:
        """Find the offloaded storages, their prefetch windows, and the stalls of the forward pass."""
        tables, offloaded = self.tables, sorted(i for i in self.offloaded if self.first[i] < NEVER)
        begin = tables.graph.forward_count
        prefetch_windows: dict[int, tuple[tuple[int, int], ...]] = {}
        ahead = prefetched(tables, self.chosen, offloaded, self.first)
        held = offloaded_at(tables, ahead)
        prefetches, waits = prefetch_steps(ahead, self.first, self.last, begin)
        staying = {i for i in prefetches.get(begin, ()) if held[i] == begin - 1}  # too short to offload
        self.prefetches, self.waits = without(prefetches, staying), without(waits, staying)
        for t, some in prefetches.items():
            for i in some:
                split = (tables.last_forward_use[i] + 1, held[i]), (t, self.last[i])
                prefetch_windows[i] = ((tables.last_forward_use[i] + 1, self.last[i]),) if i in staying else split
        self._set_windows(prefetch_windows)
        sent = [i for i in offloaded if i not in staying]
        self.sent = sum([tables.size[i] for i in sent])
        self.ahead_bytes = sum([tables.size[i] for i in ahead if i not in staying])
        self.forward_stall = stall_ticks(tables, sent, held)

    def _set_windows(self, prefetch_windows: dict[int, tuple[tuple[int, int], ...]]) -> None:
        """Replace the live intervals of prefetched storages."""
        for i in self.prefetch_windows.keys() | prefetch_windows:
            old, new = self.prefetch_windows.get(i, ()), prefetch_windows.get(i, ())
            if old != new:
                for sign, intervals in ((-1, old), (1, new)):
                    for enter, leave in intervals:
                        self.live.add(enter, leave, sign * self.tables.size[i])
        self.prefetch_windows = prefetch_windows

    def _stall(self) -> int:
        """Return the ticks of recomputation and stalls, with transfers that overlap computing, one at a time."""
        elapsed, transfer = self.tables.ticks.elapsed, self.tables.ticks.transfer
        materialised, prefetches, waits = self.on_demand.steps, self.prefetches, self.waits
        late, arrives = self.forward_stall, {}
        link_free = elapsed[self.tables.graph.forward_count] + late
        for t in sorted({*materialised, *prefetches, *waits}):
            begins = elapsed[t]
            for i in prefetches.get(t, ()):
                link_free = arrives[i] = max(link_free, begins + late) + transfer[i]
            for i in waits.get(t, ()):
                late = max(late, arrives[i] - begins)
            if t in materialised:
                for recompute, fetch in materialised[t].times:
                    late += recompute
                    if fetch:
                        link_free = max(link_free, begins + late) + fetch
                        late = link_free - begins
        return late


def differing(one: bytes, other: bytes) -> list[int]:
    """Return the storages whose action differs."""
    found: list[int] = np.flatnonzero(np.frombuffer(one, np.uint8) != np.frombuffer(other, np.uint8)).tolist()
    return found


def without(steps: dict[int, list[int]], staying: set[int]) -> dict[int, list[int]]:
    """Return the storages by step, without those that stay on the device."""
    if not staying:
        return steps
    left = {t: [i for i in some if i not in staying] for t, some in steps.items()}
    return {t: some for t, some in left.items() if some}
