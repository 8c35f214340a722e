"""Simulation of a training step under a plan: live bytes, recomputations, transfers and time."""

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from lamcts.neural.graphs import StepGraph, baseline_bytes
from lamcts.neural.memory.forward import forward, live_ranges
from lamcts.neural.memory.graph_tables import TICKS, GraphTables, graph_tables
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan
from lamcts.neural.memory.report import Event, Report, forward_events, live_counts

HELD = frozenset({Action.RECOMPUTE, Action.OFFLOAD})  # once materialised, it stays for its dependents

# A materialised storage is freed when the step that needed it ends, or the last step of its node.
EACH = frozenset({Action.RECOMPUTE_EACH, Action.OFFLOAD_EACH})


class Cost(NamedTuple):
    """Cost of a plan: peak live bytes, seconds of a training step, recomputations, and bytes sent and fetched."""

    peak_bytes: int
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int


class Simulator:
    """Simulate plans on a step graph.

    Peaks exclude `graph.outside_bytes`.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    machine : Machine, default Machine()
        Rates of computing, memory and transfers.

    Examples
    --------
    >>> from lamcts.neural.graphs import alexnet, thesis_graph
    >>> from lamcts.neural.memory import Simulator, preset
    >>> graph = thesis_graph(alexnet(batch=200))
    >>> Simulator(graph).cost(preset("cost-aware", graph).actions).peak_bytes
    929280000
    """

    def __init__(self, graph: StepGraph, machine: Machine | None = None) -> None:
        self.graph = graph
        self.machine = machine or Machine()
        self.tables = graph_tables(graph, self.machine)

    def cost(self, actions: Sequence[int]) -> Cost:
        """Return the cost of the actions of all movable storages [n]; storages are freed after their last need."""
        return self._playback(actions).cost()

    def live(self, actions: Sequence[Action]) -> list[int]:
        """Return the peak of each step in bytes [S]."""
        return self._playback(actions).live

    def excess(self, actions: Sequence[int], budget_bytes: int) -> tuple[int, float]:
        """Return the bytes above a budget, summed over steps, and the seconds of a training step."""
        playback = self._playback(actions)
        return sum([live - budget_bytes for live in playback.live if live > budget_bytes]), playback.cost().seconds

    def last_needs(self, actions: Sequence[Action]) -> list[int]:
        """Return the last backward step [n] that needs each storage, for itself or to recompute others, or -1."""
        return live_ranges(self.tables, actions)[1]

    def report(self, plan: Plan) -> Report:
        """Return the cost of a plan, its live memory by step, and its allocations and frees."""
        plan.checked(self.graph)
        for i, action in enumerate(plan.actions):
            if action in RECOMPUTED and not self.tables.recomputable[i]:
                name = self.graph.storages[self.graph.movable[i]].name
                raise ValueError(
                    f"{name}: expected to keep or offload it, got {action.word}: its inputs are overwritten"
                )
        events: list[Event] = []
        playback = self._playback(plan.actions, events)
        if plan.frees:
            return Report(self.graph, plan, *playback.cost(), playback.live, live_counts(self.tables, events), events)
        whole, steps = baseline_bytes(self.graph), len(self.graph.steps)
        storages = [sum(storage.role != "outside" for storage in self.graph.storages)] * steps
        return Report(self.graph, plan, *playback.cost()._replace(peak_bytes=whole), [whole] * steps, storages, [])

    def _playback(self, actions: Sequence[int], events: list[Event] | None = None) -> "_Playback":
        playback = _Playback(self.tables, bytes(actions), events)
        playback.run(self.graph.forward_count, len(self.graph.steps))
        return playback


class _Playback:
    """The backward pass, step by step, after the forward pass of the plan."""

    def __init__(self, tables: GraphTables, actions: Sequence[int], events: list[Event] | None) -> None:
        self.tables, self.actions, self.events = tables, actions, events
        start = forward(tables, actions)
        self.last = start.last
        self.live, self.resident = start.live, start.resident
        self.frees, self.prefetches, self.waits = start.frees, start.prefetches, start.waits
        self.bytes = sum(compress(tables.size, start.resident))
        self.late = start.stall
        self.link_free = self._now(self.tables.graph.forward_count)
        self.sent = start.sent_bytes
        self.arrives: dict[int, int] = {}
        self.recomputes = self.fetched = 0
        if events is not None:
            events += forward_events(tables, start)

    def cost(self) -> Cost:
        seconds = (self.tables.ticks.elapsed[-1] + self.late) / TICKS
        return Cost(max(self.live), seconds, self.recomputes, self.sent, self.fetched)

    def run(self, begin: int, end: int) -> None:
        """At each step prefetch, materialise, run, and free storages after their last need."""
        tables, resident, live, frees = self.tables, self.resident, self.live, self.frees
        transfers = self.prefetches.keys() | self.waits
        for t in range(begin, end):
            if t in transfers:
                self._transfers(t)
            highest = 0
            for i in tables.needs[t]:
                if not resident[i]:
                    highest = self._materialise(t)
                    break
            held = self.bytes + tables.fixed_during[t]
            live.append(held if held > highest else highest)
            if t in frees:
                for i in frees[t]:
                    self._free(i, t, 2)

    def _transfers(self, t: int) -> None:
        """Begin the prefetches of step t, and wait for those that it needs."""
        for i in self.prefetches.get(t, ()):
            self.arrives[i] = self._now(t) + self._fetch(i, t)
            self._allocate(i, t)
        for i in self.waits.get(t, ()):
            self.late += max(0, self.arrives[i] - self._now(t))

    def _now(self, t: int) -> int:
        """Return the elapsed ticks at step t, including materialisation so far."""
        return self.tables.ticks.elapsed[t] + self.late

    def _materialise(self, t: int) -> int:
        """Materialise the storages that step t misses; return the peak meanwhile in bytes."""
        highest = 0
        for group in self.tables.need_groups[t]:
            if missing := [i for i in group if not self.resident[i]]:
                highest = max(highest, self._materialise_group(t, group, missing))
        return highest

    def _materialise_group(self, t: int, group: list[int], missing: list[int]) -> int:
        tables, highest = self.tables, 0
        order = self._closure(missing)
        recomputed = [i for i in order if self.actions[i] in RECOMPUTED]
        made = set(order)
        last_user = {source: i for i in recomputed for source in tables.inputs[i] if source in made}
        for i in order:
            self._allocate(i, t)
            held = self.bytes + tables.fixed_before[t]
            if self.actions[i] in RECOMPUTED:
                self.late += tables.ticks.recompute[i]
                self.recomputes += 1
                held += tables.scratch[i]
            else:
                self.late += self._fetch(i, t)
            highest = held if held > highest else highest
            if (until := self._until(i, t, group)) >= 0:
                self.frees.setdefault(until, []).append(i)
            for source in tables.inputs[i] if last_user else ():
                if last_user.get(source) == i and self._until(source, t, group) < 0:
                    self._free(source, t, 0)
        return highest

    def _closure(self, missing: list[int]) -> list[int]:
        """Return the storages to materialise, each after the inputs of its recomputation."""
        found, stack = set(missing), list(missing)
        while stack:
            i = stack.pop()
            if self.actions[i] in RECOMPUTED:
                new = [source for source in self.tables.inputs[i] if not self.resident[source] and source not in found]
                found.update(new)
                stack += new
        return missing if len(found) == 1 else sorted(found, key=self.tables.last_write.__getitem__)

    def _until(self, i: int, t: int, group: list[int]) -> int:
        """Return the last step of a storage materialised at step t, or -1 if it only serves as an input."""
        action = self.actions[i]
        if action in HELD:
            return self.last[i] if self.last[i] > t or i in self.tables.needs[t] else -1
        if i not in group:
            return -1
        return self.tables.node_ends[t] if action in EACH else self.tables.last_need[i]

    def _fetch(self, i: int, t: int) -> int:
        """Return the ticks until a storage is fetched; the link transfers one storage at a time."""
        now = self._now(t)
        self.link_free = max(now, self.link_free) + self.tables.ticks.transfer[i]
        self.fetched += self.tables.size[i]
        return self.link_free - now

    def _allocate(self, i: int, t: int) -> None:
        self.resident[i] = True
        self.bytes += self.tables.size[i]
        if self.events is not None:
            self.events.append(Event(t, 0, self.tables.graph.movable[i], True))

    def _free(self, i: int, t: int, order: int) -> None:
        self.resident[i] = False
        self.bytes -= self.tables.size[i]
        if self.events is not None:
            self.events.append(Event(t, order, self.tables.graph.movable[i], False))
