"""Sizes, uses and times of a step graph, tabulated once for the simulation of many plans.

Letters: S steps, n movable storages.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from lamcts.neural.graphs import StepGraph, liveness
from lamcts.neural.memory.machine import Machine

NEVER = 2**62  # stands for no step
TICKS = 2**64  # a second; integer times make sums independent of their order, so ties are exact


class Ticks(NamedTuple):
    """Times in ticks."""

    elapsed: list[int]  # [S + 1]
    recompute: list[int]  # [n]
    transfer: list[int]  # [n], one way over the link to the host
    follow: list[int]  # [forward steps + 1], host time of the executor in the first forward steps


@dataclass(frozen=True, eq=False)
class GraphTables:
    """Tables of a step graph by step [S] and by movable storage [n]."""

    graph: StepGraph
    machine: Machine
    fixed_before: list[int]  # [S], live bytes of the other storages when a step begins
    fixed_during: list[int]  # [S], and while it runs
    fixed_count: list[int]  # [S], their number while it runs
    needs: list[list[int]]  # [S], movable storages that a backward step reads; empty for forward steps
    need_groups: list[list[list[int]]]  # [S], these in groups, which are materialised one after the other
    node_ends: list[int]  # [S], last step of the same node
    seconds: list[float]  # [S], of each step
    elapsed: list[float]  # [S + 1], cumulative sums of these
    size: list[int]  # [n], bytes
    recompute_seconds: list[float]  # [n]
    scratch: list[int]  # [n], bytes of a recomputation
    inputs: list[list[int]]  # [n], movable storages that a recomputation reads; their `last_write` is earlier
    first_write: list[int]  # [n], forward step
    last_write: list[int]  # [n], forward step
    last_forward_use: list[int]  # [n], forward step
    first_need: list[int]  # [n], backward step that reads the storage; NEVER if there is none
    last_need: list[int]  # [n], backward step; -1 if there is none
    recomputable: list[bool]  # [n], whether it is the result of a step, and no input is overwritten later

    @cached_property
    def ticks(self) -> Ticks:
        steps, recompute = ([round(one * TICKS) for one in some] for some in (self.seconds, self.recompute_seconds))
        transfer = [round(self.machine.transfer_seconds(size) * TICKS) for size in self.size]
        follow = self.machine.follow_seconds
        extra = [
            round(self.machine.seconds(step, follow) * TICKS) - ticks
            for step, ticks in zip(self.graph.steps[: self.graph.forward_count], steps, strict=False)
        ]
        elapsed, followed = (list(accumulate(some, initial=0)) for some in (steps, extra))
        return Ticks(elapsed, recompute, transfer, followed)

    @cached_property
    def first_need_or_none(self) -> list[int]:
        """First backward step that reads each storage [n], or -1."""
        return [first if last >= 0 else -1 for first, last in zip(self.first_need, self.last_need, strict=True)]

    @cached_property
    def consumers_first(self) -> list[int]:
        """Movable storages in reverse topological order: each before its inputs."""
        return sorted(range(len(self.last_write)), key=self.last_write.__getitem__, reverse=True)


def graph_tables(graph: StepGraph, machine: Machine) -> GraphTables:
    """Tabulate a step graph for simulations on a machine."""
    number = {storage: i for i, storage in enumerate(graph.movable)}
    sizes = [storage.bytes for storage in graph.storages]
    seconds = [machine.seconds(step) for step in graph.steps]
    again = [machine.seconds(step, machine.recompute_seconds) for step in graph.steps[: graph.forward_count]]
    makers = [graph.makers[storage] for storage in graph.movable]
    reads = [tuple({one for t in steps for one in graph.steps[t].reads}) for steps in makers]
    backward = [() if step.forward else step.reads for step in graph.steps]
    needs = [[number[one] for one in reads if one in number] for reads in backward]
    return GraphTables(
        graph,
        machine,
        *_fixed(graph, number),
        needs,
        [[found] if step.node < 0 else [[i] for i in found] for step, found in zip(graph.steps, needs, strict=True)],
        _node_ends(graph),
        seconds,
        list(accumulate(seconds, initial=0.0)),
        [sizes[storage] for storage in graph.movable],
        [sum(again[t] for t in steps) for steps in makers],
        [_scratch(graph, steps, me) for steps, me in zip(makers, graph.movable, strict=True)],
        [sorted({number[one] for one in found if one in number and number[one] != i}) for i, found in enumerate(reads)],
        [steps[0] for steps in makers],
        [steps[-1] for steps in makers],
        _last_forward_use(graph, number),
        *_need_range(needs, len(number)),
        recomputable(graph),
    )


def recomputable(graph: StepGraph) -> list[bool]:
    """Return whether each movable storage [n] can be recomputed; see `GraphTables`."""
    written: dict[int, int] = {}  # last step by storage
    for t, step in enumerate(graph.steps):
        written.update((one, t) for one in step.writes)

    def stays(one: int, t: int) -> bool:  # a recomputation copies an outside storage that its own step modifies
        return written.get(one, -1) < t + (graph.storages[one].role == "outside")

    return [
        me not in graph.steps[steps[0]].reads  # else it began as an empty one, which no step made
        and all(stays(one, t) for t in steps for one in graph.steps[t].reads if one != me)
        for me, steps in graph.makers.items()
    ]


def _scratch(graph: StepGraph, makers: tuple[int, ...], me: int) -> int:
    """Return the largest scratch memory of the steps that recompute a storage, in bytes."""
    steps = [graph.steps[t] for t in makers]
    return max(sum(graph.storages[one].bytes for one in {*step.writes} - {me}) + step.copied_bytes for step in steps)


def _node_ends(graph: StepGraph) -> list[int]:
    ends = list(range(len(graph.steps)))
    for t in reversed(ends[:-1]):
        if graph.steps[t].node == graph.steps[t + 1].node >= 0:
            ends[t] = ends[t + 1]
    return ends


def _need_range(needs: list[list[int]], count: int) -> tuple[list[int], list[int]]:
    first, last = [NEVER] * count, [-1] * count
    for t, found in enumerate(needs):
        for i in found:
            first[i], last[i] = min(first[i], t), t
    return first, last


def _last_forward_use(graph: StepGraph, number: dict[int, int]) -> list[int]:
    """Return the last forward step that reads or writes each movable storage."""
    last = [0] * len(number)
    for t, step in enumerate(graph.steps[: graph.forward_count]):
        for one in (*step.reads, *step.writes):
            if one in number:
                last[number[one]] = t
    return last


def _fixed(graph: StepGraph, number: dict[int, int]) -> tuple[list[int], list[int], list[int]]:
    """Return bytes before each step, bytes during it, and the count during it, of storages that are not movable."""
    live = liveness(graph)
    change = np.zeros((3, len(graph.steps) + 1), np.int64)
    for i, storage in enumerate(graph.storages):
        first, last = int(live.first[i]), int(live.last[i])
        if i in number or first < 0:
            continue
        change[:, last + 1] -= (storage.bytes, storage.bytes, 1)
        change[0, first + 1] += storage.bytes  # allocated by the step that writes it
        change[1:, first] += (storage.bytes, 1)
    before, during, count = change.cumsum(1)[:, :-1].tolist()
    return before, during, count
