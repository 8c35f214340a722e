"""A training step under a plan, step by step: what is live, what is made anew, what travels, how long it takes.

simulator = Simulator(graph)
simulator.cost(plan.actions).peak_bytes
"""

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from lamcts.graphs import StepGraph, baseline_bytes
from lamcts.neural.memory.events import Event, came_and_went, counted
from lamcts.neural.memory.forward import forward
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan
from lamcts.neural.memory.price import Price, Pricer
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.scheme import TICKS, Scheme, scheme
from lamcts.neural.memory.spans import spans

HELD = (Action.RECOMPUTE, Action.OFFLOAD)  # once it is back, it stays for all that is made of it

# It goes when the step ends that needed it, or the last of its node.
EACH = (Action.RECOMPUTE_EACH, Action.OFFLOAD_EACH)


class Cost(NamedTuple):
    """What a plan costs: bytes live at most, seconds of a step, how often a storage is made anew, bytes each way."""

    peak_bytes: int
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int


class Simulator:
    """Plays plans on a graph; what it knows of the graph is found once. Peaks are without `graph.outside_bytes`."""

    def __init__(self, graph: StepGraph, machine: Machine | None = None) -> None:
        self.graph = graph
        self.machine = machine or Machine()
        self.scheme = scheme(graph, self.machine)
        self._pricer = Pricer(self.scheme)

    def cost(self, actions: Sequence[Action]) -> Cost:
        """Return what a plan costs that does `actions` [n] to the movable storages and frees what is not needed."""
        chosen = bytes(actions)
        found = self._pricer.price(chosen)
        return Cost(int(found.live.max()), *found[1:]) if found else self.stepped(chosen)[0]

    def price(self, actions: Sequence[int]) -> Price:
        """Return the same, with the most bytes that are live at each step.

        Plans that differ little from the one before are priced many times faster than others.
        """
        chosen = bytes(actions)
        if found := self._pricer.price(chosen):
            return found
        cost, live = self.stepped(chosen)
        return Price(np.array(live, np.int64), *cost[1:])

    def live(self, actions: Sequence[Action]) -> list[int]:
        """Return the most bytes that are live at each step."""
        found: list[int] = self.price(actions).live.tolist()
        return found

    def stepped(self, actions: Sequence[int]) -> tuple[Cost, list[int]]:
        """Return what a plan costs and the bytes at each step as found step by step: slower, and the same."""
        play = self._played(actions)
        return play.cost(), play.live

    def wanted(self, actions: Sequence[Action]) -> list[int]:
        """Return the last backward step [n] that wants each storage, be it to make others anew; -1 where none does."""
        return spans(self.scheme, actions)[1]

    def report(self, plan: Plan) -> Report:
        """Return a plan's costs and all that happens to memory.

        ValueError for a plan of another graph, or one that makes anew what cannot be.
        """
        plan.checked(self.graph)
        for i, action in enumerate(plan.actions):
            if action in RECOMPUTED and not self.scheme.sources[i]:
                name = self.graph.storages[self.graph.movable[i]].name
                raise ValueError(
                    f"{name}: expected to keep or offload it, got {action.word}: its inputs are overwritten"
                )
        events: list[Event] = []
        play = self._played(plan.actions, events)
        if plan.frees:
            return Report(self.graph, plan, *play.cost(), play.live, counted(self.scheme, events), events)
        whole, steps = baseline_bytes(self.graph), len(self.graph.steps)
        storages = [sum(storage.role != "outside" for storage in self.graph.storages)] * steps
        return Report(self.graph, plan, *play.cost()._replace(peak_bytes=whole), [whole] * steps, storages, [])

    def _played(self, actions: Sequence[int], events: list[Event] | None = None) -> "_Play":
        play = _Play(self.scheme, actions, events)
        play.run(self.graph.forward_count, len(self.graph.steps))
        return play


class _Play:
    """A backward pass as it goes; the forward pass is known as soon as the plan is.

    there [n]: whether a storage is on the device. bytes: of the movable ones that are. late: ticks that went by
    beside those of the steps themselves.
    """

    def __init__(self, scheme: Scheme, actions: Sequence[int], events: list[Event] | None) -> None:
        self.scheme, self.actions, self.events = scheme, actions, events
        self.first, self.last, _ = spans(scheme, actions)
        start = forward(scheme, actions, self.first, self.last)
        self.live, self.there = start.live, start.there
        self.leaves, self.comes, self.waits = start.leaves, start.comes, start.waits
        self.bytes = sum(compress(scheme.size, start.there))
        self.late = start.late
        self.link_free = self._now(self.scheme.graph.forward_count)
        self.sent = start.sent_bytes
        self.arrives: dict[int, int] = {}
        self.recomputes = self.fetched = 0
        if events is not None:
            events += came_and_went(scheme, start)

    def cost(self) -> Cost:
        seconds = (self.scheme.ticks.elapsed[-1] + self.late) / TICKS
        return Cost(max(self.live), seconds, self.recomputes, self.sent, self.fetched)

    def run(self, begin: int, end: int) -> None:
        """At each step fetch ahead, make what it needs, run it, and free what nobody wants any more."""
        scheme, there, live, leaves = self.scheme, self.there, self.live, self.leaves
        for t in range(begin, end):
            if t in self.comes or t in self.waits:
                self._arrive(t)
            highest = 0
            for i in scheme.needs[t]:
                if not there[i]:
                    highest = self._bring(t)
                    break
            live.append(max(highest, self.bytes + scheme.fixed_during[t]))
            if t in leaves:
                for i in leaves[t]:
                    self._leave(i, t, 2)

    def _arrive(self, t: int) -> None:
        """Ask for what is fetched ahead from step t on, and wait for what it needs of that."""
        for i in self.comes.get(t, ()):
            self.arrives[i] = self._now(t) + self._fetch(i, t)
            self._enter(i, t)
        for i in self.waits.get(t, ()):
            self.late += max(0, self.arrives[i] - self._now(t))

    def _now(self, t: int) -> int:
        """Return the ticks gone by when step t begins, or while what it needs is brought."""
        return self.scheme.ticks.elapsed[t] + self.late

    def _bring(self, t: int) -> int:
        """Fetch or make anew what step t misses, and all that this takes; return the most bytes live meanwhile."""
        return max(self._bring_group(t, asked) for asked in self.scheme.asked[t])

    def _bring_group(self, t: int, asked: list[int]) -> int:
        scheme, highest = self.scheme, 0
        wanted = self._closure([i for i in asked if not self.there[i]])
        user = {source: i for i in wanted if self._made_anew(i) for source in scheme.inputs[i]}  # the last one
        for i in wanted:
            self._enter(i, t)
            if self._made_anew(i):
                self.late += scheme.ticks.making[i]
                self.recomputes += 1
                highest = max(highest, self.bytes + scheme.scratch[i] + scheme.fixed_before[t])
            else:
                self.late += self._fetch(i, t)
                highest = max(highest, self.bytes + scheme.fixed_before[t])
            self._settle(i, t, asked)
            for source in scheme.inputs[i]:
                if user.get(source) == i and source in wanted and not self._stays(source, t, asked):
                    self._leave(source, t, 0)
        return highest

    def _closure(self, missing: list[int]) -> list[int]:
        """Return what has to be brought, in an order in which all that a storage is made of comes before it."""
        found, stack = set(missing), list(missing)
        while stack:
            i = stack.pop()
            if self._made_anew(i):
                new = [source for source in self.scheme.inputs[i] if not self.there[source] and source not in found]
                found.update(new)
                stack += new
        return sorted(found, key=self.scheme.done.__getitem__)

    def _made_anew(self, i: int) -> bool:
        return self.actions[i] in RECOMPUTED

    def _stays(self, i: int, t: int, asked: list[int]) -> bool:
        """Return whether a storage that was brought at step t is held on: until its last need, or it was a helper."""
        if i in asked:
            return True
        return self.actions[i] in HELD and (self.last[i] > t or i in self.scheme.needs[t])

    def _settle(self, i: int, t: int, asked: list[int]) -> None:
        """Note when a storage that stays will leave."""
        if self._stays(i, t, asked):
            until = self.last[i] if self.actions[i] in HELD else self.scheme.last_need[i]
            until = self.scheme.ends[t] if self.actions[i] in EACH else until
            self.leaves.setdefault(until, []).append(i)

    def _fetch(self, i: int, t: int) -> int:
        """Return the ticks until a storage is back from the host, by a link that takes one after the other."""
        now = self._now(t)
        self.link_free = max(now, self.link_free) + self.scheme.ticks.transfer[i]
        self.fetched += self.scheme.size[i]
        return self.link_free - now

    def _enter(self, i: int, t: int) -> None:
        self.there[i] = True
        self.bytes += self.scheme.size[i]
        if self.events is not None:
            self.events.append(Event(t, 0, self.scheme.graph.movable[i], True))

    def _leave(self, i: int, t: int, order: int) -> None:
        self.there[i] = False
        self.bytes -= self.scheme.size[i]
        if self.events is not None:
            self.events.append(Event(t, order, self.scheme.graph.movable[i], False))
