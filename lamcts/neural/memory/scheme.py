"""What a simulation needs to know of a graph, found once: sizes, uses and times by number of movable storage.

Letters: S steps, n movable storages.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from lamcts.graphs import StepGraph, liveness
from lamcts.neural.memory.machine import Machine

NEVER = 2**62  # a step that never comes
TICKS = 2**64  # of a second: times are summed as whole numbers, so that sums depend on no order, and ties are ties


class Ticks(NamedTuple):
    """Times in ticks: elapsed [S + 1]; making, transfer [n], the latter to or from the host."""

    elapsed: list[int]
    making: list[int]
    transfer: list[int]


@dataclass(frozen=True, eq=False)
class Scheme:
    """Lists by step [S] or by movable storage [n]; the rest of the memory, `fixed`, does as liveness says.

    fixed_before, fixed_during, fixed_count [S]: bytes when a step begins and while it runs, and storages while it runs.
    needs [S]: the movable storages that a backward step reads; none of a forward step. seconds [S]; elapsed [S + 1]:
    their sums. size, making, scratch [n]: bytes, the time to make it anew, and further bytes meanwhile.
    inputs [n]: the movable storages that it is made of. made, done, used [n]: forward steps: the first and the last
    that writes it, the last that has to do with it. What one is made of is done before it, whatever its number.
    first_need, last_need [n]: backward steps, NEVER and -1 where there is none. sources [n]: whether all it is made of
    is still there to make it anew: none of it is written again later, be it in place or by the backward pass.
    """

    graph: StepGraph
    machine: Machine
    fixed_before: list[int]
    fixed_during: list[int]
    fixed_count: list[int]
    needs: list[list[int]]
    seconds: list[float]
    elapsed: list[float]
    size: list[int]
    making: list[float]
    scratch: list[int]
    inputs: list[list[int]]
    made: list[int]
    done: list[int]
    used: list[int]
    first_need: list[int]
    last_need: list[int]
    sources: list[bool]

    @cached_property
    def ticks(self) -> Ticks:
        steps, making = ([round(one * TICKS) for one in some] for some in (self.seconds, self.making))
        transfer = [round(self.machine.transfer_seconds(size) * TICKS) for size in self.size]
        return Ticks(list(accumulate(steps, initial=0)), making, transfer)

    @cached_property
    def users(self) -> list[list[int]]:
        """The movable storages that are made of each one [n]."""
        found: list[list[int]] = [[] for _ in self.size]
        for i, sources in enumerate(self.inputs):
            for source in sources:
                found[source].append(i)
        return found

    @cached_property
    def once(self) -> list[int]:
        """The backward step [n] that first needs each storage, -1 where none does."""
        return [first if last >= 0 else -1 for first, last in zip(self.first_need, self.last_need, strict=True)]

    @cached_property
    def youngest_first(self) -> list[int]:
        """The movable storages, those before the ones that they are made of."""
        return sorted(range(len(self.done)), key=self.done.__getitem__, reverse=True)


def scheme(graph: StepGraph, machine: Machine) -> Scheme:
    """Return what a simulation of `graph` on `machine` needs to know."""
    number = {storage: i for i, storage in enumerate(graph.movable)}
    sizes = [storage.bytes for storage in graph.storages]
    seconds = [machine.seconds(step) for step in graph.steps]
    makers = [graph.makers[storage] for storage in graph.movable]
    reads = [tuple({one for t in steps for one in graph.steps[t].reads}) for steps in makers]
    written = [{one for t in steps for one in graph.steps[t].writes} for steps in makers]
    needs = _needs(graph, number)
    return Scheme(
        graph,
        machine,
        *_fixed(graph, number),
        needs,
        seconds,
        list(accumulate(seconds, initial=0.0)),
        [sizes[storage] for storage in graph.movable],
        [sum(seconds[t] for t in steps) for steps in makers],
        [sum(sizes[one] for one in outputs - {me}) for outputs, me in zip(written, graph.movable, strict=True)],
        [sorted({number[one] for one in found if one in number and number[one] != i}) for i, found in enumerate(reads)],
        [steps[0] for steps in makers],
        [steps[-1] for steps in makers],
        _used(graph, number),
        *_ends(needs, len(number)),
        _sources(graph, number),
    )


def _sources(graph: StepGraph, number: dict[int, int]) -> list[bool]:
    written: dict[int, int] = {}  # last step by storage
    for t, step in enumerate(graph.steps):
        written.update((one, t) for one in step.writes if graph.storages[one].role != "outside")
    return [
        all(written.get(one, -1) < t for t in graph.makers[me] for one in graph.steps[t].reads if one != me)
        for me in number
    ]


def _needs(graph: StepGraph, number: dict[int, int]) -> list[list[int]]:
    backward = [() if step.forward else step.reads for step in graph.steps]
    return [[number[one] for one in reads if one in number] for reads in backward]


def _ends(needs: list[list[int]], count: int) -> tuple[list[int], list[int]]:
    first, last = [NEVER] * count, [-1] * count
    for t, found in enumerate(needs):
        for i in found:
            first[i], last[i] = min(first[i], t), t
    return first, last


def _used(graph: StepGraph, number: dict[int, int]) -> list[int]:
    """Return the last forward step that reads or writes each movable storage."""
    last = [0] * len(number)
    for t, step in enumerate(graph.steps[: graph.forward_count]):
        for one in (*step.reads, *step.writes):
            if one in number:
                last[number[one]] = t
    return last


def _fixed(graph: StepGraph, number: dict[int, int]) -> tuple[list[int], list[int], list[int]]:
    """Return what is not movable: bytes before each step, bytes during it, storages during it."""
    live = liveness(graph)
    change = np.zeros((3, len(graph.steps) + 1), np.int64)
    for i, storage in enumerate(graph.storages):
        first, last = int(live.first[i]), int(live.last[i])
        if i in number or first < 0:
            continue
        change[:, last + 1] -= (storage.bytes, storage.bytes, 1)
        change[0, first + 1] += storage.bytes  # it comes with the step that writes it
        change[1:, first] += (storage.bytes, 1)
    before, during, count = change.cumsum(1)[:, :-1].tolist()
    return before, during, count
