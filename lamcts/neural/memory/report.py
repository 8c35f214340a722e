"""Report of a simulated plan: costs, live memory by step, allocations and frees, and time with workspaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import NamedTuple

from lamcts.neural.graphs import MB, StepGraph
from lamcts.neural.memory.forward import Forward
from lamcts.neural.memory.graph_tables import GraphTables
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Plan


class Event(NamedTuple):
    """An allocation or free of a movable storage."""

    step: int
    order: int  # 0 before the step writes, 1 as it writes, 2 when it ends
    storage: int
    allocates: bool


@dataclass(frozen=True, eq=False)
class Report:
    """A simulated plan on a graph, from `Simulator.report`."""

    graph: StepGraph
    plan: Plan
    peak_bytes: int  # peak of live bytes, without `graph.outside_bytes`
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int
    live_bytes: list[int]  # peak bytes of each step, with its recomputations
    live_count: list[int]  # live storages of each step
    events: list[Event]

    @property
    def peak_step(self) -> int:
        """The first step with the peak, counted from 0."""
        return self.live_bytes.index(self.peak_bytes)

    @property
    def total_bytes(self) -> int:
        """The peak with parameters, gradients and optimizer state, in bytes."""
        return self.peak_bytes + self.graph.outside_bytes

    def __str__(self) -> str:
        moved = (self.sent_bytes + self.fetched_bytes) / MB
        peak = f"{self.peak_bytes / MB:.3f} MB at {self.graph.steps[self.peak_step].name}"
        return (
            f"{self.plan.name}: {peak}, {1e3 * self.seconds:.2f} ms, {self.recomputes} recomputed, {moved:.1f} MB moved"
        )


def forward_events(tables: GraphTables, start: Forward) -> list[Event]:
    """Return the events of the forward pass."""
    movable = tables.graph.movable
    allocations = [Event(made, 1, one, True) for made, one in zip(tables.first_write, movable, strict=True)]
    ends = zip(start.resident_until, movable, start.resident, strict=True)
    return allocations + [Event(end, 2, one, False) for end, one, resident in ends if not resident]


def live_counts(tables: GraphTables, events: Sequence[Event]) -> list[int]:
    """Return the number of live storages of each step."""
    change = [0] * (len(tables.graph.steps) + 1)
    for event in events:  # a free at the end of a step counts from the next
        change[event.step + (event.order == 2)] += 1 if event.allocates else -1
    return list(map(add, accumulate(change), tables.fixed_count))


class Workspaces(NamedTuple):
    """Workspace of each step in bytes, and the time of the training step with it, in seconds."""

    bytes: list[int]
    seconds: float


def workspaces(report: Report, machine: Machine) -> Workspaces:
    """Assign free memory to steps as workspace.

    A step requests `Step.workspace_bytes` and gets at most the free part of `machine.capacity_bytes`. With all of it
    the step is `workspace_gain` times faster, with a part proportionally. The thesis times algorithms on the device
    instead.

    Parameters
    ----------
    report : Report
        A simulated plan.
    machine : Machine
        Capacity and gain.
    """
    given = [
        max(0, min(step.workspace_bytes, machine.capacity_bytes - live))
        for step, live in zip(report.graph.steps, report.live_bytes, strict=True)
    ]
    saved = 0.0
    for step, got in zip(report.graph.steps, given, strict=True):
        if got:
            factor = 1 + (machine.workspace_gain - 1) * got / step.workspace_bytes
            saved += machine.seconds(step) * (1 - 1 / factor)
    return Workspaces(given, report.seconds - saved)
