"""What a simulated step did: costs, live memory by step, and each storage that came or went."""

from dataclasses import dataclass

from lamcts.graphs import MB, StepGraph
from lamcts.neural.memory.events import Event
from lamcts.neural.memory.plan import Plan


@dataclass(frozen=True, eq=False)
class Report:
    """A plan on a graph, simulated.

    peak_bytes: the most that is live at once, without `graph.outside_bytes`. seconds: of one training step. recomputes:
    how often a storage is made anew. sent_bytes, fetched_bytes: to and from the host. live_bytes, live_count: the most
    bytes at each step, what is made anew for it included, and how many storages there are while it runs.
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
        """The first step at which so much is live, counted from 0."""
        return self.live_bytes.index(self.peak_bytes)

    @property
    def total_bytes(self) -> int:
        """The peak with what is there all the time: parameters, gradients, optimiser."""
        return self.peak_bytes + self.graph.outside_bytes

    def __str__(self) -> str:
        moved = (self.sent_bytes + self.fetched_bytes) / MB
        peak = f"{self.peak_bytes / MB:.3f} MB at {self.graph.steps[self.peak_step].name}"
        return (
            f"{self.plan.name}: {peak}, {1e3 * self.seconds:.2f} ms, {self.recomputes} made anew, {moved:.1f} MB moved"
        )
