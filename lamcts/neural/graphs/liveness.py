"""Live storages of each step, and the peak (thesis 8.3.2).

Letters: S steps, K storages.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lamcts.neural.graphs.steps import StepGraph
from lamcts.types import Rows


@dataclass(frozen=True, eq=False)
class Liveness:
    """Live ranges of storages."""

    graph: StepGraph
    first: Rows  # first step of each storage; -1 for storages that no step writes
    last: Rows  # last step of each storage, included; -1 for storages that no step writes

    def before(self, step: int) -> frozenset[int]:
        """Return the storages that are live before a step: its *in* set."""
        return frozenset(np.flatnonzero((self.first < step) & (self.last >= step) & (self.first >= 0)).tolist())

    def after(self, step: int) -> frozenset[int]:
        """Return the storages that are live after a step: its *out* set."""
        return frozenset(np.flatnonzero((self.first <= step) & (self.last > step) & (self.first >= 0)).tolist())

    def during(self, step: int) -> frozenset[int]:
        """Return the storages that are live during a step."""
        return frozenset(np.flatnonzero((self.first <= step) & (self.last >= step) & (self.first >= 0)).tolist())

    @cached_property
    def live_bytes(self) -> Rows:
        """Live bytes of each step [S]."""
        return self._summed(np.array([storage.bytes for storage in self.graph.storages], np.int64))

    @cached_property
    def live_count(self) -> Rows:
        """Number of live storages of each step [S]."""
        return self._summed(np.ones(len(self.graph.storages), np.int64))

    @property
    def peak_bytes(self) -> int:
        """Peak of live bytes."""
        return int(self.live_bytes.max())

    @property
    def peak_step(self) -> int:
        """The first step with the peak, counted from 0."""
        return int(self.live_bytes.argmax())

    def _summed(self, amounts: Rows) -> Rows:
        there = self.first >= 0
        change = np.zeros(len(self.graph.steps) + 1, np.int64)
        np.add.at(change, self.first[there], amounts[there])
        np.add.at(change, self.last[there] + 1, -amounts[there])
        return change.cumsum()[:-1]


def liveness(graph: StepGraph) -> Liveness:
    """Return the live ranges of storages that are freed after their last use, without transfers and recomputation.

    Parameters
    ----------
    graph : StepGraph
        The training step. Outside storages have no range.
    """
    first, last = np.full((2, len(graph.storages)), -1, np.int64)
    for t, step in enumerate(graph.steps):
        for one in step.writes:
            first[one] = t if first[one] < 0 else first[one]
        for one in (*step.reads, *step.writes):
            last[one] = t
    outside = np.array([storage.role == "outside" for storage in graph.storages], bool)
    first[outside] = last[outside] = -1
    return Liveness(graph, first, last)


def baseline_bytes(graph: StepGraph) -> int:
    """Return the bytes if every storage has separate memory for the whole step (thesis 8.3, the baseline)."""
    live = liveness(graph)
    return sum(storage.bytes for storage, at in zip(graph.storages, live.first, strict=True) if at >= 0)
