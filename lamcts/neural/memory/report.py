"""Report of a simulated plan: costs, live memory by step, allocations and frees."""

from dataclasses import dataclass

from lamcts.graphs import MB, StepGraph
from lamcts.neural.memory.events import Event
from lamcts.neural.memory.plan import Plan


@dataclass(frozen=True, eq=False)
class Report:
    """A simulated plan on a graph, from `Simulator.report`.

    Attributes
    ----------
    peak_bytes : int
        Peak of live bytes, without `graph.outside_bytes`.
    seconds : float
        Time of one training step.
    recomputes : int
        Number of recomputed storages.
    sent_bytes, fetched_bytes : int
        Bytes sent to and fetched from the host.
    live_bytes, live_count : list of int
        Peak bytes of each step, with its recomputations, and the number of live storages.
    events : list of Event
        Allocations and frees of movable storages.
    """

    graph: StepGraph
    plan: Plan
    peak_bytes: int
    seconds: float
    recomputes: int
    sent_bytes: int
    fetched_bytes: int
    live_bytes: list[int]
    live_count: list[int]
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
